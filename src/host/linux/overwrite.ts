import { closeSync, constants, fdatasyncSync, fstatSync, readSync, writeSync } from 'node:fs';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { FileError, UnsafePath } from '../files/file-error.ts';
import { openEntry, openFile } from './entry.ts';

/**
 * Overwrites the content of a regular file with `wanted` in the same blocks and flushes it, so that the old content
 * cannot be recovered from free space, as after a rename. Only bytes that differ from `present` are written, so data
 * that another program appends in the meantime is kept. Owner, mode and label stay.
 * A symbolic link is not followed, and a file with a second name (a hard link) is left alone: its content also belongs
 * to another path. Uses a single descriptor, and writes only where the file still has the expected content. Throws
 * `FileError`.
 */
export async function overwrite(path: string, present: Uint8Array, wanted: Uint8Array): Promise<void> {
  if (present.length !== wanted.length) throw new RangeError(`${path}: what overwrites must be as long`);
  try {
    using entry = openEntry(path);
    const descriptor = openFile(entry, constants.O_RDWR);
    try {
      const found = fstatSync(descriptor);
      if (!found.isFile()) throw new UnsafePath(path, 'is not a regular file');
      if (found.nlink !== 1) throw new UnsafePath(path, `has ${found.nlink} names (hard links)`);
      const ranges = [...differingRanges(present, wanted)];
      for (const { start, end } of ranges) requireUnchanged(descriptor, path, present.subarray(start, end), start);
      for (const { start, end } of ranges) writeAll(descriptor, wanted.subarray(start, end), start);
      fdatasyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    if (error instanceof MachineadmError) throw error;
    throw new FileError('change', path, error);
  }
}

function* differingRanges(present: Uint8Array, wanted: Uint8Array): Generator<{ start: number; end: number }> {
  for (let start = 0; start < wanted.length; start += 1) {
    if (present[start] === wanted[start]) continue;
    let end = start + 1;
    while (end < wanted.length && present[end] !== wanted[end]) end += 1;
    yield { start, end };
    start = end;
  }
}

/** Content that changed in the meantime is not overwritten. */
function requireUnchanged(descriptor: number, path: string, expected: Uint8Array, position: number): void {
  const there = Buffer.alloc(expected.length);
  let length = 0;
  while (length < there.length) {
    const read = readSync(descriptor, there, length, there.length - length, position + length);
    if (read === 0) break;
    length += read;
  }
  if (length < there.length || !there.equals(expected)) throw new UnsafePath(path, 'was changed after it was searched');
}

function writeAll(descriptor: number, bytes: Uint8Array, position: number): void {
  for (let written = 0; written < bytes.length; ) {
    written += writeSync(descriptor, bytes, written, bytes.length - written, position + written);
  }
}
