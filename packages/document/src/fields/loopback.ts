const HOST = String.raw`(?:localhost|127(?:\.\d+){3}|\[::1\])`;
/** Only root may listen below 1024 (ip(7)), unless the machine says otherwise. On all other ports any user of the machine can. */
const PRIVILEGED_PORT = String.raw`(?:[1-9]\d{0,2}|10[01]\d|102[0-3])`;

/** A URL of plain http to this machine on a port of root. Without a port it is 80. */
export const PRIVATE_HTTP = new RegExp(`^http:\\/\\/(?:[^/?#@]*@)?${HOST}(?::${PRIVILEGED_PORT}?)?(?:[/?#]|$)`);
/** The same for a server of NATS, whose port is 4222 unless the URL has one. */
export const PRIVATE_NATS = new RegExp(`^nats:\\/\\/${HOST}:${PRIVILEGED_PORT}$`);

/** The ports of root on the machine that a document is for. */
export interface RootPorts {
  /** The first port on which other users may listen. */
  readonly end: number;
  /** Why that is not 1024. */
  readonly why?: string;
}

export const UNPRIVILEGED_PORT_START = 'net.ipv4.ip_unprivileged_port_start';

const OF_LINUX: RootPorts = { end: 1024 };
const OF_WINDOWS: RootPorts = { end: 0, why: 'on Windows every user may listen on every port' };

/** @param machine `net.ipv4.ip_unprivileged_port_start` of the machine; undefined: not known */
export function rootPorts(
  platform: 'Linux' | 'Windows' | undefined,
  machine: number | undefined,
  wanted: number | undefined,
): RootPorts {
  if (platform === 'Windows') return OF_WINDOWS;
  // Until the document has changed it, the machine's counts, and afterwards its own.
  const end = Math.min(OF_LINUX.end, machine ?? OF_LINUX.end, wanted ?? OF_LINUX.end);
  if (end === OF_LINUX.end) return OF_LINUX;
  const where = end === machine ? 'on this machine' : 'in host.sysctl';
  return {
    end,
    why: `${UNPRIVILEGED_PORT_START} is ${end} ${where}, so every user may listen on the ports from ${end} on`,
  };
}

/** Whether a URL is that of a port of root on this machine. */
export function isPrivate(url: string, { end }: RootPorts): boolean {
  if (!PRIVATE_HTTP.test(url) && !PRIVATE_NATS.test(url)) return false;
  return Number(/^[a-z]+:\/\/(?:[^/?#@]*@)?(?:\[::1\]|[^:/?#]*):(\d+)/.exec(url)?.[1] ?? 80) < end;
}

/** Why a request to an address would give its credentials away. */
export function whyExposed(url: string, { why }: RootPorts = OF_LINUX): string {
  return new RegExp(`^[a-z]+:\\/\\/(?:[^/?#@]*@)?${HOST}(?:[:/?#]|$)`).test(url)
    ? `readable for any user of this machine who listens on this port: ${why ?? 'it is not below 1024'}`
    : 'readable on the way';
}
