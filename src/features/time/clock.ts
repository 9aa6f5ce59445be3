import type { TimeModel } from '@machineadm/document/model/index.ts';
import type { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import { type FeatureStep, STAYS } from '../../step/feature-step.ts';
import { inspectTime, planTime } from './changes.ts';
import { installedClients } from './clients.ts';
import { clockNotProven, untilClockIsRight, waitForClock } from './clock-wait.ts';
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
export const clock: FeatureStep<ClockDesired, ClockActual, ClockDesired> = {
  id: 'clock',
  section: 'host.time',
  isRequested: STAYS,

  desired({ host }) {
    if (host.time?.synchronized === undefined || !host.time.enabled) return undefined;
    return { time: host.time, ...host.time.synchronized };
  },

  async inspect(host, desired) {
    const pending = planTime(desired.time, await inspectTime(host, desired.time));
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
