import type { Finding } from '../diagnostics/index.ts';
import { all, is, must, when, without } from '../fields/conditions.ts';
import { field, object } from '../fields/field.ts';
import { absolutePath, fileMode } from '../fields/types.ts';
import { isCriticalPath } from '../ownership/paths.ts';
import * as z from '../schema/zod.ts';
import { parseMode } from '../text/units.ts';
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
  plainPath,
  presentOf,
} from './paths-of-host.ts';

/** Modes and owner; what is undefined stays as it is. */
export interface RecursiveModel {
  readonly mode: number | undefined;
  readonly directoryMode: number | undefined;
  readonly user: string | undefined;
  readonly group: string | undefined;
}

export interface DirectoryModel {
  readonly path: string;
  /** undefined: it stays as it is, and is 0755 where it is made. */
  readonly mode: number | undefined;
  /** undefined: they stay as they are, and are root's where it is made. */
  readonly user: string | undefined;
  readonly group: string | undefined;
  /** Of all that is in it. */
  readonly recursive: RecursiveModel | undefined;
  /** Its index in the document; absent: its index in this list. */
  readonly at?: number;
  /** What must follow a change of it. */
  readonly owes?: readonly OwedByDocument[];
}

const recursive = object({
  mode: field(fileMode, 'The permissions of the files in it.', { absent: 'they keep their own', example: '0640' }),
  directoryMode: field(fileMode, 'The permissions of the directories in it.', {
    absent: 'they keep their own',
    example: '0750',
  }),
  owner: field(owner, 'The user and group that own its contents.', { absent: 'it keeps its own', example: 'app' }),
});

export const directories = hostPart({
  description: 'Directories that machineadm creates before it writes files.',
  default: [],
  changes: 'directories at these paths, with their owner and mode',
  example: [{ path: '/srv/app', owner: 'app', mode: '0750' }],
  linuxOnly: 'directories above files are made with them there',
  entryKeys: { '': ['path'] },
  schema: z.array(
    object(
      {
        path: field(absolutePath, 'The path of the directory. Those above it are created if needed.', {
          example: '/srv/app',
        }),
        mode: field(fileMode, 'The permissions of the directory in octal digits, in quotes.', {
          absent: '"0755" for a new directory; an existing one keeps its mode',
          example: '0750',
        }),
        owner: field(owner, 'The user and group that own the directory, as names or numeric IDs.', {
          absent: 'root:root for a new directory; an existing one keeps its owner',
          example: 'app:operators',
        }),
        recursive: field(
          z.union([recursive, z.literal(true)]),
          'Modes and owner of everything in the directory, except files, directories and links that the document names. With absent, true also removes the contents.',
          {
            absent: 'the contents stay unchanged; with absent, the directory must be empty',
            example: { owner: 'app', mode: '0640', directoryMode: '0750' },
          },
        ),
        absent: absentField(),
        ...FOLLOW_UPS,
      },
      () => [
        when(
          is('absent', true),
          all(without('mode', 'owner'), must('recursive', { const: true })),
          must('recursive', { type: 'object' }),
        ),
      ],
    ),
  ),
  toModel: (section = []): readonly DirectoryModel[] =>
    presentOf(section).map(({ entry, place }) => ({
      path: plainPath(entry.path),
      mode: modeOf(entry.mode),
      ...ownedBy(entry.owner),
      recursive:
        typeof entry.recursive !== 'object'
          ? undefined
          : {
              mode: modeOf(entry.recursive.mode),
              directoryMode: modeOf(entry.recursive.directoryMode),
              ...ownedBy(entry.recursive.owner),
            },
      ...place,
      ...owedBy(entry),
    })),
  removes: (section) => absentOf('directory', 'directories', section),
  claims: (directories) =>
    directories.map(({ path, at }, index) => ({
      step: 'directories',
      field: [at ?? index, 'path'],
      path,
      kind: 'directory',
    })),
  check: (section) => [
    ...doublePaths(section, 'is already named by'),
    ...checkAbsent(section, ['recursive']),
    ...section.flatMap(({ path, absent, recursive }, index): Finding[] => {
      const at = [index, 'recursive'];
      if (absent === true) {
        if (recursive === undefined || recursive === true) return [];
        return [
          { path: at, message: 'modes and owners of what is removed', hint: 'recursive: true removes what is in it' },
        ];
      }
      if (recursive === true) {
        const about = ['absent', 'recursive'].map((name) => ['directories', index, name]);
        return [
          { path: at, message: 'expected modes or an owner', hint: 'recursive: {owner: app, mode: "0640"}', about },
        ];
      }
      if (recursive === undefined || !isCriticalPath(path)) return [];
      return [{ path: at, message: `${path} is part of the system: its files have modes and owners that must stay` }];
    }),
  ],
});

function modeOf(mode: string | undefined): number | undefined {
  return mode === undefined ? undefined : parseMode(mode);
}

function ownedBy(owner: string | undefined): { readonly user: string | undefined; readonly group: string | undefined } {
  return owner === undefined ? { user: undefined, group: undefined } : ownerOf(owner);
}
