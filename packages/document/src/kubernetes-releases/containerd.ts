import { compareVersions, parseVersion, type Version } from '../text/program-version.ts';

const RELEASES = 'https://github.com/containerd/containerd/blob/main/RELEASES.md#kubernetes-support';

/** The first containerd with CRI v1, which machineadm speaks, as every kubelet from 1.26 on does. */
export const OLDEST_CONTAINERD: Version = { major: 1, minor: 6, patch: 0, text: '1.6' };

/** The last minor whose kubelet speaks CRI v1alpha2 only, and the first containerd that does not. */
export const CRI_V1ALPHA2 = { until: 22, goneWith: 2, source: RELEASES } as const;

/**
 * What containerd's maintainers recommend for a minor: the oldest patch release of each line. Absent where they say nothing
 * (1.20 to 1.23, and 1.37 when this was read).
 */
export const RECOMMENDED_CONTAINERD: Readonly<Record<number, readonly string[]>> = {
  24: ['1.6.4', '1.7.0'],
  25: ['1.6.4', '1.7.0'],
  26: ['1.6.15', '1.7.0'],
  27: ['1.6.15', '1.7.0'],
  28: ['1.6.15', '1.7.0'],
  29: ['1.6.27', '1.7.11'],
  30: ['1.6.28', '1.7.13', '2.0.0', '2.1.0'],
  31: ['1.6.34', '1.7.20', '2.0.0', '2.1.0'],
  32: ['1.6.36', '1.7.24', '2.0.1', '2.1.0'],
  33: ['1.6.36', '1.7.24', '2.0.4', '2.1.0'],
  34: ['1.7.28', '2.0.6', '2.1.3'],
  35: ['1.7.28', '2.1.5', '2.2.0'],
  36: ['2.2.0', '2.3.0'],
};

/** Why a kubelet of this version cannot work with this containerd at all; undefined where it can. */
export function containerdRefusal(containerd: Version, kubelet: Version): string | undefined {
  if (kubelet.major > 1 || kubelet.minor > CRI_V1ALPHA2.until || containerd.major < CRI_V1ALPHA2.goneWith)
    return undefined;
  return `the kubelet ${kubelet.text} speaks CRI v1alpha2, which containerd ${containerd.text} does not have: it needs 1.6 or 1.7`;
}

/** The recommended version that this containerd is older than: `1.7.24`; undefined where it is new enough, or nothing is said. */
export function newerContainerd(containerd: Version, kubelet: Version): string | undefined {
  const recommended = kubelet.major === 1 ? RECOMMENDED_CONTAINERD[kubelet.minor] : undefined;
  const line = recommended?.find((text) => {
    const { major = 0, minor = 0 } = parseVersion(text) ?? {};
    return major > containerd.major || (major === containerd.major && minor >= containerd.minor);
  });
  const wanted = line === undefined ? undefined : parseVersion(line);
  return wanted !== undefined && compareVersions(containerd, wanted) < 0 ? line : undefined;
}
