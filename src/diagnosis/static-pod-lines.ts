import { KUBEADM_PODS } from '@machineadm/document/ownership/kubernetes-paths.ts';
import type { ObservedLine } from '@machineadm/failures/observed-line.ts';
import type { CriContainer } from '../host/cri/queries.ts';
import { describeExit } from '../host/services/unit-facts.ts';

/** Without an API server, controller manager and scheduler end for want of their lease; the API server waits for etcd so. */
const LEAST_ENDS: Readonly<Record<string, number>> = { etcd: 2, 'kube-apiserver': 2 };
const LEAST_ENDS_OF_OTHERS = 3;

/**
 * The components of the control plane that end again and again, by what the container runtime knows of their last
 * container: how it ended, and how many did before. The texts are those of `catalogue/units.ts`.
 *
 * @param exited containers that ended since the run began
 */
export function staticPodLines(exited: readonly CriContainer[]): readonly ObservedLine[] {
  return KUBEADM_PODS.flatMap((component): readonly ObservedLine[] => {
    const ends = exited.filter(({ name, namespace }) => name === component && namespace === 'kube-system');
    const [last] = [...ends].sort((a, b) => b.finishedAtMs - a.finishedAtMs);
    // The kubelet keeps but the last container of a pod; its number says how many there were (k/k pkg/kubelet/kuberuntime).
    const count = last === undefined ? 0 : Math.max(ends.length, last.attempt + 1);
    if (last === undefined || last.exitCode === 0 || count < (LEAST_ENDS[component] ?? LEAST_ENDS_OF_OTHERS)) return [];
    return [
      { source: 'unit', origin: 'container runtime', text: `${component} ended ${count} times, last ${howOf(last)}` },
    ];
  });
}

/** `StartError`: the runtime could not start it, so it never ran (containerd internal/cri/server/container_start.go). */
function howOf({ reason, exitCode }: CriContainer): string {
  if (reason === 'OOMKilled') return 'for lack of memory (OOMKilled)';
  return reason === 'StartError' ? 'because it could not be started (StartError)' : describeExit(exitCode);
}
