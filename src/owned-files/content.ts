import { hash } from 'node:crypto';
import type { FileModel } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { FileStat, QueryHost } from '../host/seam/host.ts';
import { withBlock } from './marked-block.ts';

/**
 * Whether a file belongs into an image: not when it holds a secret, is copied from the machine it is on, or lies below
 * /run, which is empty after a boot. What is downloaded with headers or a query may be fetched with something that
 * expires.
 */
export function scopeOf({ content, path }: Pick<FileModel, 'content' | 'path'>): 'base' | 'node' {
  if (scopeOfPath(path) === 'node') return 'node';
  if (content.kind === 'inline') return 'base';
  if (content.kind !== 'http') return 'node';
  return Object.keys(content.headers).length === 0 && new URL(content.url).search === '' ? 'base' : 'node';
}

export function scopeOfPath(path: string): 'base' | 'node' {
  return path.startsWith('/run/') ? 'node' : 'base';
}

/**
 * The source of a file's content for messages. It never contains the content, or parts of a URL that may be a token.
 */
export function sourceOf({ content }: Pick<FileModel, 'content'>): string {
  switch (content.kind) {
    case 'inline':
      return content.bytes.length === 1 ? '1 byte of the document' : `${content.bytes.length} bytes of the document`;
    case 'secret':
      return `the secret ${content.secret.name}`;
    case 'file':
      return content.path;
    case 'http': {
      const { protocol, host, pathname } = new URL(content.url);
      return `${protocol}//${host}${pathname}`;
    }
  }
}

/** What a file will hold. `sha256` without `bytes`: it is downloaded, and its digest is in the document. */
export interface WantedContent {
  readonly bytes: Uint8Array | undefined;
  readonly sha256: string | undefined;
  /** Set where the content is not known yet: its source does not exist, or a plan must not ask for it. */
  readonly unknown?: 'source' | 'secrets';
}

/**
 * What the file at `index` of the document will hold. A file copied from one that the document itself writes earlier
 * gets what that one will have, not what is there before. Throws what reading throws.
 */
export async function wantedContent(
  host: QueryHost,
  files: readonly FileModel[],
  index: number,
): Promise<WantedContent> {
  const file = files[index];
  if (file === undefined) throw new RangeError(`no file ${index}`);
  const own = await ownContent(host, files, index);
  if (!file.append || own.bytes === undefined) return own;
  return known(added(file, (await host.readFile(file.path)) ?? new Uint8Array(), own.bytes));
}

async function ownContent(host: QueryHost, files: readonly FileModel[], index: number): Promise<WantedContent> {
  const content = files[index]?.content;
  switch (content?.kind) {
    case 'inline':
      return known(content.bytes);
    case 'http':
      return { bytes: undefined, sha256: content.sha256 };
    case 'secret': {
      try {
        const secret = await host.secret(content.secret);
        return secret === undefined ? nothing('secrets') : known(new TextEncoder().encode(secret.reveal()));
      } catch (error) {
        if (error instanceof MachineadmError && error.reason === 'SecretUnavailable') return nothing('source');
        throw error;
      }
    }
    case 'file': {
      const earlier = files.slice(0, index).findLastIndex((other) => other.path === content.path);
      if (earlier >= 0) return await wantedContent(host, files, earlier);
      const bytes = await host.readFile(content.path);
      return bytes === undefined ? nothing('source') : known(bytes);
    }
    case undefined:
      return nothing('source');
  }
}

/**
 * The bytes to write now. Throws `FileNotWritten` for a source that is not there, and `SecretUnavailable`. What is
 * downloaded is not held in memory: see `download`.
 */
export async function contentToWrite(
  host: QueryHost,
  file: FileModel & { readonly content: Exclude<FileModel['content'], { readonly kind: 'http' }> },
): Promise<Uint8Array> {
  const bytes = await bytesOf(host, file);
  return file.append ? added(file, (await host.readFile(file.path)) ?? new Uint8Array(), bytes) : bytes;
}

async function bytesOf(
  host: QueryHost,
  { content, path }: FileModel & { readonly content: Exclude<FileModel['content'], { readonly kind: 'http' }> },
): Promise<Uint8Array> {
  switch (content.kind) {
    case 'inline':
      return content.bytes;
    case 'secret': {
      const secret = await host.secret(content.secret);
      if (secret === undefined) throw new TypeError(`${path} was to be written by a host that may only be asked`);
      return new TextEncoder().encode(secret.reveal());
    }
    case 'file': {
      const bytes = await host.readFile(content.path);
      if (bytes === undefined) throw sourceMissing(path, content.path);
      return bytes;
    }
  }
}

/**
 * The content of a file with the document's addition. Each byte is one character, because files of others need not be
 * UTF-8.
 */
function added({ block }: FileModel, present: Uint8Array, content: Uint8Array): Uint8Array {
  if (block === undefined) return appended(present, content);
  const lines = Buffer.from(content).toString('latin1');
  const whole = lines === '' || lines.endsWith('\n') ? lines : `${lines}\n`;
  return Buffer.from(withBlock(Buffer.from(present).toString('latin1'), block.name, whole, block.comment), 'latin1');
}

/**
 * A file with `content` behind what it has. The content marks itself: a file that has it already, as whole lines at any
 * place, stays as it is. So another tool may add its own behind it, formats without comments need no marker, and a run
 * that was killed right after the write adds nothing twice.
 */
export function appended(present: Uint8Array, content: Uint8Array): Uint8Array {
  if (holdsLines(present, content)) return present;
  const separator = present.length > 0 && present.at(-1) !== NEWLINE ? [NEWLINE] : [];
  return Buffer.concat([present, Uint8Array.from(separator), content]);
}

const NEWLINE = 0x0a;

function holdsLines(present: Uint8Array, content: Uint8Array): boolean {
  const haystack = Buffer.from(present.buffer, present.byteOffset, present.byteLength);
  for (let at = haystack.indexOf(content); at >= 0; at = haystack.indexOf(content, at + 1)) {
    const end = at + content.length;
    const begins = at === 0 || haystack[at - 1] === NEWLINE;
    const ends = end === haystack.length || content.at(-1) === NEWLINE || haystack[end] === NEWLINE;
    if (begins && ends) return true;
  }
  return content.length === 0;
}

/** The mode that a file must have. A file that is only appended to keeps its mode where the document sets none. */
export function wantedMode(file: FileModel, stat: FileStat | undefined): number {
  return file.keepsMode === true && stat?.type === 'file' ? stat.mode : file.mode;
}

function known(bytes: Uint8Array): WantedContent {
  return { bytes, sha256: hash('sha256', bytes) };
}

function nothing(unknown: 'source' | 'secrets'): WantedContent {
  return { bytes: undefined, sha256: undefined, unknown };
}

function sourceMissing(path: string, source: string): MachineadmError {
  return new MachineadmError({
    reason: 'FileNotWritten',
    summary: `${path} could not be written: its source ${source} does not exist.`,
    remedy: `Create ${source} before this run, or let an early hook do it.`,
  });
}
