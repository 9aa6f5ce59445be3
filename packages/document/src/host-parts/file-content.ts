import { decodeContent } from '../fields/content.ts';
import { headersOf, type ResolveSecret } from '../fields/convert-values.ts';
import { allowInsecure, headers, httpUrl, machinePath, sha256 } from '../fields/types.ts';
import * as z from '../schema/zod.ts';
import type { SecretValue } from '../secrets/secret.ts';

export type FileContent =
  | { readonly kind: 'inline'; readonly bytes: Uint8Array }
  | { readonly kind: 'secret'; readonly secret: SecretValue }
  | { readonly kind: 'file'; readonly path: string }
  | {
      readonly kind: 'http';
      readonly url: string;
      readonly sha256: string;
      readonly headers: Readonly<Record<string, SecretValue>>;
    };

const httpSource = z.strictObject({
  url: httpUrl,
  sha256: sha256,
  headers: headers.schema,
  allowInsecure: allowInsecure.schema,
});

export const contentFrom = z.union(
  [z.strictObject({ secret: z.string() }), z.strictObject({ file: machinePath }), z.strictObject({ http: httpSource })],
  { error: 'expected {secret: name}, {file: path} or {http: {url, sha256}}' },
);

const URL = 'https://files.example/audit.rules';
const DIGEST = '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08';

export const CONTENT_FROM_FIELDS = {
  '[].contentFrom': {
    description: 'Where the content comes from. Give this or content.',
    absent: 'the content is in content',
    example: { secret: 'registryToken' },
  },
  '[].contentFrom.secret': {
    description: 'The name of an entry of `secrets`, which is the content.',
    example: 'registryToken',
  },
  '[].contentFrom.file': {
    description: 'A file on the machine that is copied.',
    example: '/usr/share/factory/etc/motd',
  },
  '[].contentFrom.http': {
    description: 'A download, checked by its digest.',
    example: { url: URL, sha256: DIGEST },
  },
  '[].contentFrom.http.url': { description: 'The URL of the download.', example: URL },
  '[].contentFrom.http.headers': headers.text,
  '[].contentFrom.http.allowInsecure': allowInsecure.text,
  '[].contentFrom.http.sha256': {
    description: 'The SHA-256 digest of the content. A download with another digest is refused.',
    example: DIGEST,
  },
};

interface ContentSection {
  readonly path: string;
  readonly content?: string | undefined;
  readonly encoding?: Parameters<typeof decodeContent>[1];
  readonly contentFrom?: z.infer<typeof contentFrom> | undefined;
}

/** Where the content of an entry comes from. */
export async function contentOf(file: ContentSection, resolve: ResolveSecret): Promise<FileContent> {
  const { contentFrom } = file;
  if (contentFrom === undefined) return { kind: 'inline', bytes: await inlineBytes(file) };
  if ('secret' in contentFrom) return { kind: 'secret', secret: resolve(contentFrom, `file ${file.path}`) };
  if ('file' in contentFrom) return { kind: 'file', path: contentFrom.file };
  const { url, sha256, headers } = contentFrom.http;
  return { kind: 'http', url, sha256, headers: headersOf(headers, resolve, `file ${file.path}`) };
}

/** Content with a variable that is not known here is not encoded yet: `validate` on another machine gets its text. */
async function inlineBytes({ content = '', encoding }: ContentSection): Promise<Uint8Array> {
  try {
    return await decodeContent(content, encoding);
  } catch {
    return await decodeContent(content, undefined);
  }
}
