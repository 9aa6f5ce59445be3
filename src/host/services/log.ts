import type { QueryHost } from '../seam/host.ts';

/** The conventional path of a service's own log where no journal has it: OpenRC's output_log, Alpine's packages. */
const OWN_LOGS: readonly ((service: string) => string)[] = [
  (service) => `/var/log/${service}.log`,
  (service) => `/var/log/${service}/${service}.log`,
];

/** The output files of syslog daemons: busybox and Alpine, Debian, Debian's for daemons. */
const SYSTEM_LOGS: readonly string[] = ['/var/log/messages', '/var/log/syslog', '/var/log/daemon.log'];

/** At most this many bytes from the end of a log are read. */
const TAIL_BYTES = 512 * 1024;

/**
 * The last lines of a service in log files, from its own log first, then from syslog (`name[pid]: …`). For machines
 * without a journal. A log that cannot be read counts as empty.
 *
 * @param lines how many of each kind at most
 */
export async function serviceLog(
  host: Pick<QueryHost, 'stat' | 'readRange'>,
  service: string,
  lines: number,
): Promise<readonly string[]> {
  const own = await Promise.all(OWN_LOGS.map((path) => logTail(host, path(service), TAIL_BYTES)));
  const system = await Promise.all(SYSTEM_LOGS.map((path) => logTail(host, path, TAIL_BYTES)));

  const tags = [` ${service}[`, ` ${service}: `];
  const told = system.flat().filter((line) => tags.some((tag) => line.includes(tag)));
  return [...told.slice(-lines), ...own.flat().slice(-lines)];
}

/** The lines at the end of a log, without empty ones; none of a log that cannot be read. */
export async function logTail(
  host: Pick<QueryHost, 'stat' | 'readRange'>,
  path: string,
  most: number,
): Promise<readonly string[]> {
  try {
    const size = (await host.stat(path))?.size ?? 0;
    const bytes = await host.readRange(path, Math.max(0, size - most), most);
    const text = new TextDecoder().decode(bytes);
    // Truncated at the start of the window: half a line is not evidence.
    const whole = size > most ? text.slice(text.indexOf('\n') + 1) : text;
    return whole.split(/\r?\n/).filter((line) => line !== '');
  } catch {
    return [];
  }
}
