import type { KubeadmPod } from '../../ownership/kubernetes-paths.ts';

const LOCK = 'the other control planes hold the present lock: two would lead at once';
const ADDRESS = 'the API server and the other members reach it there';
const CERTIFICATE = 'kubeadm manages these certificates, and others work with them';

/** Arguments that cannot change while the control plane works, and why. */
const FIXED: Readonly<Record<Exclude<KubeadmPod, 'kube-apiserver'>, Readonly<Record<string, string>>>> = {
  'kube-controller-manager': {
    'cluster-cidr': 'Nodes keep the subnets that they got from it',
    'leader-elect-resource-lock': LOCK,
    'leader-elect-resource-name': LOCK,
    'leader-elect-resource-namespace': LOCK,
    'service-account-private-key-file': 'the API server would refuse the tokens of all pods',
    'service-cluster-ip-range': 'Services keep the addresses that they got from it',
  },
  'kube-scheduler': {
    'leader-elect-resource-lock': LOCK,
    'leader-elect-resource-name': LOCK,
    'leader-elect-resource-namespace': LOCK,
  },
  etcd: {
    'advertise-client-urls': ADDRESS,
    'cert-file': CERTIFICATE,
    'client-cert-auth': CERTIFICATE,
    'data-dir': 'the data of the cluster is there',
    'force-new-cluster': 'it would separate this member from its cluster',
    'initial-advertise-peer-urls': ADDRESS,
    'initial-cluster': 'it counts only for a member without data',
    'initial-cluster-state': 'it counts only for a member without data',
    'initial-cluster-token': 'it counts only for a member without data',
    'key-file': CERTIFICATE,
    'listen-client-urls': ADDRESS,
    'listen-metrics-urls': 'the kubelet probes its health there',
    'listen-peer-urls': ADDRESS,
    name: 'it is the name of the member',
    'peer-cert-file': CERTIFICATE,
    'peer-client-cert-auth': CERTIFICATE,
    'peer-key-file': CERTIFICATE,
    'peer-trusted-ca-file': CERTIFICATE,
    'trusted-ca-file': CERTIFICATE,
    'wal-dir': 'the data of the cluster is there',
  },
};

/** Why an argument of a static pod cannot change on a running control plane; undefined: it can. */
export function whyFixedArgument(pod: Exclude<KubeadmPod, 'kube-apiserver'>, name: string): string | undefined {
  return Object.hasOwn(FIXED[pod], name) ? FIXED[pod][name] : undefined;
}
