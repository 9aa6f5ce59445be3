import { atLeastOne, exclusive } from '../../fields/conditions.ts';
import { milliseconds } from '../../fields/convert-values.ts';
import { field, object } from '../../fields/field.ts';
import { duration } from '../../fields/types.ts';
import * as z from '../../schema/zod.ts';

/** How the machine finds the addresses of its node: one for each IP family of `subnets`. */
export interface NodeAddressesModel {
  readonly interface: string | undefined;
  /** `Default`, or an IP address. */
  readonly routeTo: string | undefined;
  /** In the order of the document: the first family is the primary one. Never empty. */
  readonly subnets: readonly string[];
  readonly timeoutMs: number;
}

const DEFAULT_TIMEOUT_MS = 120_000;
const NO_DESTINATION = 'neither "Default" nor an IP address';
const EVERY_ADDRESS = { 32: '0.0.0.0/0', 128: '::/0' } as const;

export const nodeAddresses = object(
  {
    interface: field(
      z.string().regex(/^[^\s/:]{1,15}$/, 'not the name of a network interface, such as "eth1"'),
      'The interface that has the addresses. Excludes routeTo.',
      { absent: 'any interface', example: 'eth1' },
    ),
    routeTo: field(
      z.union([z.ipv4(NO_DESTINATION), z.ipv6(NO_DESTINATION), z.literal('Default', NO_DESTINATION)]),
      'Selects the interface of a route: `Default` for the default route of each IP family, an IP address for the route to it. Excludes interface.',
      { absent: 'any interface', example: 'Default' },
    ),
    subnets: field(
      z
        .array(z.string().regex(/^[0-9A-Fa-f:.]+\/\d{1,3}$/, 'not a subnet, such as "10.0.0.0/16" or "fd00:1::/64"'))
        .min(1),
      'Subnets that have the addresses. The node gets one address of each IP family in this list; the first family is the primary one.',
      {
        absent: '`0.0.0.0/0`: one IPv4 address; if routeTo is an IPv6 address, `::/0`',
        example: ['10.0.0.0/16', 'fd00:1::/64'],
      },
    ),
    timeout: field(duration, 'How long a run waits for the addresses.', { default: '2m', example: '5m' }),
  },
  () => [exclusive('interface', 'routeTo'), atLeastOne('interface', 'routeTo', 'subnets')],
);

export type NodeAddressesSection = z.infer<typeof nodeAddresses>;

export function toNodeAddresses(section: NodeAddressesSection | undefined): NodeAddressesModel | undefined {
  if (section === undefined) return undefined;
  return {
    interface: section.interface,
    routeTo: section.routeTo,
    subnets: section.subnets ?? [EVERY_ADDRESS[section.routeTo?.includes(':') === true ? 128 : 32]],
    timeoutMs: milliseconds(section.timeout) ?? DEFAULT_TIMEOUT_MS,
  };
}
