import { posix } from 'node:path';
import { MachineadmError } from '@machineadm/document/errors.ts';
import type { DeviceSelector, DiskModel, FilesystemModel, MountModel } from '@machineadm/document/model.ts';
import { FSTAB } from '@machineadm/document/ownership/paths.ts';
import type { Host, QueryHost } from '../../host/seam/host.ts';
import type { Change, Execution, FollowUp, Step, UnmetRequirement } from '../step.ts';
import { describeDevice, findDevice } from './device.ts';
import { withEntry } from './fstab.ts';
import { byDepth } from './mount-options.ts';
import { fstabKey, inspectMount, type MountState, obstacle, runningOn } from './mount-state.ts';
import { willBePartitioned } from './pending.ts';
import { missingTools } from './tools.ts';
import { deviceBusy, isBusyError } from './usage.ts';
import { absentDevice, waitForDevice } from './wait.ts';

/** A mount with its place in the document. */
interface PlacedMount {
  readonly mount: MountModel;
  readonly place: string;
}

export interface MountsDesired {
  /** In the order in which they are made. */
  readonly mounts: readonly PlacedMount[];
  readonly disks: readonly DiskModel[];
  readonly filesystems: readonly FilesystemModel[];
  readonly systemd: boolean;
}

export interface MountsActual {
  readonly mounts: readonly {
    /** undefined: the device or its file system is not there (yet). */
    readonly state: MountState | undefined;
    /** Services that run on what the mount would hide. */
    readonly running: readonly string[];
  }[];
}

/**
 * File systems mounted and swap switched on, now and at every boot. `nofail` is for later boots only: this run fails
 * when one is not mounted, so that etcd never ends up on the root disk unnoticed.
 *
 * A service that works in a directory which the mount hides is stopped before and started after it. That start is owed
 * by a name of this step's own (`restart:containerd.service`): `restart:containerd` is the containerd step's.
 */
export const mounts: Step<MountsDesired, MountsActual, PlacedMount> = {
  id: 'mounts',
  settles: ['daemon-reload', 'restart:containerd.service', 'restart:kubelet.service'],

  desired({ host }, facts) {
    const { mounts, disks, filesystems } = host.storage;
    if (mounts.length === 0) return undefined;
    const placed = byDepth(mounts).map((mount) => ({
      mount,
      place: `host.storage.mounts[${mount.at ?? mounts.indexOf(mount)}]`,
    }));
    const systemd = facts.serviceManager === 'systemd';
    return { mounts: placed, disks, filesystems, systemd };
  },

  async preflight(host, desired) {
    const programs = desired.mounts.map(({ mount }) => (mount.path === 'none' ? 'swapon' : 'mount'));
    const missing: UnmetRequirement[] = [...(await missingTools(host, ['findmnt', 'blkid', 'lsblk', ...programs]))];
    if (missing.length > 0) return missing;
    for (const placed of desired.mounts) missing.push(...(await obstaclesOf(host, desired, placed)));
    return missing;
  },

  async inspect(host, desired) {
    const actual: MountsActual['mounts'][number][] = [];
    for (const { mount } of desired.mounts) {
      const pending = await willBePartitioned(host, desired.disks, mount.device);
      const device = pending ? undefined : await findDevice(host, mount.device);
      const state = device === undefined ? undefined : await inspectMount(host, mount, device);
      actual.push({ state, running: state === undefined ? await runningOn(host, mount.path) : state.running });
    }
    return { mounts: actual };
  },

  plan(desired, actual) {
    const changes: Change<PlacedMount>[] = [];
    desired.mounts.forEach((placed, index) => {
      const { state, running } = actual.mounts[index] ?? { state: undefined, running: [] };
      const summary = summaryOf(placed.mount, state);
      if (summary === undefined) return;
      changes.push({
        id: changeId(placed.mount),
        summary,
        scope: 'node',
        ...(state === undefined ? knownAfter(desired) : {}),
        owes: owedBy(desired, state, running),
        ineffective: 'MountFailed',
        payload: placed,
      });
    });
    return changes;
  },

  async apply(host, change, execution) {
    const { mount, place } = change.payload;
    const device = await waitForDevice(host, mount.device, `${place}.device`, execution);
    const state = await inspectMount(host, mount, device);
    if (state === undefined) throw nothingToMount(mount, place, device.path);
    if (state.conflict !== undefined) throw conflicting(place, state.conflict);
    if (!state.inFstab) await writeFstab(host, mount, state);
    if (state.mounted === 'no') await bringUp(host, mount, state, place, execution);
    if (state.mounted === 'with other options') {
      const options = ['remount', ...mount.options].join(',');
      await run(host, 'mount', ['-o', options, mount.path], mount, state, place, execution);
    }
    const after = await inspectMount(host, mount, device);
    if (after?.mounted !== 'yes') throw mountFailed(mount, state, place, 'findmnt does not find it');
  },

  async followUp(host, _desired, followUp) {
    if (followUp === 'daemon-reload') return host.services.reload();
    const service = followUp.slice('restart:'.length);
    if (!(await host.service(service)).active) await host.services.start(service);
  },

  async settled(host, { mounts }) {
    const parents = mounts.map(({ mount: { path } }) => (path === 'none' ? '/etc' : posix.dirname(path)));
    for (const directory of new Set(['/etc', ...parents])) await host.sync(directory);
  },
};

