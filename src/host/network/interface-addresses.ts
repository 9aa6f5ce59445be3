import { networkInterfaces } from 'node:os';
import type { InterfaceAddress } from '../seam/facts.ts';
import type { QueryHost } from '../seam/host.ts';

/** One line an address: address, index of the interface, prefix length, scope, flags (hexadecimal), interface. */
const ADDRESSES6 = '/proc/net/if_inet6';

/** Flags of an address (linux/if_addr.h), the one that excludes it for longest first. */
const STATES = [
  [0x08, 'duplicate'],
  [0x40, 'tentative'],
  [0x20, 'deprecated'],
  [0x01, 'temporary'],
] as const;

/**
 * The addresses of the interfaces that are up. An alias (`eth0:1`) is an address of its interface.
 *
 * @param host reads the states of IPv6 addresses; absent where the system does not tell them in a file
 */
export async function interfaceAddresses(
  host?: Pick<QueryHost, 'readText'>,
  found: ReturnType<typeof networkInterfaces> = networkInterfaces(),
): Promise<readonly InterfaceAddress[]> {
  const states = statesOf((await host?.readText(ADDRESSES6)) ?? '');
  return Object.entries(found).flatMap(([label, list]) => {
    const name = host === undefined ? label : before(label, ':');
    return (list ?? []).map(({ address, cidr }): InterfaceAddress => {
      const plain = before(address.toLowerCase(), '%');
      const state = states.get(`${name} ${plain}`);
      const prefix = Number(cidr?.split('/')[1] ?? (plain.includes(':') ? 128 : 32));
      return { interface: name, address: plain, prefix, ...(state === undefined ? {} : { state }) };
    });
  });
}

function before(text: string, sign: string): string {
  return text.split(sign)[0] ?? '';
}

function statesOf(text: string): ReadonlyMap<string, InterfaceAddress['state']> {
  return new Map(
    text.split('\n').flatMap((line) => {
      const [digits = '', , , , flags = '', name = ''] = line.trim().split(/\s+/);
      const address = spelledIPv6(digits);
      const state = STATES.find(([bit]) => (Number.parseInt(flags, 16) & bit) !== 0)?.[1];
      return address === undefined || state === undefined ? [] : [[`${name} ${address}`, state] as const];
    }),
  );
}

/** The usual spelling of 32 hexadecimal digits, in which files of /proc/net have addresses of IPv6. */
export function spelledIPv6(digits: string): string | undefined {
  const groups = digits.match(/[0-9a-f]{4}/gi);
  return groups?.length === 8 ? URL.parse(`http://[${groups.join(':')}]/`)?.hostname.slice(1, -1) : undefined;
}
