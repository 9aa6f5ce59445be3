import { networkInterfaces } from 'node:os';

/**
 * Whether an address, as a URL has it, is one of this machine's. IPv6 addresses count in any spelling; a host name is
 * nobody's.
 */
export function isOwnAddress(hostname: string): boolean {
  const wanted = canonical(hostname.replace(/^\[|\]$/g, ''));
  if (wanted === undefined) return false;
  if (/^127\./.test(wanted)) return true;
  return Object.values(networkInterfaces()).some((list) => list?.some(({ address }) => canonical(address) === wanted));
}

/** One spelling for each address: the URL parser has one (WHATWG URL, host serializing). */
function canonical(address: string): string | undefined {
  const bare = address.replace(/%.*/s, '');
  const host = URL.parse(`http://${bare.includes(':') ? `[${bare}]` : bare}/`)?.hostname;
  return host !== undefined && /^\[.*\]$|^\d+\.\d+\.\d+\.\d+$/.test(host) ? host : undefined;
}
