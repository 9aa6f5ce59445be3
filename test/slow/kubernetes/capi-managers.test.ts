import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { clusterctlMetadata, components } from '../../../scripts/translator/manifests.ts';
import { kubeconfig, newAuthority } from '../../support/api-server.ts';
import { CAPI_DIRECTORY } from '../../support/capi-managers.ts';
import { type Found, ManagementPlane } from '../../support/management-plane.ts';
import { needs } from '../../support/needs.ts';
import { until } from '../../support/translator.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const CONTROL_PLANES = 'control-planes';
const WORKERS = 'workers';
const VERSION = 'v1.35.2';
const NEXT = 'v1.35.3';
const INFRASTRUCTURE = 'infrastructure.cluster.x-k8s.io';
const core = (namespace: string): string => `/apis/cluster.x-k8s.io/v1beta2/namespaces/${namespace}`;
const fakes = (namespace: string): string => `/apis/${INFRASTRUCTURE}/v1/namespaces/${namespace}`;
const configs = `/apis/bootstrap.cluster.x-k8s.io/v1alpha1/namespaces/${WORKERS}`;
const TRANSLATED = 'machineadm.dev/BootstrapTranslated';

const conditionOf = (object: Found | undefined, type: string) =>
  object?.status?.conditions?.find((one) => one.type === type);
const machinesAre = (name: string) => ({ apiGroup: INFRASTRUCTURE, kind: 'FakeMachineTemplate', name });

/** What the API server and clusterctl are told by an administrator's kubeconfig. */
function adminOf({ server }: ManagementPlane): string {
  return kubeconfig(server.url, server.certificateAuthority, { token: server.admin.token?.reveal() ?? '' });
}

