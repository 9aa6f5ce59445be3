import type { Evidence } from '@machineadm/document/outcomes/errors.ts';
import { lastLine } from '@machineadm/document/text/printable.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import { type FeatureStep, STAYS } from '../../step/feature-step.ts';
import { clockNotProven, untilClockIsRight, waitForClock } from './clock-wait.ts';

export interface WindowsClockDesired {
  readonly servers: readonly string[];
  readonly withinMs: number;
  readonly timeoutMs: number;
}

/** How often a server is asked. In milliseconds. */
const ASKED_EVERY_MS = 2_000;
const RESYNC_TIMEOUT_MS = 60_000;

interface Reading {
  /** How far the clock is off; undefined: no server answered. */
  readonly offsetMs: number | undefined;
  readonly answers: readonly Evidence[];
}

/**
 * Waits until the clock is right, measured against a server. The service is not asked: its messages are translated, and
 * it also calls itself synchronised with its own hardware clock.
 */
export const windowsClock: FeatureStep<WindowsClockDesired, boolean, WindowsClockDesired> = {
  id: 'clock',
  section: 'host.time',
  isRequested: STAYS,

  desired({ host }) {
    if (host.time?.synchronized === undefined || !host.time.enabled) return undefined;
    return { servers: host.time.servers, ...host.time.synchronized };
  },

  async inspect(host, desired) {
    return isRight(await measure(host, desired.servers), desired);
  },

  plan(desired, right) {
    return right ? [] : [waitForClock(desired)];
  },

  async apply(host, { payload }, execution) {
    const { signal } = execution;
    // Only the measurement counts: what it says is translated, and it also fails where the clock is right.
    await host.run({ program: 'w32tm.exe', args: ['/resync', '/rediscover'], timeoutMs: RESYNC_TIMEOUT_MS, signal });
    await untilClockIsRight(payload, execution, ASKED_EVERY_MS, async () => {
      const reading = await measure(host, payload.servers);
      return isRight(reading, payload) ? undefined : notSynchronized(payload, reading);
    });
  },
};

/** Asks one server after the other, once, until one answers. */
async function measure(host: QueryHost, given: readonly string[]): Promise<Reading> {
  const answers: Evidence[] = [];
  for (const server of await serversToAsk(host, given)) {
    const args = ['/stripchart', `/computer:${server}`, '/samples:1', '/dataonly'];
    const { stdout } = await host.query({ program: 'w32tm.exe', args });
    const offset = offsetIn(stdout);
    const last = lastLine(stdout);
    answers.push({ source: `w32tm.exe /stripchart, ${server}`, text: last === '' ? 'no answer' : last });
    if (offset !== undefined) return { offsetMs: offset, answers };
  }
  return { offsetMs: undefined, answers };
}

/** The last line of a strip chart: `14:03:07, +00.0012345s`, or `14:03:07, error: 0x800705B4`. In milliseconds. */
export function offsetIn(stdout: string): number | undefined {
  const last = [...stdout.matchAll(/^\d+:\d+:\d+,\s*([+-]\d+[.,]\d+)s/gm)].at(-1)?.[1];
  return last === undefined ? undefined : Number(last.replace(',', '.')) * 1000;
}

function isRight({ offsetMs }: Reading, { withinMs }: WindowsClockDesired): boolean {
  return offsetMs !== undefined && Math.abs(offsetMs) <= withinMs;
}

function notSynchronized(demand: WindowsClockDesired, reading: Reading): Error {
  const off = reading.offsetMs === undefined ? '' : `: it is off by ${Math.round(reading.offsetMs)} ms`;
  return clockNotProven(demand, off, reading.answers);
}

/** The servers to compare the clock with: those of the document, otherwise those that the service uses now. */
export async function serversToAsk(host: QueryHost, servers: readonly string[]): Promise<readonly string[]> {
  if (servers.length > 0) return servers;
  const { status, stdout } = await host.query({ program: 'w32tm.exe', args: ['/query', '/source'] });
  // A name, perhaps with flags. What it says of its own clock holds blanks, in every language.
  const source = stdout.trim().replace(/,0x.*/i, '');
  return status === 0 && /^[A-Za-z0-9.:-]+$/.test(source) ? [source] : [];
}
