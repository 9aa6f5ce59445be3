import { networkInterfaces } from 'node:os';

/**
 * Whether an address, as spelled in a URL, belongs to this machine. Accepts any spelling of IPv6; a host name never
 * matches.
 */
export function isOwnAddress(hostname: string): boolean {
  const wanted = canonical(hostname.replace(/^\[|\]$/g, ''));
  if (wanted === undefined) return false;
  if (/^127\./.test(wanted)) return true;
  return Object.values(networkInterfaces()).some((list) => list?.some(({ address }) => canonical(address) === wanted));
}

/** A canonical spelling: that of the URL parser (WHATWG URL, host serializing). */
function canonical(address: string): string | undefined {
  const bare = address.replace(/%.*/s, '');
  const host = URL.parse(`http://${bare.includes(':') ? `[${bare}]` : bare}/`)?.hostname;
  return host !== undefined && /^\[.*\]$|^\d+\.\d+\.\d+\.\d+$/.test(host) ? host : undefined;
}