describe('with the real controllers of Cluster API', {
  skip: needs('MACHINEADM_CAPI=DIRECTORY'),
  timeout: 900_000,
}, () => {
  let plane: ManagementPlane;
  let scratch = '';

  before(
    async () => {
      scratch = mkdtempSync(join(tmpdir(), 'machineadm-clusterctl-'));
      plane = await ManagementPlane.start([CONTROL_PLANES, WORKERS]);
    },
    { timeout: 300_000 },
  );
  after(async () => {
    await plane?.[Symbol.asyncDispose]();
    if (scratch !== '') rmSync(scratch, { recursive: true });
  });

  /** clusterctl, with an empty configuration and no home directory. */
  function clusterctl(configuration: object, ...args: readonly string[]): string {
    const config = join(scratch, 'clusterctl.yaml');
    writeFileSync(config, JSON.stringify(configuration));
    const env = {
      HOME: scratch,
      XDG_CONFIG_HOME: scratch,
      PATH: '/usr/bin:/bin',
      CLUSTERCTL_DISABLE_VERSIONCHECK: 'true',
    };
    return execFileSync(join(CAPI_DIRECTORY, 'clusterctl'), [...args, '--config', config], { encoding: 'utf8', env });
  }

  /** A Cluster with the endpoint of this API server, and what its infrastructure provider has for it. */
  async function createCluster(namespace: string, name: string, spec: object): Promise<void> {
    const { hostname, port } = new URL(plane.server.url);
    const controlPlaneEndpoint = { host: hostname, port: Number(port) };
    const infrastructureRef = { apiGroup: INFRASTRUCTURE, kind: 'FakeCluster', name };
    const fake = (kind: string, of: object) => ({
      apiVersion: `${INFRASTRUCTURE}/v1`,
      kind,
      metadata: { name },
      spec: of,
    });
    await plane.server.ask('POST', `${fakes(namespace)}/fakeclusters`, fake('FakeCluster', { controlPlaneEndpoint }));
    const template = fake('FakeMachineTemplate', { template: { spec: {} } });
    await plane.server.ask('POST', `${fakes(namespace)}/fakemachinetemplates`, template);
    await plane.server.ask('POST', `${core(namespace)}/clusters`, {
      apiVersion: 'cluster.x-k8s.io/v1beta2',
      kind: 'Cluster',
      metadata: { name },
      spec: { controlPlaneEndpoint, infrastructureRef, ...spec },
    });
  }

  /** A machine of a control plane that nobody manages, with bootstrap data that its user made. Its node initializes the Cluster. */
  async function createControlPlane(namespace: string, cluster: string): Promise<void> {
    const name = `${cluster}-0`;
    const labels = { 'cluster.x-k8s.io/cluster-name': cluster, 'cluster.x-k8s.io/control-plane': '' };
    await plane.server.ask('POST', `/api/v1/namespaces/${namespace}/secrets`, {
      metadata: { name, labels },
      type: 'cluster.x-k8s.io/secret',
      stringData: { value: '#cloud-config', format: 'cloud-config' },
    });
    const fake = { apiVersion: `${INFRASTRUCTURE}/v1`, kind: 'FakeMachine', metadata: { name, labels } };
    await plane.server.ask('POST', `${fakes(namespace)}/fakemachines`, fake);
    await plane.server.ask('POST', `${core(namespace)}/machines`, {
      apiVersion: 'cluster.x-k8s.io/v1beta2',
      kind: 'Machine',
      metadata: { name, labels },
      spec: {
        clusterName: cluster,
        version: VERSION,
        bootstrap: { dataSecretName: name },
        infrastructureRef: { apiGroup: INFRASTRUCTURE, kind: 'FakeMachine', name },
      },
    });
  }

  test('the first machine of a KubeadmControlPlane gets translated bootstrap data, and both objects say so', async () => {
    const name = 'prod-a';
    const group = 'controlplane.cluster.x-k8s.io';
    await createCluster(CONTROL_PLANES, name, {
      controlPlaneRef: { apiGroup: group, kind: 'KubeadmControlPlane', name },
    });
    await plane.server.ask('POST', `/apis/${group}/v1beta2/namespaces/${CONTROL_PLANES}/kubeadmcontrolplanes`, {
      apiVersion: `${group}/v1beta2`,
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
    });
    await until('the Machine says that its data was translated', async () => {
      const [machine] = await plane.list(`${core(CONTROL_PLANES)}/machines`);
      return conditionOf(machine, TRANSLATED)?.status === 'True';
    });
    const [config] = await plane.list(
      `/apis/bootstrap.cluster.x-k8s.io/v1beta2/namespaces/${CONTROL_PLANES}/kubeadmconfigs`,
    );
    assert.equal(conditionOf(config, TRANSLATED)?.status, 'True');
    const { value = '' } = await plane.secret(CONTROL_PLANES, config?.metadata.name ?? '');
    assert.match(value, /machineadm provision/);
    assert.doesNotMatch(value, /kubeadm init/);
  });

  test('clusterctl takes the components of a release', () => {
    const release = join(scratch, 'runtime-extension-machineadm/v0.1.0');
    mkdirSync(release, { recursive: true });
    writeFileSync(join(release, 'components.yaml'), components(ROOT, '0.1.0'));
    writeFileSync(join(release, 'metadata.yaml'), clusterctlMetadata('0.1.0'));
    const provider = { name: 'machineadm', type: 'RuntimeExtensionProvider', url: join(release, 'components.yaml') };
    const images = { 'runtime-extension-machineadm': { repository: 'registry.example.com' } };
    const args = ['generate', 'provider', '--runtime-extension', 'machineadm:v0.1.0'];
    const text = clusterctl({ providers: [provider], images }, ...args);
    assert.match(text, /image: registry\.example\.com\/machineadm-translator:0\.1\.0/);
  });

  describe('workers by MachineadmConfigs', () => {
    const name = 'prod-b';
    const workers = (of = plane): Promise<readonly Found[]> =>
      of.list(`${core(WORKERS)}/machines?labelSelector=pool%3D${name}`);
    /** Bootstrap tokens of the workload cluster, which is the API server of the first plane. */
    const tokens = (): Promise<readonly Found[]> =>
      plane.list('/api/v1/namespaces/kube-system/secrets?fieldSelector=type%3Dbootstrap.kubernetes.io/token');
    /** All machines, each with its node, and as many as asked for. */
    const haveJoined = async (count: number, version: string, of = plane): Promise<boolean> => {
      const machines = await workers(of);
      const joined = machines.filter(({ spec, status }) => status?.nodeRef !== undefined && spec?.version === version);
      return joined.length === count && machines.length === count;
    };
    const noTokenIsLeft = () => until('no token is left', async () => (await tokens()).length === 0);

    before(async () => {
      await createCluster(WORKERS, name, {});
      await plane.server.ask('POST', `/api/v1/namespaces/${WORKERS}/secrets`, {
        metadata: { name: `${name}-kubeconfig`, labels: { 'cluster.x-k8s.io/cluster-name': name } },
        type: 'cluster.x-k8s.io/secret',
        stringData: { value: adminOf(plane) },
      });
      // The kubeadm provider tells a worker its digest.
      const { certificate, key } = newAuthority(name).issue('kubernetes');
      await plane.server.ask('POST', `/api/v1/namespaces/${WORKERS}/secrets`, {
        metadata: { name: `${name}-ca`, labels: { 'cluster.x-k8s.io/cluster-name': name } },
        type: 'cluster.x-k8s.io/secret',
        stringData: { 'tls.crt': certificate, 'tls.key': key },
      });
      await createControlPlane(WORKERS, name);
      const document = { host: { sysctl: { 'vm.max_map_count': 262144 } } };
      await plane.server.ask('POST', `${configs}/machineadmconfigtemplates`, {
        apiVersion: 'bootstrap.cluster.x-k8s.io/v1alpha1',
        kind: 'MachineadmConfigTemplate',
        metadata: { name },
        spec: { template: { spec: { document } } },
      });
    });

    async function createWorkers(deployment: string, replicas: number, kind: string, labels: object): Promise<void> {
      const configRef = { apiGroup: 'bootstrap.cluster.x-k8s.io', kind, name };
      await plane.server.ask('POST', `${core(WORKERS)}/machinedeployments`, {
        apiVersion: 'cluster.x-k8s.io/v1beta2',
        kind: 'MachineDeployment',
        metadata: { name: deployment },
        spec: {
          clusterName: name,
          replicas,
          selector: { matchLabels: labels },
          // What Cluster API's webhook of defaults would write.
          rollout: { strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } } },
          template: {
            metadata: { labels: { ...labels, 'cluster.x-k8s.io/cluster-name': name } },
            spec: {
              clusterName: name,
              version: VERSION,
              bootstrap: { configRef },
              infrastructureRef: machinesAre(name),
            },
          },
        },
      });
    }

    test('join, and leave no bootstrap token', async () => {
      await createWorkers(`${name}-md-0`, 3, 'MachineadmConfigTemplate', { pool: name });
      await until('three machines have joined', () => haveJoined(3, VERSION));
      const made = await plane.list(`${configs}/machineadmconfigs`);
      assert.equal(made.length, 3);
      for (const config of made) {
        assert.equal(conditionOf(config, 'Ready')?.reason, 'DataSecretCreated');
        assert.match((await plane.secret(WORKERS, config.metadata.name)).value ?? '', /machineadm provision/);
      }
      await noTokenIsLeft();
    });

    test('are replaced for a new version, and when their node is not Ready', async () => {
      const change = { replicas: 4, template: { spec: { version: NEXT } } };
      await plane.patch(`${core(WORKERS)}/machinedeployments/${name}-md-0`, { spec: change });
      await until('four machines have the new version', () => haveJoined(4, NEXT));
      await plane.server.ask('POST', `${core(WORKERS)}/machinehealthchecks`, {
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
      await plane.cloud.setReady(ill?.status?.nodeRef?.name ?? '', false);
      await until('the machine is replaced', async () => {
        const all = await workers();
        return !all.some(({ metadata }) => metadata.uid === ill?.metadata.uid) && (await haveJoined(4, NEXT));
      });
      await noTokenIsLeft();
    });

    const optedIn = (of: ManagementPlane) => of.list(`${core(WORKERS)}/machines?labelSelector=pool%3Dkubeadm`);
    const isTranslated = async (of: ManagementPlane): Promise<boolean> => {
      const [machine] = await optedIn(of);
      return conditionOf(machine, TRANSLATED)?.status === 'True' && machine?.status?.nodeRef !== undefined;
    };

    test('have a neighbour of a KubeadmConfigTemplate, whose bootstrap data is translated', async () => {
      const spec = { template: { spec: { preKubeadmCommands: ['sysctl -w vm.max_map_count=262144'] } } };
      const group = 'bootstrap.cluster.x-k8s.io/v1beta2';
      await plane.server.ask('POST', `/apis/${group}/namespaces/${WORKERS}/kubeadmconfigtemplates`, {
        apiVersion: group,
        kind: 'KubeadmConfigTemplate',
        metadata: { name },
        spec,
      });
      const labels = { pool: 'kubeadm', 'machineadm.dev/bootstrap': 'enabled' };
      await createWorkers(`${name}-kubeadm`, 1, 'KubeadmConfigTemplate', labels);
      await until('it is translated, and has joined', () => isTranslated(plane));
    });

    test('stay as they are when clusterctl moves them to another management cluster', async () => {
      await using target = await ManagementPlane.start([WORKERS]);
      const [from, to] = [join(scratch, 'from.conf'), join(scratch, 'to.conf')];
      writeFileSync(from, adminOf(plane), { mode: 0o600 });
      writeFileSync(to, adminOf(target), { mode: 0o600 });
      const namesOf = async (of: ManagementPlane) => (await workers(of)).map(({ metadata }) => metadata.name).sort();
      const [neighbour] = await optedIn(plane);
      assert.ok(neighbour);
      const before = [...(await namesOf(plane)), neighbour.metadata.name];
      const secrets = await Promise.all(before.map((one) => plane.secret(WORKERS, one)));
      const uidsOf = (all: readonly Found[]) => all.map(({ metadata }) => metadata.uid).sort();
      const tokensBefore = uidsOf(await tokens());
      clusterctl({}, 'move', '--namespace', WORKERS, '--kubeconfig', from, '--to-kubeconfig', to);
      assert.deepEqual(await workers(plane), []);
      await until('all have their nodes again', () => haveJoined(4, NEXT, target));
      await until('each MachineadmConfig is Ready again', async () => {
        const moved = await target.list(`${configs}/machineadmconfigs`);
        return moved.length === 4 && moved.every((one) => conditionOf(one, 'Ready')?.reason === 'DataSecretCreated');
      });
      await until('the neighbour says again that it was translated', () => isTranslated(target));
      assert.deepEqual([...(await namesOf(target)), neighbour.metadata.name], before);
      assert.deepEqual(await Promise.all(before.map((one) => target.secret(WORKERS, one))), secrets);
      // The kubeadm provider leaves its own to end by itself.
      assert.deepEqual(uidsOf(await tokens()), tokensBefore);
    });
  });
});
