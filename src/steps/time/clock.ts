import { setTimeout as delay } from 'node:timers/promises';
import { type Evidence, MachineadmError } from '@machineadm/document/errors.ts';
import type { TimeModel } from '@machineadm/document/model.ts';
import { formatDuration } from '@machineadm/document/units.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import { type Change, EMPTY_RECORD, type Execution, type Step } from '../step.ts';
import { installedClients } from './clients.ts';
import { time } from './index.ts';
import type { ClockReading } from './readings.ts';

/** How often the time service is asked. In milliseconds. */
const ASKED_EVERY_MS = 500;

export interface ClockDesired {
  readonly time: TimeModel;
  readonly withinMs: number;
  readonly timeoutMs: number;
}

export interface ClockActual {
  readonly right: boolean;
  /** The time service is about to change, so that what it says now proves nothing. */
  readonly serviceChanges: boolean;
}

/**
 * Waits until the clock is right. It is a step after `time`, because the restart there makes the service forget its
 * state. It belongs to the instance: the clock of a bake says nothing about the clock of a node.
 */
export const clock: Step<ClockDesired, ClockActual, ClockDesired> = {
  id: 'clock',

  desired({ host }) {
    if (host.time?.synchronized === undefined || !host.time.enabled) return undefined;
    return { time: host.time, ...host.time.synchronized };
  },

  async inspect(host, desired) {
    const pending = time.plan(desired.time, await time.inspect(host, desired.time, EMPTY_RECORD));
    return { right: isRight(await readingOf(host), desired), serviceChanges: pending.length > 0 };
  },

  plan(desired, { right, serviceChanges }) {
    if (right && !serviceChanges) return [];
    return [{ ...waitForClock(desired), ...(serviceChanges ? { knownAfter: 'time' } : {}) }];
  },

  async apply(host, { payload }, execution) {
    await untilClockIsRight(payload, execution, ASKED_EVERY_MS, async () => {
      const reading = await readingOf(host);
      return isRight(reading, payload) ? undefined : notSynchronized(payload, reading);
    });
  },
};

/** The change of a step that waits for the clock, on any platform. */
export function waitForClock<Demand extends { readonly withinMs: number }>(payload: Demand): Change<Demand> {
  return {
    id: 'clock/synchronized',
    summary: `wait until the clock is synchronized to within ${formatDuration(payload.withinMs)}`,
    action: 'run',
    scope: 'node',
    ineffective: 'ClockNotSynchronized',
    payload,
  };
}

/** @param whyNot why the clock is not known to be right at this moment; thrown after `timeoutMs` */
export async function untilClockIsRight(
  { timeoutMs }: { readonly timeoutMs: number },
  { signal, waitingFor }: Pick<Execution, 'signal' | 'waitingFor'>,
  everyMs: number,
  whyNot: () => Promise<Error | undefined>,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  waitingFor('the clock to be synchronised');
  for (let error = await whyNot(); error !== undefined; error = await whyNot()) {
    if (performance.now() >= deadline) throw error;
    await delay(everyMs, undefined, { signal });
  }
  waitingFor(undefined);
}

async function readingOf(host: QueryHost): Promise<ClockReading | undefined> {
  const [chosen] = await installedClients(host);
  return chosen?.client.reading(host);
}

function isRight(reading: ClockReading | undefined, { withinMs }: ClockDesired): boolean {
  return reading?.synchronized === true && reading.errorMs <= withinMs;
}

function notSynchronized(demand: ClockDesired, reading: ClockReading | undefined): MachineadmError {
  const off = reading?.synchronized === true ? `: it may be off by ${Math.ceil(reading.errorMs)} ms` : '';
  return clockNotProven(demand, off, reading?.sources ?? []);
}

/** Says that the clock was not proven right in time, on any platform. */
export function clockNotProven(
  { timeoutMs, withinMs }: Pick<ClockDesired, 'timeoutMs' | 'withinMs'>,
  off: string,
  evidence: readonly Evidence[],
): MachineadmError {
  return new MachineadmError({
    reason: 'ClockNotSynchronized',
    summary: `the clock was not synchronized to within ${formatDuration(withinMs)} after ${formatDuration(timeoutMs)}${off}`,
    remedy:
      'See whether the time servers answer on UDP port 123 from this machine; correct host.time.servers, or give ' +
      'host.time.synchronized.timeout more time.',
    evidence,
    retryable: true,
  });
}
