import { networkInterfaces } from 'node:os';
import type { QueryHost } from '../seam/host.ts';

const ROUTES = '/proc/net/route';
const ROUTES6 = '/proc/net/ipv6_route';

/**
 * Addresses of the interfaces that a default route leaves by: what the kubelet takes for a node's (k/k
 * pkg/kubelet/nodestatus/setters.go through apimachinery util/net ChooseHostInterface). Those of bridges and tunnels
 * that a network plug-in makes later are not among them, so that the list stays what it was at the first run.
 */
export async function nodeAddresses(host: Pick<QueryHost, 'readText'>): Promise<readonly string[]> {
  const routes = [await host.readText(ROUTES), await host.readText(ROUTES6)];
  const names = new Set([...defaultRoutes(routes[0] ?? ''), ...defaultRoutes6(routes[1] ?? '')]);
  const addresses = Object.entries(networkInterfaces()).flatMap(([name, list]) =>
    names.has(name) ? (list ?? []).map(({ address }) => address.toLowerCase()) : [],
  );
  return [...new Set(addresses)].filter((address) => !/^(fe[89ab]|169\.254\.)/.test(address)).sort();
}

/** Interfaces of default routes in /proc/net/route: name, destination, gateway, flags, …, mask is the eighth field. */
export function defaultRoutes(text: string): readonly string[] {
  return text
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
    .flatMap((fields) => (fields[0] !== undefined && isZero(fields[1]) && isZero(fields[7]) ? [fields[0]] : []));
}

/** The same of /proc/net/ipv6_route: destination, its prefix length, …, the name last. `lo` carries the reject routes. */
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
