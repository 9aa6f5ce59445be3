import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { FileError } from '../file-error.ts';

/**
 * Puts `wanted` over what a regular file has now, in the same blocks, and flushes it: what was there cannot be read back
 * from free space, as after a rename. Only bytes that differ from `present` are written, so what another program appends
 * meanwhile stays. Owner, mode and label stay. Throws `FileError`; a symbolic link is not followed.
 */
export async function overwrite(path: string, present: Uint8Array, wanted: Uint8Array): Promise<void> {
  if (present.length !== wanted.length) throw new RangeError(`${path}: what overwrites must be as long`);
  try {
    await using file = await open(path, constants.O_WRONLY | constants.O_NOFOLLOW);
    for (let start = 0; start < wanted.length; start += 1) {
      if (present[start] === wanted[start]) continue;
      let end = start + 1;
      while (end < wanted.length && present[end] !== wanted[end]) end += 1;
      await file.write(wanted, start, end - start, start);
      start = end;
    }
    await file.datasync();
  } catch (error) {
    throw new FileError('change', path, error);
  }
}
