import {
  chmodSync,
  chownSync,
  closeSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  type Stats,
} from 'node:fs';
import { RUN_DIRECTORY, STATE_DIRECTORY } from '@machineadm/document/ownership/paths.ts';
import { errnoOf, UnsafePath } from '../files/file-error.ts';
import { COMPONENT_FLAGS, closestKept, type Directory, keep, openRoot, procPath, release, use } from './directories.ts';
import { isClosed, isFixed, isTrusted, whyNotInto, whyNotThrough } from './directory-step.ts';

/** World-readable whichever file creates them first: all users pass through them to reach public files. */
const FOR_ALL: ReadonlySet<string> = new Set([RUN_DIRECTORY, STATE_DIRECTORY]);

/** As the kernel: MAXSYMLINKS. */
const MOST_LINKS = 40;

export interface WalkOptions {
  /** Creates missing directories on the way with this mode; absent: they are `ENOENT`. */
  readonly create?: number;
  /** Also follows the last component, where it is a symbolic link. */
  readonly follow?: boolean;
}

/** One resolution of a path. `close` releases what it has opened unless something else uses it. */
export class Walk {
  readonly #path: string;
  readonly #options: WalkOptions;
  #directory: Directory;
  #pending: string[];
  /** The path of the open directory; undefined after the first link or `..`. */
  #plain: string | undefined;
  #links = 0;
  /** Whether all followed links are in directories whose paths only trusted users can change. */
  #isFixed = true;

  constructor(path: string, options: WalkOptions) {
    this.#path = path.startsWith('/') ? path : `${process.cwd()}/${path}`;
    this.#options = options;
    const kept = closestKept(this.#path);
    this.#plain = kept?.[0] ?? '';
    this.#directory = kept === undefined ? openRoot() : use(kept[1]);
    this.#pending = namesOf(this.#path.slice(this.#plain.length));
  }

  /** The current directory of the walk. */
  get directory(): Directory {
    return this.#directory;
  }

  /** Descends to the directory of the last component, and returns that component. */
  toLast(): string {
    for (;;) {
      const name = this.#pending.shift() ?? '.';
      const isLast = this.#pending.length === 0;
      if (name === '..') this.#up();
      if (isLast && !isName(name)) return '.';
      if (!isName(name)) continue;
      if (isLast && !(this.#options.follow === true && isLink(this.#directory, name))) {
        return name;
      }
      this.#step(name);
    }
  }

  close(): void {
    release(this.#directory);
  }

  #goTo(directory: Directory): void {
    const left = this.#directory;
    this.#directory = directory;
    release(left);
  }

  #at(name: string): string {
    return `${procPath(this.#directory.descriptor)}/${name}`;
  }

  #up(): void {
    this.#plain = undefined;
    const { parent } = this.#directory;
    if (parent !== undefined) this.#goTo(use(parent));
  }

  #step(name: string): void {
    const descriptor = this.#openOrMake(name);
    let isEntered = false;
    try {
      const stat = fstatSync(descriptor);
      if (stat.isSymbolicLink()) this.#follow(name, stat);
      else isEntered = this.#enter(name, descriptor, stat);
    } finally {
      if (!isEntered) closeSync(descriptor);
    }
  }

  #openOrMake(name: string): number {
    try {
      return openSync(this.#at(name), COMPONENT_FLAGS);
    } catch (error) {
      const { create } = this.#options;
      if (create === undefined || errnoOf(error) !== 'ENOENT') throw error;
      return this.#make(name, FOR_ALL.has(`${this.#plain}/${name}`) ? 0o755 : create);
    }
  }

  #enter(name: string, descriptor: number, stat: Stats): true {
    if (!stat.isDirectory()) throw errno('ENOTDIR', 'not a directory', this.#path);
    const parent = this.#directory;
    const why = whyNotInto(parent.stat, stat);
    if (why !== undefined) throw this.#unsafe(name, why);
    const isStillFixed = this.#isFixed && parent.isFixed && isFixed(parent.stat, stat);
    // Takes over the walk's reference to its parent.
    this.#directory = { descriptor, stat, parent, isFixed: isStillFixed, users: 1 };
    if (this.#plain !== undefined) {
      this.#plain = `${this.#plain}/${name}`;
      keep(this.#plain, this.#directory);
    }
    return true;
  }

  /** The target of the link is read by name: only trusted users could have replaced an accepted link. */
  #follow(name: string, link: Stats): void {
    this.#links += 1;
    if (this.#links > MOST_LINKS) throw errno('ELOOP', 'too many symbolic links', this.#path);
    const why = whyNotThrough(this.#directory.stat, link);
    if (why !== undefined) throw this.#unsafe(name, why);
    this.#plain = undefined;
    this.#isFixed &&= this.#directory.isFixed;
    const target = readlinkSync(this.#at(name));
    if (target.startsWith('/')) this.#goTo(openRoot());
    this.#pending = [...namesOf(target), ...this.#pending];
  }

  /**
   * Creates a directory. Inside a directory of an unprivileged user it is given to that user: it is part of the user's
   * tree, and the next run would refuse a directory of root there, because the user could have put it there.
   */
  #make(name: string, mode: number): number {
    // Where no other user can enter it in the meantime it gets its final mode at once, so that a kill does not leave a
    // narrower one.
    const first = isClosed(this.#directory.stat) ? mode : mode & 0o700;
    try {
      mkdirSync(this.#at(name), { mode: first });
    } catch (error) {
      // Another process was faster: the existing entry is checked like any other.
      if (errnoOf(error) !== 'EEXIST') throw error;
      return openSync(this.#at(name), COMPONENT_FLAGS);
    }
    const descriptor = openSync(this.#at(name), COMPONENT_FLAGS);
    try {
      this.#giveAway(descriptor, mode);
      return descriptor;
    } catch (error) {
      closeSync(descriptor);
      throw error;
    }
  }

  /**
   * Sets the owner and mode of a new directory. If it was exchanged in the meantime, or contains something, it is left
   * as it is and checked like an existing one.
   */
  #giveAway(descriptor: number, mode: number): void {
    const parent = this.#directory.stat;
    const made = procPath(descriptor);
    const found = fstatSync(descriptor);
    if (!found.isDirectory() || found.uid !== process.geteuid?.()) return;
    if (!isFixed(parent, found) && readdirSync(made).length > 0) return;
    if (!isTrusted(parent.uid)) chownSync(made, parent.uid, parent.gid);
    // Created by this call, and not accessible to others yet: the umask cannot change the requested mode.
    chmodSync(made, mode);
  }

  #unsafe(name: string, why: string): UnsafePath {
    return new UnsafePath(`${pathOf(this.#directory)}/${name}`, why);
  }
}

/** The current path of a directory, for messages. */
function pathOf({ descriptor }: Directory): string {
  const path = readlinkSync(procPath(descriptor));
  return path === '/' ? '' : path;
}

function isLink(directory: Directory, name: string): boolean {
  const found = lstatSync(`${procPath(directory.descriptor)}/${name}`, { throwIfNoEntry: false });
  return found?.isSymbolicLink() === true;
}

function namesOf(path: string): string[] {
  return path.split('/').filter((name) => name !== '');
}

export function isName(name: string): boolean {
  return name !== '' && name !== '.' && name !== '..';
}

export function errno(code: string, what: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${what}, '${path}'`), { code });
}
