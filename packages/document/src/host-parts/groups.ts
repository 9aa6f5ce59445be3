import { is, when, without } from '../fields/conditions.ts';
import { field, object } from '../fields/field.ts';
import { ACCOUNT_DATABASES } from '../ownership/paths.ts';
import * as z from '../schema/zod.ts';
import { accountId, accountName, doubleIds } from './accounts.ts';
import { claimsOn, doubles, hostPart } from './part.ts';
import { absentField, absentNames, checkAbsentNames, presentOf } from './paths-of-host.ts';

export interface GroupModel {
  readonly name: string;
  readonly gid: number | undefined;
  readonly system: boolean;
}

export const groups = hostPart({
  description: 'Groups of users. An existing group is changed if it differs.',
  default: [],
  changes: '`/etc/group`, with `groupadd` and `groupmod`',
  example: [{ name: 'operators', gid: 2000 }],
  linuxOnly: 'accounts of a Windows machine belong into its image or its domain',
  entryKeys: { '': ['name'] },
  schema: z.array(
    object(
      {
        name: field(accountName, 'The name of the group.', { example: 'operators' }),
        gid: field(accountId, 'The numeric ID of the group.', { absent: 'the system chooses one', example: 2000 }),
        system: field(z.boolean(), 'Whether the ID comes from the range of system groups.', {
          default: false,
          example: true,
        }),
        absent: absentField('Whether the group is removed.'),
      },
      () => [when(is('absent', true), without('gid', 'system'))],
    ),
  ),
  toModel: (section = []): readonly GroupModel[] =>
    presentOf(section).map(({ entry: { name, gid, system = false } }) => ({ name, gid, system })),
  removesNames: (section) => absentNames('group', 'groups', section),
  claims: (groups) => (groups.length === 0 ? [] : claimsOn('groups', [], 'lines', ...ACCOUNT_DATABASES)),
  check: (section) => [...doubles(section), ...doubleIds(section, 'gid'), ...checkAbsentNames(section)],
});

export type GroupsSection = z.infer<typeof groups.schema>;
