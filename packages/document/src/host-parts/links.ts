import { has, is, when, without } from '../fields/conditions.ts';
import { field, object } from '../fields/field.ts';
import { absolutePath } from '../fields/types.ts';
import * as z from '../schema/zod.ts';
import { doublePaths, hostPart } from './part.ts';
import {
  absentField,
  absentOf,
  checkAbsent,
  FOLLOW_UPS,
  type OwedByDocument,
  owedBy,
  plainPath,
  presentOf,
} from './paths-of-host.ts';

export interface LinkModel {
  readonly path: string;
  /** As the link holds it. */
  readonly target: string;
  /** Whether a file, or a link to something else, is replaced. */
  readonly force: boolean;
  /** Its place in the document; absent: that in this list. */
  readonly at?: number;
  /** What must follow a change of it. */
  readonly owes?: readonly OwedByDocument[];
}

export const links = hostPart({
  description: 'Symbolic links that machineadm creates after it has written files.',
  default: [],
  changes: 'symbolic links at these paths',
  example: [{ path: '/usr/local/bin/tool', target: '/opt/tool/bin/tool' }],
  linuxOnly: 'machineadm makes no links there',
  entryKeys: { '': ['path'] },
  schema: z.array(
    object(
      {
        path: field(absolutePath, 'The path of the link. Directories above it are created if needed.', {
          example: '/usr/local/bin/tool',
        }),
        target: field(
          z
            .string()
            .max(4095, 'longer than 4095 characters')
            .regex(/^[^\0\n]+$/, 'a target is not empty and holds no control characters'),
          'The target of the link: an absolute path, or one relative to the directory of the link. Required, except with absent.',
          { absent: 'the link is removed', example: '/opt/tool/bin/tool' },
        ),
        force: field(
          z.boolean(),
          'Whether to replace an existing file, or a link to another target. A directory is never replaced.',
          { default: false, example: true },
        ),
        absent: absentField(),
        ...FOLLOW_UPS,
      },
      () => [when(is('absent', true), without('target', 'force'), has('target'))],
    ),
  ),
  toModel: (section = []): readonly LinkModel[] =>
    presentOf(section).map(({ entry, place }) => ({
      path: plainPath(entry.path),
      target: entry.target ?? '',
      force: entry.force ?? false,
      ...place,
      ...owedBy(entry),
    })),
  removes: (section) => absentOf('link', 'links', section),
  claims: (links) =>
    links.map(({ path, at }, index) => ({ step: 'links', field: [at ?? index, 'path'], path, kind: 'file' })),
  check: (section) => [
    ...doublePaths(section, 'is already made by'),
    ...checkAbsent(section),
    ...section.flatMap(({ target, absent }, index) =>
      target === undefined && absent !== true
        ? [
            {
              path: [index],
              message: 'the target is missing',
              about: ['target', 'absent'].map((name) => ['links', index, name]),
            },
          ]
        : [],
    ),
  ],
});
