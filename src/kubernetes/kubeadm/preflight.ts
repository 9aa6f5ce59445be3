import { MachineadmError } from '../../document/errors.ts';
import type { KubernetesModel } from '../../document/model.ts';
import type { Reason } from '../../document/reasons.ts';
import type { Facts, Version } from '../../host/facts.ts';
import { parseVersion } from '../../host/version.ts';
import { renderRedacted } from './config.ts';

/** Something kubeadm will need and the machine lacks; the same shape as a step's finding. */
export interface KubeadmObstacle {
  readonly reason: Reason;
  readonly what: string;
  readonly remedy: string;
}

/** What is known before anything is changed: the programs, and whether they can do what the document asks. Pure. */
export function kubeadmObstacles(
  kubernetes: KubernetesModel,
  cgroupDriver: 'systemd' | 'cgroupfs' | undefined,
  programs: Pick<Facts, 'kubeadm' | 'kubelet'>,
): readonly KubeadmObstacle[] {
  const { kubeadm, kubelet } = programs;
  const minor = /^v\d+\.\d+/.exec(kubernetes.version)?.[0] ?? kubernetes.version;
  const obstacles: KubeadmObstacle[] = [];
  if (kubelet === undefined) {
    obstacles.push({
      reason: 'KubeletNotInstalled',
      what: 'the kubelet is not installed',
      remedy: `Install the kubelet ${minor} with its systemd unit.`,
    });
  }
  if (kubeadm === undefined) {
    obstacles.push({
      reason: 'KubeadmNotInstalled',
      what: 'kubeadm is not installed',
      remedy: `Install kubeadm ${minor}.`,
    });
    return obstacles;
  }
  const skew = versionSkew(kubernetes.version, kubeadm);
  if (skew !== undefined) {
    obstacles.push({
      reason: 'KubeadmUnsupported',
      what: skew,
      remedy: `Install kubeadm ${minor}, or correct kubernetes.version.`,
    });
  }
  const inexpressible = notExpressible({ kubernetes, kubeadm, cgroupDriver });
  if (inexpressible !== undefined) obstacles.push(inexpressible);
  return obstacles;
}

/**
 * kubeadm installs the Kubernetes of its own minor and of the one before (k/k cmd/kubeadm/app/constants
 * MinimumControlPlaneVersion; https://kubernetes.io/releases/version-skew-policy/#kubeadm). Of a newer one it only warns.
 */
function versionSkew(wanted: string, kubeadm: Version): string | undefined {
  const kubernetes = parseVersion(wanted);
  if (kubernetes === undefined) return undefined;
  const older = kubeadm.major === kubernetes.major ? kubeadm.minor - kubernetes.minor : Number.NaN;
  if (older === 0 || older === 1) return undefined;
  return `kubeadm ${kubeadm.text} cannot install Kubernetes ${wanted}: it installs its own minor version and the one before`;
}

function notExpressible(input: Parameters<typeof renderRedacted>[0]): KubeadmObstacle | undefined {
  try {
    renderRedacted(input);
    return undefined;
  } catch (error) {
    if (!(error instanceof MachineadmError)) throw error;
    return { reason: error.reason, what: error.message, remedy: error.remedy };
  }
}
