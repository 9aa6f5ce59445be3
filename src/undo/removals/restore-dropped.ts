import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { Host } from '../../host/seam/host.ts';
import { partsOf } from '../../host/seam/resource.ts';
import type { Execution } from '../../step/index.ts';
import type { Dropped } from './stays.ts';

/** Restores something that the document no longer has, or tells that it stays. */
export async function restore(
  host: Host,
  { summary, perform, restores }: Dropped,
  execution: Execution,
): Promise<void> {
  if (perform === undefined) {
    execution.warn(summary);
    return execution.remember(summary);
  }
  // The journal knows what a killed run left in between.
  const run: Host['run'] = (command) => host.run({ ...command, changes: restores === undefined ? [] : [restores] });
  await perform({ ...host, run }, execution.signal).catch((error: unknown) => {
    if (!(error instanceof MachineadmError) || error.reason !== 'ResetFailed') throw error;
    const remedy = 'Correct the cause and run again. To keep it, set host.prune to Never.';
    const failed = { reason: 'HostStepFailed', summary: error.message, remedy, retryable: true } as const;
    throw new MachineadmError({ ...failed, evidence: error.evidence, cause: error });
  });
  if (restores !== undefined) execution.release(partsOf(restores).name, restores);
}
