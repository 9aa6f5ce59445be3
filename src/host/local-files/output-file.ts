import {
  closeSync,
  constants,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { errnoOf, FileError, UnsafePath } from '../files/file-error.ts';
import { isOwnDescriptor } from '../files/paths.ts';
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

/** One of several output files of a command, below its directory. */
export interface OutputFile {
  /** The names of its directories and of the file, which may come from an input. */
  readonly names: readonly string[];
  readonly content: string;
}

/** What a name in a path must not be or contain, whatever wrote it. */
const UNSAFE_NAME = /^(?:|\.|\.\.)$|[/\\:\p{Cc}]/u;

/**
 * Writes several files below the output directory of a command, for its caller alone. Names that leave the directory, links
 * in it, two files of one name, and files that exist already are refused before anything is written. Throws as
 * `writeOutputFile` does.
 *
 * @param replace overwrite files that exist
 * @returns the paths
 */
export function writeOutputFiles(
  directory: string,
  files: readonly OutputFile[],
  { replace: overwrites, option }: { readonly replace: boolean; readonly option: string },
): readonly string[] {
  const paths = new Map<string, OutputFile>();
  for (const file of files) {
    const path = join(directory, ...file.names);
    attempt(path, option, () => {
      if (file.names.some((name) => UNSAFE_NAME.test(name))) throw new UnsafePath(path, 'has an unsafe name');
      checkPlace(directory, file.names, overwrites);
    });
    // File systems that ignore case exist.
    const key = path.toLowerCase();
    if (paths.has(key)) throw notWritten(`two results have the name ${path}`, 'Convert their inputs separately.');
    paths.set(key, file);
  }
  makeOutputDirectory(directory, option);
  return files.map(({ names, content }) => {
    const path = join(directory, ...names);
    attempt(path, option, () => {
      using place = openPlace(path, { create: 0o700 });
      replace(place, content, overwrites);
    });
    return path;
  });
}

/** Below the directory there may be directories, and files that may be overwritten; no links, which lead elsewhere. */
function checkPlace(directory: string, names: readonly string[], overwrites: boolean): void {
  let path = directory;
  for (const [index, name] of names.entries()) {
    path = join(path, name);
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found === undefined) return;
    if (found.isSymbolicLink()) throw new UnsafePath(path, 'is a symbolic link');
    if (index < names.length - 1) continue;
    if (!found.isFile()) throw new UnsafePath(path, 'is not a regular file');
    if (!overwrites) throw notWritten(`${path} exists already`, 'Give --force to overwrite it.');
  }
}

function notWritten(summary: string, remedy: string): MachineadmError {
  return new MachineadmError({ reason: 'FileNotWritten', summary, remedy, exit: 'Refused' });
}

/** Creates the output directory of a command for its caller alone. Throws as `writeOutputFile` does. */
export function makeOutputDirectory(path: string, option: string): void {
  attempt(path, option, () => makeDirectories(path, 0o700));
}

/**
 *
 * @param overwrites false: fails with EEXIST if the file was created meanwhile
 */
function replace(place: Place, content: Uint8Array | string, overwrites = true): void {
  const fresh = place.beside(`.${basename(place.at)}.${process.pid}.new`);
  const descriptor = openSync(fresh, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
  try {
    writeFileSync(descriptor, content);
    fsyncSync(descriptor);
    if (overwrites) renameSync(fresh, place.at);
    else placeNew(fresh, place.at);
  } catch (error) {
    rmSync(fresh, { force: true });
    throw error;
  } finally {
    closeSync(descriptor);
  }
  place.flush();
}

/** link(2) never replaces a file; a file system without it has only this one writer. */
function placeNew(fresh: string, path: string): void {
  try {
    linkSync(fresh, path);
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') throw error;
    renameSync(fresh, path);
    return;
  }
  rmSync(fresh);
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
