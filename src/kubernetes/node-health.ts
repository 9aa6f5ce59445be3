import type { ReadyModel } from '@machineadm/document/model/index.ts';
import type { Failure } from '@machineadm/document/outcomes/errors.ts';
import { type Facts, reportedIdentity } from '../host/seam/facts.ts';
import type { QueryHost } from '../host/seam/host.ts';
import { failureOfFinding, type NotReady } from './not-ready.ts';
import { type NodeReadiness, probeReadiness } from './readiness.ts';

type Self = Pick<Facts, 'hostname' | 'machineId' | 'bootId' | 'reported'>;

/**
 * Checks once whether this machine's node works, without a document or an earlier run: its name is the one in the
 * kubelet's certificate. For a control plane, the components with manifests on this machine are included.
 */
export async function probeNode(
  host: QueryHost,
  self: Self,
  require: ReadyModel['require'],
  signal: AbortSignal,
): Promise<NodeReadiness> {
  const nodeName = self.hostname.toLowerCase();
  const controlPlane = { required: [], criSocket: undefined };
  const demand = {
    ...{ require, nodeName, nodeNameGiven: false, providerId: undefined, controlPlane },
    ...reportedIdentity(self),
  };
  return await probeReadiness(host, demand, signal);
}

/** The same with a time limit, in milliseconds: a node that cannot be queried in time does not count as working. */
export async function probeNodeWithin(
  host: QueryHost,
  self: Self,
  require: ReadyModel['require'],
  limitMs: number,
): Promise<NodeReadiness> {
  const limit = AbortSignal.timeout(limitMs);
  try {
    return await probeNode(host, self, require, limit);
  } catch (error) {
    if (!limit.aborted) throw error;
    const why = `the node did not answer within ${limitMs / 1000} s`;
    return { ready: false, reason: 'NodeStateUnknown', why };
  }
}

/** The result of such a check as a failure. */
export function failureOfNode(finding: NotReady, { hostname }: Pick<Facts, 'hostname'>): Failure {
  return failureOfFinding(finding, hostname.toLowerCase());
}
