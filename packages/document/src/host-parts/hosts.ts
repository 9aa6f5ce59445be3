import { field, object } from '../fields/field.ts';
import { CLOUD_INIT_HOSTS_FILE, HOSTS_FILE } from '../ownership/paths.ts';
import * as z from '../schema/zod.ts';
import { claimsOn, hostPart, repeats } from './part.ts';

export interface HostsModel {
  readonly entries: readonly { readonly address: string; readonly names: readonly string[] }[];
  readonly ownName: boolean;
}

export const hosts = hostPart({
  description: 'Entries of /etc/hosts. Lines that others wrote stay as they are.',
  absent: "/etc/hosts stays as it is, or gets the machine's own name where `host.hostname` is set",
  changes: 'a marked block in `/etc/hosts`, and a drop-in in `/etc/cloud/cloud.cfg.d`',
  example: { entries: [{ address: '10.0.0.10', names: ['api.example.com', 'api'] }] },
  entryKeys: { entries: ['address'] },
  linuxOnly: 'its hosts file is that of the image',
  schema: object({
    entries: field(
      z.array(
        object({
          address: field(z.union([z.ipv4(), z.ipv6()], { error: 'not an IP address' }), 'An IPv4 or IPv6 address.', {
            example: '10.0.0.10',
          }),
          names: field(
            z
              .array(
                z
                  .string()
                  .max(253, 'longer than 253 characters')
                  .regex(/^[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?$/, 'not a host name'),
              )
              .min(1, 'an address without a name'),
            'Names of the address, the canonical one first.',
            { example: ['api.example.com', 'api'] },
          ),
        }),
      ),
      'Addresses with their names.',
      { default: [], example: [{ address: '10.0.0.10', names: ['api.example.com', 'api'] }] },
    ),
    ownName: field(
      z.boolean(),
      "Adds the machine's own name at 127.0.1.1 if neither another line nor nss-myhostname resolves it. sudo and other programs look it up. `host.hostname` alone does it, too; false leaves the name out.",
      { default: true, example: false },
    ),
  }),
  toModel: (section): HostsModel | undefined =>
    section && { entries: section.entries ?? [], ownName: section.ownName ?? true },
  claims: (hosts) =>
    hosts === undefined
      ? []
      : [...claimsOn('hosts', [], 'lines', HOSTS_FILE), ...claimsOn('hosts', [], 'file', CLOUD_INIT_HOSTS_FILE)],
  check: ({ entries = [] }) =>
    repeats(entries, 'address', 'is already').map((finding) => ({
      ...finding,
      path: ['entries', ...finding.path],
      other: ['entries', ...(finding.other ?? [])],
    })),
});
