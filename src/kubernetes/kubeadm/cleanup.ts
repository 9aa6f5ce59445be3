import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { mountPointsOf } from '../../host/files/paths.ts';
import type { Host } from '../../host/seam/host.ts';
import { nodeMounts } from '../mounts.ts';
import { type Inventory, keeperOf, type ResetPlaces, removablePaths } from './inventory.ts';

const UMOUNT_TIMEOUT_MS = 30_000;

/**
 * Deletes what kubeadm and the kubelet wrote, and keeps what existed before, which `kubeadm reset` cannot do, because
 * it empties whole directories. The kubelet and its pods must have ended.
 */
export async function removeAllBut(
  host: Host,
  places: ResetPlaces,
  inventory: Inventory,
  { signal, line }: { readonly signal: AbortSignal; readonly line: (text: string) => void },
): Promise<void> {
  const mountinfo = (await host.readText('/proc/self/mountinfo')) ?? '';
  await unmountAll(host, nodeMounts(mountPointsOf(mountinfo), []).kubelet, { signal, line });
  for (const { path, fingerprint } of inventory) {
    const stat = await host.stat(path);
    if (stat === undefined) line(`${path}, which was there before the bootstrap, is gone`);
    else
      line(
        `keep ${path}: it was there before the bootstrap${stat.fingerprint === fingerprint ? '' : ', and was changed since'}`,
      );
  }
  for (const path of await removablePaths(host, places, keeperOf(inventory))) {
    line(`remove ${path}`);
    await removeRest(host, path, signal);
  }
}

/** Removes a path with everything below it. */
export async function removeRest(host: Host, path: string, signal: AbortSignal): Promise<void> {
  const stat = await host.stat(path);
  if (stat === undefined) return;
  if (stat.type !== 'directory') return await host.removeFile(path);
  if ((await host.which('rm')) === undefined) {
    // Windows: empty directories do no harm.
    for (const name of (await host.list(path)) ?? []) await removeRest(host, `${path}/${name}`, signal);
    return;
  }
  // Never descends into a mounted file system.
  await host.run({ program: 'rm', args: ['-r', '-f', '--one-file-system', '--', path], signal });
}

/** Unmounts the kubelet's volumes in this order; deleting below a mount point would delete from the volume. */
export async function unmountAll(
  host: Host,
  points: readonly string[],
  { signal, line }: { readonly signal: AbortSignal; readonly line: (text: string) => void },
): Promise<void> {
  for (const point of points) {
    line(`unmount ${point}`);
    const result = await host.run({ program: 'umount', args: ['--', point], timeoutMs: UMOUNT_TIMEOUT_MS, signal });
    if (result.status === 0 || /not mounted|no mount point/.test(result.stderr)) continue;
    throw new MachineadmError({
      reason: 'ResetFailed',
      summary: `${point} could not be unmounted, and a reset deletes what is below it.`,
      remedy: 'Stop the processes that use it (fuser -vm lists them), or reboot. Then run the same command again.',
      evidence: [{ source: 'umount', text: result.stderr.trim() }],
      retryable: true,
    });
  }
}
