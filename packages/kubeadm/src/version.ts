import { MachineadmError } from '@machineadm/document/errors.ts';
import { NEWEST_KNOWN_MINOR, OLDEST_MINOR } from '@machineadm/document/kubernetes-releases/minor.ts';
import type { Version } from '@machineadm/document/program-version.ts';

export type KubeadmConfigVersion = 'v1beta2' | 'v1beta3' | 'v1beta4';

/** The kubeadm that will read the configuration. */
export interface KubeadmTarget {
  readonly configVersion: KubeadmConfigVersion;
  /** Minor of 1.x; infinite for a later major. */
  readonly minor: number;
  /** For messages: `kubeadm v1.30.9`. */
  readonly name: string;
}

/**
 * The `kubeadm.k8s.io` API version that a kubeadm binary reads. Decided by the binary, never by the Kubernetes version
 * that is to be installed. Throws `KubeadmUnsupported`.
 *
 * Source: k/k cmd/kubeadm/app/util/config/common.go and the changelogs: v1beta3 came with 1.22 (v1beta2 is refused from
 * 1.27 on), v1beta4 is usable from 1.31 on (k/k#125029; v1beta3 is refused from 1.37 on, k/k#136016).
 */
export function kubeadmConfigVersion(version: Version): KubeadmConfigVersion {
  if (version.major < 1 || (version.major === 1 && version.minor < OLDEST_MINOR)) {
    throw new MachineadmError({
      reason: 'KubeadmUnsupported',
      summary: `kubeadm ${plainVersion(version)} is not supported: 1.${OLDEST_MINOR} is the oldest, 1.${NEWEST_KNOWN_MINOR} the newest known.`,
      remedy: `Install kubeadm 1.${OLDEST_MINOR} or newer, of the minor version of kubernetes.version.`,
    });
  }
  if (version.major > 1 || version.minor >= 31) return 'v1beta4';
  return version.minor >= 22 ? 'v1beta3' : 'v1beta2';
}

/** What rendering must know of a kubeadm binary. Throws `KubeadmUnsupported`. */
export function kubeadmTarget(version: Version): KubeadmTarget {
  return {
    configVersion: kubeadmConfigVersion(version),
    minor: version.major > 1 ? Number.POSITIVE_INFINITY : version.minor,
    name: `kubeadm ${plainVersion(version)}`,
  };
}

function plainVersion(version: Version): string {
  return `v${version.major}.${version.minor}.${version.patch}`;
}
