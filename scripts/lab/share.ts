import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { mustRun } from './process.ts';

/** What the cache calls a part that is complete: a name, and the key of the recipe that made it. */
const PART = /^[a-z]+(-[a-z]+)*-[0-9a-f]{12}$/;

/** Owners, modes, devices and extended attributes as they are: a part holds whole root file systems. */
const AS_IT_IS = ['--numeric-owner', '--xattrs', '--xattrs-include=*'];

/**
 * Packs parts of the lab's cache into a file for another machine, compressed as the end of its name says (`.tar.gz`,
 * `.tar.zst`, `.tar`). The file appears under its name only when it is complete.
 *
 * @param parts their directories
 */
export async function exportParts(parts: readonly string[], file: string): Promise<void> {
  const target = resolve(file);
  if (!/\.tar(\.[a-z0-9]+)?$/.test(target))
    throw new Error(`${file}: its name must end with .tar, .tar.gz or .tar.zst`);
  // Beside it, with the same ending, by which tar chooses the compression.
  const partial = join(dirname(target), `.partial-${process.pid}-${basename(target)}`);
  try {
    const members = parts.flatMap((part) => ['-C', dirname(resolve(part)), basename(part)]);
    await mustRun('tar', ['--auto-compress', ...AS_IT_IS, '-cf', partial, ...members], { timeoutMs: 30 * 60_000 });
    renameSync(partial, target);
  } finally {
    rmSync(partial, { force: true });
  }
}

/**
 * Takes the parts of such a file into the cache. One that is there already stays; a file that is torn, or that holds
 * anything else, leaves nothing behind.
 *
 * @returns the names of the parts that are new
 */
export async function importParts(directory: string, file: string): Promise<string[]> {
  if (!existsSync(file)) throw new Error(`${file}: there is no such file`);
  mkdirSync(directory, { recursive: true });
  const work = mkdtempSync(join(directory, 'import.partial-'));
  try {
    // Unpacked aside: a part under its name counts as complete.
    await mustRun('tar', ['--same-owner', '-p', ...AS_IT_IS, '-xf', resolve(file), '-C', work], {
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
