const HOST = String.raw`(?:localhost|127(?:\.\d+){3}|\[::1\])`;
/** Only root may listen below 1024 (ip(7), `ip_unprivileged_port_start`). On all other ports any user of the machine can. */
const PRIVILEGED_PORT = String.raw`(?:[1-9]\d{0,2}|10[01]\d|102[0-3])`;

/** A URL of plain http to this machine on a port of root. Without a port it is 80. */
export const PRIVATE_HTTP = new RegExp(`^http:\\/\\/(?:[^/?#@]*@)?${HOST}(?::${PRIVILEGED_PORT}?)?(?:[/?#]|$)`);
/** The same for a server of NATS, whose port is 4222 unless the URL has one. */
export const PRIVATE_NATS = new RegExp(`^nats:\\/\\/${HOST}:${PRIVILEGED_PORT}$`);

/** Why a request to an address would give its credentials away. */
export function whyExposed(url: string): string {
  return new RegExp(`^[a-z]+:\\/\\/(?:[^/?#@]*@)?${HOST}(?:[:/?#]|$)`).test(url)
    ? 'readable for any user of this machine who listens on this port: it is not below 1024'
    : 'readable on the way';
}
