import { hash } from 'node:crypto';
import { formatMode } from '@machineadm/document/text/units.ts';
import type { FileStat, NewFile, QueryHost } from '../host/seam/host.ts';

/** How the file on this machine differs from the one that is wanted, in words; undefined = it does not. */
export async function differenceOf(host: QueryHost, file: NewFile): Promise<string | undefined> {
  const stat = await host.stat(file.path);
  if (stat === undefined) return `create, ${formatMode(file.mode)}`;
  const attributes = attributeDifference(stat, file);
  const isSame = stat.type !== 'file' || (await host.sha256(file.path)) === hash('sha256', file.content);
  return isSame ? attributes : ['another content', ...(attributes === undefined ? [] : [attributes])].join(', ');
}

/** The present state of a file that only machineadm writes. */
export interface OwnFile {
  /** undefined: the file does not exist. */
  readonly text: string | undefined;
  /** How its kind, mode or owner differ from those with which it is written, in words; undefined: not at all. */
  readonly attributes: string | undefined;
}

/** Reads a file that belongs to root and has this mode. */
export async function readOwnFile(
  host: QueryHost,
  path: string,
  mode = 0o644,
  read: QueryHost['readText'] = (from) => host.readText(from),
): Promise<OwnFile> {
  const [text, stat] = [await read(path), await host.stat(path)];
  return { text, attributes: stat === undefined ? undefined : attributeDifference(stat, { mode }) };
}

/** Whether the file exists with this content, mode and owner, or is absent where no content is wanted. */
export function isAsWritten({ text, attributes }: OwnFile, content: string | undefined): boolean {
  return text === content && (content === undefined || attributes === undefined);
}

/** What a change does to it, with its attributes where nothing else differs. */
export function describeWrite(path: string, { text, attributes }: OwnFile, content: string): string {
  if (text === undefined) return `write ${path}`;
  return text === content && attributes !== undefined ? `${path}: ${attributes}` : `update ${path}`;
}

/** How kind, mode or owner of what is there differ from the wanted ones, in words; undefined: not at all. */
export function attributeDifference(
  stat: FileStat,
  { mode, uid = 0, gid = 0 }: Pick<NewFile, 'mode' | 'uid' | 'gid'>,
): string | undefined {
  if (stat.type !== 'file') return `is a ${stat.type}`;
  const differences: string[] = [];
  if (stat.mode !== mode) differences.push(`mode ${formatMode(stat.mode)} -> ${formatMode(mode)}`);
  if (stat.uid !== uid || stat.gid !== gid) differences.push(`owner ${stat.uid}:${stat.gid} -> ${uid}:${gid}`);
  return differences.length === 0 ? undefined : differences.join(', ');
}

/** What a change does that `differenceOf` describes. */
export function actionOf(difference: string): 'add' | 'change' {
  return difference.startsWith('create') ? 'add' : 'change';
}
