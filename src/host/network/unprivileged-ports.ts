import type { QueryHost } from '../seam/host.ts';

/** Of the network namespace of this process (ip(7), `ip_unprivileged_port_start`; since Linux 4.11). */
const SETTING = '/proc/sys/net/ipv4/ip_unprivileged_port_start';

/**
 * The first port on which every user of this machine may listen. undefined: the kernel has no such setting, and reserves the ports below
 * 1024 for root.
 */
export async function firstUnprivilegedPort(host: QueryHost): Promise<number | undefined> {
  const text = (await host.readText(SETTING).catch(() => undefined)) ?? '';
  return /^\d+$/.test(text.trim()) ? Number(text) : undefined;
}
