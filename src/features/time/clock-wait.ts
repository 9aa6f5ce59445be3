import { setTimeout as delay } from 'node:timers/promises';
import { type Evidence, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { formatDuration } from '@machineadm/document/text/units.ts';
import type { Change, Execution } from '../../step/index.ts';

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

/** Says that the clock was not proven right in time, on any platform. */
export function clockNotProven(
  { timeoutMs, withinMs }: { readonly timeoutMs: number; readonly withinMs: number },
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
