import type { FileStat } from '../host/seam/host.ts';

/** A value that changes with the content of a file, but not with a reboot: its size, inode and modification time. */
export function stampOf({ fingerprint, size }: FileStat): string | undefined {
  return fingerprint === undefined ? undefined : `${size}:${fingerprint.slice(fingerprint.indexOf(':') + 1)}`;
}
