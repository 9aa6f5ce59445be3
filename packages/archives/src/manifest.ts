import { createHash } from 'node:crypto';
import { posix } from 'node:path';
import { membersOf } from './archive.ts';
import type { Member } from './member.ts';
import type { StoredBytes } from './stored-bytes.ts';

export interface Selection {
  /** The one member that is taken, by its name in the archive; what it becomes has the path ''. */
  readonly member?: string | undefined;
  /** Patterns of paths; undefined: all of them. `*` is any text without a slash, `**` any text. */
  readonly include?: readonly string[] | undefined;
  readonly exclude: readonly string[];
  /** How many leading directories are removed from names. Members with fewer are left out. */
  readonly stripComponents: number;
  /** Whether a file may have the bits for setuid, setgid and sticky, because the caller gives it another mode. */
  readonly ignoresModes?: boolean;
}

/** Something that unpacking makes, by its path below the directory: directories first, links last. */
export type ManifestEntry =
  | { readonly path: string; readonly type: 'directory' }
  | {
      readonly path: string;
      readonly type: 'file';
      readonly size: number;
      readonly mode: number;
      /** Lower-case hex. */
      readonly sha256: string;
    }
  | { readonly path: string; readonly type: 'symlink'; readonly target: string };

type FileEntry = Extract<ManifestEntry, { readonly type: 'file' }>;

export interface Limits {
  /** Of the archive. */
  readonly members: number;
  readonly entries: number;
  /** Of all contents together, taken or not: what is left out must be decompressed, too. */
  readonly bytes: number;
}

export const LIMITS: Limits = { members: 100_000, entries: 10_000, bytes: 4 * 1024 ** 3 };

/** The archive can be read, and is not unpacked: why. */
export class ArchiveRefusal extends Error {}

/**
 * What unpacking an archive makes, with the digests of all contents. The whole archive is read and every member judged, so
 * that nothing is written of one that holds something it must not. Throws `ArchiveRefusal`, and what `membersOf` throws.
 */
export async function manifestOf(
  stored: StoredBytes,
  selection: Selection,
  limits: Limits = LIMITS,
): Promise<readonly ManifestEntry[]> {
  const found = new Map<string, ManifestEntry>();
  const names: string[] = [];
  let bytes = 0;
  for await (const member of membersOf(stored)) {
    const name = safeName(member.name);
    names.push(name);
    bytes += member.size;
    if (names.length > limits.members) throw new ArchiveRefusal(`it has more than ${limits.members} members`);
    if (bytes > limits.bytes) throw new ArchiveRefusal(`its contents have more than ${limits.bytes} bytes`);
    const path = name === '' ? undefined : selectedPath(name, selection);
    if (path === undefined) continue;
    const key = sameName(path);
    const other = found.get(key);
    if (other !== undefined && (other.path !== path || other.type !== 'directory' || member.type !== 'directory')) {
      throw new ArchiveRefusal(`${name}: another member is called ${other.path}, which may be the same file`);
    }
    found.set(key, await entryOf(member, name, path, selection));
    if (found.size > limits.entries) throw new ArchiveRefusal(`more than ${limits.entries} members are taken of it`);
  }
  const entries = [...found.values()];
  requireNothingBelowFiles(found);
  requireAll(selection, entries, names);
  const order = ['directory', 'file', 'symlink'];
  return entries.toSorted((a, b) => order.indexOf(a.type) - order.indexOf(b.type) || (a.path < b.path ? -1 : 1));
}

/**
 * The contents of some of the files of a manifest, in the order of the archive. Each must be read before the next. It throws
 * `RangeError` at its end where it is not what the manifest says.
 */
export async function* contentsOf(
  stored: StoredBytes,
  selection: Selection,
  wanted: ReadonlyMap<string, FileEntry>,
): AsyncGenerator<{ readonly entry: FileEntry; readonly content: AsyncIterable<Uint8Array> }, void> {
  for await (const member of membersOf(stored)) {
    const name = safeName(member.name);
    const path = name === '' ? undefined : selectedPath(name, selection);
    const entry = path === undefined || member.type !== 'file' ? undefined : wanted.get(path);
    if (entry !== undefined) yield { entry, content: verified(member, entry) };
  }
}

async function* verified(member: Member, { sha256, size }: FileEntry): AsyncGenerator<Uint8Array, void> {
  const digest = createHash('sha256');
  let length = 0;
  for await (const piece of member.content()) {
    length += piece.length;
    if (length > size) break;
    digest.update(piece);
    yield piece;
  }
  if (length !== size || digest.digest('hex') !== sha256) throw new RangeError('the archive changed while it was read');
}

