import { type DropInKind, imageDropIns } from '@machineadm/document/ownership/drop-ins.ts';
import type { Host, QueryHost } from '../host/seam/host.ts';
import type { StepRecord } from '../step/index.ts';

/**
 * The drop-ins that came with the image, in the order in which they are read: those that no run on this machine made.
 * They stay whatever the documents of the machine ask for, and what they set already needs no drop-in of its own.
 */
export async function readImageDropIns(
  host: QueryHost,
  kind: DropInKind,
  { created, memory }: Pick<StepRecord, 'created' | 'memory'>,
): Promise<readonly { readonly path: string; readonly text: string }[]> {
  const { directory, earlier, isOne } = imageDropIns(kind);
  // It was that of this document, whoever changed it since.
  const isOwn = (name: string): boolean => name === earlier && memory().isAdopted;
  const found: { path: string; text: string }[] = [];
  for (const name of [...((await host.list(directory)) ?? [])].sort()) {
    const path = `${directory}/${name}`;
    const text = isOne(name) && !isOwn(name) && !created(path) ? await host.readText(path) : undefined;
    if (text !== undefined) found.push({ path, text });
  }
  return found;
}

/** Whether every line of a drop-in is in one of those of the image. For settings whose lines stand for themselves. */
export function isInImage(content: string, image: readonly { readonly text: string }[]): boolean {
  const present = new Set(image.flatMap(({ text }) => linesOf(text)));
  const wanted = linesOf(content);
  return wanted.length > 0 && wanted.every((line) => present.has(line));
}

/** Writes a drop-in, or removes the one that is not wanted. */
export async function putDropIn(
  host: Host,
  { path, content }: { readonly path: string; readonly content: string | undefined },
): Promise<void> {
  if (content === undefined) await host.removeFile(path);
  else await host.writeFile({ path, content, mode: 0o644 });
}

/** Without comments and the headings of sections. */
function linesOf(text: string): readonly string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !/^[#[]/.test(line));
}
