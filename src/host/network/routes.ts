import { endianness } from 'node:os';
import { overlap, parseSubnet, type Subnet } from '@machineadm/document/sections/kubernetes/subnets.ts';
import type { QueryHost } from '../seam/host.ts';
import { spelledIPv6 } from './interface-addresses.ts';

interface Route {
  readonly name: string;
  readonly to: Subnet;
  readonly metric: number;
}

/** RTF_UP and RTF_REJECT (linux/route.h). */
const UP = 0x1;
const REJECTS = 0x200;

/** The octets of an address of IPv4 in /proc/net/route, which has it as a number of this processor. */
const OCTETS_AT = endianness() === 'LE' ? [6, 4, 2, 0] : [0, 2, 4, 6];

/**
 * The interface by which the main routing table sends to an address, or to all others; undefined: there is no route.
 *
 * @param destination an IP address; undefined: the default route
 */
export async function interfaceOfRoute(
  host: Pick<QueryHost, 'readText'>,
  bits: Subnet['bits'],
  destination: string | undefined,
): Promise<string | undefined> {
  const target = destination === undefined ? undefined : parseSubnet(`${destination}/${bits}`);
  const routes = bits === 32 ? await routes4(host) : await routes6(host);
  const [best] = routes
    .filter(({ to }) => (target === undefined ? to.prefix === 0 : overlap(to, target)))
    .sort((a, b) => b.to.prefix - a.to.prefix || a.metric - b.metric);
  return best?.name;
}

/** name, destination, gateway, flags, references, use, metric (decimal), mask. */
async function routes4(host: Pick<QueryHost, 'readText'>): Promise<Route[]> {
  const text = (await host.readText('/proc/net/route')) ?? '';
  return text.split('\n').flatMap((line) => {
    const [name = '', digits = '', , flags = '', , , metric = '', mask = ''] = line.trim().split(/\s+/);
    const octets = OCTETS_AT.map((at) => Number.parseInt(digits.slice(at, at + 2), 16));
    const prefix = Number.parseInt(mask, 16).toString(2).replaceAll('0', '').length;
    return route(name, `${octets.join('.')}/${prefix}`, flags, Number(metric));
  });
}

/** destination, its prefix, source, its prefix, next hop, metric, references, use, flags, name: hexadecimal but for the name. */
async function routes6(host: Pick<QueryHost, 'readText'>): Promise<Route[]> {
  const text = (await host.readText('/proc/net/ipv6_route')) ?? '';
  return text.split('\n').flatMap((line) => {
    const [digits = '', prefix = '', , , , metric = '', , , flags = '', name = ''] = line.trim().split(/\s+/);
    return route(name, `${spelledIPv6(digits)}/${Number.parseInt(prefix, 16)}`, flags, Number.parseInt(metric, 16));
  });
}

function route(name: string, subnet: string, flags: string, metric: number): Route[] {
  const bits = Number.parseInt(flags, 16);
  const to = parseSubnet(subnet);
  return to === undefined || (bits & UP) === 0 || (bits & REJECTS) !== 0 ? [] : [{ name, to, metric }];
}
