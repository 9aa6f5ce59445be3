import { compareVersions, parseVersion, type Version } from '../text/program-version.ts';
import { has } from './features.ts';

type Release = Pick<Version, 'major' | 'minor'>;

/** A pair of versions that kubeadm refuses. */
export interface KubeletSkew {
  readonly reason: 'KubeletVersionTooOld' | 'KubeletVersionTooNew';
  readonly what: string;
  readonly remedy: string;
}

/**
 * kubeadm installs the Kubernetes of its own minor and the previous one (k/k cmd/kubeadm/app/constants
 * MinimumControlPlaneVersion; https://kubernetes.io/releases/version-skew-policy/#kubeadm). For a newer one it only
 * warns. Returns why this is another one.
 */
export function kubeadmSkew(wanted: Version, kubeadm: Version): string | undefined {
  const older = kubeadm.major === wanted.major ? kubeadm.minor - wanted.minor : Number.NaN;
  if (older === 0 || older === 1) return undefined;
  return `kubeadm ${kubeadm.text} cannot install Kubernetes ${wanted.text}: it installs its own minor version and the one before`;
}

/** The oldest minor of a kubelet that a kubeadm takes (k/k cmd/kubeadm/app/constants, MinimumKubeletVersion). */
export function oldestKubelet(kubeadm: Release): number {
  return kubeadm.minor - (has('olderKubelets', kubeadm.minor) ? 3 : 1);
}

/**
 * Why kubeadm refuses this kubelet (k/k cmd/kubeadm/app/preflight/checks.go, KubeletVersionCheck).
 *
 * @param controlPlane the version of the control plane where it is certain: a machine that joins may find another
 */
export function kubeletRefusal(
  kubelet: Version,
  kubeadm: Version,
  controlPlane: Version | undefined,
): KubeletSkew | undefined {
  if (kubelet.major < kubeadm.major || kubelet.minor < oldestKubelet(kubeadm)) {
    const oldest = `${kubeadm.major}.${oldestKubelet(kubeadm)}`;
    return {
      reason: 'KubeletVersionTooOld',
      what: `the kubelet ${kubelet.text} is older than kubeadm ${kubeadm.text} supports, which is ${oldest} or newer`,
      remedy: `Install a kubelet ${oldest} or newer, preferably of the version of kubeadm.`,
    };
  }
  if (controlPlane === undefined || !isNewer(kubelet, controlPlane)) return undefined;
  return {
    reason: 'KubeletVersionTooNew',
    what: `the kubelet ${kubelet.text} is newer than the control plane, Kubernetes ${controlPlane.text}`,
    remedy: `Install a kubelet ${controlPlane.major}.${controlPlane.minor}, or correct kubernetes.version.`,
  };
}

/**
 * Why Kubernetes does not support an upgrade in place between two versions
 * (https://kubernetes.io/releases/version-skew-policy/): forward, one minor at a time. undefined: it does.
 */
export function upgradeStepRefusal(
  from: string,
  to: string,
): { readonly what: string; readonly remedy: string } | undefined {
  const [old, wanted] = [parseVersion(from), parseVersion(to)];
  if (old === undefined || wanted === undefined)
    return { what: `the versions ${from} and ${to} cannot be compared`, remedy: 'Correct kubernetes.version.' };
  if (compareVersions(wanted, old) < 0) {
    return {
      what: `Kubernetes ${from} runs here, and ${to} is older`,
      remedy: 'Kubernetes cannot be downgraded in place: correct kubernetes.version, or replace the machine.',
    };
  }
  if (wanted.major !== old.major || wanted.minor > old.minor + 1) {
    return {
      what: `from ${from} to ${to} are more than one minor version`,
      remedy: `Upgrade to ${old.major}.${old.minor + 1} first: Kubernetes supports one minor version at a time.`,
    };
  }
  return undefined;
}

/** By the minor version: patch releases of a minor work together. */
function isNewer(one: Release, other: Release): boolean {
  return one.major > other.major || (one.major === other.major && one.minor > other.minor);
}
