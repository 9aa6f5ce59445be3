import type { Report } from '../report/report.ts';
import { isMap } from '../values/map.ts';

/** Why an input cannot become a document, and what to do instead. */
interface Refusal {
  readonly code: 'NotKubeadm' | 'ToolFirst';
  readonly message: string;
}

const EXEC = 'write a document by hand whose kubernetes.bootstrapper.exec runs it (docs/adding-a-bootstrapper.md)';

const BY_KUBEADM =
  'it creates a cluster with kubeadm from its own configuration: let it do so, then run "machineadm convert --from-node" on a node';

const notKubeadm = (message: string): Refusal => ({ code: 'NotKubeadm', message });

const K3S = notKubeadm(`k3s and RKE2 start Kubernetes themselves, without kubeadm: ${EXEC}`);
const K0S = notKubeadm(`k0s starts Kubernetes itself, without kubeadm: ${EXEC}`);
const TALOS = notKubeadm(
  'Talos starts Kubernetes itself, and has no shell, packages or files of a distribution: keep Talos, or write a document for new machines with a distribution',
);
const MICROK8S = notKubeadm(`MicroK8s is a snap that starts Kubernetes itself, without kubeadm: ${EXEC}`);
const EKS = notKubeadm(
  "EKS: nodeadm joins a node with the credentials of its instance, and an EKS cluster takes no kubeadm join: keep nodeadm; for a cluster of kubeadm, write the kubelet's settings to kubernetes.node.kubelet of a document",
);
const OPENSHIFT = notKubeadm(
  'OpenShift sets its machines up with the Machine Config Operator, without kubeadm: keep it',
);

/** By the group of an apiVersion, or its end: what is written for other programs. */
const GROUPS: readonly (readonly [string, Refusal])[] = [
  ['node.eks.aws', EKS],
  ['eksctl.io', EKS],
  [
    'kops.k8s.io',
    notKubeadm(
      "kops: nodeup sets a machine up from the cluster's state store, without kubeadm: keep kops, or write a document for machines of a new cluster",
    ),
  ],
  ['k0s.k0sproject.io', K0S],
  ['k0sctl.k0sproject.io', K0S],
  ['k3d.io', K3S],
  ['helm.cattle.io', K3S],
  ['machineconfiguration.openshift.io', OPENSHIFT],
  ['kubeone.k8c.io', notKubeadm(`KubeOne: ${BY_KUBEADM}`)],
  ['kubekey.kubesphere.io', notKubeadm(`KubeKey: ${BY_KUBEADM}`)],
  [
    'kind.x-k8s.io',
    notKubeadm('kind: its nodes are containers of its own image, which are not set up from a document'),
  ],
];

/** The kinds of other providers of Cluster API, which stand beside ours in the objects of a fleet. */
const PROVIDERS: readonly (readonly [RegExp, Refusal])[] = [
  [/^(?:KThrees|RKE2)/, K3S],
  [/^K0s/, K0S],
  [/^Talos/, TALOS],
  [/^MicroK8s/, MICROK8S],
  [/^(?:EKS|Nodeadm)Config/, EKS],
];

/** The refusal of an object of another bootstrap or control plane provider. */
export function refusalOfProvider(group: string, kind: string): string | undefined {
  if (!group.endsWith('.cluster.x-k8s.io')) return undefined;
  return PROVIDERS.find(([pattern]) => pattern.test(kind))?.[1].message;
}

/** Keys that only k3s and RKE2 have; others of theirs stand beside them. */
const K3S_KEYS = new Set(
  'agent-token cluster-cidr cluster-init cni disable flannel-backend kube-apiserver-arg kubelet-arg node-label node-taint server service-cidr tls-san token token-file write-kubeconfig-mode'.split(
    ' ',
  ),
);
/** snapcraft's launch configuration (canonical/microk8s-cluster-agent, pkg/k8sinit). */
const MICROK8S_KEYS = new Set(
  'addons addonRepositories containerdRegistryConfigs extraCNIEnv extraContainerdArgs extraKubeAPIServerArgs extraKubeletArgs extraSANs join persistentClusterToken'.split(
    ' ',
  ),
);
const CONTAINER_LINUX_KEYS = new Set('docker etcd flannel locksmith networkd passwd storage systemd update'.split(' '));
const CLOUD_CONFIG_KEYS = new Set('bootcmd packages runcmd users write_files'.split(' '));

/**
 * Reports a value that another program reads, or that another program must render first. True: it was one.
 *
 * @param value of a whole YAML or JSON document
 */
export function refuseOtherWorld(value: unknown, name: string, report: Report): boolean {
  const refusal = isMap(value) ? refusalOf(value) : undefined;
  if (refusal !== undefined) report.add(refusal.code, name, refusal.message);
  return refusal !== undefined;
}

function refusalOf(value: Readonly<Record<string, unknown>>): Refusal | undefined {
  const { apiVersion, kind, variant, version } = value;
  if (typeof apiVersion === 'string' && typeof kind === 'string') {
    if (apiVersion === 'v1alpha1') return TALOS;
    const group = apiVersion.slice(0, Math.max(apiVersion.indexOf('/'), 0));
    return GROUPS.find(([name]) => name === group)?.[1];
  }
  if (apiVersion !== undefined || kind !== undefined) return undefined;
  const names = Object.keys(value);
  if (typeof variant === 'string') return variant === 'openshift' ? OPENSHIFT : BUTANE;
  if (version === 'v1alpha1' && (isMap(value.machine) || isMap(value.cluster))) return TALOS;
  if (version !== undefined && names.some((key) => MICROK8S_KEYS.has(key))) return MICROK8S;
  if (names.some((key) => K3S_KEYS.has(key.replace(/\+$/, '')))) return K3S;
  if (names.length > 0 && names.every((key) => CONTAINER_LINUX_KEYS.has(key))) return CONTAINER_LINUX;
  if (names.some((key) => CLOUD_CONFIG_KEYS.has(key))) return CLOUD_CONFIG;
  return undefined;
}

const BUTANE: Refusal = {
  code: 'ToolFirst',
  message: 'Butane: run "butane --strict FILE > config.ign", and convert config.ign',
};
const CONTAINER_LINUX: Refusal = {
  code: 'ToolFirst',
  message: 'a Container Linux Config: run "ct < FILE > config.ign", and convert config.ign',
};
const CLOUD_CONFIG: Refusal = {
  code: 'ToolFirst',
  message: 'a cloud-config without its first line: cloud-init reads it only after a line "#cloud-config"',
};