/** Why a mount will not be made, as far as the machine shows it now. */
async function obstaclesOf(
  host: QueryHost,
  desired: MountsDesired,
  { mount, place }: PlacedMount,
): Promise<readonly UnmetRequirement[]> {
  const change = changeId(mount);
  const failed = ({ reason, message: what, remedy, evidence }: MachineadmError): UnmetRequirement[] => [
    { reason, what, remedy, evidence, field: place, change, scope: 'node' },
  ];
  const there = await obstacle(host, mount.path);
  if (there !== undefined) return failed(conflicting(place, there));
  if (await willBePartitioned(host, desired.disks, mount.device)) return [];
  const isMade = makesFilesystem(desired.filesystems, mount.device);
  const device = await findDevice(host, mount.device);
  // What is to be formatted is reported by the step before.
  if (device === undefined) return isMade ? [] : [absentDevice(mount.device, `${place}.device`, change)];
  const state = await inspectMount(host, mount, device);
  if (state?.conflict !== undefined) return failed(conflicting(place, state.conflict));
  return state === undefined && !isMade ? failed(nothingToMount(mount, place, device.path)) : [];
}

/** Whether the document makes the file system on a device, by the same words or by its label. */
function makesFilesystem(filesystems: readonly FilesystemModel[], device: DeviceSelector): boolean {
  const { by } = device;
  return filesystems.some(
    (one) => describeDevice(one.device) === describeDevice(device) || (by.kind === 'label' && one.label === by.label),
  );
}

function changeId(mount: MountModel): string {
  return `mounts/${fstabKey(mount)}`;
}

function summaryOf(mount: MountModel, state: MountState | undefined): string | undefined {
  const what = `${describeDevice(mount.device)} ${mount.path === 'none' ? 'as swap' : `on ${mount.path}`}`;
  if (state === undefined) return `mount ${what}, now and at boot`;
  if (state.conflict !== undefined) return `${mount.path}: ${state.conflict}`;
  const parts: string[] = [];
  if (state.mounted === 'no') parts.push(`mount ${what} (${state.entry.type})`);
  if (state.mounted === 'with other options') parts.push(`remount ${mount.path} with ${mount.options.join(',')}`);
  if (!state.inFstab) parts.push(`${FSTAB}: ${state.entry.source} ${mount.path}`);
  if (state.running.length > 0) parts.push(`meanwhile stop ${state.running.join(' and ')}`);
  return parts.length === 0 ? undefined : parts.join('; ');
}

