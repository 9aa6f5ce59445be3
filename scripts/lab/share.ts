import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { mustRun } from './process.ts';

/** The directory name of a complete part in the cache: its name and the key of its recipe. */
const PART = /^[a-z]+(-[a-z]+)*-[0-9a-f]{12}$/;

/** Options that preserve numeric owners and extended attributes: a part contains root file systems. */
const PRESERVE_ATTRIBUTES = ['--numeric-owner', '--xattrs', '--xattrs-include=*'];

/**
 * Packs parts of the lab's cache into a file for another machine. The extension of the file name selects the compression
 * (`.tar.gz`, `.tar.zst`, `.tar`). The file gets its name only when it is complete.
 *
 * @param parts their directories
 */
export async function exportParts(parts: readonly string[], file: string): Promise<void> {
  const target = resolve(file);
  if (!/\.tar(\.[a-z0-9]+)?$/.test(target))
    throw new Error(`${file}: its name must end with .tar, .tar.gz or .tar.zst`);
  // In the same directory for rename(2), and with the same extension, by which tar selects the compression.
  const partial = join(dirname(target), `.partial-${process.pid}-${basename(target)}`);
  try {
    const members = parts.flatMap((part) => ['-C', dirname(resolve(part)), basename(part)]);
    await mustRun('tar', ['--auto-compress', ...PRESERVE_ATTRIBUTES, '-cf', partial, ...members], {
      timeoutMs: 30 * 60_000,
    });
    renameSync(partial, target);
  } finally {
    rmSync(partial, { force: true });
  }
}

/**
 * Imports the parts of such a file into the cache. Existing parts are not replaced. A truncated file, or one with other
 * content, changes nothing.
 *
 * @returns the names of the parts that are new
 */
export async function importParts(directory: string, file: string): Promise<string[]> {
  if (!existsSync(file)) throw new Error(`${file}: there is no such file`);
  mkdirSync(directory, { recursive: true });
  const work = mkdtempSync(join(directory, 'import.partial-'));
  try {
    // Unpacked into a temporary directory, because a directory with the name of a part counts as complete.
    await mustRun('tar', ['--same-owner', '-p', ...PRESERVE_ATTRIBUTES, '-xf', resolve(file), '-C', work], {
      timeoutMs: 30 * 60_000,
    });
    const names = readdirSync(work).sort();
    const foreign = names.find((name) => !PART.test(name));
    if (foreign !== undefined) throw new Error(`${file} holds ${foreign}: it was not made by npm run lab -- export`);
    const fresh = names.filter((name) => !existsSync(join(directory, name)));
    for (const name of fresh) renameSync(join(work, name), join(directory, name));
    return fresh;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
