import type { Version } from '@machineadm/document/program-version.ts';

/** Tags of the images that kubeadm deploys beside Kubernetes itself. */
export interface CompanionTags {
  readonly etcd: string;
  readonly coredns: string;
  readonly pause: string;
}

/** Tags from a patch release of a minor on, until the next row of that minor. */
interface Row extends CompanionTags {
  readonly minor: number;
  readonly patch: number;
}

function row(release: string, etcd: string, coredns: string, pause: string): Row {
  const [minor = 0, patch = 0] = release.split('.').map(Number);
  return { minor, patch, etcd, coredns, pause };
}

/**
 * What `kubeadm config images list` of each release prints, where it differs from the release before: CoreDNSVersion,
 * PauseVersion and SupportedEtcdVersion in k/k cmd/kubeadm/app/constants/constants.go. Patch releases change them, too.
 */
const ROWS: readonly Row[] = [
  row('20.0', '3.4.13-0', '1.7.0', '3.2'),
  row('21.0', '3.4.13-0', 'v1.8.0', '3.4.1'),
  row('22.0', '3.5.0-0', 'v1.8.4', '3.5'),
  row('22.17', '3.5.6-0', 'v1.8.4', '3.5'),
  row('23.0', '3.5.1-0', 'v1.8.6', '3.6'),
  row('23.14', '3.5.5-0', 'v1.8.6', '3.6'),
  row('23.15', '3.5.6-0', 'v1.8.6', '3.6'),
  row('24.0', '3.5.3-0', 'v1.8.6', '3.7'),
  row('24.8', '3.5.5-0', 'v1.8.6', '3.7'),
  row('24.9', '3.5.6-0', 'v1.8.6', '3.7'),
  row('25.0', '3.5.4-0', 'v1.9.3', '3.8'),
  row('25.4', '3.5.5-0', 'v1.9.3', '3.8'),
  row('25.5', '3.5.6-0', 'v1.9.3', '3.8'),
  row('25.15', '3.5.9-0', 'v1.9.3', '3.8'),
  row('26.0', '3.5.6-0', 'v1.9.3', '3.9'),
  row('26.10', '3.5.9-0', 'v1.9.3', '3.9'),
  row('26.13', '3.5.10-0', 'v1.9.3', '3.9'),
  row('27.0', '3.5.7-0', 'v1.10.1', '3.9'),
  row('27.7', '3.5.9-0', 'v1.10.1', '3.9'),
  row('27.10', '3.5.10-0', 'v1.10.1', '3.9'),
  row('27.12', '3.5.12-0', 'v1.10.1', '3.9'),
  row('28.0', '3.5.9-0', 'v1.10.1', '3.9'),
  row('28.6', '3.5.10-0', 'v1.10.1', '3.9'),
  row('28.8', '3.5.12-0', 'v1.10.1', '3.9'),
  row('28.14', '3.5.15-0', 'v1.10.1', '3.9'),
  row('29.0', '3.5.10-0', 'v1.11.1', '3.9'),
  row('29.3', '3.5.12-0', 'v1.11.1', '3.9'),
  row('29.9', '3.5.15-0', 'v1.11.1', '3.9'),
  row('30.0', '3.5.12-0', 'v1.11.1', '3.9'),
  row('30.5', '3.5.15-0', 'v1.11.3', '3.9'),
  row('31.0', '3.5.15-0', 'v1.11.1', '3.10'),
  row('31.1', '3.5.15-0', 'v1.11.3', '3.10'),
  row('31.14', '3.5.24-0', 'v1.11.3', '3.10'), // k/k#135020
  row('32.0', '3.5.16-0', 'v1.11.3', '3.10'),
  row('32.10', '3.5.24-0', 'v1.11.3', '3.10'), // k/k#135019
  row('33.0', '3.5.21-0', 'v1.12.0', '3.10'),
  row('33.6', '3.5.24-0', 'v1.12.0', '3.10'), // k/k#135018
  row('34.0', '3.6.4-0', 'v1.12.1', '3.10.1'),
  row('34.2', '3.6.5-0', 'v1.12.1', '3.10.1'),
  row('35.0', '3.6.6-0', 'v1.13.1', '3.10.1'),
  row('36.0', '3.6.8-0', 'v1.14.2', '3.10.2'),
  row('37.0', '3.7.0-0', 'v1.14.6', '3.10.2'),
];

/** The last patch release of each minor that the table is verified for; a later one may differ. */
const KNOWN_TO: Readonly<Record<number, number>> = {
  20: 15,
  21: 14,
  22: 17,
  23: 17,
  24: 17,
  25: 16,
  26: 15,
  27: 16,
  28: 15,
  29: 10,
  30: 6,
  31: 14,
  32: 13,
  33: 9,
  34: 10,
  35: 8,
  36: 5,
  37: 0,
};

/**
 * The tags of a release's kubeadm, and whether they are known or taken from the nearest known release. undefined before
 * 1.20 and after the newest minor of the table.
 */
export function companionTags(
  release: Pick<Version, 'major' | 'minor' | 'patch'>,
): { readonly tags: CompanionTags; readonly known: boolean } | undefined {
  const { major, minor, patch } = release;
  const tags = ROWS.findLast((candidate) => major === 1 && candidate.minor === minor && candidate.patch <= patch);
  return tags === undefined ? undefined : { tags, known: patch <= (KNOWN_TO[minor] ?? -1) };
}

/** First patch releases of older minors with the new registry (https://kubernetes.io/blog/2022/11/28/registry-k8s-io-faster-cheaper-ga/). */
const NEW_REGISTRY_SINCE: Readonly<Record<number, number>> = { 22: 17, 23: 15, 24: 9 };

/** kubeadm's own `imageRepository` (DefaultImageRepository in k/k cmd/kubeadm/app/apis/kubeadm/<version>/defaults.go). */
export function defaultRepository({ major, minor, patch }: Pick<Version, 'major' | 'minor' | 'patch'>): string {
  if (major > 1 || minor >= 25) return 'registry.k8s.io';
  const since = NEW_REGISTRY_SINCE[minor];
  return since !== undefined && patch >= since ? 'registry.k8s.io' : 'k8s.gcr.io';
}
