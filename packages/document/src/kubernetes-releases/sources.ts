const KUBERNETES = 'https://github.com/kubernetes/kubernetes';
const WEBSITE = 'https://github.com/kubernetes/website/blob/main/content/en/docs/reference';

/** Where one of the tables of this folder comes from. */
interface TableSource {
  /** The file beside this one. */
  readonly file: string;
  readonly facts: string;
  readonly from: readonly string[];
  /** The day on which the table was last compared with its source. */
  readonly read: string;
  /** What it is not certain of. */
  readonly open?: string;
}

/** Every table of this folder, with its source. A single fact has a source of its own where it comes from elsewhere. */
export const TABLE_SOURCES: readonly TableSource[] = [
  {
    file: 'admission-plugins.ts',
    facts: 'Admission plugins',
    from: [`${KUBERNETES}/blob/master/pkg/kubeapiserver/options/plugins.go`],
    read: '2026-11-28',
    open: 'new ones of 1.37 and later',
  },
  {
    file: 'api-versions.ts',
    facts: 'Versions of the APIs',
    from: [`${KUBERNETES}/tree/master/staging/src/k8s.io/api`],
    read: '2026-11-28',
    open: 'those of minors before 1.31 or after 1.36',
  },
  {
    file: 'argument-values.ts',
    facts: 'What the flags of the components take',
    from: [
      `${KUBERNETES}/tree/master/cmd`,
      `${KUBERNETES}/tree/master/staging/src/k8s.io/apiserver/pkg/server/options`,
    ],
    read: '2026-11-28',
    open: 'flags that only minors before 1.31 or after 1.36 have',
  },
  {
    file: 'component-gates.ts',
    facts: 'Feature gates of the components',
    from: [
      `${KUBERNETES}/tree/master/pkg/features`,
      `${KUBERNETES}/blob/master/test/compatibility_lifecycle/reference/feature_list.md`,
      `${WEBSITE}/command-line-tools-reference/feature-gates-removed.md`,
    ],
    read: '2026-11-28',
    open: 'new ones of 1.37 and later; some last minors before 1.31 are the latest that is possible',
  },
  {
    file: 'configurations.ts',
    facts: 'API versions of configuration files',
    from: [`${KUBERNETES}/tree/master/staging/src/k8s.io/apiserver/pkg/apis`, `${WEBSITE}/config-api`],
    read: '2026-11-23',
  },
  {
    file: 'containerd.ts',
    facts: 'Versions of containerd',
    from: ['https://github.com/containerd/containerd/blob/main/RELEASES.md#kubernetes-support'],
    read: '2026-11-23',
    open: 'what is recommended for 1.20 to 1.23 and for 1.37',
  },
  { file: 'features.ts', facts: 'Single features', from: [`${KUBERNETES}/pulls`], read: '2026-11-23' },
  {
    file: 'flags.ts',
    facts: 'Flags that were removed, modes of kube-proxy',
    from: [`${KUBERNETES}/tree/master/CHANGELOG`],
    read: '2026-11-22',
    open: 'flags that only 1.36 or 1.37 removed',
  },
  {
    file: 'images.ts',
    facts: 'Tags of images',
    from: [`${KUBERNETES}/blob/master/cmd/kubeadm/app/constants/constants.go`],
    read: '2026-11-22',
  },
  {
    file: 'kubeadm.ts',
    facts: 'Feature gates and patch targets of kubeadm',
    from: [`${KUBERNETES}/blob/master/cmd/kubeadm/app/features/features.go`],
    read: '2026-11-28',
    open: 'gates and patch targets of 1.37',
  },
  {
    file: 'kubelet-fields.ts',
    facts: "Fields of the kubelet's configuration",
    from: [`${KUBERNETES}/blob/master/staging/src/k8s.io/kubelet/config/v1beta1/types.go`],
    read: '2026-11-28',
    open: 'fields that only minors before 1.31 or after 1.36 have',
  },
  {
    file: 'node-labels.ts',
    facts: 'Labels that a kubelet may give itself',
    from: [`${KUBERNETES}/blob/master/staging/src/k8s.io/kubelet/pkg/apis/well_known_labels.go`],
    read: '2026-11-22',
  },
  {
    file: 'phases.ts',
    facts: 'Phases of kubeadm',
    from: [`${KUBERNETES}/tree/master/cmd/kubeadm/app/cmd/phases`],
    read: '2026-11-28',
    open: 'the exact minor of some phases before 1.31: then the window is wider',
  },
  {
    file: 'version-skew.ts',
    facts: 'Which kubelet and which Kubernetes a kubeadm takes',
    from: [
      `${KUBERNETES}/blob/master/cmd/kubeadm/app/constants/constants.go`,
      'https://kubernetes.io/releases/version-skew-policy/',
    ],
    read: '2026-11-22',
  },
];

/** The address of a source as the tables write it: `k/k#125029`, `KEP-3331`, `CHANGELOG-1.26.md`, or an address. */
export function sourceURL(source: string): string {
  if (source.startsWith('https://')) return source;
  if (source.startsWith('k/k#')) return `${KUBERNETES}/pull/${source.slice('k/k#'.length)}`;
  if (source.startsWith('KEP-')) return `https://kep.k8s.io/${source.slice('KEP-'.length)}`;
  if (/^CHANGELOG-1\.\d+\.md$/.test(source)) return `${KUBERNETES}/blob/master/CHANGELOG/${source}`;
  throw new TypeError(`no known kind of source: ${source}`);
}
