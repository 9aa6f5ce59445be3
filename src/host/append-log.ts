import {
  closeSync,
  existsSync,
  fdatasyncSync,
  fsyncSync,
  ftruncateSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { FileError } from './file-error.ts';

/**
 * A file of lines that only grows, each durable before `append` returns: what it says has happened survives a kill or
 * a power cut. Synchronous on purpose: nothing may happen between deciding to do something and having said so.
 */
export interface AppendLog {
  /** The complete lines it held when it was opened. */
  readonly lines: readonly string[];
  append(line: string): void;
  close(): void;
}

/** Opens the log, which must exist. A last line without its end was cut off by a crash and is dropped. */
export function openAppendLog(path: string): AppendLog {
  const text = readFileSync(path, 'utf8');
  const complete = text.slice(0, text.lastIndexOf('\n') + 1);
  const descriptor = openSync(path, 'a', 0o600);
  if (complete.length < text.length) ftruncateSync(descriptor, Buffer.byteLength(complete));
  return {
    lines: complete === '' ? [] : complete.slice(0, -1).split('\n'),
    append(line) {
      try {
        writeAll(descriptor, `${line}\n`);
        fdatasyncSync(descriptor);
      } catch (cause) {
        throw new FileError('write', path, cause);
      }
    },
    close() {
      closeSync(descriptor);
    },
  };
}

/**
 * Begins a new log with one line. What was there is kept under `archive`, and at no instant is there neither the old
 * nor the new one.
 */
export function replaceLog(path: string, firstLine: string, archive: string | undefined): void {
  const directory = dirname(path);
  const fresh = `${path}.new`;
  try {
    mkdirSync(directory, { recursive: true, mode: 0o755 });
    rmSync(fresh, { force: true });
    const descriptor = openSync(fresh, 'wx', 0o600);
    writeAll(descriptor, `${firstLine}\n`);
    fsyncSync(descriptor);
    closeSync(descriptor);
    if (archive !== undefined && !existsSync(archive)) linkSync(path, archive);
    renameSync(fresh, path);
    const parent = openSync(directory, 'r');
    fsyncSync(parent);
    closeSync(parent);
  } catch (cause) {
    throw new FileError('write', path, cause);
  }
}

function writeAll(descriptor: number, text: string): void {
  const bytes = Buffer.from(text);
  for (let written = 0; written < bytes.length; ) written += writeSync(descriptor, bytes, written);
}
