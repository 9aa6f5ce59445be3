import { unescapeOctal } from '../../host/files/paths.ts';

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
  const at = lines.indexOf(markerOf(key));
  return at < 0 ? undefined : lines[at + 1];
}

/** Sources of the entries of others for a mount point. */
export function foreignSources(text: string, path: string): readonly string[] {
  const lines = text.split('\n');
  return lines.flatMap((line, index) => {
    const [source = '', target = ''] = line.trim().split(/\s+/);
    if (source === '' || source.startsWith('#') || unescapeOctal(target) !== path) return [];
    return lines[index - 1]?.startsWith(MARKER) ? [] : [unescapeOctal(source)];
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
  if (at >= 0) return [...lines.slice(0, at + 1), line, ...lines.slice(at + 2)].join('\n');
  const separator = text === '' || text.endsWith('\n') ? '' : '\n';
  return `${text}${separator}${markerOf(key)}\n${line}\n`;
}

/** The line of an entry, its fields escaped. */
export function entryLine({ source, path, type, options, pass }: FstabEntry): string {
  return [source, path, type, options.join(','), '0', String(pass)].map(escapeField).join(' ');
}

function markerOf(key: string): string {
  return `${MARKER}${key.replace(/\s/g, (blank) => (blank === ' ' ? ' ' : '?'))}`;
}

/** getmntent(3) knows blank, tab, newline and backslash; a `#` only at the start of a line is special. */
function escapeField(field: string): string {
  return field.replace(/[ \t\n\\]/g, (character) => `\\${character.charCodeAt(0).toString(8).padStart(3, '0')}`);
}
