import type { Facts } from '../host/seam/facts.ts';

/**
 * Whether what lies on this disk was left by the machine that runs from it now, and not by the one it was copied from.
 * At boot no document is at hand, so the uid of the Machine cannot tell: machine-id and the cloud's instance id must do.
 */
export function recordedOnThisMachine(
  left: { readonly machineId: string; readonly cloudInstanceId: string | undefined },
  facts: Pick<Facts, 'machineId' | 'cloudInstanceId'>,
): boolean {
  if (left.machineId !== facts.machineId) return false;
  const bothKnown = left.cloudInstanceId !== undefined && facts.cloudInstanceId !== undefined;
  return !bothKnown || left.cloudInstanceId === facts.cloudInstanceId;
}
