import { choice, field, object } from '../fields/field.ts';
import { SELINUX_CONFIGURATION } from '../ownership/paths.ts';
import * as z from '../schema/zod.ts';
import { claimsOn, hostPart, repeats } from './part.ts';

export interface SelinuxModel {
  readonly mode: 'Enforcing' | 'Permissive' | undefined;
  readonly booleans: Readonly<Record<string, boolean>>;
  readonly fileContexts: readonly { readonly path: string; readonly type: string }[];
}

export const selinux = hostPart({
  description:
    'SELinux: its mode, booleans and labels of paths. Files that machineadm writes get the labels of the policy in any case.',
  absent: 'SELinux stays as it is',
  changes: '`/etc/selinux/config`, and the mode, booleans and file contexts of the loaded policy',
  example: { mode: 'Enforcing', booleans: { container_manage_cgroup: true } },
  entryKeys: { fileContexts: ['path'] },
  linuxOnly: 'it has no SELinux',
  schema: object({
    mode: field(
      choice({
        Enforcing: 'What the policy forbids is refused.',
        Permissive: 'What the policy forbids is only logged.',
      }),
      'The mode, now and at every boot.',
      { absent: 'the mode stays as it is', example: 'Enforcing' },
    ),
    booleans: field(
      z.record(z.string().regex(/^[A-Za-z0-9_]+$/, 'not the name of a boolean'), z.boolean()),
      'Booleans of the policy, set now and at every boot. If a later document does not have one, it keeps its value.',
      { default: {}, example: { container_manage_cgroup: true } },
    ),
    fileContexts: field(
      z.array(
        object({
          path: field(
            z
              .string()
              .max(512, 'longer than 512 characters')
              .regex(/^\/[^\s]+$/, 'not a regular expression of absolute paths without blanks'),
            'A regular expression that matches whole paths (semanage-fcontext(8)).',
            { example: '/srv/data(/.*)?' },
          ),
          type: field(z.string().regex(/^[A-Za-z0-9_]+$/, 'not the name of a type'), 'The type of these files.', {
            example: 'container_file_t',
          }),
        }),
      ),
      'Types of files by path, added to the policy with semanage. If a later document does not have one, it is removed.',
      { default: [], example: [{ path: '/srv/data(/.*)?', type: 'container_file_t' }] },
    ),
  }),
  toModel: (section): SelinuxModel | undefined =>
    section && { mode: section.mode, booleans: section.booleans ?? {}, fileContexts: section.fileContexts ?? [] },
  claims: (selinux) =>
    selinux?.mode === undefined ? [] : claimsOn('selinux', ['mode'], 'lines', SELINUX_CONFIGURATION),
  check: ({ fileContexts = [] }) =>
    repeats(fileContexts, 'path', 'is already').map((finding) => ({
      ...finding,
      path: ['fileContexts', ...finding.path],
      other: ['fileContexts', ...(finding.other ?? [])],
    })),
});
