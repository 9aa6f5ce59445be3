import { join } from 'node:path';
import { errorMessage, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { errnoOf } from '../files/file-error.ts';
import { listDirectory, openSource, whyDirectoryDistrusted } from '../local-files/provenance.ts';

/** One source of the document; `name` is the prefix of messages about it. */
export interface SourcePiece {
  readonly name: string;
  readonly bytes: Uint8Array;
  /** Why users other than root and the caller may have written it, as a predicate; absent when none can. */
  readonly distrust?: string;
  /** True where every user of this machine may read it. */
  readonly isPublic?: boolean;
}

/** The size limit of a document or one drop-in: 4 MiB. Cloud user data is limited to 64 KiB or less. */
export const DOCUMENT_LIMIT_BYTES = 4 * 1024 * 1024;

/**
 * Reads the document from `-` (standard input), a file, or a directory of drop-ins: its `*.yaml`, `*.yml` and `*.json`
 * in the order of their names, without hidden ones. Reading stops at the size limit, so an endless input is refused as
 * well.
 * Throws `DocumentNotFound` (also for a directory without drop-ins) and `DocumentTooLarge`.
 */
export async function readSource(name: string, stdin?: AsyncIterable<Uint8Array>): Promise<readonly SourcePiece[]> {
  if (name === '-') return [await readStream('stdin', stdin ?? process.stdin)];
  const dropIns = dropInsOf(name);
  if (dropIns === undefined) return [await readPiece(name)];
  const distrust = whyDirectoryDistrusted(name);
  const pieces: SourcePiece[] = [];
  for (const path of dropIns) {
    const piece = await readPiece(path);
    pieces.push(distrust === undefined ? piece : { ...piece, distrust: `${distrust} (the directory ${name})` });
  }
  return pieces;
}

/** The drop-ins of a directory; undefined when the name is not a directory. */
function dropInsOf(directory: string): readonly string[] | undefined {
  let names: readonly string[];
  try {
    names = listDirectory(directory);
  } catch (error) {
    if (errnoOf(error) === 'ENOTDIR') return undefined;
    throw notFound(directory, error);
  }
  const dropIns = names.filter((name) => /^[^.].*\.(yaml|yml|json)$/.test(name)).sort();
  if (dropIns.length > 0) return dropIns.map((dropIn) => join(directory, dropIn));
  throw new MachineadmError({
    reason: 'DocumentNotFound',
    summary: `the directory ${directory} contains no document: no file in it ends with .yaml, .yml or .json`,
    remedy: 'Write the document to this path, or pass its path.',
    evidence: [{ source: directory, text: `${names.length} other entries` }],
  });
}

async function readPiece(path: string): Promise<SourcePiece> {
  try {
    const { pieces, distrust, isPublic } = await openSource(path);
    const piece = await readStream(path, pieces);
    return { ...piece, isPublic, ...(distrust === undefined ? {} : { distrust }) };
  } catch (error) {
    if (error instanceof MachineadmError) throw error;
    throw notFound(path, error);
  }
}

async function readStream(name: string, stream: AsyncIterable<Uint8Array>): Promise<SourcePiece> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of stream) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > DOCUMENT_LIMIT_BYTES) throw tooLarge(name);
  }
  return { name, bytes: Buffer.concat(chunks) };
}

function tooLarge(name: string): MachineadmError {
  return new MachineadmError({
    reason: 'DocumentTooLarge',
    summary: `${name} is larger than ${DOCUMENT_LIMIT_BYTES / 1024 / 1024} MiB`,
    remedy:
      'Keep large content out of the document: refer to files by a path on the machine, and use archives for images.',
  });
}

const CAUSES: Readonly<Record<string, { readonly what: string; readonly remedy: string }>> = {
  ENOENT: { what: 'it does not exist', remedy: 'Check the path; "-" reads from stdin.' },
  EACCES: { what: 'permission denied', remedy: 'Run as root, or make it readable.' },
  EPERM: { what: 'operation not permitted', remedy: 'Run as root, or make it readable.' },
  ELOOP: { what: 'its symbolic links go in a circle', remedy: 'Check the path with "namei -l".' },
};

function notFound(path: string, cause: unknown): MachineadmError {
  const code = errnoOf(cause) ?? 'unknown error';
  const known = CAUSES[code];
  return new MachineadmError({
    reason: 'DocumentNotFound',
    summary: `the document ${path} cannot be read: ${known?.what ?? code}`,
    remedy: known?.remedy ?? `Check the path with "ls -l ${path}".`,
    // What is known is in the summary; the message of the system names a path of ours.
    ...(known === undefined ? { evidence: [{ source: path, text: errorMessage(cause) }] } : {}),
    cause,
  });
}
