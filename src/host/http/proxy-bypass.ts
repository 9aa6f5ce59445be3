import { BlockList, isIP } from 'node:net';

/**
 * Always reached directly, regardless of the document: this machine, link-local addresses (used by metadata services),
 * and the names and other addresses of those services. A proxy that answers for a metadata service would return the
 * identity of another machine.
 */
export const ALWAYS_DIRECT: readonly string[] = [
  'localhost',
  '127.0.0.0/8',
  '::1/128',
  '169.254.0.0/16',
  'fe80::/10',
  // AWS's metadata service over IPv6.
  'fd00:ec2::254',
  'metadata.google.internal',
];

/**
 * Whether a URL is reached without the proxy. Entries have the syntax of golang.org/x/net/http/httpproxy (and so of the
 * kubelet and containerd): `*`, an address, a CIDR, `example.com` with its subdomains, `.example.com` and
 * `*.example.com` for subdomains only; each may end in `:port`. Names are not resolved.
 */
export function reachedDirectly(url: URL, entries: readonly string[]): boolean {
  const host = url.hostname.replace(/^\[|\]$/g, '').toLowerCase();
  const port = url.port === '' ? (url.protocol === 'https:' ? '443' : '80') : url.port;
  return [...ALWAYS_DIRECT, ...entries].some((entry) => covers(entry.trim().toLowerCase(), host, port));
}

function covers(entry: string, host: string, port: string): boolean {
  if (entry === '') return false;
  if (entry === '*') return true;
  const [name, wantedPort] = splitPort(entry);
  if (wantedPort !== undefined && wantedPort !== port) return false;
  if (name.includes('/')) return inSubnet(name, host);
  if (isIP(name) !== 0) return isIP(host) !== 0 && inSubnet(`${name}/${isIP(name) === 6 ? 128 : 32}`, host);
  if (isIP(host) !== 0) return false;
  const below = name.replace(/^\*?\./, '');
  return host.endsWith(`.${below}`) || (below === name && host === name);
}

/** `host:port`, `[v6]:port` or either without a port; a bare IPv6 address has colons but no port. */
function splitPort(entry: string): readonly [string, string | undefined] {
  const bracketed = /^\[([^\]]*)\](?::(\d+))?$/.exec(entry);
  if (bracketed !== null) return [bracketed[1] ?? '', bracketed[2]];
  const plain = /^([^:]+):(\d+)$/.exec(entry);
  return plain === null ? [entry, undefined] : [plain[1] ?? '', plain[2]];
}

function inSubnet(subnet: string, host: string): boolean {
  const [network = '', length = ''] = subnet.split('/');
  const family = isIP(network);
  const bits = Number(length);
  if (family === 0 || !/^\d+$/.test(length) || bits > (family === 6 ? 128 : 32) || isIP(host) === 0) return false;
  const list = new BlockList();
  list.addSubnet(network, bits, family === 6 ? 'ipv6' : 'ipv4');
  return list.check(host, isIP(host) === 6 ? 'ipv6' : 'ipv4');
}
