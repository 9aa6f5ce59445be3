import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { fileDigest } from '../build/inputs.ts';

/** The entry of an archive in manifest.json. */
export interface ReleaseArtefact {
  readonly file: string;
  readonly os: string;
  readonly architecture: string;
  readonly compression: 'gzip' | 'xz';
  readonly size: number;
  readonly sha256: string;
  readonly program: { readonly size: number; readonly sha256: string };
}

/**
 * Compresses a binary twice: gzip is available on every machine, xz is a third smaller. The archives contain no name and no
 * time, so that they are reproducible.
 */
export async function archive(
  binary: string,
  directory: string,
  { version, os, architecture }: { readonly version: string; readonly os: string; readonly architecture: string },
): Promise<readonly ReleaseArtefact[]> {
  const name = `machineadm-${version}-${os}-${architecture}${basename(binary).endsWith('.exe') ? '.exe' : ''}`;
  const program = { size: (await stat(binary)).size, sha256: await digestOf(binary) };
  await pipeline(createReadStream(binary), createGzip({ level: 9 }), createWriteStream(join(directory, `${name}.gz`)));
  await xz(binary, join(directory, `${name}.xz`));
  const artefacts: ReleaseArtefact[] = [];
  for (const [extension, compression] of [
    ['gz', 'gzip'],
    ['xz', 'xz'],
  ] as const) {
    const file = `${name}.${extension}`;
    const path = join(directory, file);
    const [size, sha256] = [(await stat(path)).size, await digestOf(path)];
    artefacts.push({ file, os, architecture, compression, size, sha256, program });
  }
  return artefacts;
}

/** One thread: with several, the blocks of xz depend on their number. */
async function xz(from: string, to: string): Promise<void> {
  const child = spawn('xz', ['--compress', '--stdout', '--threads=1', '-6', from], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const closed = once(child, 'close');
  await pipeline(child.stdout, createWriteStream(to));
  const [status] = await closed;
  if (status !== 0) throw new Error(`xz ended with ${status}`);
}

/** The SHA-256 of a file in lower-case hex. Throws if the file cannot be read. */
export async function digestOf(path: string): Promise<string> {
  const digest = await fileDigest(path);
  if (digest === undefined) throw new Error(`${path} cannot be read`);
  return digest;
}