/** The name without what means nothing. '' is the directory itself. */
function safeName(name: string): string {
  const parts = name.split('/').filter((part) => part !== '' && part !== '.');
  const plain = parts.join('/');
  const refuse = (why: string): never => {
    throw new ArchiveRefusal(`${JSON.stringify(name)} ${why}`);
  };
  if (name.startsWith('/')) refuse('is an absolute path');
  if (parts.includes('..')) refuse('leads out of the directory');
  if (/[\p{Cc}\uFFFD]/u.test(name)) refuse('is not a valid name');
  if (parts.some((part) => Buffer.byteLength(part) > 255) || Buffer.byteLength(plain) > 2048) refuse('is too long');
  return plain;
}

/** Whether an archive may have a member that is unpacked to this path, by what is selected of it. */
export function maySelect(selection: Selection, path: string): boolean {
  return selectedPath(`${'x/'.repeat(selection.stripComponents)}${path}`, selection) === path;
}

function selectedPath(name: string, selection: Selection): string | undefined {
  const { member, include, exclude, stripComponents } = selection;
  if (member !== undefined) return name === safeName(member) ? '' : undefined;
  const path = name.split('/').slice(stripComponents).join('/');
  const isOneOf = (patterns: readonly string[]) => patterns.some((pattern) => matches(pattern, path));
  return path === '' || (include !== undefined && !isOneOf(include)) || isOneOf(exclude) ? undefined : path;
}

function matches(pattern: string, path: string): boolean {
  const parts = pattern.split(/(\*+)/).map((part) => {
    if (part.startsWith('*')) return part.length > 1 ? '.*' : '[^/]*';
    return part.replace(/[\\^$.|?+()[\]{}]/g, '\\$&');
  });
  return new RegExp(`^${parts.join('')}$`, 's').test(path);
}

async function entryOf(member: Member, name: string, path: string, selection: Selection): Promise<ManifestEntry> {
  const { type, mode, target } = member;
  if (type === 'hardlink') throw new ArchiveRefusal(`${name} is a hard link`);
  if (type === 'other')
    throw new ArchiveRefusal(`${name} is a device, a FIFO or something else that is not a regular file`);
  if (path === '' && type !== 'file') throw new ArchiveRefusal(`${name} is no file`);
  if (type === 'directory') return { path, type };
  if (type === 'symlink') {
    const place = posix.join(posix.dirname(path), target);
    if (target === '' || target.startsWith('/') || place === '..' || place.startsWith('../')) {
      throw new ArchiveRefusal(`${name} is a link to ${JSON.stringify(target)}, out of the directory`);
    }
    if (/[\p{Cc}\uFFFD]/u.test(target)) throw new ArchiveRefusal(`${name} is a link whose target is not a valid name`);
    return { path, type, target };
  }
  if ((mode & 0o7000) !== 0 && selection.ignoresModes !== true) {
    throw new ArchiveRefusal(`${name} has the mode ${mode.toString(8)}, with a bit for setuid, setgid or sticky`);
  }
  const digest = createHash('sha256');
  let size = 0;
  for await (const piece of member.content()) {
    size += piece.length;
    digest.update(piece);
  }
  // As with a umask of 022; archives of Windows have no modes.
  return { path, type, size, mode: mode & 0o777 & ~0o022 || 0o644, sha256: digest.digest('hex') };
}

/** One name for what is one file where case, or the way in which letters are composed, makes no difference. */
function sameName(path: string): string {
  return path.normalize('NFC').toLowerCase();
}

function requireNothingBelowFiles(found: ReadonlyMap<string, ManifestEntry>): void {
  for (const { path } of found.values()) {
    for (let above = posix.dirname(path); above !== '.'; above = posix.dirname(above)) {
      const other = found.get(sameName(above));
      if (other === undefined || (other.type === 'directory' && other.path === above)) continue;
      throw new ArchiveRefusal(`${path} is below ${other.path}, which is a ${other.type}`);
    }
  }
}

/** Whatever the selection names must be there. */
function requireAll(selection: Selection, entries: readonly ManifestEntry[], names: readonly string[]): void {
  const { member, include } = selection;
  const shown = names.filter((name) => name !== '').slice(0, 5);
  const holds = shown.length === 0 ? 'it is empty' : `it holds ${shown.join(', ')}${names.length > 5 ? ', …' : ''}`;
  if (member !== undefined && entries.length === 0) throw new ArchiveRefusal(`it has no member ${member}: ${holds}`);
  for (const pattern of include ?? []) {
    const some = entries.filter(({ path }) => matches(pattern, path));
    if (some.length === 0) throw new ArchiveRefusal(`no member is called ${pattern}: ${holds}`);
    if (some.every(({ type }) => type === 'directory')) {
      throw new ArchiveRefusal(`${pattern} is a directory: ${pattern}/** is all that is in it`);
    }
  }
  if (entries.length === 0) throw new ArchiveRefusal(`it has no member that is selected: ${holds}`);
}
