import type { Evidence } from '@machineadm/document/outcomes/errors.ts';
import { textLines } from '@machineadm/document/text/printable.ts';
import type { QueryHost } from '../../host/seam/host.ts';

/** What a time service says of the clock. */
export interface ClockReading {
  readonly synchronized: boolean;
  /** How far the clock may be off at most, as far as the service can tell. */
  readonly errorMs: number;
  /** The sources it has, and how they are. */
  readonly sources: readonly Evidence[];
}

/** chronyd's own reference, with which it serves others while it has no source (chrony.conf(5), local). */
const LOCAL_REFERENCE = '7F7F0101';

/**
 * After a single measurement chronyd knows no frequency: it tells a skew of 1,000,000 ppm, and its bound of the error
 * grows by a second each second until the next one, about two seconds later.
 */
const LARGEST_SKEW_PPM = 100_000;

/**
 * timesyncd steps the clock when it is off by more than 0.4 s, and slews it otherwise (systemd
 * src/timesync/timesyncd-manager.c, NTP_MAX_ADJUST).
 */
const STEPPED_ABOVE_MS = 400;

/** chronyc(1), tracking: the error is at most |system time| + root dispersion + root delay / 2. */
export async function chronyReading(host: QueryHost): Promise<ClockReading> {
  const tracking = await host.query({ program: 'chronyc', args: ['-c', '-n', 'tracking'] });
  const listed = await host.query({ program: 'chronyc', args: ['-c', '-n', 'sources'] });
  const sources = textLines(listed.stdout).map((line) => {
    const [, state = '', name = '', stratum = '', , reach = '', , , measured = ''] = line.split(',');
    const what = CHRONY_STATES[state] ?? state;
    return {
      source: `chrony source ${name}`,
      text: `${what}, stratum ${stratum}, reach ${reach}, offset ${measured} s`,
    };
  });
  if (tracking.status !== 0) return { ...UNKNOWN, sources: [...sources, ...complaint('chronyc', tracking)] };
  const fields = tracking.stdout.trim().split(',');
  const [reference = ''] = fields;
  const [offset, skew, delay, dispersion] = [4, 9, 10, 11].map((index) => Number(fields[index]));
  const leap = fields[13] ?? '';
  return {
    synchronized:
      leap !== '' &&
      leap !== 'Not synchronised' &&
      reference !== LOCAL_REFERENCE &&
      !/^0*$/.test(reference) &&
      (skew ?? Number.NaN) < LARGEST_SKEW_PPM,
    errorMs: 1000 * (Math.abs(offset ?? Number.NaN) + (dispersion ?? Number.NaN) + (delay ?? Number.NaN) / 2),
    sources,
  };
}

const CHRONY_STATES: Readonly<Record<string, string>> = {
  '*': 'selected',
  '+': 'combined',
  '-': 'not combined',
  '?': 'unusable',
  x: 'wrong time',
  '~': 'too variable',
};

/** ntpq(8): the system variables; times are milliseconds. Leap 3 (binary 11) and stratum 16 mean "not synchronised". */
export async function ntpReading(host: QueryHost): Promise<ClockReading> {
  const asked = 'rv 0 leap,stratum,rootdelay,rootdisp,offset';
  const answer = await host.query({ program: 'ntpq', args: ['-n', '-c', asked] });
  const peers = await host.query({ program: 'ntpq', args: ['-n', '-p'] });
  // Behind two lines of heading.
  const sources = textLines(peers.stdout)
    .slice(2)
    .map((line) => ({ source: 'ntpq -n -p', text: line.replace(/\s+/g, ' ') }));
  const values = new Map(
    [...answer.stdout.matchAll(/\b(\w+)=([^,\s]+)/g)].map(([, key = '', value = '']) => [key, value]),
  );
  const number = (key: string): number => Number(values.get(key) ?? Number.NaN);
  if (answer.status !== 0 || !values.has('leap'))
    return { ...UNKNOWN, sources: [...sources, ...complaint('ntpq', answer)] };
  return {
    synchronized: !['11', '3', '0x3'].includes(values.get('leap') ?? '') && number('stratum') < 16,
    errorMs: Math.abs(number('offset')) + number('rootdisp') + number('rootdelay') / 2,
    sources,
  };
}

/**
 * systemd-timesyncd: the kernel's clock counts as synchronised, and the server of now has answered since the daemon
 * started. The kernel's mark alone outlives a change of servers.
 */
export async function timesyncdReading(host: QueryHost): Promise<ClockReading> {
  const shown = await host.query({
    program: 'timedatectl',
    args: ['show', '--property=NTPSynchronized', '--value'],
  });
  const status = await host.query({ program: 'timedatectl', args: ['timesync-status', '--no-pager'] });
  const server = /^[ \t]*Server:\s*(.+)/m.exec(status.stdout)?.[1] ?? 'none';
  const told = /^[ \t]*Offset:\s*([+-]?\S.*)/m.exec(status.stdout)?.[1];
  const offset = told === undefined ? undefined : Math.abs(timespanMs(told));
  const sources = [
    {
      source: 'systemd-timesyncd',
      text: `server ${server}, ${told === undefined ? 'no answer yet' : `offset ${told}`}`,
    },
    ...(status.status === 0 ? [] : complaint('timedatectl', status)),
  ];
  if (offset === undefined) return { ...UNKNOWN, sources };
  // What it measured is what it then corrected, at once if it was much.
  const errorMs = offset > STEPPED_ABOVE_MS ? 0 : offset;
  return { synchronized: shown.stdout.trim() === 'yes', errorMs, sources };
}

const UNKNOWN = { synchronized: false, errorMs: Number.POSITIVE_INFINITY };

const UNITS_MS: Readonly<Record<string, number>> = {
  us: 0.001,
  µs: 0.001,
  μs: 0.001,
  ms: 1,
  s: 1000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  day: 86_400_000,
  days: 86_400_000,
  w: 604_800_000,
  month: 2_629_800_000,
  months: 2_629_800_000,
  y: 31_557_600_000,
};

/** A time span as systemd prints it, in milliseconds: `-1min 2.5s` (systemd.time(7)). Infinite for what is none. */
export function timespanMs(text: string): number {
  const parts = [...text.matchAll(/(?<![\d.])([\d.]+)\s*([a-zµμ]+)/g)];
  const known = parts.every(([, , unit = '']) => Object.hasOwn(UNITS_MS, unit));
  if (parts.length === 0 || !known) return /^[+-]?0+$/.test(text.trim()) ? 0 : Number.POSITIVE_INFINITY;
  const sum = parts.reduce((total, [, value, unit = '']) => total + Number(value) * (UNITS_MS[unit] ?? 0), 0);
  return text.trim().startsWith('-') ? -sum : sum;
}

function complaint(
  source: string,
  { stdout, stderr }: { readonly stdout: string; readonly stderr: string },
): readonly Evidence[] {
  const text = textLines(stderr)[0] ?? textLines(stdout)[0] ?? 'no answer';
  return [{ source, text }];
}
