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
import { errnoOf, UnsafePath } from '../files/file-error.ts';
import { COMPONENT_FLAGS, closestKept, type Directory, keep, openRoot, procPath, release, use } from './directories.ts';
import { isClosed, isFixed, isTrusted, whyNotInto, whyNotThrough } from './directory-step.ts';

/** Whoever makes them first, for a file of his own below: every user passes them to reach what is for all. */
const FOR_ALL: ReadonlySet<string> = new Set(['/run/machineadm', '/var/lib/machineadm']);

/** As the kernel: MAXSYMLINKS. */
const MOST_LINKS = 40;

export interface WalkOptions {
  /** Makes missing directories on the way with this mode; absent: they are `ENOENT`. */
  readonly create?: number;
  /** Follows the last component, too, where it is a symbolic link. */
  readonly follow?: boolean;
}

/** One resolution of a path. `close` gives back what it opened and nothing else uses. */
export class Walk {
  readonly #path: string;
  readonly #options: WalkOptions;
  #directory: Directory;
  #pending: string[];
  /** The path of the open directory; undefined after the first link or `..`. */
  #plain: string | undefined;
  #links = 0;
  /** Whether all links that were followed are in directories whose paths are fixed. */
  #isFixed = true;

  constructor(path: string, options: WalkOptions) {
    this.#path = path.startsWith('/') ? path : `${process.cwd()}/${path}`;
    this.#options = options;
    const kept = closestKept(this.#path);
    this.#plain = kept?.[0] ?? '';
    this.#directory = kept === undefined ? openRoot() : use(kept[1]);
    this.#pending = namesOf(this.#path.slice(this.#plain.length));
  }

  /** The directory that is open now. */
  get directory(): Directory {
    return this.#directory;
  }

  /** Goes down to the directory of the last component, and returns that component. */
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
    // It takes over the walk's use of its parent.
    this.#directory = { descriptor, stat, parent, isFixed: isStillFixed, users: 1 };
    if (this.#plain !== undefined) {
      this.#plain = `${this.#plain}/${name}`;
      keep(this.#plain, this.#directory);
    }
    return true;
  }

  /** What the link says is read by name: only trusted users could have replaced a link that passes. */
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
   * Makes a directory. In one of an unprivileged user it is given to that user: it is part of his tree, and a directory of
   * root there could not be told from one that he has put there, and would be refused by the next run.
   */
  #make(name: string, mode: number): number {
    // Where no other user can enter it meanwhile it has its mode at once, so that a kill does not leave it narrower.
    const first = isClosed(this.#directory.stat) ? mode : mode & 0o700;
    try {
      mkdirSync(this.#at(name), { mode: first });
    } catch (error) {
      // Another process was faster: what is there is checked as if it had been there before.
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
   * Gives a directory that was just made its owner and mode. If it was exchanged meanwhile, it is left as it is and checked
   * as if it had been there before; so is every directory that has something in it, which may be one of root's.
   */
  #giveAway(descriptor: number, mode: number): void {
    const parent = this.#directory.stat;
    const made = procPath(descriptor);
    const found = fstatSync(descriptor);
    if (!found.isDirectory() || found.uid !== process.geteuid?.()) return;
    if (!isFixed(parent, found) && readdirSync(made).length > 0) return;
    if (!isTrusted(parent.uid)) chownSync(made, parent.uid, parent.gid);
    // Ours since this moment, and not yet open to anybody: the umask cannot widen or narrow what was asked for.
    chmodSync(made, mode);
  }

  #unsafe(name: string, why: string): UnsafePath {
    return new UnsafePath(`${pathOf(this.#directory)}/${name}`, why);
  }
}

/** Where a directory is now, for messages. */
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

function errno(code: string, what: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${what}, '${path}'`), { code });
}
