/** What an IP subnet in CIDR notation says. */
export interface Subnet {
  readonly bits: 32 | 128;
  readonly prefix: number;
  /** The address as a number. */
  readonly address: bigint;
}

/** Reads `10.244.0.0/16` or `fd00::/56`; undefined for what is no subnet. Leading zeros are taken as Kubernetes takes them. */
export function parseSubnet(text: string): Subnet | undefined {
  const [address = '', length = '', ...rest] = text.split('/');
  if (rest.length > 0 || !/^\d{1,3}$/.test(length)) return undefined;
  const bits = isIPv4(address) ? 32 : isIPv6(address) ? 128 : undefined;
  if (bits === undefined || Number(length) > bits) return undefined;
  return { bits, prefix: Number(length), address: addressNumber(address, bits) };
}

/** The subnet with this address alone; undefined for what is no address. */
export function addressSubnet(address: string): Subnet | undefined {
  return isIPAddress(address) ? parseSubnet(`${address}/${address.includes(':') ? 128 : 32}`) : undefined;
}

/** The host of `host:port`, without the brackets of an IPv6 address. */
export function hostOf(endpoint: string): string {
  return endpoint.slice(0, endpoint.lastIndexOf(':')).replace(/^\[(.*)\]$/, '$1');
}

/** Whether two subnets share an address. */
export function overlap(a: Subnet, b: Subnet): boolean {
  const host = BigInt(a.bits - Math.min(a.prefix, b.prefix));
  return a.bits === b.bits && a.address >> host === b.address >> host;
}

function addressNumber(text: string, bits: 32 | 128): bigint {
  if (bits === 32) return text.split('.').reduce((sum, part) => sum * 256n + BigInt(Number(part)), 0n);
  const embedded = /(?<!\d)\d+\.\d+\.\d+\.\d+$/.exec(text)?.[0];
  const tail = embedded === undefined ? undefined : addressNumber(embedded, 32);
  const plain =
    tail === undefined
      ? text
      : `${text.slice(0, -(embedded ?? '').length)}${(tail >> 16n).toString(16)}:${(tail & 0xffffn).toString(16)}`;
  const [head = '', rest] = plain.split('::');
  const groups = (part: string | undefined) => (part === undefined || part === '' ? [] : part.split(':'));
  const [before, after] = [groups(head), groups(rest)];
  const zeros = Array.from({ length: Math.max(0, 8 - before.length - after.length) }, () => '0');
  return [...before, ...zeros, ...after].reduce((sum, group) => sum * 65536n + BigInt(`0x${group}`), 0n);
}

export function isIPAddress(text: string): boolean {
  return isIPv4(text) || isIPv6(text);
}

function isIPv4(text: string): boolean {
  const parts = text.split('.');
  return parts.length === 4 && parts.every((part) => /^\d{1,3}$/.test(part) && Number(part) <= 255);
}

function isIPv6(text: string): boolean {
  const [head = '', tail, ...rest] = text.split('::');
  if (rest.length > 0) return false;
  const groups = (part: string | undefined): string[] => (part === undefined || part === '' ? [] : part.split(':'));
  const all = [...groups(head), ...groups(tail)];
  // The last 32 bits may be written as an IPv4 address.
  const last = all.at(-1);
  const embedded = last !== undefined && isIPv4(last);
  const hex = embedded ? all.slice(0, -1) : all;
  const length = hex.length + (embedded ? 2 : 0);
  if (!hex.every((group) => /^[0-9A-Fa-f]{1,4}$/.test(group))) return false;
  return tail === undefined ? length === 8 : length <= 7;
}
