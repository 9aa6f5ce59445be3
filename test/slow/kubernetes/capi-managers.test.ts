import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { kubeconfig } from '../../support/api-server.ts';
import { ClusterApi, installDefinitions } from '../../support/capi-managers.ts';
import { FakeCloud } from '../../support/fake-cloud.ts';
import { type KubeApiServer, startKubeApiServer } from '../../support/kube-apiserver.ts';
import { needs } from '../../support/needs.ts';
import { InstalledTranslator, until, webhookClient } from '../../support/translator.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const NAMESPACE = 'clusters';
const PROVIDER = 'system:serviceaccount:capi-kubeadm-bootstrap-system:capi-kubeadm-bootstrap-manager';
const BOOTSTRAP = `/apis/bootstrap.cluster.x-k8s.io`;
const CORE = `/apis/cluster.x-k8s.io/v1beta2/namespaces/${NAMESPACE}`;
const FAKES = `/apis/infrastructure.cluster.x-k8s.io/v1/namespaces/${NAMESPACE}`;
const VERSION = 'v1.35.2';

interface Listed {
  readonly items: readonly Found[];
}
interface Found {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly spec?: { readonly version?: string };
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly reason: string }[];
    readonly nodeRef?: { readonly name: string };
    readonly readyReplicas?: number;
    readonly upToDateReplicas?: number;
    readonly replicas?: number;
  };
}

