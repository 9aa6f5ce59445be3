import { newAuthority } from './api-server.ts';
import type { ManagementPlane } from './management-plane.ts';

export const INFRASTRUCTURE = 'infrastructure.cluster.x-k8s.io';
export const core = (namespace: string): string => `/apis/cluster.x-k8s.io/v1beta2/namespaces/${namespace}`;
export const fakes = (namespace: string): string => `/apis/${INFRASTRUCTURE}/v1/namespaces/${namespace}`;
export const configs = (namespace: string): string =>
  `/apis/bootstrap.cluster.x-k8s.io/v1alpha1/namespaces/${namespace}`;
export const machinesAre = (name: string) => ({ apiGroup: INFRASTRUCTURE, kind: 'FakeMachineTemplate', name });

/** A Cluster with the endpoint of this API server, and what its infrastructure provider has for it. */
export async function createCluster(
  { server }: ManagementPlane,
  namespace: string,
  name: string,
  spec: object,
): Promise<void> {
  const { hostname, port } = new URL(server.url);
  const controlPlaneEndpoint = { host: hostname, port: Number(port) };
  const infrastructureRef = { apiGroup: INFRASTRUCTURE, kind: 'FakeCluster', name };
  const fake = (kind: string, of: object) => ({
    apiVersion: `${INFRASTRUCTURE}/v1`,
    kind,
    metadata: { name },
    spec: of,
  });
  await server.ask('POST', `${fakes(namespace)}/fakeclusters`, fake('FakeCluster', { controlPlaneEndpoint }));
  const template = fake('FakeMachineTemplate', { template: { spec: {} } });
  await server.ask('POST', `${fakes(namespace)}/fakemachinetemplates`, template);
  await server.ask('POST', `${core(namespace)}/clusters`, {
    apiVersion: 'cluster.x-k8s.io/v1beta2',
    kind: 'Cluster',
    metadata: { name },
    spec: { controlPlaneEndpoint, infrastructureRef, ...spec },
  });
}

/**
 * A Cluster whose workload cluster is this API server. Its control plane is a machine that nobody manages, with bootstrap data
 * that its user made; its node initializes the Cluster.
 *
 * @param kubeconfig of an administrator of this API server
 */
export async function createWorkerCluster(
  plane: ManagementPlane,
  namespace: string,
  name: string,
  { version, kubeconfig }: { readonly version: string; readonly kubeconfig: string },
): Promise<void> {
  const { server } = plane;
  await createCluster(plane, namespace, name, {});
  const ofCluster = { 'cluster.x-k8s.io/cluster-name': name };
  const secret = (suffix: string, stringData: object, labels: object = ofCluster) =>
    server.ask('POST', `/api/v1/namespaces/${namespace}/secrets`, {
      metadata: { name: `${name}-${suffix}`, labels },
      type: 'cluster.x-k8s.io/secret',
      stringData,
    });
  await secret('kubeconfig', { value: kubeconfig });
  // The kubeadm provider tells a worker its digest.
  const { certificate, key } = newAuthority(name).issue('kubernetes');
  await secret('ca', { 'tls.crt': certificate, 'tls.key': key });
  const labels = { ...ofCluster, 'cluster.x-k8s.io/control-plane': '' };
  await secret('0', { value: '#cloud-config', format: 'cloud-config' }, labels);
  const metadata = { name: `${name}-0`, labels };
  const fake = { apiVersion: `${INFRASTRUCTURE}/v1`, kind: 'FakeMachine', metadata };
  await server.ask('POST', `${fakes(namespace)}/fakemachines`, fake);
  await server.ask('POST', `${core(namespace)}/machines`, {
    apiVersion: 'cluster.x-k8s.io/v1beta2',
    kind: 'Machine',
    metadata,
    spec: {
      clusterName: name,
      version,
      bootstrap: { dataSecretName: metadata.name },
      infrastructureRef: { apiGroup: INFRASTRUCTURE, kind: 'FakeMachine', name: metadata.name },
    },
  });
}

/** A MachineDeployment. */
export async function createWorkers(
  { server }: ManagementPlane,
  namespace: string,
  {
    cluster,
    name,
    replicas,
    version,
    labels,
    config,
    infrastructure = cluster,
  }: {
    readonly cluster: string;
    readonly name: string;
    readonly replicas: number;
    readonly version: string;
    readonly labels: object;
    readonly config: { readonly kind: string; readonly name: string };
    readonly infrastructure?: string;
  },
): Promise<void> {
  await server.ask('POST', `${core(namespace)}/machinedeployments`, {
    apiVersion: 'cluster.x-k8s.io/v1beta2',
    kind: 'MachineDeployment',
    metadata: { name },
    spec: {
      clusterName: cluster,
      replicas,
      selector: { matchLabels: labels },
      // What Cluster API's webhook of defaults would write.
      rollout: { strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } } },
      template: {
        metadata: { labels: { ...labels, 'cluster.x-k8s.io/cluster-name': cluster } },
        spec: {
          clusterName: cluster,
          version,
          bootstrap: { configRef: { apiGroup: 'bootstrap.cluster.x-k8s.io', ...config } },
          infrastructureRef: machinesAre(infrastructure),
        },
      },
    },
  });
}
