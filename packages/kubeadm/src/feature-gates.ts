import { kubeadmGate } from '@machineadm/document/kubernetes-releases/kubeadm.ts';
import { includes } from '@machineadm/document/kubernetes-releases/minor.ts';
import type { ClusterModel } from '@machineadm/document/model/index.ts';
import type { Problems } from './problems.ts';
import type { KubeadmTarget } from './version.ts';

/**
 * kubeadm's own feature gates, with the key algorithm among them where v1beta4's field is missing. A gate is dropped where
 * its value is what the version does anyway, before it came and after it was removed. A name that is in no table is passed on.
 */
export function featureGates(
  cluster: ClusterModel,
  target: KubeadmTarget,
  problems: Problems,
): Record<string, boolean> {
  const gates: Record<string, boolean> = {};
  for (const [name, enabled] of Object.entries(cluster.featureGates)) {
    const gate = kubeadmGate(name);
    if (gate === undefined || includes(gate, target.minor)) {
      gates[name] = enabled;
      continue;
    }
    const { since = 0, until = 0, afterwards } = gate;
    const tooEarly = target.minor < since;
    if (enabled === (tooEarly ? false : afterwards)) continue;
    const on = enabled ? 'on' : 'off';
    problems.add({
      field: `kubernetes.cluster.featureGates.${name}`,
      problem: tooEarly
        ? `the gate came with kubeadm 1.${since}`
        : `the gate was removed after kubeadm 1.${until}, its feature can no longer be switched ${on}`,
      remedy: `Remove the gate ${name} from the document.`,
    });
  }
  if (cluster.encryptionAlgorithm === 'ECDSA-P256' && target.configVersion !== 'v1beta4') {
    if (gates.PublicKeysECDSA === false) {
      problems.add({
        field: 'kubernetes.cluster.featureGates.PublicKeysECDSA',
        problem: `false contradicts encryptionAlgorithm ECDSA-P256, which is this gate in kubeadm ${target.configVersion}`,
        remedy: 'Remove the gate PublicKeysECDSA from the document.',
      });
    }
    gates.PublicKeysECDSA = true;
  }
  return gates;
}
