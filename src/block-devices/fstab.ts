import { unescapeOctal } from '../host/files/paths.ts';

/** One mount of fstab(5), unescaped. */
export interface FstabEntry {
  /** `UUID=…`, `/dev/sdb1`. */
  readonly source: string;
  /** `none` for swap. */
  readonly path: string;
  readonly type: string;
  readonly options: readonly string[];
  /** Whether fsck checks it at boot, and after the root: 0 or 2. */
  readonly pass: 0 | 2;
}

const MARKER = '# Written by machineadm: ';

/** The entry of machineadm's own for a mount, as it stands in the file; undefined when there is none. */
export function ownEntry(text: string, key: string): string | undefined {
  const lines = text.split('\n');
  const line = lines[lines.indexOf(markerOf(key)) + 1] ?? '';
  return lines.includes(markerOf(key)) && isEntryOf(line, key) ? line : undefined;
}

/** Sources of the entries of others for a mount point. */
export function foreignSources(text: string, path: string): readonly string[] {
  return foreignEntries(text, path).map(({ source }) => source);
}

/** The entries of others for a mount point, unescaped. */
export function foreignEntries(text: string, path: string): readonly Pick<FstabEntry, 'source' | 'type'>[] {
  return entriesOf(text).flatMap(({ target, source, type, marker }) =>
    target === path && marker !== markerOf(path) ? [{ source, type }] : [],
  );
}

/** Whether others have an entry for a swap file. */
export function hasForeignSwap(text: string, file: string): boolean {
  return entriesOf(text).some(
    ({ source, type, marker }) => type === 'swap' && source === file && !marker.startsWith(MARKER),
  );
}

function entriesOf(text: string) {
  const lines = text.split('\n');
  return lines.flatMap((line, index) => {
    const [source = '', target = '', type = ''] = line.trim().split(/\s+/);
    if (source === '' || source.startsWith('#')) return [];
    return [{ source: unescapeOctal(source), target: unescapeOctal(target), type, marker: lines[index - 1] ?? '' }];
  });
}

/**
 * The file with this entry in it: in the place of an earlier one of machineadm for the same key, else at the end.
 * Every other line stays byte for byte.
 * @param key names the mount for good: its path, or for swap the device as the document means it
 */
export function withEntry(text: string, key: string, entry: FstabEntry): string {
  const line = entryLine(entry);
  const lines = text.split('\n');
  const at = lines.indexOf(markerOf(key));
  // If somebody removed the entry, the line after its marker belongs to another program, or the file ends there.
  if (at >= 0) return lines.toSpliced(at + 1, isEntryOf(lines[at + 1] ?? '', key) ? 1 : 0, line).join('\n');
  const separator = text === '' || text.endsWith('\n') ? '' : '\n';
  return `${text}${separator}${markerOf(key)}\n${line}\n`;
}

/** The file without machineadm's entry for a key. */
export function withoutEntry(text: string, key: string): string {
  const lines = text.split('\n');
  const at = lines.indexOf(markerOf(key));
  return at < 0 ? text : lines.toSpliced(at, isEntryOf(lines[at + 1] ?? '', key) ? 2 : 1).join('\n');
}

/** The line of an entry, its fields escaped. */
export function entryLine({ source, path, type, options, pass }: FstabEntry): string {
  return [source, path, type, options.join(','), '0', String(pass)].map(escapeField).join(' ');
}

function isEntryOf(line: string, key: string): boolean {
  const [, target = '', type] = line.trim().split(/\s+/);
  return type === 'swap' ? !key.startsWith('/') : unescapeOctal(target) === key;
}

function markerOf(key: string): string {
  return `${MARKER}${key.replace(/\s/g, (blank) => (blank === ' ' ? ' ' : '?'))}`;
}

/** getmntent(3) knows blank, tab, newline and backslash; a `#` only at the start of a line is special. */
function escapeField(field: string): string {
  return field.replace(/[ \t\n\\]/g, (character) => `\\${character.charCodeAt(0).toString(8).padStart(3, '0')}`);
}
