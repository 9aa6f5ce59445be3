import type { TimelineEntry } from '@machineadm/status/status.ts';
import type { QueryHost } from '../host/seam/host.ts';

/**
 * The spans before this process: kernel, initrd and user space. Times are milliseconds since the kernel's boot, from
 * the service manager's timestamps (org.freedesktop.systemd1(5)); without systemd there is one span. Never throws: a
 * timeline without its beginning is still useful.
 * @param execMs when this process was started, since boot.
 */
export async function bootTimeline(
  host: Pick<QueryHost, 'query' | 'stat'>,
  execMs: number,
): Promise<readonly TimelineEntry[]> {
  const properties = 'InitRDTimestampMonotonic,UserspaceTimestampMonotonic';
  try {
    // sd_booted(3): where another init runs, systemctl(1) has nothing to say.
    if ((await host.stat('/run/systemd/system')) === undefined) return bootEntries('', execMs);
    const { status, stdout } = await host.query({
      program: 'systemctl',
      args: ['show', '--no-pager', '-p', properties],
      timeoutMs: 5_000,
    });
    return bootEntries(status === 0 ? stdout : '', execMs);
  } catch {
    return bootEntries('', execMs);
  }
}

/** When this process was started, in milliseconds since boot: the clock of `systemClock`, minus our age. */
export function processStartMs(): number {
  return Math.round(Number(process.hrtime.bigint() / 1_000_000n) - process.uptime() * 1000);
}

/** The spans from `systemctl show`. A timestamp is in microseconds, 0 where that stage did not exist. */
export function bootEntries(systemctlShow: string, execMs: number): readonly TimelineEntry[] {
  const starts = new Map<string, number>();
  for (const line of systemctlShow.split('\n')) {
    const [, name, microseconds] = /^(InitRD|Userspace)TimestampMonotonic=(\d+)$/.exec(line.trim()) ?? [];
    if (name !== undefined && microseconds !== '0') starts.set(name, Math.round(Number(microseconds) / 1000));
  }
  const userspace = starts.get('Userspace');
  // In a container the manager starts long after the kernel, and its clock may be a different one.
  if (userspace === undefined || userspace > execMs) return [{ name: 'boot', sinceBootMs: 0, durationMs: execMs }];
  const initrd = starts.get('InitRD');
  const hasInitrd = initrd !== undefined && initrd < userspace;
  return [
    { name: 'kernel', sinceBootMs: 0, durationMs: hasInitrd ? initrd : userspace },
    ...(hasInitrd ? [{ name: 'initrd', sinceBootMs: initrd, durationMs: userspace - initrd }] : []),
    { name: 'userspace', sinceBootMs: userspace, durationMs: execMs - userspace },
  ];
}
