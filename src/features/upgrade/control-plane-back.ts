import { staticPodPath } from '@machineadm/document/ownership/kubernetes-paths.ts';
import type { Host } from '../../host/seam/host.ts';
import { podProcesses } from '../../kubernetes/upgrade/certificate-renewal.ts';
import { untilPodIsBack } from '../../kubernetes/upgrade/pod-change.ts';
import { type KeptPods, keptPods, processesBefore, restorePods } from '../../kubernetes/upgrade/pod-kept.ts';
import type { Execution, StepRecord } from '../../step/index.ts';
import { CHANGEABLE_PODS } from '../../step/upgrade-order.ts';
import type { UpgradeDesired } from './desired.ts';
import { untilAnswered } from './turn.ts';

/** The step whose changes give static pods other settings, and the change that records them in the cluster. */
export const CONTROL_PLANE = 'upgrade-control-plane';
export const RECORD_CHANGE = `${CONTROL_PLANE}/record`;

const DEFAULT_TIMEOUT_MS = 4 * 60_000;

type Watch = Pick<Execution, 'signal' | 'waitingFor'>;

/**
 * Puts the previous manifests back, as long as the new ones are not recorded in the cluster, and waits until the control plane
 * works with them. undefined: no manifest was touched.
 */
export async function endOfFailedControlPlane(
  host: Host,
  { record }: { record(step: string): StepRecord },
  desired: UpgradeDesired,
  watch: Watch,
): Promise<{ readonly isBack: boolean; readonly sentences: readonly string[] } | undefined> {
  const { done, interrupted } = record(CONTROL_PLANE);
  if (done.has(RECORD_CHANGE) || interrupted.has(RECORD_CHANGE)) {
    const is = done.has(RECORD_CHANGE) ? 'is recorded' : 'may be recorded';
    return {
      isBack: false,
      sentences: [
        `The control plane works with its new arguments, and that ${is} in the cluster: run machineadm upgrade again, which continues.`,
      ],
    };
  }
  const kept = done.size + interrupted.size === 0 ? undefined : await keptPods(host);
  if (kept === undefined) return undefined;
  const trouble = await restored(host, kept, desired, watch);
  return trouble === undefined
    ? {
        isBack: true,
        sentences: ['The previous arguments of the control plane are restored, and it works with them.'],
      }
    : {
        isBack: false,
        sentences: [
          `The previous arguments of the control plane are restored, but it does not work with them: ${trouble}.`,
        ],
      };
}

async function restored(
  host: Host,
  kept: KeptPods,
  desired: UpgradeDesired,
  { signal, waitingFor }: Watch,
): Promise<string | undefined> {
  const timeoutMs = desired.kubernetes.timeouts.controlPlaneMs ?? DEFAULT_TIMEOUT_MS;
  // By the manifests that are replaced.
  const newer = new Map<string, readonly string[]>();
  for (const pod of CHANGEABLE_PODS) {
    const before = processesBefore(kept, pod);
    newer.set(
      pod,
      (await podProcesses(host, pod)).filter((process) => !before.includes(process)),
    );
  }
  const paths = await restorePods(host, kept);
  for (const pod of CHANGEABLE_PODS.filter((one) => paths.includes(staticPodPath(one)))) {
    const demand = { gone: newer.get(pod) ?? [], criSocket: desired.socket };
    const why = await untilPodIsBack(host, pod, demand, { timeoutMs, signal, waitingFor });
    if (why !== undefined) return why;
  }
  return await untilAnswered(host, desired, { signal, waitingFor });
}
