import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { open, readdir } from 'node:fs/promises';
import { win32 } from 'node:path';
import { digestOf, openedFile, readPiece, typeOf, unlessAbsent } from '../files/reading.ts';
import type { QueryHost } from '../seam/host.ts';
import { PATH_OF_SYSTEM, windowsPath } from './paths.ts';
import type { Security } from './security.ts';
import { modeOf, ownerOf } from './security-descriptor.ts';
import type { WindowsSystem } from './system.ts';

type FileQueries = Pick<
  QueryHost,
  'readFile' | 'readText' | 'readRange' | 'openFile' | 'stat' | 'list' | 'sha256' | 'which'
>;

/** Queries about files. Paths may have a drive or not (`windowsPath`). */
export function fileQueries(system: WindowsSystem, security: Security): FileQueries {
  const at = (path: string): string => system.native(windowsPath(path));

  const readFile = (path: string): Promise<Uint8Array | undefined> =>
    unlessAbsent(path, async () => readFileSync(at(path)));

  return {
    readFile,

    async readText(path) {
      const bytes = await readFile(path);
      return bytes === undefined ? undefined : new TextDecoder().decode(bytes);
    },

    readRange: (path, position, length) =>
      unlessAbsent(path, async () => {
        await using file = await open(at(path));
        return await readPiece(file, position, length);
      }),

    openFile: (path) => unlessAbsent(path, async () => openedFile(await open(at(path)))),

    stat: (path) =>
      unlessAbsent(path, async () => {
        const found = lstatSync(at(path), { throwIfNoEntry: false });
        if (found === undefined) return undefined;
        const type = typeOf(found);
        const kind = type === 'directory' ? 'directory' : 'file';
        const windows = windowsPath(path);
        const near = () => (kind === 'file' ? filesBeside(at, win32.dirname(windows)) : above(windows));
        const descriptor = (await security.read(windows, near)) ?? '';
        return {
          type,
          mode: modeOf(descriptor, kind),
          uid: ownerOf(descriptor),
          gid: 0,
          size: found.size,
        };
      }),

    list: (path) => unlessAbsent(path, async () => (await readdir(at(path))).sort()),

    sha256: (path) =>
      unlessAbsent(path, async () => {
        await using file = await open(at(path));
        return await digestOf(file);
      }),

    which: async (program) => findProgram(system, program),
  };
}

/** The absolute Windows path of a program, by its name with or without `.exe`; undefined if there is none. */
export function findProgram(system: WindowsSystem, program: string): string | undefined {
  const file = /\.(exe|cmd|bat)$/i.test(program) ? program : `${program}.exe`;
  const candidates = /[\\/]/.test(file)
    ? [windowsPath(file)]
    : PATH_OF_SYSTEM.map((directory) => `${directory}\\${file}`);
  return candidates.find((candidate) => {
    try {
      return lstatSync(system.native(candidate), { throwIfNoEntry: false })?.isFile() === true;
    } catch {
      return false;
    }
  });
}

/** A file is usually queried together with its directories: one start of PowerShell serves all. */
function filesBeside(at: (path: string) => string, directory: string): readonly string[] {
  try {
    return readdirSync(at(directory), { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => win32.join(directory, name));
  } catch {
    return [];
  }
}

function above(path: string): readonly string[] {
  const parent = win32.dirname(path);
  return parent === path ? [] : [parent, ...above(parent)];
}
