import { networkInterfaces } from 'node:os';
import type { NetworkInterface } from '../seam/facts.ts';
import type { QueryHost } from '../seam/host.ts';

const ROUTES = '/proc/net/route';
const ROUTES6 = '/proc/net/ipv6_route';

/**
 * Addresses of the interfaces with a default route: the candidates of the kubelet for a node's address (k/k
 * pkg/kubelet/nodestatus/setters.go through apimachinery util/net ChooseHostInterface). Bridges and tunnels that a
 * network plug-in creates later are not included, so the list stays the same after the first run.
 */
export async function nodeAddresses(host: Pick<QueryHost, 'readText'>): Promise<readonly string[]> {
  const names = new Set(await defaultInterfaces(host));
  const addresses = Object.entries(networkInterfaces()).flatMap(([name, list]) =>
    names.has(name) ? (list ?? []).map(({ address }) => address.toLowerCase()) : [],
  );
  return [...new Set(addresses)].filter((address) => !/^(fe[89ab]|169\.254\.)/.test(address)).sort();
}

/** All interfaces that have an address. */
export function interfaces(): readonly NetworkInterface[] {
  return Object.entries(networkInterfaces()).map(([name, list]) => ({
    name,
    addresses: (list ?? []).map(({ address }) => address.toLowerCase()),
  }));
}

/** Interfaces that a default route leaves by. */
export async function defaultInterfaces(host: Pick<QueryHost, 'readText'>): Promise<readonly string[]> {
  const [routes, routes6] = [await host.readText(ROUTES), await host.readText(ROUTES6)];
  // `*` stands for routes that reject what they match.
  return [...defaultRoutes(routes ?? ''), ...defaultRoutes6(routes6 ?? '')].filter((name) => name !== '*');
}

/** Interfaces of default routes in /proc/net/route: name, destination, gateway, flags, …, mask is the eighth field. */
export function defaultRoutes(text: string): readonly string[] {
  return text
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
    .flatMap((fields) => (fields[0] !== undefined && isZero(fields[1]) && isZero(fields[7]) ? [fields[0]] : []));
}

/** The same for /proc/net/ipv6_route: destination, its prefix length, …, the name last. `lo` has the reject routes. */
export function defaultRoutes6(text: string): readonly string[] {
  return text
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .flatMap((fields) => {
      const name = fields.at(-1);
      return fields.length > 9 && isZero(fields[0]) && isZero(fields[1]) && name !== undefined && name !== 'lo'
        ? [name]
        : [];
    });
}

function isZero(hex: string | undefined): boolean {
  return hex !== undefined && /^0+$/.test(hex);
}
