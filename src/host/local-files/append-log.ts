import {
  closeSync,
  constants,
  fdatasyncSync,
  fsyncSync,
  ftruncateSync,
  linkSync,
  lstatSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { basename } from 'node:path';
import { withoutChecksum } from '../files/checksum.ts';
import { FileError, fileError } from '../files/file-error.ts';
import { localPath } from './local-path.ts';
import { openPlace, type Place, requireRegular } from './place.ts';

/**
 * A file of lines that only grows, each durable before `append` returns: what it says has happened survives a kill or
 * a power cut. What is added with `appendLazily` survives a kill, and a power cut from the next `append` or `flush` on.
 * Synchronous on purpose: nothing may happen between deciding to do something and having said so.
 */
export interface AppendLog {
  /** The complete lines it held when it was opened. */
  readonly lines: readonly string[];
  append(line: string): void;
  /** For lines that come by the thousand: each flush of its own is a wait for the disk. */
  appendLazily(line: string): void;
  flush(): void;
  close(): void;
}

/** Opens the log, which must exist. A last line without its end was cut off by a crash and is dropped. */
export function openAppendLog(log: string): AppendLog {
  const path = localPath(log);
  try {
    using place = openPlace(path, { closed: true });
    return openAt(place);
  } catch (cause) {
    throw fileError('write', path, cause);
  }
}

/** What is opened to append cannot be cut on Windows (SetEndOfFile needs GENERIC_WRITE). */
const APPEND = process.platform === 'win32' ? constants.O_RDWR : constants.O_RDWR | constants.O_APPEND;

/** Read and written by one descriptor: what is continued is what was read. */
function openAt(place: Place): AppendLog {
  const descriptor = place.open(APPEND);
  try {
    requireRegular(descriptor, place.path);
    const bytes = readFileSync(descriptor);
    const { lines, length, unended } = linesOf(bytes);
    if (length < bytes.length) ftruncateSync(descriptor, length);
    const log = new OpenLog(place.path, descriptor, lines, length);
    if (unended !== undefined) log.append(unended);
    return log;
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}

export interface LogLines {
  /** The one without an end included, where it is whole. */
  readonly lines: readonly string[];
  /** Bytes of the lines that have an end. */
  readonly length: number;
  /** A last line whose checksum proves that nothing but its end is missing, or was damaged. */
  readonly unended?: string;
}

/**
 * Reads the bytes of a log. What was cut off may end within a character, so lines are counted in bytes. A power cut can
 * also leave the length of a file and not its content: such a last line holds zeros, a sector of them or what it has of one,
 * and was never promised to be there. A single zero is damage to what was.
 */
export function linesOf(bytes: Uint8Array): LogLines {
  const end = bytes.lastIndexOf(0x0a) + 1;
  const lastLine = bytes.subarray(0, Math.max(0, end - 1)).lastIndexOf(0x0a) + 1;
  const length = Buffer.from(bytes.subarray(lastLine, end)).includes('\0\0') ? lastLine : end;
  const text = (from: number, to: number): string => new TextDecoder().decode(bytes.subarray(from, to));
  const lines = length === 0 ? [] : text(0, length - 1).split('\n');
  const [unended] = /^.*"crc32":"[0-9a-f]{8}"\}/.exec(text(length, bytes.length)) ?? [];
  if (unended === undefined || withoutChecksum(unended) === undefined) return { lines, length };
  return { lines: [...lines, unended], length, unended };
}

class OpenLog implements AppendLog {
  readonly lines: readonly string[];
  readonly #path: string;
  readonly #descriptor: number;
  /** Bytes of complete lines. */
  #length: number;
  #isFlushed = true;
  /** Why nothing may be written any more. */
  #ended: Error | undefined;

  constructor(path: string, descriptor: number, lines: readonly string[], length: number) {
    this.#path = path;
    this.#descriptor = descriptor;
    this.lines = lines;
    this.#length = length;
  }

  append(line: string): void {
    this.#write(line, true);
  }

  appendLazily(line: string): void {
    this.#write(line, false);
  }

  flush(): void {
    if (this.#isFlushed) return;
    try {
      if (this.#ended !== undefined) throw this.#ended;
      fdatasyncSync(this.#descriptor);
      this.#isFlushed = true;
    } catch (cause) {
      throw new FileError('flush', this.#path, cause);
    }
  }

  #write(line: string, durable: boolean): void {
    const bytes = Buffer.from(`${line}\n`);
    try {
      if (this.#ended !== undefined) throw this.#ended;
      writeAll(this.#descriptor, bytes, this.#length);
      if (durable) fdatasyncSync(this.#descriptor);
      this.#isFlushed = durable;
      this.#length += bytes.length;
    } catch (cause) {
      this.#takeBack();
      throw new FileError('write', this.#path, cause);
    }
  }

  close(): void {
    if (this.#ended === undefined) closeSync(this.#descriptor);
    // The number of a closed descriptor soon belongs to another file.
    this.#ended ??= new Error('the log was closed');
  }

  /** A full disk takes a part of a line: the next line must not be joined to it. */
  #takeBack(): void {
    if (this.#ended !== undefined) return;
    try {
      ftruncateSync(this.#descriptor, this.#length);
    } catch (error) {
      this.close();
      this.#ended = new Error('an earlier write left a part of a line that could not be removed', { cause: error });
    }
  }
}

/**
 * Begins a new log with one line. What was there is kept under `archive`, or the first of `archive.2`, `archive.3`, …
 * that is free, and at no instant is there neither the old nor the new one.
 */
export function replaceLog(log: string, firstLine: string, archived: string | undefined): void {
  const path = localPath(log);
  try {
    using place = openPlace(path, { create: 0o755, closed: true });
    const fresh = place.beside(`${basename(path)}.new`);
    rmSync(fresh, { force: true });
    const descriptor = openSync(fresh, 'wx', 0o600);
    writeAll(descriptor, Buffer.from(`${firstLine}\n`));
    fsyncSync(descriptor);
    closeSync(descriptor);
    if (archived !== undefined) keepAs(place, localPath(archived));
    renameSync(fresh, place.at);
    place.flush();
  } catch (cause) {
    throw fileError('write', path, cause);
  }
}

/** Ends a log: its file is kept under `archive`, or the first free name of `archive.2`, `archive.3`, …. */
export function archiveLog(log: string, archive: string): void {
  const path = localPath(log);
  try {
    using place = openPlace(path, { closed: true });
    keepAs(place, localPath(archive));
    rmSync(place.at);
    place.flush();
  } catch (cause) {
    throw fileError('write', path, cause);
  }
}

/**
 * Gives a log a second name in its directory. A kill between the link and the renaming leaves both names on one file: then
 * it is kept already.
 */
function keepAs(place: Place, archive: string): void {
  const { dev, ino } = lstatSync(place.at);
  for (let number = 1; ; number += 1) {
    const name = place.beside(basename(number === 1 ? archive : `${archive}.${number}`));
    const there = lstatSync(name, { throwIfNoEntry: false });
    if (there?.dev === dev && there.ino === ino) return;
    if (there !== undefined) continue;
    linkSync(place.at, name);
    return;
  }
}

/** @param position of the first byte; a file that is opened to append has its own */
function writeAll(descriptor: number, bytes: Uint8Array, position: number | null = null): void {
  for (let written = 0; written < bytes.length; ) {
    const at = position === null ? null : position + written;
    written += writeSync(descriptor, bytes, written, bytes.length - written, at);
  }
}
