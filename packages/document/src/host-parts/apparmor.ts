import { field, object } from '../fields/field.ts';
import { APPARMOR_DIRECTORY } from '../ownership/paths.ts';
import * as z from '../schema/zod.ts';
import { claimsOn, doubles, hostPart } from './part.ts';

export interface ApparmorModel {
  readonly profiles: readonly { readonly path: string; readonly content: string }[];
}

const EXAMPLE = 'abi <abi/3.0>,\nprofile k8s-nginx flags=(attach_disconnected) {\n  file,\n  network,\n}\n';

export const apparmor = hostPart({
  description: 'AppArmor profiles, loaded now and at every boot.',
  absent: 'AppArmor stays as it is',
  changes: 'profiles in `/etc/apparmor.d`, and the profiles that the kernel has loaded',
  example: { profiles: [{ name: 'k8s-nginx', content: EXAMPLE }] },
  entryKeys: { profiles: ['name'] },
  linuxOnly: 'it has no AppArmor',
  schema: object({
    profiles: field(
      z.array(
        object({
          // apparmor_parser skips names with these endings, and hidden files (parser/lib.c, is_blacklisted).
          name: field(
            z
              .string()
              .max(200, 'longer than 200 characters')
              .regex(/^[A-Za-z0-9_][A-Za-z0-9_.-]*$/, 'not the name of a file of profiles'),
            'The name of the file in /etc/apparmor.d.',
            { example: 'k8s-nginx' },
          ),
          content: field(z.string().min(1, 'an empty profile'), 'The profile, in the format of apparmor.d(5).', {
            example: EXAMPLE,
          }),
        }),
      ),
      'The profiles. If a profile leaves the document, it is unloaded and removed.',
      { default: [], example: [{ name: 'k8s-nginx', content: EXAMPLE }] },
    ),
  }),
  toModel: (section): ApparmorModel | undefined =>
    section && {
      profiles: (section.profiles ?? []).map(({ name, content }) => ({
        path: `${APPARMOR_DIRECTORY}/${name}`,
        content,
      })),
    },
  claims: (apparmor) =>
    (apparmor?.profiles ?? []).flatMap(({ path }, index) => claimsOn('apparmor', ['profiles', index], 'file', path)),
  check: ({ profiles = [] }) =>
    doubles(profiles).map((finding) => ({
      ...finding,
      path: ['profiles', ...finding.path],
      other: ['profiles', ...(finding.other ?? [])],
    })),
});
