import type { Finding } from '../diagnostics/index.ts';
import { exclusive } from '../fields/conditions.ts';
import { field, object } from '../fields/field.ts';
import * as z from '../schema/zod.ts';

export interface SelectionModel {
  /** The one member that is taken, by its name in the archive: it becomes the file. */
  readonly member: string | undefined;
  /** Patterns of names without the leading directories that are stripped; undefined: all members. */
  readonly include: readonly string[] | undefined;
  readonly exclude: readonly string[];
  readonly stripComponents: number;
}

const name = z
  .string()
  .max(512, 'longer than 512 characters')
  .regex(/^[^/\n][^\n]*$/, 'not a name in an archive: it is relative, without a slash at its beginning');

export const unpack = field(
  object(
    {
      member: field(name, 'The one member of the archive that becomes the file `path`, by its name in the archive.', {
        absent: 'the archive is unpacked into the directory `path`',
        example: 'linux-amd64/helm',
      }),
      include: field(
        z.array(name).min(1, 'no name is given'),
        'The members that are unpacked, by their names without what stripComponents removes. `*` stands for any text without a slash, `**` for any text.',
        { absent: 'all members', example: ['bridge', 'host-local', 'loopback'] },
      ),
      exclude: field(z.array(name), 'The members that are left out of them, in the same form.', {
        default: [],
        example: ['**.md'],
      }),
      stripComponents: field(
        z.int().min(0).max(64),
        'How many leading directories are removed from the names of members. Members with fewer are left out.',
        { default: 0, example: 1 },
      ),
    },
    () => ['include', 'exclude', 'stripComponents'].map((field) => exclusive('member', field)),
  ),
  'Unpacks the content, a tar or zip archive, into the directory `path`, which is created if needed. A tar may be compressed with gzip or zstd.',
  { absent: 'the content is the file as it is', example: { include: ['bin/*'], stripComponents: 1 } },
);

export type UnpackSection = NonNullable<z.infer<typeof unpack.schema>>;

export function selectionOf({ member, include, exclude = [], stripComponents = 0 }: UnpackSection): SelectionModel {
  return { member, include, exclude, stripComponents };
}

/** Whether the path of an entry of `host.files` is a directory that others may be unpacked to as well. */
export function isDirectory(file: { readonly unpack?: UnpackSection | undefined }): boolean {
  return file.unpack !== undefined && file.unpack.member === undefined;
}

/** What an entry with `unpack` cannot say. */
export function checkUnpack(file: { readonly unpack?: UnpackSection | undefined }, index: number): Finding[] {
  const { unpack, ...rest } = file;
  if (unpack === undefined) return [];
  const given: Readonly<Record<string, unknown>> = rest;
  const other = ['append', 'block', 'expand'].find((key) => given[key] !== undefined && given[key] !== false);
  if (other !== undefined) {
    return [{ path: [index, other], message: `${other} and unpack exclude each other`, hint: 'keep one of them' }];
  }
  const from = given.contentFrom;
  if (typeof from === 'object' && from !== null && 'secret' in from) {
    return [
      { path: [index, 'contentFrom'], message: 'a secret cannot be an archive', hint: 'keep the archive in a file' },
    ];
  }
  const beside = (['include', 'exclude', 'stripComponents'] as const).find((key) => unpack[key] !== undefined);
  if (unpack.member === undefined || beside === undefined) return [];
  const hint = 'keep one of them: member takes one file, by its whole name in the archive';
  return [{ path: [index, 'unpack', beside], message: `member and ${beside} exclude each other`, hint }];
}
