import type { RunStatus } from '@machineadm/status/status.ts';
import { run } from '../../src/pipeline/run.ts';

/**
 * The whole of `machineadm provision`, in this process: for tests that run it by the dozen in a throw-away machine. What
 * it refuses is thrown.
 */
export async function provision(
  document: string,
  signal: AbortSignal = new AbortController().signal,
): Promise<RunStatus> {
  return await run({
    command: 'provision',
    sources: [document],
    agentVersion: '0.1.0',
    signal,
    onOutput: () => {},
  });
}
