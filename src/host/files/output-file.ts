import { closeSync, constants, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { MachineadmError } from '@machineadm/document/errors.ts';
import { FileError } from './file-error.ts';
import { isOwnDescriptor } from './paths.ts';
import { makeDirectories, openPlace, type Place } from './place.ts';

/**
 * Writes an output file of a command for its caller alone (0600): completely or not at all, and never through a link of
 * another user. A device or a FIFO is written to directly. Throws `FileNotWritten` or `UnsafePath`.
 *
 * @param option that named the path: `--to`
 */
export function writeOutputFile(path: string, content: Uint8Array | string, option: string): void {
  attempt(path, option, () => {
    // The caller has opened it.
    if (isOwnDescriptor(path)) return writeFileSync(path, content);
    using place = openPlace(path, { follow: true });
    const found = place.stat();
    if (found === undefined || found.isFile()) replace(place, content);
    else writeInto(place, content);
  });
}

/** Creates the output directory of a command for its caller alone. Throws as `writeOutputFile` does. */
export function makeOutputDirectory(path: string, option: string): void {
  attempt(path, option, () => makeDirectories(path, 0o700));
}

function replace(place: Place, content: Uint8Array | string): void {
  const fresh = place.beside(`.${basename(place.at)}.${process.pid}.new`);
  const descriptor = openSync(fresh, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
  try {
    writeFileSync(descriptor, content);
    fsyncSync(descriptor);
    renameSync(fresh, place.at);
  } catch (error) {
    rmSync(fresh, { force: true });
    throw error;
  } finally {
    closeSync(descriptor);
  }
  place.flush();
}

function writeInto(place: Place, content: Uint8Array | string): void {
  const descriptor = place.open(constants.O_WRONLY);
  try {
    writeFileSync(descriptor, content);
  } finally {
    closeSync(descriptor);
  }
}

function attempt(path: string, option: string, action: () => void): void {
  try {
    action();
  } catch (cause) {
    const { reason, message, remedy } = cause instanceof MachineadmError ? cause : new FileError('write', path, cause);
    throw new MachineadmError({
      reason: reason === 'HostStepFailed' ? 'FileNotWritten' : reason,
      summary: message,
      remedy: `${remedy} Or give another path with ${option}.`,
      exit: 'Refused',
      cause,
    });
  }
}