function knownAfter({ filesystems, disks }: MountsDesired): Pick<Change, 'knownAfter'> {
  if (filesystems.length > 0) return { knownAfter: 'filesystems' };
  return disks.length > 0 ? { knownAfter: 'disks' } : {};
}

function owedBy(
  desired: MountsDesired,
  state: MountState | undefined,
  running: readonly string[],
): readonly FollowUp[] {
  const reload = desired.systemd && (state === undefined || !state.inFstab) ? (['daemon-reload'] as const) : [];
  return [...reload, ...running.map((service) => `restart:${service}` as const)];
}

async function writeFstab(host: Host, mount: MountModel, { entry }: MountState): Promise<void> {
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

async function bringUp(
  host: Host,
  mount: MountModel,
  state: MountState,
  place: string,
  execution: Execution,
): Promise<void> {
  const { device, entry, running } = state;
  if (mount.path === 'none') {
    const options = mount.options.filter((option) => option !== 'sw' && option !== 'defaults');
    const args = [...(options.length === 0 ? [] : ['-o', options.join(',')]), device.path];
    return run(host, 'swapon', args, mount, state, place, execution);
  }
  for (const service of running) {
    execution.waitingFor(`${service} to stop, because ${mount.path} is mounted under it`);
    await host.services.stop(service);
  }
  execution.waitingFor(undefined);
  try {
    await host.makeDirectory(mount.path, 0o755);
    const hidden = (await host.list(mount.path)) ?? [];
    if (hidden.length > 0) {
      execution.warn(
        `${mount.path} held ${hidden.slice(0, 5).join(', ')}${hidden.length > 5 ? ', …' : ''}: the mount hides that`,
      );
    }
    const options = mount.options.length === 0 ? [] : ['-o', mount.options.join(',')];
    const args = ['-t', entry.type, ...options, '--source', device.path, '--target', mount.path];
    await run(host, 'mount', args, mount, state, place, execution);
  } catch (error) {
    // As they were: nothing was mounted over them. What cannot be started again is still owed, and the cause comes first.
    for (const service of running) await host.services.start(service).catch(() => undefined);
    throw error;
  }
}

async function run(
  host: Host,
  program: string,
  args: readonly string[],
  mount: MountModel,
  state: MountState,
  place: string,
  execution: Execution,
): Promise<void> {
  const changes = [mount.path === 'none' ? (`swap:${state.device.path}` as const) : (`mount:${mount.path}` as const)];
  const result = await host.run({ program, args, signal: execution.signal, changes });
  if (result.status === 0) return;
  const text = result.stderr.trim().split('\n')[0] ?? '';
  if (isBusyError(text)) throw deviceBusy(state.device.path, place, [text]);
  throw mountFailed(mount, state, place, text);
}

function mountFailed(mount: MountModel, { device, entry }: MountState, place: string, text: string): MachineadmError {
  return new MachineadmError({
    reason: 'MountFailed',
    summary: `${device.path} could not be ${mount.path === 'none' ? 'used as swap' : `mounted on ${mount.path}`} (${place}).`,
    remedy: `Check that this kernel knows ${entry.type} ("modprobe ${entry.type}"), the options (${mount.options.join(',') || 'none'}), and the kernel log ("journalctl -k").`,
    evidence: [{ source: device.path, text }],
    retryable: true,
  });
}

function nothingToMount(mount: MountModel, place: string, device: string): MachineadmError {
  return new MachineadmError({
    reason: 'MountFailed',
    summary: `There is no file system on ${device} to be mounted on ${mount.path} (${place}).`,
    remedy: 'Add the device to host.storage.filesystems, or name the device that holds the file system.',
  });
}

function conflicting(place: string, what: string): MachineadmError {
  return new MachineadmError({
    reason: 'MountConflict',
    summary: `${place} cannot be mounted, because something else is there: ${what}.`,
    remedy: 'Unmount or remove it (an entry in /etc/fstab, too), or choose another path.',
    evidence: [{ source: place, text: what }],
  });
}
