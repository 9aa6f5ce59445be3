import type { Version } from '../text/program-version.ts';

/** Tags of the images that kubeadm deploys beside Kubernetes itself. */
export interface CompanionTags {
  readonly etcd: string;
  readonly coredns: string;
  readonly pause: string;
}

interface Row extends CompanionTags {
  readonly minor: number;
  readonly from: number;
  /** The last patch release that was compared with this row. */
  readonly to: number;
}

/**
 * What `kubeadm config images list` of each release prints: CoreDNSVersion, PauseVersion and SupportedEtcdVersion in k/k
 * cmd/kubeadm/app/constants/constants.go. A line: the minor of 1.x, its patch releases from–to, then the tags of etcd,
 * coredns and pause. A later patch release may differ. scripts/kubernetes-releases.ts writes it.
 */
const TABLE = `
20.0-15 3.4.13-0 1.7.0 3.2
21.0-14 3.4.13-0 v1.8.0 3.4.1
22.0-16 3.5.0-0 v1.8.4 3.5
22.17-17 3.5.6-0 v1.8.4 3.5
23.0-13 3.5.1-0 v1.8.6 3.6
23.14-14 3.5.5-0 v1.8.6 3.6
23.15-17 3.5.6-0 v1.8.6 3.6
24.0-7 3.5.3-0 v1.8.6 3.7
24.8-8 3.5.5-0 v1.8.6 3.7
24.9-17 3.5.6-0 v1.8.6 3.7
25.0-3 3.5.4-0 v1.9.3 3.8
25.4-4 3.5.5-0 v1.9.3 3.8
25.5-14 3.5.6-0 v1.9.3 3.8
25.15-16 3.5.9-0 v1.9.3 3.8
26.0-9 3.5.6-0 v1.9.3 3.9
26.10-12 3.5.9-0 v1.9.3 3.9
26.13-15 3.5.10-0 v1.9.3 3.9
27.0-6 3.5.7-0 v1.10.1 3.9
27.7-9 3.5.9-0 v1.10.1 3.9
27.10-11 3.5.10-0 v1.10.1 3.9
27.12-16 3.5.12-0 v1.10.1 3.9
28.0-5 3.5.9-0 v1.10.1 3.9
28.6-7 3.5.10-0 v1.10.1 3.9
28.8-13 3.5.12-0 v1.10.1 3.9
28.14-15 3.5.15-0 v1.10.1 3.9
29.0-2 3.5.10-0 v1.11.1 3.9
29.3-8 3.5.12-0 v1.11.1 3.9
29.9-10 3.5.15-0 v1.11.1 3.9
30.0-4 3.5.12-0 v1.11.1 3.9
30.5-6 3.5.15-0 v1.11.3 3.9
31.0-0 3.5.15-0 v1.11.1 3.10
31.1-13 3.5.15-0 v1.11.3 3.10
31.14-14 3.5.24-0 v1.11.3 3.10
32.0-9 3.5.16-0 v1.11.3 3.10
32.10-13 3.5.24-0 v1.11.3 3.10
33.0-5 3.5.21-0 v1.12.0 3.10
33.6-9 3.5.24-0 v1.12.0 3.10
34.0-1 3.6.4-0 v1.12.1 3.10.1
34.2-10 3.6.5-0 v1.12.1 3.10.1
35.0-8 3.6.6-0 v1.13.1 3.10.1
36.0-5 3.6.8-0 v1.14.2 3.10.2
37.0-0 3.7.0-0 v1.14.6 3.10.2
`;

const ROWS: readonly Row[] = TABLE.trim()
  .split('\n')
  .map((line) => {
    const [releases = '', etcd = '', coredns = '', pause = ''] = line.split(' ');
    const [minor = 0, from = 0, to = 0] = releases.split(/[.-]/).map(Number);
    return { minor, from, to, etcd, coredns, pause };
  });

/**
 * The tags of a release's kubeadm, and whether they are known or taken from the nearest known release. undefined before
 * 1.20 and after the newest minor of the table.
 */
export function companionTags({
  major,
  minor,
  patch,
}: Pick<Version, 'major' | 'minor' | 'patch'>): { readonly tags: CompanionTags; readonly known: boolean } | undefined {
  const tags = ROWS.findLast((row) => major === 1 && row.minor === minor && row.from <= patch);
  return tags === undefined ? undefined : { tags, known: patch <= tags.to };
}

/** The first patch release of each minor with the new registry (https://kubernetes.io/blog/2022/11/28/registry-k8s-io-faster-cheaper-ga/). */
const NEW_REGISTRY: Readonly<Record<number, number>> = { 22: 17, 23: 15, 24: 9 };
const NEW_REGISTRY_ALWAYS = 25;

/** kubeadm's own `imageRepository` (DefaultImageRepository in k/k cmd/kubeadm/app/apis/kubeadm/<version>/defaults.go). */
export function defaultRepository({ major, minor, patch }: Pick<Version, 'major' | 'minor' | 'patch'>): string {
  const since = major > 1 || minor >= NEW_REGISTRY_ALWAYS ? 0 : NEW_REGISTRY[minor];
  return since !== undefined && patch >= since ? 'registry.k8s.io' : 'k8s.gcr.io';
}
