import {
  closeSync,
  fdatasyncSync,
  fsyncSync,
  ftruncateSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { FileError } from './file-error.ts';
import { localPath } from './local-path.ts';
import { makeOpenDirectory } from './open-directory.ts';

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
    const text = readFileSync(path, 'utf8');
    const complete = text.slice(0, text.lastIndexOf('\n') + 1);
    // What is opened to append cannot be cut on Windows (SetEndOfFile needs GENERIC_WRITE).
    const descriptor = openSync(path, process.platform === 'win32' ? 'r+' : 'a', 0o600);
    const length = Buffer.byteLength(complete);
    if (complete.length < text.length) ftruncateSync(descriptor, length);
    return new OpenLog(path, descriptor, complete === '' ? [] : complete.slice(0, -1).split('\n'), length);
  } catch (cause) {
    throw new FileError('write', path, cause);
  }
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
  const archive = archived === undefined ? undefined : localPath(archived);
  const directory = dirname(path);
  const fresh = `${path}.new`;
  try {
    makeOpenDirectory(directory);
    rmSync(fresh, { force: true });
    const descriptor = openSync(fresh, 'wx', 0o600);
    writeAll(descriptor, Buffer.from(`${firstLine}\n`));
    fsyncSync(descriptor);
    closeSync(descriptor);
    if (archive !== undefined) keepAs(path, archive);
    renameSync(fresh, path);
    flushDirectory(directory);
  } catch (cause) {
    throw new FileError('write', path, cause);
  }
}

/** Ends a log: what is there is kept under `archive`, or the first of `archive.2`, … that is free. */
export function archiveLog(log: string, archive: string): void {
  const path = localPath(log);
  try {
    keepAs(path, localPath(archive));
    rmSync(path);
    flushDirectory(dirname(path));
  } catch (cause) {
    throw new FileError('write', path, cause);
  }
}

/** A kill between the link and the renaming leaves both names on one file: then it is kept already. */
function keepAs(path: string, archive: string): void {
  const { dev, ino } = statSync(path);
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? archive : `${archive}.${number}`;
    const there = statSync(name, { throwIfNoEntry: false });
    if (there?.dev === dev && there.ino === ino) return;
    if (there !== undefined) continue;
    linkSync(path, name);
    return;
  }
}

/** The name itself survives a crash only then (fsync(2)). Windows cannot open a directory; NTFS journals its names. */
function flushDirectory(directory: string): void {
  if (process.platform === 'win32') return;
  const descriptor = openSync(directory, 'r');
  fsyncSync(descriptor);
  closeSync(descriptor);
}

/** @param position of the first byte; a file that is opened to append has its own */
function writeAll(descriptor: number, bytes: Uint8Array, position: number | null = null): void {
  for (let written = 0; written < bytes.length; ) {
    const at = position === null ? null : position + written;
    written += writeSync(descriptor, bytes, written, bytes.length - written, at);
  }
}
