import { createHash } from 'node:crypto';
import { pathGlob } from '@machineadm/document/text/glob.ts';
import { membersOf } from './archive.ts';
import { linkFollower } from './links.ts';
import { ArchiveRefusal, type Member } from './member.ts';
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
  /** Of everything that is read: headers, contents that are not selected and padding must be decompressed, too. */
  readonly bytes: number;
  /** Stops the work when the run ends. */
  readonly signal?: AbortSignal | undefined;
}

/** So many names of an archive are quoted where it has none that is wanted. */
const MOST_NAMES = 5;
/** Every access to a file opens each directory of its path, so the work grows with the depth of the names. */
const DEEPEST = 100;
/** In bytes. */
const LONGEST_NAME = 2048;
/** In bytes, the limit of Linux for a path (PATH_MAX). */
const LONGEST_TARGET = 4096;

export const LIMITS: Limits = { members: 100_000, entries: 10_000, bytes: 4 * 1024 ** 3 };

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
  const select = selector(selection);
  const names: string[] = [];
  let members = 0;
  for await (const member of membersOf(stored, limits)) {
    const name = safeName(member.name);
    members += 1;
    if (members > limits.members) throw new ArchiveRefusal(`it has more than ${limits.members} members`);
    if (name !== '' && names.length <= MOST_NAMES) names.push(name);
    const path = name === '' ? undefined : select(name);
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
  await requireLinksInside(found);
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
  limits: Limits = LIMITS,
): AsyncGenerator<{ readonly entry: FileEntry; readonly content: AsyncIterable<Uint8Array> }, void> {
  const select = selector(selection);
  for await (const member of membersOf(stored, limits)) {
    const name = safeName(member.name);
    const path = name === '' ? undefined : select(name);
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
  if (parts.length > DEEPEST) refuse(`is below more than ${DEEPEST - 1} directories`);
  if (parts.some((part) => Buffer.byteLength(part) > 255) || Buffer.byteLength(plain) > LONGEST_NAME)
    refuse('is too long');
  return plain;
}

/** Whether an archive may have a member that is unpacked to this path, by what is selected of it. */
export function maySelect(selection: Selection, path: string): boolean {
  return selector(selection)(`${'x/'.repeat(selection.stripComponents)}${path}`) === path;
}

/** The path to which a member of this name is unpacked; undefined where it is not selected. */
function selector({ member, include, exclude, stripComponents }: Selection): (name: string) => string | undefined {
  if (member !== undefined) {
    const only = safeName(member);
    return (name) => (name === only ? '' : undefined);
  }
  const [included, excluded] = [include?.map(pathGlob), exclude.map(pathGlob)];
  return (name) => {
    const path = name.split('/').slice(stripComponents).join('/');
    if (path === '' || excluded.some((glob) => glob.matches(path))) return undefined;
    return included === undefined || included.some((glob) => glob.matches(path)) ? path : undefined;
  };
}

async function entryOf(member: Member, name: string, path: string, selection: Selection): Promise<ManifestEntry> {
  const { type, mode, target } = member;
  if (type === 'hardlink') throw new ArchiveRefusal(`${name} is a hard link`);
  if (type === 'other')
    throw new ArchiveRefusal(`${name} is a device, a FIFO or something else that is not a regular file`);
  if (path === '' && type !== 'file') throw new ArchiveRefusal(`${name} is no file`);
  if (type === 'directory') return { path, type };
  if (type === 'symlink') {
    if (target === '') throw new ArchiveRefusal(`${name} is a link without a target`);
    if (Buffer.byteLength(target) >= LONGEST_TARGET)
      throw new ArchiveRefusal(`${name} is a link to a path that is too long`);
    if (/[\p{Cc}\uFFFD]/u.test(target)) throw new ArchiveRefusal(`${name} is a link whose target is not a valid name`);
    return { path, type, target };
  }
  if (mode !== undefined && (mode & 0o7000) !== 0 && selection.ignoresModes !== true) {
    throw new ArchiveRefusal(`${name} has the mode ${mode.toString(8)}, with a bit for setuid, setgid or sticky`);
  }
  const digest = createHash('sha256');
  let size = 0;
  for await (const piece of member.content()) {
    size += piece.length;
    digest.update(piece);
  }
  // As with a umask of 022. A file that nobody may read stays so.
  return { path, type, size, mode: (mode ?? 0o644) & 0o777 & ~0o022, sha256: digest.digest('hex') };
}

/** One name for what is one file where case, or the way in which letters are composed, makes no difference. */
function sameName(path: string): string {
  return path.normalize('NFC').toLowerCase();
}

/** In this order, everything below an entry follows it, so each entry is compared with one other. */
function requireNothingBelowFiles(found: ReadonlyMap<string, ManifestEntry>): void {
  const above: string[] = [];
  for (const key of [...found.keys()].map((key) => key.replaceAll('/', '\0')).sort()) {
    while (above.length > 0 && !key.startsWith(`${above.at(-1)}\0`)) above.pop();
    const [entry, other] = [key, above.at(-1)].map((one) => found.get(one?.replaceAll('\0', '/') ?? ''));
    above.push(key);
    if (entry === undefined || other === undefined || above.length === 1) continue;
    if (other.type === 'directory' && entry.path.startsWith(`${other.path}/`)) continue;
    throw new ArchiveRefusal(`${entry.path} is below ${other.path}, which is a ${other.type}`);
  }
}

/** A link may lead through another one of the archive, which may come later. */
async function requireLinksInside(found: ReadonlyMap<string, ManifestEntry>): Promise<void> {
  const leadsOut = linkFollower(async (path) => {
    // No name of the archive is longer.
    const entry = path.length > LONGEST_NAME ? undefined : found.get(sameName(path));
    return entry?.type === 'symlink' ? entry.target : undefined;
  });
  for (const { path, ...entry } of found.values()) {
    if (entry.type !== 'symlink' || !(await leadsOut(path, entry.target))) continue;
    throw new ArchiveRefusal(`${path} is a link to ${JSON.stringify(entry.target)}, out of the directory`);
  }
}

/** Whatever the selection names must be there. */
function requireAll(selection: Selection, entries: readonly ManifestEntry[], names: readonly string[]): void {
  const { member, include } = selection;
  const shown = names.slice(0, MOST_NAMES);
  const holds =
    shown.length === 0 ? 'it is empty' : `it holds ${shown.join(', ')}${names.length > MOST_NAMES ? ', …' : ''}`;
  if (member !== undefined && entries.length === 0) throw new ArchiveRefusal(`it has no member ${member}: ${holds}`);
  for (const pattern of include ?? []) {
    const glob = pathGlob(pattern);
    const some = entries.filter(({ path }) => glob.matches(path));
    if (some.length === 0) throw new ArchiveRefusal(`no member is called ${pattern}: ${holds}`);
    if (some.every(({ type }) => type === 'directory')) {
      throw new ArchiveRefusal(`${pattern} is a directory: ${pattern}/** is all that is in it`);
    }
  }
  if (entries.length === 0) throw new ArchiveRefusal(`it has no member that is selected: ${holds}`);
}
