import { evidenceFrom, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { EndpointTrouble } from '../../host/cluster/endpoint-trouble.ts';
import { reportedIdentity } from '../../host/seam/facts.ts';
import type { Host } from '../../host/seam/host.ts';
import { requiredComponents } from '../../kubernetes/control-plane-health.ts';
import { expectedNodeName } from '../../kubernetes/node-name.ts';
import {
  type NodeReadiness,
  probePatiently,
  probeReadiness,
  type ReadinessDemand,
  waitUntilReady,
} from '../../kubernetes/readiness.ts';
import { runtimeSocket } from '../../kubernetes/runtime-socket.ts';
import { type FeatureStep, STAYS } from '../../step/feature-step.ts';

export interface ReadinessDesired extends ReadinessDemand {
  readonly timeoutMs: number;
}

/** The kubelet's last log lines, as evidence of why it is not ready. */
const KUBELET_LINES = 200;
const SHOWN_LINES = 3;

export interface ReadinessActual {
  readonly finding: NodeReadiness;
  /** True when an earlier run of this instance had the proof. */
  readonly proved: boolean;
}

/**
 * Waits for proof that the node works: a command that exits with 0 is never enough. The proof is a change of its own
 * even if the node is ready at once, so that a plan names it; afterwards a ready node has nothing to do.
 */
export const readiness: FeatureStep<ReadinessDesired, ReadinessActual, ReadinessDesired> = {
  id: 'readiness',
  section: 'kubernetes',
  isRequested: STAYS,

  desired(model, facts) {
    const { kubernetes } = model;
    if (kubernetes === undefined || kubernetes.exec !== undefined) return undefined;
    const { ready, node, cluster } = kubernetes;
    return {
      require: ready.require,
      timeoutMs: ready.timeoutMs,
      nodeName: expectedNodeName(kubernetes, model, facts),
      nodeNameGiven: node.name !== undefined,
      providerId: node.providerID,
      ...(kubernetes.role === 'Worker'
        ? {}
        : {
            controlPlane: {
              required: requiredComponents(kubernetes),
              criSocket: runtimeSocket(model, facts),
              endpoint: { need: ready.endpoint, written: cluster.controlPlaneEndpoint },
            },
          }),
      ...reportedIdentity(facts),
    };
  },

  async inspect(host, desired, record) {
    const proved = record.done.has(changeId(desired));
    // The proof itself waited for it: a problem right after it may be transient.
    return { finding: await (proved ? probePatiently(host, desired) : probeReadiness(host, desired)), proved };
  },

  plan(desired, { finding, proved }) {
    if (finding.ready && proved) return [];
    const now = finding.ready ? 'it is' : finding.why;
    return [
      {
        id: changeId(desired),
        summary: `wait until ${WORDS[desired.require]} (now: ${now})`,
        action: 'run',
        scope: 'node',
        // Waiting again is harmless; only the record of the proof must not be lost.
        repeatable: false,
        knownAfter: 'kubeadm',
        ...(finding.ready ? {} : { ineffective: finding.reason }),
        payload: desired,
      },
    ];
  },

  remarks(_desired, _record, { finding }) {
    return finding.ready && finding.endpoint !== undefined ? [endpointWarning(finding.endpoint)] : [];
  },

  async apply(host, { payload }, execution) {
    const { signal } = execution;
    const { timeoutMs } = payload;
    try {
      const waitingFor = (what: string | undefined): void => execution.waitingFor(what);
      const found = await waitUntilReady(host, payload, { timeoutMs, signal, waitingFor });
      if (found.ready && found.endpoint !== undefined) execution.warn(endpointWarning(found.endpoint));
    } catch (error) {
      if (!(error instanceof MachineadmError)) throw error;
      throw await withKubeletLogs(host, error);
    }
  },
};

/** `ready.endpoint: Later`: the run succeeds, and says that no other machine can use this control plane yet. */
function endpointWarning({ text, remedy }: EndpointTrouble): string {
  return `the control plane of this machine works, but no other machine can reach it yet: ${text}. ${remedy}`;
}

function changeId(desired: ReadinessDesired): string {
  return `readiness/${desired.require}`;
}

const WORDS = {
  KubeletHealthy: 'the kubelet is healthy',
  NodeRegistered: 'the kubelet is healthy and this node is registered',
  NodeReady: 'the kubelet is healthy and this node is Ready',
} as const;

/** The same failure with the kubelet's log, complete for the diagnosis and its last lines for the reader. */
async function withKubeletLogs(host: Host, error: MachineadmError): Promise<MachineadmError> {
  const { reason, message, remedy, retryable, exit, cause } = error;
  const logs = await kubeletLog(host);
  const lines = evidenceFrom('kubelet', logs);
  return new MachineadmError({
    reason,
    summary: message,
    remedy,
    retryable,
    exit,
    cause,
    evidence: [...error.evidence, ...(reason === 'NodeIdentityMismatch' ? [] : lines.slice(-SHOWN_LINES))],
    transcript: lines,
  });
}

async function kubeletLog(host: Host): Promise<readonly string[]> {
  try {
    return await host.services.logs('kubelet', KUBELET_LINES);
  } catch (error) {
    // Without them it is still the same failure.
    if (error instanceof MachineadmError) return [];
    throw error;
  }
}
