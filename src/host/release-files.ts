import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { MachineadmError } from '../document/errors.ts';
import { errnoOf, FileError } from './file-error.ts';

// Beside `Host`, because releases are verified and mirrored on machines that this program does not prepare, Windows among them.

/** What a file is, in the terms of a release. */
export interface FileIdentity {
  /** Lower-case hex. */
  readonly sha256: string;
  readonly size: number;
}

/** The bytes of a file of at most `limit`; undefined when it does not exist. Throws `FileError`, and `tooLarge()`. */
export async function readSmallFile(
  path: string,
  limit: number,
  tooLarge: () => MachineadmError,
): Promise<Uint8Array | undefined> {
  try {
    if ((await stat(path)).size > limit) throw tooLarge();
    return await readFile(path);
  } catch (error) {
    if (error instanceof MachineadmError) throw error;
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw new FileError('read', path, error);
  }
}

/** Names in a directory, sorted; none when it does not exist. Throws `FileError`. */
export async function namesIn(directory: string): Promise<readonly string[]> {
  try {
    return (await readdir(directory)).sort();
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return [];
    throw new FileError('read', directory, error);
  }
}

/** True where somebody else than root and the one who runs this could have written the file. */
export async function othersMayWrite(path: string): Promise<boolean> {
  if (process.platform === 'win32') return false;
  const { mode, uid } = await stat(path);
  return (mode & 0o022) !== 0 || (uid !== 0 && uid !== process.geteuid?.());
}

/** Whether there is a file of this name. */
export async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}

/** The bytes of a file in pieces. Errors come out of the iteration, as `FileError`. */
export async function* piecesOf(path: string): AsyncGenerator<Uint8Array> {
  try {
    for await (const piece of createReadStream(path, { highWaterMark: 1 << 20 })) yield piece as Uint8Array;
  } catch (error) {
    throw new FileError('read', path, error);
  }
}

/** Digest and size of a file; undefined when it does not exist. Throws `FileError`. */
export async function identify(path: string): Promise<FileIdentity | undefined> {
  const hash = createHash('sha256');
  let size = 0;
  try {
    for await (const piece of createReadStream(path, { highWaterMark: 1 << 20 })) {
      hash.update(piece as Uint8Array);
      size += (piece as Uint8Array).length;
    }
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw new FileError('read', path, error);
  }
  return { sha256: hash.digest('hex'), size };
}

/**
 * Puts what comes into its place once `accept` has not thrown at its digest and size: born exclusively and for nobody
 * else, flushed, renamed. What lies there then is read again: if it is not what was accepted, somebody else wrote in
 * between, and it is removed. Throws `FileError`, `VerifiedFileChanged`, and what `accept` and the content throw.
 */
export async function placeVerified(
  path: string,
  content: AsyncIterable<Uint8Array>,
  accept: (found: FileIdentity) => void,
  mode = 0o644,
): Promise<FileIdentity> {
  const directory = dirname(path);
  const temporary = join(directory, `.${basename(path)}.${randomUUID()}`);
  try {
    await mkdir(directory, { recursive: true });
    const found = await fill(temporary, content, mode);
    accept(found);
    await rename(temporary, path);
    await flushDirectory(directory);
    if ((await identify(path))?.sha256 === found.sha256) return found;
    await rm(path, { force: true });
    throw new MachineadmError({
      reason: 'VerifiedFileChanged',
      summary: `${path} was changed by somebody else after it was verified; it was removed`,
      remedy: `Find out who writes to ${directory}, and let only root do so; then run this again.`,
      evidence: [{ source: path, text: `it was verified with the SHA-256 ${found.sha256}` }],
    });
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    if (error instanceof MachineadmError) throw error;
    throw new FileError('write', path, error);
  }
}

async function fill(temporary: string, content: AsyncIterable<Uint8Array>, mode: number): Promise<FileIdentity> {
  const hash = createHash('sha256');
  let size = 0;
  await using file = await open(temporary, 'wx', 0o600);
  for await (const piece of content) {
    hash.update(piece);
    size += piece.length;
    await file.writeFile(piece);
  }
  await file.chmod(mode);
  await file.sync();
  return { sha256: hash.digest('hex'), size };
}

/** The rename itself survives a crash only then (rename(2), fsync(2)). Windows cannot open a directory. */
async function flushDirectory(directory: string): Promise<void> {
  if (process.platform === 'win32') return;
  await using handle = await open(directory, 'r');
  await handle.sync();
}
