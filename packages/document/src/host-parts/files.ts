import * as z from 'zod';
import type { Finding } from '../diagnostics.ts';
import { MachineadmError } from '../errors.ts';
import type { SecretValue } from '../secret.ts';
import { credentialsOverTls, exactlyOne, has, is, when, without } from '../sections/conditions.ts';
import { choice } from '../sections/field.ts';
import { decodeContent } from '../versions/v1alpha1/content.ts';
import { headersOf, type ResolveSecret } from '../versions/v1alpha1/convert-values.ts';
import { allowInsecure, fileMode, headers, httpUrl, machinePath, sha256 } from '../versions/v1alpha1/fields.ts';
import { doublePaths, hostPart, type Platform } from './part.ts';
import {
  ABSENT_FIELD,
  absentOf,
  checkAbsent,
  FOLLOW_UP_FIELDS,
  FOLLOW_UPS,
  type OwedByDocument,
  owedBy,
  owner,
  ownerOf,
  presentOf,
} from './paths-of-host.ts';

export interface FileModel {
  readonly path: string;
  readonly content: FileContent;
  /** Permission bits, 0o644. */
  readonly mode: number;
  /** A name or a decimal id. */
  readonly user: string;
  readonly group: string;
  /** Mode of directories created above the file. */
  readonly directoryMode: number;
  /** Added behind what the file has, once; a marker by content makes it idempotent. */
  readonly append: boolean;
  /** What is added is a block between two comments that name it: a later content takes the place of this one. */
  readonly block?: FileBlock;
  /** True: a file that is there keeps its mode or owner, as the document names none for what it appends. */
  readonly keepsMode?: boolean;
  readonly keepsOwner?: boolean;
  /** Its place in the document; absent: that in this list. */
  readonly at?: number;
  /** What must follow a change of it. */
  readonly owes?: readonly OwedByDocument[];
}

export interface FileBlock {
  readonly name: string;
  /** How comments begin in the file. */
  readonly comment: '#' | '//' | ';' | '--' | '"' | '!' | '<!--';
}

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

const file = z.strictObject({
  path: machinePath,
  content: z.string().optional(),
  contentFrom: z
    .union(
      [
        z.strictObject({ secret: z.string() }),
        z.strictObject({ file: machinePath }),
        z.strictObject({ http: httpSource }),
      ],
      { error: 'expected {secret: name}, {file: path} or {http: {url, sha256}}' },
    )
    .optional(),
  encoding: choice({
    base64: 'Bytes in base64.',
    'gzip+base64': 'Bytes that are compressed with gzip, in base64.',
  }).optional(),
  mode: fileMode.optional(),
  owner: owner.optional(),
  directoryMode: fileMode.optional(),
  append: z.boolean().optional(),
  block: z
    .strictObject({
      name: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, 'not a name: letters, digits, ".", "_" and "-"'),
      comment: choice({
        '#': 'Shells, Python, YAML and most files below /etc.',
        '//': 'C, JavaScript and Go.',
        ';': 'INI files.',
        '--': 'SQL, Lua and Haskell.',
        '"': 'Vim.',
        '!': 'X resources.',
        '<!--': 'XML and HTML.',
      }).optional(),
    })
    .optional(),
  expand: z.boolean().optional(),
  absent: z.boolean().optional(),
  ...FOLLOW_UPS,
});

export type FileSection = z.infer<typeof file>;

const URL = 'https://files.example/audit.rules';
const DIGEST = '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08';

