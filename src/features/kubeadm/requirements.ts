import type { Model } from '@machineadm/document/model/index.ts';
import { KUBELET_KUBECONFIG } from '@machineadm/document/ownership/kubernetes-paths.ts';
import type { KubeadmCommand } from '@machineadm/kubeadm/output.ts';
import { lacksKubeadmArguments } from '../../host/cluster/kubelet.ts';
import type { Facts } from '../../host/seam/facts.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import { missingArgumentFiles } from '../../kubernetes/kubeadm/argument-files.ts';
import { credentialObstacles, placeObstacles } from '../../kubernetes/kubeadm/disk-obstacles.ts';
import { type NodeObstacle, nodeObstacles } from '../../kubernetes/kubeadm/node-obstacles.ts';
import { kubeadmChecks } from '../../kubernetes/kubeadm/own-checks.ts';
import { kubeadmObstacles } from '../../kubernetes/kubeadm/preflight.ts';
import { ambiguousRuntime, type LocatedKubernetes } from '../../kubernetes/runtime-socket.ts';
import type { RanRecord, UnmetRequirement } from '../../step/index.ts';

const UNIT_DIRECTORIES = [
  '/etc/systemd/system',
  '/usr/local/lib/systemd/system',
  '/usr/lib/systemd/system',
  '/lib/systemd/system',
];

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
  record?: RanRecord,
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
    missing.push({ ...file, change: `kubeadm/${command}`, scope: 'node' });
  }
  const obstacles = [
    ...(await nodeObstacles(host, desired)),
    ...(await kubeletObstacles(host, desired, isProvided)),
    ...(await machineObstacles(host, desired, isProvided, record)),
  ];
  for (const obstacle of obstacles) missing.push({ ...obstacle, change: `kubeadm/${command}`, scope: 'node' });
  return missing;
}

/** What kubeadm would refuse or break on. What an attempt of ours left is the subject of the steps before kubeadm. */
async function machineObstacles(
  host: QueryHost,
  { kubernetes, model, programs, mountPoints, facts }: KubeadmNeeds,
  isProvided: (path: string) => boolean,
  record: RanRecord | undefined,
): Promise<readonly NodeObstacle[]> {
  if (facts.platform !== 'linux') return [];
  const isBegun = (record?.bootstrap ?? 'none') !== 'none' || record?.foreignLeftovers === true;
  const isMounted = (path: string): boolean =>
    mountPoints.some((point) => path === point || path.startsWith(`${point}/`));
  const asked = { kubernetes, model, kubeadm: programs.kubeadm, isProvided, isMounted };
  return [
    ...(await placeObstacles(host, asked)),
    ...(isBegun ? [] : await kubeadmChecks(host, asked)),
    ...(isBegun ? [] : await credentialObstacles(host, asked, Date.now())),
  ];
}

/** A unit of the kubelet with which kubeadm would wait in vain. */
async function kubeletObstacles(
  host: QueryHost,
  { model, programs, facts }: KubeadmNeeds,
  isProvided: (path: string) => boolean,
): Promise<readonly NodeObstacle[]> {
  const { masked, exists, unit } = await host.service('kubelet');
  const base = { field: 'kubernetes' };
  if (masked) {
    const remedy = 'Unmask it (systemctl unmask kubelet).';
    return [{ ...base, reason: 'KubeletServiceMissing', what: 'the kubelet service is masked', remedy }];
  }
  // Without the program the unit will come with it; without a service manager nothing starts it.
  if (programs.kubelet === undefined || facts.platform !== 'linux' || facts.serviceManager === 'none') return [];
  const writes = UNIT_DIRECTORIES.some(
    (directory) => isProvided(`${directory}/kubelet.service`) || isProvided(`${directory}/kubelet.service.d`),
  );
  if (writes || model.host.services.some(({ name }) => /^kubelet(?:\.service)?$/.test(name))) return [];
  if (!exists) {
    const remedy = "Install the kubelet's unit with its kubeadm drop-in, as its package does.";
    return [{ ...base, reason: 'KubeletServiceMissing', what: 'the kubelet has no service', remedy }];
  }
  if (unit === undefined || !(await lacksKubeadmArguments(host, unit))) return [];
  const what = `the service of the kubelet starts without kubeadm's drop-in: ${unit.command.join(' ')}`;
  const remedy =
    'Install 10-kubeadm.conf below /etc/systemd/system/kubelet.service.d (package kubeadm), and run systemctl daemon-reload.';
  return [{ ...base, reason: 'KubeletDropInMissing', what, remedy }];
}
