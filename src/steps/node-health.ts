import type { ReadyModel } from '../document/model.ts';
import type { Facts } from '../host/facts.ts';
import type { QueryHost } from '../host/host.ts';
import { type Finding, probeReadiness } from '../kubernetes/readiness.ts';

export type { Finding } from '../kubernetes/readiness.ts';

/**
 * Looks once whether this machine's node works, with nothing of a document or an earlier run: its name is the one in the
 * kubelet's certificate.
 */
export async function lookAtNode(
  host: QueryHost,
  { hostname, machineId, bootId }: Pick<Facts, 'hostname' | 'machineId' | 'bootId'>,
  require: ReadyModel['require'],
  signal: AbortSignal,
): Promise<Finding> {
  const nodeName = hostname.toLowerCase();
  const demand = { require, nodeName, nodeNameGiven: false, providerId: undefined, machineId, bootId };
  return await probeReadiness(host, demand, signal);
}
