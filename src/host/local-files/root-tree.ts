import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  realpathSync,
  type Stats,
} from 'node:fs';
import { join } from 'node:path/posix';
import { typeOf } from '../files/reading.ts';
import { PATH_OF_ROOT } from '../linux/environment.ts';
import type { FileStat } from '../seam/host.ts';

/** Upper limit for reading text: an image can contain files of any size. */
const LONGEST_TEXT = 16 * 1024 * 1024;
/** The kernel's limit of symbolic links in one path (path_resolution(7)). */
const MOST_LINKS = 40;

/** An entry of the tree and its resolved path. */
export interface TreeEntry extends FileStat {
  readonly path: string;
}

/**
 * The files of a Linux root, read-only: the running machine's (`/`), or those of an image that is mounted or unpacked
 * in a directory. Every symbolic link is resolved inside the root, as chroot(2) would do: an absolute link of an image
 * never leads to a file of the inspecting machine. Only regular files are opened; nothing is executed. No method throws
 * because of an image's contents: a missing, unreadable or unexpected entry is undefined.
 */
export class RootTree {
  readonly #root: string;
  readonly #ignoresCase: boolean;
  /**
   * Each entry and each directory is read once: an image does not change, and a machine is inspected at one point in
   * time.
   */
  readonly #found = new Map<string, Stats | undefined>();
  readonly #names = new Map<string, readonly string[]>();

  /**
   *
   * @param root the directory; throws the errno where it does not exist
   * @param ignoresCase compare names as Windows does, whatever the mounted file system does
   */
  constructor(root: string, ignoresCase = false) {
    this.#root = realpathSync(root);
    this.#ignoresCase = ignoresCase;
  }

  /** The entry at a path, with links followed. */
  stat(path: string): TreeEntry | undefined {
    return this.#locate(path, true);
  }

  /** The entry itself, even if it is a link. */
  lstat(path: string): TreeEntry | undefined {
    return this.#locate(path, false);
  }

  /** The target of a symbolic link, as stored. */
  linkTarget(path: string): string | undefined {
    const entry = this.lstat(path);
    return entry?.type === 'symlink' ? attempt(() => readlinkSync(join(this.#root, entry.path))) : undefined;
  }

  /** Names in a directory, sorted; empty where there is none. */
  list(path: string): readonly string[] {
    const entry = this.stat(path);
    if (entry?.type !== 'directory') return [];
    return this.#read(entry.path);
  }

  readText(path: string): string | undefined {
    const bytes = this.readRange(path, 0, LONGEST_TEXT);
    return bytes === undefined ? undefined : new TextDecoder().decode(bytes);
  }

  /** At most `length` bytes of a regular file from `position` on. */
  readRange(path: string, position: number, length: number): Uint8Array | undefined {
    const entry = this.stat(path);
    if (entry?.type !== 'file') return undefined;
    return attempt(() => {
      const descriptor = openSync(join(this.#root, entry.path), constants.O_RDONLY | constants.O_NOFOLLOW);
      try {
        return readUpTo(descriptor, position, length);
      } finally {
        closeSync(descriptor);
      }
    });
  }

  /** Finds a program on root's PATH, or checks an absolute path: an executable file. */
  which(program: string): string | undefined {
    const candidates = program.includes('/') ? [program] : PATH_OF_ROOT.map((directory) => join(directory, program));
    return candidates.find((path) => {
      const entry = this.stat(path);
      return entry?.type === 'file' && (entry.mode & 0o111) !== 0;
    });
  }

  #locate(path: string, follow: boolean): TreeEntry | undefined {
    const pending = path.split('/').filter((part) => part !== '' && part !== '.');
    let inside: string[] = [];
    let links = 0;
    let found = this.#lstat('/');
    while (found !== undefined) {
      const part = pending.shift();
      if (part === undefined) return entryOf(`/${inside.join('/')}`, found);
      if (!found.isDirectory()) return undefined;
      // The parent of the root is the root.
      const next = part === '..' ? inside.slice(0, -1) : [...inside, this.#spelled(inside, part)];
      found = this.#lstat(`/${next.join('/')}`);
      if (found?.isSymbolicLink() === true && (follow || pending.length > 0)) {
        const target = attempt(() => readlinkSync(join(this.#root, ...next)));
        links += 1;
        if (target === undefined || links > MOST_LINKS) return undefined;
        if (target.startsWith('/')) inside = [];
        pending.unshift(...target.split('/').filter((name) => name !== '' && name !== '.'));
        found = this.#lstat(`/${inside.join('/')}`);
      } else inside = next;
    }
    return undefined;
  }

  #spelled(inside: readonly string[], name: string): string {
    if (!this.#ignoresCase) return name;
    const names = this.#read(`/${inside.join('/')}`);
    return names.find((one) => one.toLowerCase() === name.toLowerCase()) ?? name;
  }

  #read(inside: string): readonly string[] {
    const known = this.#names.get(inside);
    if (known !== undefined) return known;
    const names = attempt(() => readdirSync(join(this.#root, inside)).sort()) ?? [];
    this.#names.set(inside, names);
    return names;
  }

  #lstat(inside: string): Stats | undefined {
    if (this.#found.has(inside)) return this.#found.get(inside);
    const found = attempt(() => lstatSync(join(this.#root, inside)));
    this.#found.set(inside, found);
    return found;
  }
}

function readUpTo(descriptor: number, position: number, length: number): Uint8Array {
  // Files of /proc report a size of 0.
  const size = fstatSync(descriptor).size;
  const bytes = new Uint8Array(size === 0 ? Math.min(length, 1 << 20) : Math.max(0, Math.min(length, size - position)));
  let filled = 0;
  while (filled < bytes.length) {
    const read = readSync(descriptor, bytes, filled, bytes.length - filled, position + filled);
    if (read === 0) break;
    filled += read;
  }
  return bytes.subarray(0, filled);
}

function entryOf(path: string, found: Stats): TreeEntry {
  return { path, type: typeOf(found), mode: found.mode & 0o7777, uid: found.uid, gid: found.gid, size: found.size };
}

function attempt<T>(action: () => T): T | undefined {
  try {
    return action();
  } catch {
    return undefined;
  }
}
