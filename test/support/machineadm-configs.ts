import { ServedVersions } from '@machineadm/translator/cluster/related.ts';
import type { Profiles } from '@machineadm/translator/handover/profiles.ts';
import { provideBootstrap } from '@machineadm/translator/provider/controller.ts';
import { Workloads } from '@machineadm/translator/provider/workloads.ts';
import { newMetrics } from '@machineadm/translator/telemetry/metrics.ts';
import { DIRECT_CONVERSIONS } from './direct-conversions.ts';
import { base64, type ManagementCluster, NAMESPACE } from './management-cluster.ts';
import { WorkloadCluster } from './workload-cluster.ts';

const CORE = '/apis/cluster.x-k8s.io/v1beta2';
export const CLUSTER_PATH = `${CORE}/namespaces/${NAMESPACE}/clusters/prod-a`;
export const CA_HASH = `sha256:${'a'.repeat(64)}`;
const LABELS = { 'cluster.x-k8s.io/cluster-name': 'prod-a' };

/** What a kubeconfig of these tests contains; its cluster is in memory. */
export const KUBECONFIG = 'kubeconfig of prod-a';
const secrets = `/api/v1/namespaces/${NAMESPACE}/secrets`;

/** A Cluster whose workers may join, and its kubeconfig. */
export function addReadyCluster(
  api: ManagementCluster,
  change: { readonly spec?: object; readonly status?: object } = {},
): void {
  api.put(CLUSTER_PATH, {
    apiVersion: 'cluster.x-k8s.io/v1beta2',
    kind: 'Cluster',
    metadata: { name: 'prod-a', namespace: NAMESPACE, uid: 'c-1' },
    spec: { controlPlaneEndpoint: { host: 'api.prod-a.example', port: 6443 }, ...change.spec },
    status: {
      initialization: { infrastructureProvisioned: true, controlPlaneInitialized: true },
      ...change.status,
    },
  });
  api.put(`${secrets}/prod-a-kubeconfig`, {
    metadata: { name: 'prod-a-kubeconfig', namespace: NAMESPACE },
    type: 'cluster.x-k8s.io/secret',
    data: { value: base64(KUBECONFIG) },
  });
}

export interface Added {
  readonly configPath: string;
  readonly machinePath: string;
  readonly secretPath: string;
  readonly uid: string;
}

/** A Machine or a MachinePool with its MachineadmConfig, as Cluster API makes them. */
export function addConfig(
  api: ManagementCluster,
  name: string,
  spec: object = {},
  {
    kind = 'Machine',
    metadata = {},
    machine = {},
  }: { kind?: 'Machine' | 'MachinePool'; metadata?: object; machine?: object } = {},
): Added {
  const machinePath = `${CORE}/namespaces/${NAMESPACE}/${kind.toLowerCase()}s/${name}`;
  const own = {
    version: 'v1.35.2',
    clusterName: 'prod-a',
    bootstrap: { configRef: { kind: 'MachineadmConfig', name } },
    ...machine,
  };
  api.put(machinePath, {
    apiVersion: 'cluster.x-k8s.io/v1beta2',
    kind,
    metadata: { name, namespace: NAMESPACE, uid: `m-${name}`, generation: 1, labels: LABELS },
    spec: kind === 'Machine' ? own : { clusterName: 'prod-a', replicas: 2, template: { spec: own } },
  });
  const configPath = `/apis/bootstrap.cluster.x-k8s.io/v1alpha1/namespaces/${NAMESPACE}/machineadmconfigs/${name}`;
  const uid = `u-${name}`;
  api.put(configPath, {
    apiVersion: 'bootstrap.cluster.x-k8s.io/v1alpha1',
    kind: 'MachineadmConfig',
    metadata: {
      name,
      namespace: NAMESPACE,
      uid,
      generation: 1,
      labels: LABELS,
      ownerReferences: [{ apiVersion: 'cluster.x-k8s.io/v1beta2', kind, name, uid: `m-${name}` }],
      ...metadata,
    },
    spec,
  });
  return { configPath, machinePath, secretPath: `${secrets}/${name}`, uid };
}

/** The bootstrap provider of a cluster, until it is disposed of. */
export function providing(api: ManagementCluster, profiles: Profiles = { profiles: {}, documents: {} }) {
  const end = new AbortController();
  const workload = new WorkloadCluster();
  const said: string[] = [];
  const workloads = new Workloads(api, async () => ({ api: workload, caCertHashes: [CA_HASH] }));
  const done = provideBootstrap(
    {
      api,
      versions: new ServedVersions(api),
      profiles: async () => profiles,
      conversions: DIRECT_CONVERSIONS,
      version: '0.1.0',
      log: (level, message, fields) => said.push([level, message, ...Object.values(fields ?? {})].join(' ')),
      metrics: newMetrics(),
      workloads,
    },
    { resyncMs: 3_600_000, retryMs: 5, checkIntervalMs: 20, reportNamespaces: [] },
    end.signal,
  );
  return {
    workload,
    said,
    async [Symbol.asyncDispose]() {
      end.abort();
      await done;
    },
  };
}
