import type { Finding } from '../diagnostics/index.ts';
import { all, exactlyOne, has, is, must, when, without } from '../fields/conditions.ts';
import { decodeContent } from '../fields/content.ts';
import type { ResolveSecret } from '../fields/convert-values.ts';
import { choice, field, object } from '../fields/field.ts';
import type { Platform } from '../fields/platform.ts';
import { fileMode, machinePath } from '../fields/types.ts';
import { MachineadmError } from '../outcomes/errors.ts';
import * as z from '../schema/zod.ts';
import { parseMode } from '../text/units.ts';
import { contentFrom, contentOf, type FileContent } from './file-content.ts';
import { doublePaths, hostPart } from './part.ts';
import {
  absentField,
  absentOf,
  checkAbsent,
  FOLLOW_UPS,
  type OwedByDocument,
  owedBy,
  owner,
  ownerOf,
  presentOf,
} from './paths-of-host.ts';
import { checkUnpack, isDirectory, unpack } from './unpack.ts';

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
  /** Appended to the file, once; a marker by content makes it idempotent. */
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

const file = object(
  {
    path: field(machinePath, 'The path of the file. Directories above it are created if needed.', {
      example: '/etc/motd',
    }),
    content: field(z.string(), 'The content, byte for byte. Give this or contentFrom.', {
      absent: 'the content comes from contentFrom',
      example: 'Managed by machineadm\n',
    }),
    contentFrom,
    encoding: field(
      choice({
        base64: 'Bytes in base64.',
        'gzip+base64': 'Bytes that are compressed with gzip, in base64.',
      }),
      'How content is encoded in the document.',
      { absent: 'content is plain text', example: 'base64' },
    ),
    mode: field(fileMode, 'The permissions of the file in octal digits, in quotes.', {
      absent: '"0644", or "0600" with content from a secret',
      example: '0600',
    }),
    owner: field(owner, 'The user and group that own the file, as names or numeric IDs.', {
      default: 'root:root',
      example: 'core:operators',
    }),
    directoryMode: field(fileMode, 'The permissions of directories that are created above the file.', {
      default: '0755',
      example: '0700',
    }),
    append: field(
      z.boolean(),
      'Whether the content is added once at the end of the file. With false it is the whole file.',
      { default: false, example: true },
    ),
    block: field(
      object({
        name: field(
          z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, 'not a name: letters, digits, ".", "_" and "-"'),
          'The name of the block in the file.',
          { example: 'limits' },
        ),
        comment: field(
          choice({
            '#': 'Shells, Python, YAML and most files below /etc.',
            '//': 'C, JavaScript and Go.',
            ';': 'INI files.',
            '--': 'SQL, Lua and Haskell.',
            '"': 'Vim.',
            '!': 'X resources.',
            '<!--': 'XML and HTML.',
          }),
          'How comments begin in the file.',
          { default: '#', example: '//' },
        ),
      }),
      'Adds the content to the file between two comments that name it. A changed content replaces the block, and the block is removed with its entry.',
      { absent: 'the content is the whole file, or is appended', example: { name: 'limits' } },
    ),
    expand: field(z.boolean(), 'Whether ${name} in content is replaced by a variable.', {
      default: false,
      example: true,
    }),
    unpack,
    absent: absentField(),
    ...FOLLOW_UPS,
  },
  () => [
    when(
      is('absent', true),
      without(
        'content',
        'contentFrom',
        'encoding',
        'mode',
        'owner',
        'directoryMode',
        'append',
        'block',
        'expand',
        'unpack',
      ),
      exactlyOne('content', 'contentFrom'),
    ),
    when(has('encoding'), has('content')),
    when(is('append', true), without('contentFrom.http', 'block')),
    when(has('block'), without('contentFrom.http')),
    when(
      has('unpack'),
      all(
        without('contentFrom.secret', 'block'),
        ...['append', 'expand'].map((field) => must(field, { const: false })),
      ),
    ),
  ],
);

