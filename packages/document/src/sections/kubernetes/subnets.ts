/** What an IP subnet in CIDR notation says. */
export interface Subnet {
  readonly bits: 32 | 128;
  readonly prefix: number;
}

/** Reads `10.244.0.0/16` or `fd00::/56`; undefined for what is no subnet. Leading zeros are taken as Kubernetes takes them. */
export function parseSubnet(text: string): Subnet | undefined {
  const [address = '', length = '', ...rest] = text.split('/');
  if (rest.length > 0 || !/^\d{1,3}$/.test(length)) return undefined;
  const bits = isIPv4(address) ? 32 : isIPv6(address) ? 128 : undefined;
  return bits === undefined || Number(length) > bits ? undefined : { bits, prefix: Number(length) };
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
