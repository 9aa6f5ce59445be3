import { type DocumentName, fileLabel } from '@machineadm/document/ownership/drop-ins.ts';
import type { Host } from '../host/seam/host.ts';

/**
 * The names of our blocks: lines between two comments, in a file that other programs also write. The entries of an image,
 * and those that earlier versions wrote, are in the block `hosts`; each document of a machine has a block of its own.
 */
export const HOSTS_BLOCK = 'hosts';
export const OWN_NAME_BLOCK = 'own name';
export const PROXY_BLOCK = 'proxy';

/** How comments begin in the file; those of XML end, too. */
export type Comment = '#' | '//' | ';' | '--' | '"' | '!' | '<!--';

const mark = (word: 'BEGIN' | 'END', name: string, comment: Comment): string =>
  `${comment} ${word} machineadm: ${name}${comment === '<!--' ? ' -->' : ''}`;

/** The content of the block with this name; undefined: there is no such block. */
export function blockIn(text: string, name: string, comment: Comment = '#'): string | undefined {
  return split(text, name, comment)?.block;
}

/**
 * The text with the block of this name holding `lines` (whole lines, with their last newline): in its place where it is,
 * else at the end. Everything else stays byte for byte, but that a last line without a newline gets one.
 */
export function withBlock(text: string, name: string, lines: string, comment: Comment = '#'): string {
  const block = `${mark('BEGIN', name, comment)}\n${lines}${mark('END', name, comment)}\n`;
  const parts = split(text, name, comment);
  if (parts !== undefined) return parts.before + block + parts.after;
  return `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}${block}`;
}

/** The block of a document in /etc/hosts. */
export function hostsBlockOf({ metadata: { name }, ofImage }: DocumentName): string {
  return ofImage === true || name === '' ? HOSTS_BLOCK : `${HOSTS_BLOCK} of ${fileLabel(name)}`;
}

/** The names of all blocks in a text that begin with a word. */
export function blockNames(text: string, first: string): readonly string[] {
  return [...text.matchAll(/^# BEGIN machineadm: (.*)$/gm)]
    .map(([, name = '']) => name)
    .filter((name) => name === first || name.startsWith(`${first} `));
}

export function withoutBlock(text: string, name: string, comment: Comment = '#'): string {
  const parts = split(text, name, comment);
  return parts === undefined ? text : parts.before + parts.after;
}

/** A block without an end mark is not changed: nobody knows where it was to end. */
function split(
  text: string,
  name: string,
  comment: Comment,
): { readonly before: string; readonly block: string; readonly after: string } | undefined {
  const [opening, closing] = [`${mark('BEGIN', name, comment)}\n`, `${mark('END', name, comment)}\n`];
  const start = text.startsWith(opening) ? 0 : text.indexOf(`\n${opening}`) + 1;
  if (start === 0 && !text.startsWith(opening)) return undefined;
  const from = start + opening.length;
  const stop = text.startsWith(closing, from) ? from : text.indexOf(`\n${closing}`, from - 1) + 1;
  if (stop === 0) return undefined;
  return { before: text.slice(0, start), block: text.slice(from, stop), after: text.slice(stop + closing.length) };
}

/** Changes a file that other programs also write: its owner and mode stay. */
export async function rewriteShared(host: Host, path: string, change: (text: string) => string): Promise<void> {
  const stat = await host.stat(path);
  const { mode, uid, gid } = stat?.type === 'file' ? stat : { mode: 0o644, uid: 0, gid: 0 };
  await host.writeFile({ path, content: change((await host.readText(path)) ?? ''), mode, uid, gid });
}
