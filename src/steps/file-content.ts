import { MachineadmError } from '../document/errors.ts';
import type { FileModel } from '../document/model.ts';
import type { QueryHost } from '../host/host.ts';

/**
 * Whether a file belongs into an image: not when it holds a secret, is copied from the machine it is on, or lies below
 * /run, which is empty after a boot.
 */
export function scopeOf(file: FileModel): 'base' | 'node' {
  return file.content.kind === 'inline' && !file.path.startsWith('/run/') ? 'base' : 'node';
}

/** Where a file's content comes from, for people: never the content. */
export function sourceOf({ content }: FileModel): string {
  if (content.kind === 'inline') return `${content.bytes.length} bytes of the document`;
  return content.kind === 'secret'
    ? `the secret ${content.secret.name}`
    : content.kind === 'http'
      ? content.url
      : content.path;
}

/**
 * The bytes that a file of the document must have. What is not there yet is undefined or an error, as asked.
 * Throws `FileNotWritten` or `SecretUnavailable`.
 */
export async function contentOf(
  host: QueryHost,
  file: FileModel,
  options: { readonly missing: 'throw' },
): Promise<Uint8Array>;
export async function contentOf(
  host: QueryHost,
  file: FileModel,
  options: { readonly missing: 'undefined' },
): Promise<Uint8Array | undefined>;
export async function contentOf(
  host: QueryHost,
  file: FileModel,
  options: { readonly missing: 'throw' | 'undefined' },
): Promise<Uint8Array | undefined> {
  const { content } = file;
  if (content.kind === 'inline') return content.bytes;
  if (content.kind === 'secret') return await secretContent(host, content.secret, options.missing);
  if (content.kind === 'http') {
    if (options.missing === 'throw') throw sourceMissing(file.path, content.url);
    return undefined;
  }
  const bytes = await host.readFile(content.path);
  if (bytes === undefined && options.missing === 'throw') throw sourceMissing(file.path, content.path);
  return bytes;
}

async function secretContent(
  host: QueryHost,
  value: Parameters<QueryHost['secret']>[0],
  missing: 'throw' | 'undefined',
): Promise<Uint8Array | undefined> {
  try {
    const secret = await host.secret(value);
    return secret === undefined ? undefined : new TextEncoder().encode(secret.reveal());
  } catch (error) {
    const unavailable = error instanceof MachineadmError && error.reason === 'SecretUnavailable';
    if (unavailable && missing === 'undefined') return undefined;
    throw error;
  }
}

function sourceMissing(path: string, source: string): MachineadmError {
  return new MachineadmError({
    reason: 'FileNotWritten',
    summary: `${path} could not be written: its source ${source} does not exist.`,
    remedy: `Put ${source} in place before this run, or let an early hook do it.`,
  });
}
