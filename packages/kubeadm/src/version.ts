import { CONFIGURATIONS } from '@machineadm/document/kubernetes-releases/configurations.ts';
import { type MinorWindow, NEWEST_KNOWN_MINOR, OLDEST_MINOR } from '@machineadm/document/kubernetes-releases/minor.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { Version } from '@machineadm/document/text/program-version.ts';

const VERSIONS: readonly ({ readonly name: KubeadmConfigVersion } & MinorWindow)[] = CONFIGURATIONS.kubeadm.versions;

export type KubeadmConfigVersion = (typeof CONFIGURATIONS.kubeadm.versions)[number]['name'];

/** The first minor of kubeadm with a version of its configuration. */
export function kubeadmWith(version: KubeadmConfigVersion): number {
  return VERSIONS.find(({ name }) => name === version)?.since ?? OLDEST_MINOR;
}

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
 */
export function kubeadmConfigVersion(version: Version): KubeadmConfigVersion {
  if (version.major < 1 || (version.major === 1 && version.minor < OLDEST_MINOR)) {
    throw new MachineadmError({
      reason: 'KubeadmUnsupported',
      summary: `kubeadm ${plainVersion(version)} is not supported: 1.${OLDEST_MINOR} is the oldest, 1.${NEWEST_KNOWN_MINOR} the newest known.`,
      remedy: `Install kubeadm 1.${OLDEST_MINOR} or newer, of the minor version of kubernetes.version.`,
    });
  }
  const minor = ofLaterMajors(version);
  return VERSIONS.findLast(({ since = 0 }) => since <= minor)?.name ?? 'v1beta2';
}

/** What rendering must know of a kubeadm binary. Throws `KubeadmUnsupported`. */
export function kubeadmTarget(version: Version): KubeadmTarget {
  return {
    configVersion: kubeadmConfigVersion(version),
    minor: ofLaterMajors(version),
    name: `kubeadm ${plainVersion(version)}`,
  };
}

function ofLaterMajors({ major, minor }: Version): number {
  return major > 1 ? Number.POSITIVE_INFINITY : minor;
}

function plainVersion(version: Version): string {
  return `v${version.major}.${version.minor}.${version.patch}`;
}
