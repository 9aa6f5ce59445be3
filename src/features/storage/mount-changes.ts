import type { MountModel } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { FSTAB } from '@machineadm/document/ownership/paths.ts';
import { withEntry } from '../../block-devices/fstab.ts';
import { mountArguments } from '../../block-devices/mount-options.ts';
import { fstabKey, type MountState } from '../../block-devices/mount-state.ts';
import type { Host } from '../../host/seam/host.ts';
import type { Execution } from '../../step/index.ts';
import { deviceBusy, isBusyError } from './usage.ts';

/** mount.nfs(8) tries for two minutes. */
const NFS_TIMEOUT_MS = 180_000;

/** Writes the entry of a mount into fstab(5). */
export async function writeFstab(host: Host, mount: MountModel, { entry }: MountState): Promise<void> {
  const stat = await host.stat(FSTAB);
  if (stat?.type === 'symlink') {
    throw new MachineadmError({
      reason: 'FileNotWritten',
      summary: `${FSTAB} is a symbolic link; machineadm does not replace what another tool put there.`,
      remedy: `Replace the link with a file, or add the mounts of the document to the file that it points to.`,
    });
  }
  const content = withEntry((await host.readText(FSTAB)) ?? '', fstabKey(mount), entry);
  await host.writeFile({
    path: FSTAB,
    content,
    mode: stat?.mode ?? 0o644,
    uid: stat?.uid ?? 0,
    gid: stat?.gid ?? 0,
  });
}

/** Mounts it, or switches swap on. Services on what it hides are stopped meanwhile. */
export async function bringUp(
  host: Host,
  mount: MountModel,
  state: MountState,
  place: string,
  execution: Execution,
): Promise<void> {
  const { source, entry, running, hides } = state;
  if (mount.path === 'none') {
    const options = mount.options.filter((option) => option !== 'sw' && option !== 'defaults');
    const args = [...(options.length === 0 ? [] : ['-o', options.join(',')]), source];
    return runMount(host, 'swapon', args, mount, state, place, execution);
  }
  for (const service of running) {
    execution.waitingFor(`${service} to stop, because ${mount.path} is mounted under it`);
    await host.services.stop(service);
  }
  execution.waitingFor(undefined);
  try {
    await host.makeDirectory(mount.path, 0o755);
    if (hides.length > 0) execution.warn(`${mount.path} held ${someOf(hides)}: the mount hides that`);
    const args = ['-t', entry.type, ...mountArguments(mount, false), '--source', source, '--target', mount.path];
    if (entry.type.startsWith('nfs')) execution.waitingFor(`the NFS server of ${source}`);
    await runMount(host, 'mount', args, mount, state, place, execution);
  } catch (error) {
    // As they were: nothing was mounted over them. What cannot be started again is still owed, and the cause comes first.
    for (const service of running) await host.services.start(service).catch(() => undefined);
    throw error;
  }
}

/** The first names of a directory. */
export function someOf(names: readonly string[]): string {
  return `${names.slice(0, 5).join(', ')}${names.length > 5 ? ', …' : ''}`;
}

/** Runs mount(8) or swapon(8). Throws `DeviceBusy` or `MountFailed`. */
export async function runMount(
  host: Host,
  program: string,
  args: readonly string[],
  mount: MountModel,
  state: MountState,
  place: string,
  execution: Execution,
): Promise<void> {
  const changes = [mount.path === 'none' ? (`swap:${state.source}` as const) : (`mount:${mount.path}` as const)];
  const timeoutMs = state.entry.type.startsWith('nfs') ? NFS_TIMEOUT_MS : undefined;
  const result = await host.run({ program, args, signal: execution.signal, changes, ...(timeoutMs && { timeoutMs }) });
  execution.waitingFor(undefined);
  if (result.status === 0) return;
  const text = result.stderr.trim().split('\n')[0] ?? '';
  if (isBusyError(text)) throw deviceBusy(state.source, place, [text]);
  throw mountFailed(mount, state, place, text);
}

export function mountFailed(
  mount: MountModel,
  { source, entry }: MountState,
  place: string,
  text: string,
): MachineadmError {
  const kernel = entry.type === 'none' ? '' : `that this kernel knows ${entry.type} ("modprobe ${entry.type}"), `;
  const server = entry.type.startsWith('nfs') ? 'that the server answers and exports the path, ' : '';
  return new MachineadmError({
    reason: 'MountFailed',
    summary: `${source} could not be ${mount.path === 'none' ? 'used as swap' : `mounted on ${mount.path}`} (${place}).`,
    remedy: `Check ${server}${kernel}the options (${mount.options.join(',') || 'none'}), and the kernel log ("journalctl -k").`,
    evidence: [{ source, text }],
    retryable: true,
  });
}

export function nothingToMount(mount: MountModel, place: string, device: string): MachineadmError {
  return new MachineadmError({
    reason: 'MountFailed',
    summary: `There is no file system on ${device} to be mounted on ${mount.path} (${place}).`,
    remedy: 'Add the device to host.storage.filesystems, or name the device that holds the file system.',
  });
}

export function conflicting(place: string, what: string): MachineadmError {
  return new MachineadmError({
    reason: 'MountConflict',
    summary: `${place} cannot be mounted, because something else is there: ${what}.`,
    remedy: 'Unmount or remove it (an entry in /etc/fstab, too), or choose another path.',
    evidence: [{ source: place, text: what }],
  });
}
