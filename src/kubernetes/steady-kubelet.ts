import { setTimeout as pause } from 'node:timers/promises';
import type { QueryHost } from '../host/seam/host.ts';
import { notReady } from './not-ready.ts';
import { type ReadinessDemand, waitUntilReady } from './readiness.ts';

/** A kubelet starts its container manager after it answers, and its Node stays Ready for 40 s without it. */
const STEADY_MS = 10_000;
const PAUSE_MS = 1_000;
const MOST_ENDS = 3;

/**
 * Like `waitUntilReady`, for a kubelet that was restarted with something new: it has to stay in the same process for a while.
 *
 * @throws MachineadmError as `waitUntilReady` does; `KubeletNotHealthy` where it ends again and again
 */
export async function waitUntilSteady(
  host: QueryHost,
  demand: ReadinessDemand,
  options: Parameters<typeof waitUntilReady>[2],
): Promise<void> {
  const begun = performance.now();
  const end = begun + options.timeoutMs;
  const processes = new Set<string>();
  let since = begun;
  for (;;) {
    const timeoutMs = Math.max(0, end - performance.now());
    await waitUntilReady(host, demand, { ...options, timeoutMs });
    const { pid, startedAtMs } = await host.service('kubelet');
    const process = `${pid} ${startedAtMs}`;
    if (!processes.has(process)) since = performance.now();
    processes.add(process);
    if (performance.now() - since >= STEADY_MS) return options.waitingFor(undefined);
    const ends = processes.size - 1;
    if (ends >= MOST_ENDS || (ends > 0 && performance.now() > end)) {
      const why = `it does not run for ${STEADY_MS / 1000} s: it ended ${ends === 1 ? 'once' : `${ends} times`} after it was healthy`;
      throw notReady({ reason: 'KubeletNotHealthy', why, ready: false }, demand.nodeName, performance.now() - begun);
    }
    options.waitingFor('the kubelet to stay up');
    await pause(PAUSE_MS, undefined, { signal: options.signal });
  }
}