describe('with the real controllers of Cluster API', {
  skip: needs('MACHINEADM_CAPI=DIRECTORY'),
  timeout: 900_000,
}, () => {
  let server: KubeApiServer;
  let managers: ClusterApi;
  let translator: InstalledTranslator;
  let cloud: FakeCloud;

  before(
    async () => {
      server = await startKubeApiServer(webhookClient());
      await server.ask('POST', '/api/v1/namespaces', { metadata: { name: NAMESPACE } });
      await installDefinitions(server);
      translator = await InstalledTranslator.install(server, [NAMESPACE]);
      await installProvider();
      await translator.start('one', `--provider-user=${PROVIDER}`, '--bootstrap-provider');
      managers = await ClusterApi.start(server);
      cloud = FakeCloud.start(server, NAMESPACE);
    },
    { timeout: 300_000 },
  );
  after(async () => {
    await cloud?.[Symbol.asyncDispose]();
    await managers?.[Symbol.asyncDispose]();
    await translator?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
  });

  /** The definitions and rights of MachineadmConfigs, as packaging/bootstrap-provider has them. */
  async function installProvider(): Promise<void> {
    const directory = join(ROOT, 'packaging/bootstrap-provider');
    for (const file of ['definitions.yaml', 'rbac.yaml'])
      for (const document of parseAllDocuments(readFileSync(join(directory, file), 'utf8'))) {
        const { apiVersion, kind, ...rest } = document.toJS() as { apiVersion: string; kind: string };
        await server.ask('POST', `/apis/${apiVersion}/${kind.toLowerCase()}s`, { apiVersion, kind, ...rest });
      }
    await server.ask('POST', `/apis/rbac.authorization.k8s.io/v1/namespaces/${NAMESPACE}/rolebindings`, {
      metadata: { name: 'machineadm-bootstrap-namespace' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'machineadm-bootstrap-namespace' },
      subjects: [{ kind: 'ServiceAccount', namespace: 'machineadm-system', name: 'machineadm-translator' }],
    });
    await server.until(`${BOOTSTRAP}/v1alpha1/machineadmconfigs`);
  }

  const list = async (path: string): Promise<readonly Found[]> => ((await server.ask('GET', path)) as Listed).items;
  const machinesOf = (cluster: string): Promise<readonly Found[]> =>
    list(`${CORE}/machines?labelSelector=cluster.x-k8s.io/cluster-name%3D${cluster}`);
  const conditionOf = (object: Found | undefined, type: string) =>
    object?.status?.conditions?.find((one) => one.type === type);
  const userDataOf = async (name: string): Promise<string> => {
    const { data } = (await server.ask('GET', `/api/v1/namespaces/${NAMESPACE}/secrets/${name}`)) as {
      data: { value: string };
    };
    return Buffer.from(data.value, 'base64').toString();
  };

  /** A Cluster with the endpoint of this API server, and what its infrastructure provider would have made. */
  async function createCluster(name: string, spec: object): Promise<void> {
    const { hostname, port } = new URL(server.url);
    const ref = { apiGroup: 'infrastructure.cluster.x-k8s.io', kind: 'FakeCluster', name };
    await server.ask('POST', `${FAKES}/fakeclusters`, {
      apiVersion: 'infrastructure.cluster.x-k8s.io/v1',
      kind: 'FakeCluster',
      metadata: { name },
      spec: { controlPlaneEndpoint: { host: hostname, port: Number(port) } },
    });
    await server.ask('POST', `${CORE}/clusters`, {
      apiVersion: 'cluster.x-k8s.io/v1beta2',
      kind: 'Cluster',
      metadata: { name },
      spec: { controlPlaneEndpoint: { host: hostname, port: Number(port) }, infrastructureRef: ref, ...spec },
    });
    await server.ask('POST', `${FAKES}/fakemachinetemplates`, {
      apiVersion: 'infrastructure.cluster.x-k8s.io/v1',
      kind: 'FakeMachineTemplate',
      metadata: { name },
      spec: { template: { spec: {} } },
    });
  }
  /** A machine of a control plane that nobody manages, with bootstrap data that its user made. Its node initializes the Cluster. */
  async function createControlPlane(cluster: string): Promise<void> {
    const name = `${cluster}-0`;
    const labels = { 'cluster.x-k8s.io/cluster-name': cluster, 'cluster.x-k8s.io/control-plane': '' };
    await server.ask('POST', `/api/v1/namespaces/${NAMESPACE}/secrets`, {
      metadata: { name },
      type: 'cluster.x-k8s.io/secret',
      stringData: { value: '#cloud-config', format: 'cloud-config' },
    });
    await server.ask('POST', `${FAKES}/fakemachines`, {
      apiVersion: 'infrastructure.cluster.x-k8s.io/v1',
      kind: 'FakeMachine',
      metadata: { name, labels },
    });
    await server.ask('POST', `${CORE}/machines`, {
      apiVersion: 'cluster.x-k8s.io/v1beta2',
      kind: 'Machine',
      metadata: { name, labels },
      spec: {
        clusterName: cluster,
        version: VERSION,
        bootstrap: { dataSecretName: name },
        infrastructureRef: { apiGroup: 'infrastructure.cluster.x-k8s.io', kind: 'FakeMachine', name },
      },
    });
  }
  const machinesAre = (name: string) => ({
    apiGroup: 'infrastructure.cluster.x-k8s.io',
    kind: 'FakeMachineTemplate',
    name,
  });

  async function patch(path: string, body: object): Promise<void> {
    const type = 'application/merge-patch+json';
    assert.equal(await server.statusOf(server.admin, 'PATCH', path, type, JSON.stringify(body)), 200, path);
  }

  test('the first machine of a KubeadmControlPlane gets translated bootstrap data, and both objects say so', async () => {
    const name = 'prod-a';
    await createCluster(name, {
      controlPlaneRef: { apiGroup: 'controlplane.cluster.x-k8s.io', kind: 'KubeadmControlPlane', name },
    });
    await server.ask(
      'POST',
      `/apis/controlplane.cluster.x-k8s.io/v1beta2/namespaces/${NAMESPACE}/kubeadmcontrolplanes`,
      {
        apiVersion: 'controlplane.cluster.x-k8s.io/v1beta2',
        kind: 'KubeadmControlPlane',
        metadata: { name },
        spec: {
          replicas: 1,
          version: VERSION,
          machineTemplate: {
            metadata: { labels: { 'machineadm.dev/bootstrap': 'enabled' } },
            spec: { infrastructureRef: machinesAre(name) },
          },
          kubeadmConfigSpec: { preKubeadmCommands: ['sysctl -w vm.max_map_count=262144'] },
        },
      },
    );
    let machine: Found | undefined;
    await until('the Machine says that its data was translated', async () => {
      [machine] = await machinesOf(name);
      return conditionOf(machine, 'machineadm.dev/BootstrapTranslated')?.status === 'True';
    });
    const [config] = await list(`${BOOTSTRAP}/v1beta2/namespaces/${NAMESPACE}/kubeadmconfigs`);
    assert.equal(conditionOf(config, 'machineadm.dev/BootstrapTranslated')?.status, 'True');
    const userData = await userDataOf(config?.metadata.name ?? '');
    assert.match(userData, /machineadm provision/);
    assert.doesNotMatch(userData, /kubeadm init/);
  });

  describe('workers by MachineadmConfigs', () => {
    const name = 'prod-b';
    const path = `${CORE}/machinedeployments/${name}-md-0`;
    const workers = (): Promise<readonly Found[]> => list(`${CORE}/machines?labelSelector=pool%3D${name}`);
    const tokens = async (): Promise<readonly Found[]> =>
      list('/api/v1/namespaces/kube-system/secrets?fieldSelector=type%3Dbootstrap.kubernetes.io/token');
    /** All machines of the cluster, each with its node, and as many as asked for. */
    const haveJoined = async (count: number, version: string): Promise<boolean> => {
      const machines = await workers();
      const joined = machines.filter(({ spec, status }) => status?.nodeRef !== undefined && spec?.version === version);
      return joined.length === count && machines.length === count;
    };

    before(async () => {
      await createCluster(name, {});
      const admin = { token: server.admin.token?.reveal() ?? '' };
      await server.ask('POST', `/api/v1/namespaces/${NAMESPACE}/secrets`, {
        metadata: { name: `${name}-kubeconfig`, labels: { 'cluster.x-k8s.io/cluster-name': name } },
        type: 'cluster.x-k8s.io/secret',
        stringData: { value: kubeconfig(server.url, server.certificateAuthority, admin) },
      });
      await createControlPlane(name);
      const document = { host: { sysctl: { 'vm.max_map_count': 262144 } } };
      await server.ask('POST', `${BOOTSTRAP}/v1alpha1/namespaces/${NAMESPACE}/machineadmconfigtemplates`, {
        apiVersion: 'bootstrap.cluster.x-k8s.io/v1alpha1',
        kind: 'MachineadmConfigTemplate',
        metadata: { name },
        spec: { template: { spec: { document } } },
      });
    });

    test('join, and leave no bootstrap token', async () => {
      const configRef = { apiGroup: 'bootstrap.cluster.x-k8s.io', kind: 'MachineadmConfigTemplate', name };
      await server.ask('POST', `${CORE}/machinedeployments`, {
        apiVersion: 'cluster.x-k8s.io/v1beta2',
        kind: 'MachineDeployment',
        metadata: { name: `${name}-md-0` },
        spec: {
          clusterName: name,
          replicas: 3,
          selector: { matchLabels: { pool: name } },
          // What Cluster API's webhook of defaults would write.
          rollout: { strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } } },
          template: {
            metadata: { labels: { pool: name, 'cluster.x-k8s.io/cluster-name': name } },
            spec: {
              clusterName: name,
              version: VERSION,
              bootstrap: { configRef },
              infrastructureRef: machinesAre(name),
            },
          },
        },
      });
      await until('three machines have joined', () => haveJoined(3, VERSION));
      const configs = await list(`${BOOTSTRAP}/v1alpha1/namespaces/${NAMESPACE}/machineadmconfigs`);
      assert.equal(configs.length, 3);
      for (const config of configs) {
        assert.equal(conditionOf(config, 'Ready')?.reason, 'DataSecretCreated');
        assert.match(await userDataOf(config.metadata.name), /machineadm provision/);
      }
      await until('no token is left', async () => (await tokens()).length === 0);
    });

    test('are replaced for a new version, and when their node is not Ready', async () => {
      await patch(path, { spec: { replicas: 4, template: { spec: { version: 'v1.35.3' } } } });
      await until('four machines have the new version', () => haveJoined(4, 'v1.35.3'));
      await server.ask('POST', `${CORE}/machinehealthchecks`, {
        apiVersion: 'cluster.x-k8s.io/v1beta2',
        kind: 'MachineHealthCheck',
        metadata: { name },
        spec: {
          clusterName: name,
          selector: { matchLabels: { pool: name } },
          checks: { unhealthyNodeConditions: [{ type: 'Ready', status: 'False', timeoutSeconds: 1 }] },
        },
      });
      const [ill] = await workers();
      await cloud.setReady(ill?.status?.nodeRef?.name ?? '', false);
      await until('the machine is replaced', async () => {
        const all = await workers();
        return !all.some(({ metadata }) => metadata.uid === ill?.metadata.uid) && (await haveJoined(4, 'v1.35.3'));
      });
      await until('no token is left', async () => (await tokens()).length === 0);
    });
  });
});
