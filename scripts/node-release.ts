import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempDisposableSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { listedDigests, NODE_RELEASE, type PublishedPrograms, SIGNED_LIST, verifyList } from './build/node-release.ts';
import { TARGETS } from './build/runtime.ts';

const root = resolve(import.meta.dirname, '..');

/*
 * `npm run node-release`: takes the signed list of the pinned Node from nodejs.org, verifies its signature with the keys in
 * the repository and the archives with the list, and records the digests of the programs in them. A build refuses others.
 * A new signer needs his key from https://github.com/nodejs/release-keys in `scripts/build/node-release`.
 */
const { values } = parseArgs({ options: { from: { type: 'string', default: 'https://nodejs.org/dist' } } });
const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
const version: string = lock.packages[`node_modules/${TARGETS[0]?.package}`].version;

async function get(file: string): Promise<Buffer> {
  const url = `${values.from}/v${version}/${file}`;
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${url}: HTTP ${answer.status}`);
  return Buffer.from(await answer.arrayBuffer());
}

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

using work = mkdtempDisposableSync(join(tmpdir(), 'machineadm-node-release-'));
const list = await get(SIGNED_LIST);
writeFileSync(join(work.path, SIGNED_LIST), list);
verifyList(join(work.path, SIGNED_LIST));

const digests = listedDigests(list.toString('utf8'));
const programs: Record<string, PublishedPrograms['programs'][string]> = {};
for (const { package: name, platform, architecture } of TARGETS) {
  const file = platform === 'win32' ? `win-${architecture}/node.exe` : `node-v${version}-linux-${architecture}.tar.gz`;
  const bytes = await get(file);
  if (digests.get(file) !== sha256(bytes)) throw new Error(`${file} is not the file that the signed list names`);
  const member = `${file.replace(/\.tar\.gz$/, '')}/bin/node`;
  const program =
    platform === 'win32'
      ? bytes
      : execFileSync('tar', ['-xzO', member], { input: bytes, maxBuffer: 512 * 1024 * 1024 });
  programs[name] = { file, sha256: sha256(program) };
}
writeFileSync(join(NODE_RELEASE, SIGNED_LIST), list);
writeFileSync(join(NODE_RELEASE, 'programs.json'), `${JSON.stringify({ version, programs }, undefined, 2)}\n`);
