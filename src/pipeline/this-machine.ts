import type { Facts } from '../host/seam/facts.ts';

/**
 * Whether the state on this disk was left by the machine that runs from it now, and not by the original of a copy. At
 * boot no document is available, so the uid of the Machine is unknown: machine-id and the cloud's instance id decide.
 */
export function recordedOnThisMachine(
  left: { readonly machineId: string; readonly cloudInstanceId: string | undefined },
  facts: Pick<Facts, 'machineId' | 'cloudInstanceId'>,
): boolean {
  if (left.machineId !== facts.machineId) return false;
  const bothKnown = left.cloudInstanceId !== undefined && facts.cloudInstanceId !== undefined;
  return !bothKnown || left.cloudInstanceId === facts.cloudInstanceId;
}
