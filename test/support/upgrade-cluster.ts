import { stringify } from 'yaml';
import { type ApiAnswer, type ApiCall, kubeconfig, newAuthority, nodeObject, startApiServer } from './api-server.ts';

/** A cluster as an upgrade finds it: what a test leaves out is a cluster of one control plane, `node-1`, with 1.35.2. */
export interface ClusterState {
  /** In the ConfigMap kubeadm-config. */
  version: string;
  /** Of the API server that answers. */
  serving: string;
  /** Versions of kubelets by the names of their Nodes. */
  kubelets: Record<string, string>;
  /** Versions of API servers by the names of their Nodes. */
  apiServers: Record<string, string>;
  featureGates: Record<string, boolean>;
  /** More of the ConfigMap kubeadm-config. */
  configuration: object;
  pods: object[];
  /** Of an eviction of a pod: 429 is a PodDisruptionBudget. */
  refusesEviction: (pod: string) => number | undefined;
  unschedulable: boolean;
  /** Of the condition Ready of all Nodes, which are control planes then where it is not True. */
  ready: 'True' | 'False';
  /** The Node that holds the Lease of upgrades. */
  holder: string | undefined;
  /** So many answers of a restarted API server are 403 for everyone: it has not read its rights. */
  unsettled: number;
  /** `METHOD path`, of everything that changes something. */
  readonly changes: string[];
}

const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases';

/** A pod of node-1 as a drain sees it. Its owner has its name without what follows the last hyphen. */
export function pod(
  name: string,
  different: Partial<Record<'owner' | 'phase' | 'mirror' | 'emptyDir' | 'ready', string>> = {},
) {
  const { owner = 'ReplicaSet', phase = 'Running', mirror, emptyDir, ready = 'True' } = different;
  return {
    metadata: {
      ...{ name, namespace: 'default', uid: `uid-${name}` },
      annotations: mirror === undefined ? {} : { 'kubernetes.io/config.mirror': mirror },
      ownerReferences:
        owner === 'none' ? [] : [{ kind: owner, name: name.slice(0, name.lastIndexOf('-')), controller: true }],
    },
    spec: { volumes: emptyDir === undefined ? [] : [{ name: emptyDir, emptyDir: {} }] },
    status: { phase, conditions: [{ type: 'Ready', status: ready }] },
  };
}

/** A real HTTPS server that answers as this cluster, and the credentials of node-1. */
export async function upgradeCluster(different: Partial<ClusterState> = {}, authority = newAuthority()) {
  const state: ClusterState = {
    ...{
      version: 'v1.35.2',
      serving: 'v1.35.2',
      featureGates: {},
      configuration: {},
      pods: [],
      unschedulable: false,
      holder: undefined,
    },
    ...{ kubelets: { 'node-1': 'v1.35.2' }, apiServers: { 'node-1': 'v1.35.2' }, changes: [] },
    ...{ refusesEviction: () => undefined, unsettled: 0, ready: 'True' },
    ...different,
  };
  const server = await startApiServer(authority, (path, call) => answerOf(state, path, call));
  const conf = (client: string) => kubeconfig(server.url, authority.certificate, authority.issue(client));
  const filesOf = (name: string) => ({
    '/etc/kubernetes/kubelet.conf': conf(`system:node:${name}`),
    '/etc/kubernetes/admin.conf': conf('kubernetes-admin'),
  });
  return {
    state,
    server,
    conf,
    filesOf,
    files: filesOf('node-1'),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

function answerOf(state: ClusterState, path: string, { method, client, body }: ApiCall): ApiAnswer | undefined {
  const isNode = client.startsWith('system:node:');
  if (state.unsettled > 0) {
    state.unsettled -= 1;
    return { status: 403 };
  }
  if (method !== 'GET') state.changes.push(`${method} ${path}`);
  if (path === '/readyz') return {};
  if (path === '/version') return { gitVersion: state.serving };
  if (path === '/api/v1/namespaces/kube-system/configmaps/kubeadm-config')
    return {
      data: {
        ClusterConfiguration: stringify({
          ...{ apiVersion: 'kubeadm.k8s.io/v1beta4', kind: 'ClusterConfiguration' },
          ...{ kubernetesVersion: state.version, featureGates: state.featureGates },
          ...state.configuration,
        }),
      },
    };
  const [, own] = /^\/api\/v1\/nodes\/(.+)$/.exec(path) ?? [];
  if (own !== undefined && method === 'PATCH') {
    if (isNode) return { status: 403 };
    state.unschedulable = JSON.parse(body).spec.unschedulable === true;
  }
  const node = (name: string) =>
    nodeObject({
      name,
      kubeletVersion: state.kubelets[name] ?? '',
      unschedulable: state.unschedulable,
      ready: state.ready,
      labels: state.ready === 'True' ? {} : { 'node-role.kubernetes.io/control-plane': '' },
    });
  if (own !== undefined) return state.kubelets[own] === undefined ? undefined : node(own);
  // A kubelet may list the pods of its own Node (Node authorizer).
  const isOwnPods = path === `/api/v1/pods?fieldSelector=spec.nodeName%3D${client.slice('system:node:'.length)}`;
  if (isNode && !isOwnPods) return { status: 403 };
  if (path === '/api/v1/nodes') return { items: Object.keys(state.kubelets).map(node) };
  if (path.includes('component%3Dkube-apiserver')) {
    return {
      items: Object.entries(state.apiServers).map(([nodeName, version]) => ({
        spec: { nodeName, containers: [{ image: `registry.k8s.io/kube-apiserver:${version}` }] },
      })),
    };
  }
  if (path.startsWith('/api/v1/pods?')) return { items: state.pods };
  const [, evicted] = /\/pods\/([^/]+)\/eviction$/.exec(path) ?? [];
  if (evicted !== undefined) {
    const status = state.refusesEviction(evicted);
    if (status !== undefined) return { status };
    const isDryRun = JSON.parse(body).deleteOptions.dryRun !== undefined;
    if (!isDryRun) state.pods = state.pods.filter((one) => (one as ReturnType<typeof pod>).metadata.name !== evicted);
    return { kind: 'Status' };
  }
  return leaseAnswer(state, path, method, body);
}

function leaseAnswer(state: ClusterState, path: string, method: string, body: string): ApiAnswer | undefined {
  if (path === LEASES && method === 'POST') {
    if (state.holder !== undefined) return { status: 409 };
    state.holder = JSON.parse(body).spec.holderIdentity;
    return { kind: 'Lease' };
  }
  if (path !== `${LEASES}/machineadm-upgrade` || state.holder === undefined) return undefined;
  if (method === 'DELETE') {
    state.holder = undefined;
    return { kind: 'Status' };
  }
  return { metadata: { uid: 'uid-of-lease' }, spec: { holderIdentity: state.holder } };
}

/** The static pods of kubeadm with a version. */
export function manifestFiles(version: string): Record<string, { readonly content: string; readonly mode: number }> {
  const images = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler'].map(
    (name) => [name, version] as const,
  );
  return Object.fromEntries(
    [['etcd', '3.6.4-0'] as const, ...images].map(([name, tag]) => [
      `/etc/kubernetes/manifests/${name}.yaml`,
      { content: `spec: {containers: [{image: registry.k8s.io/${name}:${tag}, command: [${name}]}]}\n`, mode: 0o600 },
    ]),
  );
}
