import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The files that a binary is built from. */
const INPUT_FILES = ['scripts/build.ts', 'package.json', 'package-lock.json'];
const INPUT_DIRECTORIES = ['src', 'packages', 'contract/schema', 'contract/fields', 'scripts/build'];
export const INPUTS: readonly string[] = [...INPUT_FILES, ...INPUT_DIRECTORIES];

/** A digest of the names and contents of all inputs and of the given values. Equal digests mean equal binaries. */
export function inputsDigest(root: string, ...values: readonly string[]): string {
  const hash = createHash('sha256');
  for (const value of values) hash.update(`${value}\0`);
  const files = globSync([...INPUT_FILES, ...INPUT_DIRECTORIES.map((directory) => `${directory}/**/*`)], {
    cwd: root,
    withFileTypes: true,
  })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  for (const file of files) {
    const content = readFileSync(file);
    hash.update(`${file.slice(root.length)}\0${content.length}\0`).update(content);
  }
  return hash.digest('hex');
}

/** The commit that is checked out, with `-dirty` if an input differs from it; `unknown` outside a git checkout. */
export function gitCommit(root: string): string {
  const git = (...args: string[]): string =>
    execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  try {
    const commit = git('rev-parse', '--verify', 'HEAD');
    return git('status', '--porcelain', '--', ...INPUTS) === '' ? commit : `${commit}-dirty`;
  } catch {
    return 'unknown';
  }
}

/**
 * The time for all build outputs, in seconds since the epoch: SOURCE_DATE_EPOCH if it is set
 * (https://reproducible-builds.org/docs/source-date-epoch/), otherwise the time of the commit.
 */
export function commitTime(root: string): number {
  const given = process.env.SOURCE_DATE_EPOCH;
  return Number(given ?? execFileSync('git', ['show', '-s', '--format=%ct', 'HEAD'], { cwd: root, encoding: 'utf8' }));
}

/** Lower-case hex SHA-256 of a file; undefined when it cannot be read. */
export async function fileDigest(path: string): Promise<string | undefined> {
  const hash = createHash('sha256');
  try {
    for await (const piece of createReadStream(path)) hash.update(piece as Buffer);
  } catch {
    return undefined;
  }
  return hash.digest('hex');
}