export const files = hostPart({
  description: 'Files that machineadm writes, after mounts and users exist.',
  default: [],
  example: [{ path: '/etc/motd', content: 'Managed by machineadm\n' }],
  fields: {
    '[].path': {
      description: 'The path of the file. Directories above it are created if needed.',
      example: '/etc/motd',
    },
    '[].content': {
      description: 'The content, byte for byte. Give this or contentFrom.',
      absent: 'contentFrom says where the content is',
      example: 'Managed by machineadm\n',
    },
    '[].contentFrom': {
      description: 'Where the content comes from. Give this or content.',
      absent: 'content is the content',
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
    '[].encoding': {
      description: 'How content is encoded in the document.',
      absent: 'content is plain text',
      example: 'base64',
    },
    '[].mode': {
      description: 'The permissions of the file in octal digits, in quotes.',
      absent: '"0644", or "0600" with content from a secret',
      example: '0600',
    },
    '[].owner': {
      description: 'The user and group that own the file, as names or numeric IDs.',
      default: 'root:root',
      example: 'core:operators',
    },
    '[].directoryMode': {
      description: 'The permissions of directories that are created above the file.',
      default: '0755',
      example: '0700',
    },
    '[].append': {
      description: 'Whether the content is added once at the end of the file. With false it is the whole file.',
      default: false,
      example: true,
    },
    '[].block': {
      description:
        'Adds the content to the file between two comments that name it. Another content takes the place of the earlier one, and the block goes with its entry.',
      absent: 'the content is the whole file, or is appended',
      example: { name: 'limits' },
    },
    '[].block.name': { description: 'The name of the block in the file.', example: 'limits' },
    '[].block.comment': { description: 'How comments begin in the file.', default: '#', example: '//' },
    '[].expand': {
      description: 'Whether ${name} in content is replaced by a variable.',
      default: false,
      example: true,
    },
    '[].absent': ABSENT_FIELD,
    ...FOLLOW_UP_FIELDS,
  },
  entryKeys: { '': ['path'] },
  schema: z.array(file),
  conditions: {
    '[]': () => [
      when(
        is('absent', true),
        without('content', 'contentFrom', 'encoding', 'mode', 'owner', 'directoryMode', 'append', 'block', 'expand'),
        exactlyOne('content', 'contentFrom'),
      ),
      when(has('encoding'), has('content')),
      when(is('append', true), without('contentFrom.http', 'block')),
      when(has('block'), without('contentFrom.http')),
    ],
    '[].contentFrom.http': () => [credentialsOverTls('url')],
  },
  toModel: async (section = [], resolve, platform): Promise<readonly FileModel[]> =>
    await Promise.all(
      presentOf(section).map(async ({ entry, place }) => ({ ...(await toFile(entry, platform, resolve)), ...place })),
    ),
  removes: (section) => absentOf('file', 'files', section),
  claims: (files) =>
    files.map(({ path, append, at }, index) => ({
      step: 'files',
      field: [at ?? index, 'path'],
      path,
      kind: append ? 'lines' : 'file',
    })),
  check: async (section) => [
    ...doublePaths(section, 'is already written by'),
    ...checkAbsent(section),
    ...section.flatMap(checkFile),
    ...(await Promise.all(section.map(undecodable))).flat(),
  ],
});

async function toFile(file: FileSection, platform: Platform, resolve: ResolveSecret): Promise<FileModel> {
  const { contentFrom } = file;
  const content: FileModel['content'] =
    contentFrom === undefined
      ? { kind: 'inline', bytes: await inlineBytes(file) }
      : 'secret' in contentFrom
        ? { kind: 'secret', secret: resolve(contentFrom, `file ${file.path}`) }
        : 'file' in contentFrom
          ? { kind: 'file', path: contentFrom.file }
          : {
              kind: 'http',
              url: contentFrom.http.url,
              sha256: contentFrom.http.sha256,
              headers: headersOf(contentFrom.http.headers, resolve, `file ${file.path}`),
            };
  const mode = parseInt(file.mode ?? (content.kind === 'secret' ? '0600' : '0644'), 8);
  const adds = file.append === true || file.block !== undefined;
  return {
    path: file.path,
    content,
    // On Windows only what others may is kept of it.
    mode: platform === 'windows' && mode === 0o700 ? 0o600 : mode,
    ...ownerOf(file.owner ?? 'root:root'),
    directoryMode: parseInt(file.directoryMode ?? '0755', 8),
    append: adds,
    ...(file.block === undefined ? {} : { block: { name: file.block.name, comment: file.block.comment ?? '#' } }),
    // A secret makes the file it is added to as private as one of its own.
    keepsMode: adds && file.mode === undefined && content.kind !== 'secret',
    keepsOwner: adds && file.owner === undefined,
    ...owedBy(file),
  };
}

/** Content with a variable that is not known here is not encoded yet: `validate` on another machine gets its text. */
async function inlineBytes({ content = '', encoding }: FileSection): Promise<Uint8Array> {
  try {
    return await decodeContent(content, encoding);
  } catch {
    return await decodeContent(content, undefined);
  }
}

function checkFile(file: FileSection, index: number): Finding[] {
  if (file.absent === true) return [];
  const path = [index];
  if (file.content !== undefined && file.contentFrom !== undefined) {
    const about = ['files', index, 'contentFrom'];
    return [{ path, message: 'content and contentFrom exclude each other', hint: 'keep one of them', about }];
  }
  if (file.content === undefined && file.contentFrom === undefined) {
    const about = ['files', index, 'content'];
    return [
      { path, message: 'neither content nor contentFrom is given', hint: 'content: "" makes an empty file', about },
    ];
  }
  if (file.encoding !== undefined && file.content === undefined) {
    return [{ path: [index, 'encoding'], message: 'encoding describes content, which is not given' }];
  }
  // Whether it has been added already is told by the content itself, which is not known before it is downloaded.
  if (file.append === true && file.block !== undefined) {
    return [{ path: [index, 'block'], message: 'append and block exclude each other', hint: 'keep one of them' }];
  }
  const adds = file.block === undefined ? 'append' : 'block';
  if (
    (file.append === true || file.block !== undefined) &&
    file.contentFrom !== undefined &&
    'http' in file.contentFrom
  ) {
    const hint = 'download it to a separate file, and append from that with contentFrom: {file: …}';
    return [{ path: [index, adds], message: 'what is downloaded cannot be appended', hint }];
  }
  return [];
}

/** Encoded contents must decode; what is compressed must not be damaged or endless. */
async function undecodable({ content, encoding }: FileSection, index: number): Promise<Finding[]> {
  if (content === undefined || encoding === undefined) return [];
  try {
    await decodeContent(content, encoding);
    return [];
  } catch (error) {
    const message =
      error instanceof MachineadmError
        ? 'not gzip, or larger than 4 MiB unpacked'
        : 'not base64, although encoding is Base64';
    return [{ code: 'InvalidValue', path: [index, 'content'], message }];
  }
}
