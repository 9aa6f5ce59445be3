import { evidenceFrom, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { jsonRows } from '../../block-devices/json-rows.ts';
import type { QueryHost } from '../../host/seam/host.ts';

/**
 * Who uses a device or a part of it now, one line each: mounts, swap, and what is built on it (LVM, RAID, dm-crypt).
 * [] = nobody that this mount namespace knows of; the programs that write open the device exclusively and see the rest.
 */
export async function usersOf(host: QueryHost, path: string): Promise<readonly string[]> {
  const args = ['--json', '--list', '--paths', '--output', 'NAME,TYPE,MOUNTPOINT', path];
  const { status, stdout } = await host.query({ program: 'lsblk', args });
  if (status !== 0) return [];
  return jsonRows(stdout, 'blockdevices').flatMap(({ name, type, mountpoint }, index) => {
    if (mountpoint === '[SWAP]') return [`${name} is in use as swap`];
    if (mountpoint !== undefined) return [`${name} is mounted on ${mountpoint}`];
    // The first row is the device itself; a partition alone uses nothing.
    return index > 0 && type !== 'part' ? [`${name} (${type}) is built on it`] : [];
  });
}

/** The error for a device that must be written and is in use. */
export function deviceBusy(path: string, place: string, users: readonly string[]): MachineadmError {
  return new MachineadmError({
    reason: 'DeviceBusy',
    summary: `${path} (${place}) is in use and is not written to: ${users.join('; ')}.`,
    remedy: 'Unmount it, stop the processes that use it, or use another device in the document.',
    evidence: evidenceFrom(path, users),
  });
}

/** True for what the tools of util-linux, e2fsprogs, xfsprogs, btrfs-progs and dosfstools say of a device in use. */
export function isBusyError(text: string): boolean {
  return /\b(?:in use|busy|is mounted|contains a mounted)\b/i.test(text);
}
