import type { Model } from '@machineadm/document/model.ts';
import { KUBELET_KUBECONFIG } from '@machineadm/document/ownership/kubernetes-paths.ts';
import type { KubeadmCommand } from '@machineadm/kubeadm/output.ts';
import type { Facts } from '../host/seam/facts.ts';
import type { QueryHost } from '../host/seam/host.ts';
import { missingArgumentFiles } from '../kubernetes/kubeadm/argument-files.ts';
import { nodeObstacles } from '../kubernetes/kubeadm/node-obstacles.ts';
import { kubeadmObstacles } from '../kubernetes/kubeadm/preflight.ts';
import { ambiguousRuntime, type LocatedKubernetes } from '../kubernetes/runtime-socket.ts';
import type { UnmetRequirement } from './step.ts';

/** What decides what is needed. */
export interface KubeadmNeeds {
  readonly kubernetes: LocatedKubernetes;
  readonly model: Model;
  readonly facts: Facts;
  readonly cgroupDriver: 'systemd' | 'cgroupfs' | undefined;
  readonly programs: Pick<Facts, 'kubeadm' | 'kubelet' | 'containerd'>;
  readonly command: KubeadmCommand;
  readonly provided: ReadonlySet<string>;
  /** Where file systems of the document will be mounted: what lies below is seen only then. */
  readonly mountPoints: readonly string[];
}

/** Everything of the machine that kubeadm, the kubelet and the control plane will need. */
export async function kubeadmRequirements(
  host: QueryHost,
  desired: KubeadmNeeds,
): Promise<readonly UnmetRequirement[]> {
  // A machine that has joined may have been upgraded since; then none of this is needed.
  if ((await host.stat(KUBELET_KUBECONFIG)) !== undefined) return [];
  const { command, provided, mountPoints } = desired;
  const isProvided = (path: string): boolean =>
    provided.has(path) ||
    [...provided].some((one) => one.startsWith(`${path}/`)) ||
    mountPoints.some((point) => path.startsWith(`${point}/`));
  const missing: UnmetRequirement[] = [
    ...(await kubeadmObstacles(host, desired.kubernetes, desired.cgroupDriver, desired.programs, isProvided)),
  ];
  const sockets = ambiguousRuntime(desired.model, desired.facts);
  if (sockets !== undefined) {
    missing.push({
      reason: 'MultipleCRISockets',
      what: `the machine has ${sockets.length} container runtimes: ${sockets.join(', ')}`,
      remedy: 'Set kubernetes.node.criSocket to the socket of the runtime to use.',
      field: 'kubernetes.node.criSocket',
      change: `kubeadm/${command}`,
      scope: 'node',
    });
  }
  for (const file of await missingArgumentFiles(host, desired.kubernetes, isProvided)) {
    missing.push({ ...file, reason: 'ComponentFileMissing', change: `kubeadm/${command}`, scope: 'node' });
  }
  for (const obstacle of await nodeObstacles(host, desired)) {
    missing.push({ ...obstacle, change: `kubeadm/${command}`, scope: 'node' });
  }
  const { masked } = await host.service('kubelet');
  if (masked) {
    missing.push({
      reason: 'KubeletServiceMissing',
      what: 'the kubelet service is masked',
      remedy: 'Unmask it (systemctl unmask kubelet).',
    });
  }
  return missing;
}
