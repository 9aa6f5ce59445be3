import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { UnmetRequirement } from './requirement.ts';

/**
 * The error with which work of `apply` would fail, found by doing its read-only part beforehand. A secret that cannot be
 * read is left out: the ability `secrets` finds it.
 */
export async function requirementOf(work: Promise<unknown>): Promise<readonly UnmetRequirement[]> {
  try {
    await work;
    return [];
  } catch (error) {
    if (!(error instanceof MachineadmError)) throw error;
    if (error.reason === 'SecretUnavailable') return [];
    const { reason, message: what, remedy, evidence } = error;
    return [{ reason, what, remedy, evidence, scope: 'node' }];
  }
}
