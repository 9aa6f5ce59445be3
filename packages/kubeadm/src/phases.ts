import { includes, NEWEST_KNOWN_MINOR } from '@machineadm/document/kubernetes-releases/minor.ts';
import { INIT_PHASES, JOIN_PHASES, SAME_WORK } from '@machineadm/document/kubernetes-releases/phases.ts';
import type { KubernetesModel } from '@machineadm/document/model/index.ts';
import type { Problems } from './problems.ts';
import type { KubeadmTarget } from './version.ts';

/** `kubernetes.bootstrapper.kubeadm.skipPhases` in the names of the target, and the addons that v1beta4 switches off itself. */
export function phasesToSkip(
  kubernetes: KubernetesModel,
  command: 'init' | 'join',
  target: KubeadmTarget,
  problems: Problems,
): readonly string[] {
  const names = new Set<string>();
  for (const asked of kubernetes.kubeadm.skipPhases) {
    for (const name of namesInTarget(asked, command, target, problems)) names.add(name);
  }
  if (command === 'init' && target.configVersion !== 'v1beta4') {
    if (!kubernetes.addons.dns.enabled) names.add('addon/coredns');
    if (!kubernetes.addons.proxy.enabled) names.add('addon/kube-proxy');
  }
  return [...names];
}

function namesInTarget(
  asked: string,
  command: 'init' | 'join',
  target: KubeadmTarget,
  problems: Problems,
): readonly string[] {
  const known = (command === 'init' ? INIT_PHASES : JOIN_PHASES)
    .filter((phase) => includes(phase, target.minor))
    .map(({ name }) => name);
  const family = SAME_WORK.find((names) => names.includes(asked)) ?? [asked];
  const names = family.filter((name) => known.includes(name));
  if (names.length > 0) return names;
  if (target.minor > NEWEST_KNOWN_MINOR) return [asked];
  problems.add({
    field: 'kubernetes.bootstrapper.kubeadm.skipPhases',
    problem: `kubeadm ${command} has no phase "${asked}" in this version`,
    remedy: `Remove it or choose among: ${known.join(', ')}.`,
  });
  return [];
}