export type FileSection = z.infer<typeof file>;

export const files = hostPart({
  description: 'Files that machineadm writes, after mounts and users exist.',
  default: [],
  changes: 'files at these paths, with their owner, mode and content',
  example: [{ path: '/etc/motd', content: 'Managed by machineadm\n' }],
  entryKeys: { '': ['path'] },
  schema: z.array(file),
  toModel: async (section = [], resolve, platform): Promise<readonly FileModel[]> =>
    await Promise.all(
      presentOf(section, isPlain).map(async ({ entry, place }) => ({
        ...(await toFile(entry, platform, resolve)),
        ...place,
      })),
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
    ...doublePaths(section.map(asUnpacked), 'is already written by'),
    ...checkAbsent(section),
    ...section.flatMap(checkFile),
    ...section.flatMap(checkUnpack),
    ...section.flatMap(checkKernelPath),
    ...(await Promise.all(section.map(undecodable))).flat(),
  ],
});

function isPlain({ unpack }: FileSection): boolean {
  return unpack === undefined;
}

/** Several archives may be unpacked to one directory. */
function asUnpacked(file: FileSection, index: number, all: readonly FileSection[]): FileSection {
  const isShared = isDirectory(file) && all.every((other) => other.path !== file.path || isDirectory(other));
  return isShared ? { ...file, path: `${file.path}#${index}` } : file;
}

async function toFile(file: FileSection, platform: Platform, resolve: ResolveSecret): Promise<FileModel> {
  const content = await contentOf(file, resolve);
  const mode = parseInt(file.mode ?? (content.kind === 'secret' ? '0600' : '0644'), 8);
  const adds = file.append === true || file.block !== undefined;
  return {
    path: file.path,
    content,
    // On Windows only what others may is kept of it.
    mode: platform === 'windows' && mode === 0o700 ? 0o600 : mode,
    ...ownerOf(file.owner ?? 'root:root'),
    directoryMode: parseMode(file.directoryMode ?? '0755'),
    append: adds,
    ...(file.block === undefined ? {} : { block: { name: file.block.name, comment: file.block.comment ?? '#' } }),
    // A secret makes the file it is added to as private as one of its own.
    keepsMode: adds && file.mode === undefined && content.kind !== 'secret',
    keepsOwner: adds && file.owner === undefined,
    ...owedBy(file),
  };
}

function checkFile(file: FileSection, index: number): Finding[] {
  if (file.absent === true) return [];
  const path = [index];
  if (file.content !== undefined && file.contentFrom !== undefined) {
    const about = [['files', index, 'contentFrom']];
    return [{ path, message: 'content and contentFrom exclude each other', hint: 'keep one of them', about }];
  }
  if (file.content === undefined && file.contentFrom === undefined) {
    const about = ['content', 'contentFrom', 'absent'].map((name) => ['files', index, name]);
    return [
      { path, message: 'neither content nor contentFrom is given', hint: 'content: "" makes an empty file', about },
    ];
  }
  if (file.encoding !== undefined && file.content === undefined) {
    return [{ path: [index, 'encoding'], message: 'encoding describes content, which is not given' }];
  }
  // The content itself shows whether it was appended already, and it is known only after the download.
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

/** The kernel lets nobody make or rename a file there, as each write of a file does. */
function checkKernelPath({ path, absent }: FileSection, index: number): Finding[] {
  const mount = /^\/(?:proc|sys)(?=\/)/.exec(path)?.[0];
  if (mount === undefined || absent === true) return [];
  const key = /^\/proc\/sys\/(.+)/.exec(path)?.[1];
  const hint =
    key === undefined
      ? 'write to it in host.hooks.early, with frequency: Always'
      : `set ${key.replaceAll('/', '.')} in host.sysctl`;
  return [{ path: [index, 'path'], message: `no file can be made below ${mount}: it shows the kernel`, hint }];
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
        : 'not base64, which encoding requires';
    return [{ code: 'InvalidValue', path: [index, 'content'], message }];
  }
}
