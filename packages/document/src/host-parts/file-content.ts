import { credentialsOverTls } from '../fields/conditions.ts';
import { decodeContent } from '../fields/content.ts';
import { headersOf, type ResolveSecret } from '../fields/convert-values.ts';
import { field, object, oneOf } from '../fields/field.ts';
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

const URL = 'https://files.example/audit.rules';
const DIGEST = '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08';

const httpSource = object(
  {
    url: field(httpUrl, 'The URL of the download.', { example: URL }),
    sha256: field(sha256, 'The SHA-256 digest of the content. A download with another digest is refused.', {
      example: DIGEST,
    }),
    headers,
    allowInsecure,
  },
  () => [credentialsOverTls('url')],
);

export const contentFrom = field(
  oneOf(
    {
      secret: field(z.string(), 'The name of an entry of `secrets`, which is the content.', {
        example: 'registryToken',
      }),
      file: field(machinePath, 'A file on the machine that is copied.', { example: '/usr/share/factory/etc/motd' }),
      http: field(httpSource, 'A download, checked by its digest.', { example: { url: URL, sha256: DIGEST } }),
    },
    'expected {secret: name}, {file: path} or {http: {url, sha256}}',
  ),
  'Where the content comes from. Give this or content.',
  { absent: 'the content is in content', example: { secret: 'registryToken' } },
);

interface ContentSection {
  readonly path: string;
  readonly content?: string | undefined;
  readonly encoding?: Parameters<typeof decodeContent>[1];
  readonly contentFrom?: z.infer<typeof contentFrom.schema>;
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
