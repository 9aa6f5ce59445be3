import type { ClusterModel } from '../../document/model.ts';
import type { Problems } from './problems.ts';
import type { KubeadmTarget } from './version.ts';

interface GateWindow {
  /** First and last minor that know the gate; kubeadm refuses a configuration with a gate outside its window. */
  readonly since: number;
  readonly until: number;
}

/**
 * Gates whose window is certain (k/k cmd/kubeadm/app/features/features.go and its changelogs). Other names are passed on
 * and kubeadm judges them.
 */
const GATE_WINDOWS: Readonly<Record<string, GateWindow>> = {
  ControlPlaneKubeletLocalMode: { since: 31, until: 35 },
  NodeLocalCRISocket: { since: 32, until: 36 },
};

/**
 * kubeadm's own feature gates, with the key algorithm among them where v1beta4's field is missing. A gate is dropped where
 * its value is what the version does anyway: false before it came, true after it became the only behaviour.
 */
export function featureGates(
  cluster: ClusterModel,
  target: KubeadmTarget,
  problems: Problems,
): Record<string, boolean> {
  const gates: Record<string, boolean> = {};
  for (const [name, enabled] of Object.entries(cluster.featureGates)) {
    const window = GATE_WINDOWS[name];
    if (window === undefined || (window.since <= target.minor && target.minor <= window.until)) {
      gates[name] = enabled;
      continue;
    }
    const tooEarly = target.minor < window.since;
    if (enabled === !tooEarly) continue;
    problems.add({
      field: `kubernetes.cluster.featureGates.${name}`,
      problem: tooEarly
        ? `the gate came with kubeadm 1.${window.since}`
        : `the gate was removed after kubeadm 1.${window.until}, what it gated cannot be switched off any more`,
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
