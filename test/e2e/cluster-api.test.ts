import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { stringify } from 'yaml';
import { buildLayer } from '../../scripts/lab/artefacts.ts';
import { run, until } from '../../scripts/lab/process.ts';
import { kubeconfig } from '../support/api-server.ts';
import { CAPI_DIRECTORY } from '../support/capi-managers.ts';
import { AGENT, Fleet, LAB, type Node, told } from '../support/lab.ts';
import { archiveOf, imageOf, KUBELET_ON_CGROUP_V1, RELEASE } from '../support/lab-release.ts';
import { type Found, ManagementPlane } from '../support/management-plane.ts';
import { needs } from '../support/needs.ts';

const MINUTE = 60_000;
const ROOT = resolve(import.meta.dirname, '../..');
const SEED = '/var/lib/cloud/seed/nocloud';
const NAMESPACE = 'clusters';
const NAME = 'prod-c';
const WORKERS = `${NAME}-native`;
const CORE = `/apis/cluster.x-k8s.io/v1beta2/namespaces/${NAMESPACE}`;
const FAKES = `/apis/infrastructure.cluster.x-k8s.io/v1/namespaces/${NAMESPACE}`;
const CONTROL_PLANES = `/apis/controlplane.cluster.x-k8s.io/v1beta2/namespaces/${NAMESPACE}/kubeadmcontrolplanes`;
const TEMPLATES = `/apis/bootstrap.cluster.x-k8s.io/v1alpha1/namespaces/${NAMESPACE}/machineadmconfigtemplates`;
/** The address of each machine, in the order in which they are booted: the first one is the control plane. */
const addressOf = (index: number): string => `10.99.0.${150 + index}`;
const ENDPOINT = { host: addressOf(1), port: 6443 };

const NETWORK = {
  path: '/etc/cni/net.d/10-e2e.conflist',
  content: JSON.stringify({
    cniVersion: '0.4.0',
    name: 'e2e',
    plugins: [
      {
        type: 'bridge',
        bridge: 'cni0',
        isDefaultGateway: true,
        ipam: { type: 'host-local', ranges: [[{ subnet: '10.244.9.0/24' }]] },
      },
    ],
  }),
};
/** What machines of the lab need, whose images are not those of a cloud. */
const RUNTIME = {
  containerd: { cgroupDriver: 'cgroupfs', sandboxImage: imageOf('pause'), restrictOomScoreAdj: true },
};
const COMPONENTS = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'etcd', 'pause'];
/** No template of a KubeadmControlPlane can say this: it is the operator's, for every control plane. */
const PROFILES = stringify({
  profiles: {
    default: {},
    'control-planes': {
      document: {
        host: { swap: 'Unmanaged' },
        containerRuntime: RUNTIME,
        images: { archives: COMPONENTS.map((name) => ({ path: archiveOf(name) })) },
        kubernetes: { addons: { dns: { enabled: false }, proxy: { enabled: false } } },
      },
    },
  },
});

/**
 * Cluster API's own managers, whose infrastructure provider boots machines of the lab. Run with a release that they support:
 * `MACHINEADM_LAB_KUBERNETES=v1.36.3`.
 */
describe('clusters of Cluster API on machines of the lab', {
  skip: needs(...LAB, 'MACHINEADM_CAPI=DIRECTORY'),
  timeout: 60 * MINUTE,
}, () => {
  let fleet: Fleet;
  let plane: ManagementPlane;
  let scratch = '';
  const machines = new Map<string, Node>();
  let booted = 0;

  /** What an infrastructure provider does, with machineadm in its image. */
  async function boot(name: string, providerID: string, userData: string): Promise<void> {
    // A boot that failed is not repeated: the test has to see it.
    if (machines.has(name)) return;
    booted += 1;
    const site = { name: `e2e-ca${booted}`, ip: addressOf(booted) };
    const files = {
      [`${SEED}/user-data`]: userData,
      [`${SEED}/meta-data`]: stringify({ 'instance-id': `iid-${name}`, 'local-hostname': site.name }),
    };
    const lower = [join(scratch, 'image'), await buildLayer('cloud-init', console.error)];
    const node = await fleet.start({ ...site, lower, files, withoutAgent: true });
    machines.set(name, node);
    const waited = await node.machine.exec(['cloud-init', 'status', '--wait', '--long'], { timeoutMs: 12 * MINUTE });
    assert.match(waited.stdout, /^status: done$/m, await node.read('/var/log/cloud-init-output.log'));
    // As a cloud controller manager does.
    await kubectl(`patch node ${site.name} --type=merge --patch='${JSON.stringify({ spec: { providerID } })}'`);
  }

  async function end(name: string): Promise<void> {
    const node = machines.get(name);
    if (node !== undefined) await fleet.remove(node);
    machines.delete(name);
  }

  async function kubectl(args: string): Promise<string> {
    const [controlPlane] = machines.values();
    assert.ok(controlPlane);
    return await controlPlane.machine.shell(`kubectl --kubeconfig /etc/kubernetes/admin.conf ${args}`);
  }

  before(
    async () => {
      fleet = await Fleet.open();
      scratch = mkdtempSync(join(tmpdir(), 'machineadm-capi-e2e-'));
      const image = join(scratch, 'image');
      mkdirSync(join(image, dirname(AGENT)), { recursive: true });
      copyFileSync(join(ROOT, 'dist/machineadm'), join(image, AGENT));
      mkdirSync(join(image, 'etc/sysctl.d'), { recursive: true });
      writeFileSync(join(image, 'etc/sysctl.d/99-sysctl-kubernetes.conf'), 'net.ipv4.ip_forward = 1\n');
      plane = await ManagementPlane.start([NAMESPACE], { hardware: { boot, end }, profiles: PROFILES });
    },
    { timeout: 15 * MINUTE },
  );
  after(async () => {
    await plane?.[Symbol.asyncDispose]();
    await fleet?.close();
    if (scratch !== '') rmSync(scratch, { recursive: true });
  });

  const fake = (kind: string, spec: object) => ({
    apiVersion: 'infrastructure.cluster.x-k8s.io/v1',
    kind,
    metadata: { name: NAME },
    spec,
  });
  const reference = (apiGroup: string, kind: string, name = NAME) => ({ apiGroup, kind, name });
  const machinesAre = reference('infrastructure.cluster.x-k8s.io', 'FakeMachineTemplate');
  const kubelet = { path: '/etc/kubernetes/patches/kubeletconfiguration+merge.json' };

  async function waitFor(what: string, minutes: number, holds: () => Promise<boolean>): Promise<void> {
    try {
      await until(what, minutes * MINUTE, holds);
    } catch (error) {
      throw new Error(`${what}; the infrastructure provider: ${String(plane.cloud.lastError)}`, { cause: error });
    }
  }
  const ready = async (selector: string): Promise<readonly Found[]> => {
    const found = await plane.list(`${CORE}/machines?labelSelector=${encodeURIComponent(selector)}`);
    return found.filter(({ status }) =>
      status?.conditions?.some((one) => one.type === 'Ready' && one.status === 'True'),
    );
  };
  const workersReady = async (count: number): Promise<boolean> => {
    const { status } = (await plane.server.ask('GET', `${CORE}/machinedeployments/${WORKERS}`)) as {
      readonly status?: {
        readonly replicas?: number;
        readonly readyReplicas?: number;
        readonly availableReplicas?: number;
      };
    };
    return [status?.replicas, status?.readyReplicas, status?.availableReplicas].every((one) => one === count);
  };

  test('a KubeadmControlPlane that opted in has a machine that is Ready', { timeout: 20 * MINUTE }, async () => {
    await plane.server.ask('POST', `${FAKES}/fakeclusters`, fake('FakeCluster', { controlPlaneEndpoint: ENDPOINT }));
    const template = fake('FakeMachineTemplate', { template: { spec: {} } });
    await plane.server.ask('POST', `${FAKES}/fakemachinetemplates`, template);
    await plane.server.ask('POST', `${CORE}/clusters`, {
      apiVersion: 'cluster.x-k8s.io/v1beta2',
      kind: 'Cluster',
      metadata: { name: NAME },
      spec: {
        controlPlaneEndpoint: ENDPOINT,
        clusterNetwork: { pods: { cidrBlocks: ['10.244.0.0/16'] }, services: { cidrBlocks: ['10.96.0.0/16'] } },
        infrastructureRef: reference('infrastructure.cluster.x-k8s.io', 'FakeCluster'),
        controlPlaneRef: reference('controlplane.cluster.x-k8s.io', 'KubeadmControlPlane'),
      },
    });
    const configuration = {
      nodeRegistration: { ignorePreflightErrors: ['SystemVerification'] },
      patches: { directory: dirname(kubelet.path) },
    };
    await plane.server.ask('POST', CONTROL_PLANES, {
      apiVersion: 'controlplane.cluster.x-k8s.io/v1beta2',
      kind: 'KubeadmControlPlane',
      metadata: {
        name: NAME,
        annotations: {
          'controlplane.cluster.x-k8s.io/skip-coredns': '',
          'controlplane.cluster.x-k8s.io/skip-kube-proxy': '',
        },
      },
      spec: {
        replicas: 1,
        version: RELEASE.version,
        machineTemplate: {
          metadata: {
            labels: { 'machineadm.dev/bootstrap': 'enabled' },
            annotations: { 'machineadm.dev/bootstrap-profile': 'control-planes' },
          },
          spec: { infrastructureRef: machinesAre },
        },
        kubeadmConfigSpec: {
          initConfiguration: configuration,
          joinConfiguration: configuration,
          files: [NETWORK, { ...kubelet, content: JSON.stringify(KUBELET_ON_CGROUP_V1) }],
          preKubeadmCommands: ['sysctl -w net.ipv4.ip_forward=1'],
        },
      },
    });
    const selector = 'cluster.x-k8s.io/control-plane';
    await waitFor('its machine is Ready', 15, async () => (await ready(selector)).length === 1);
    const [machine] = await ready(selector);
    const [node] = machines.values();
    assert.ok(machine !== undefined && node !== undefined);
    const { outcome, machine: reported } = await node.status();
    assert.deepEqual(
      [outcome, reported.name, reported.uid],
      ['Succeeded', machine.metadata.name, machine.metadata.uid],
    );
    assert.match(await kubectl(`get node ${node.site.name}`), new RegExp(` Ready .* ${RELEASE.version}`));
  });

  test('three workers of a MachineDeployment with MachineadmConfigs are Ready', { timeout: 25 * MINUTE }, async () => {
    const document = {
      host: { swap: 'Unmanaged', files: [NETWORK] },
      containerRuntime: RUNTIME,
      images: { archives: [{ path: archiveOf('pause') }] },
      kubernetes: {
        bootstrapper: { kubeadm: { ignorePreflightErrors: ['SystemVerification'] } },
        node: { labels: { 'e2e.machineadm.dev/native': 'true' }, kubelet: { config: KUBELET_ON_CGROUP_V1 } },
        ready: { require: 'NodeReady', timeout: '5m' },
      },
    };
    await plane.server.ask('POST', TEMPLATES, {
      apiVersion: 'bootstrap.cluster.x-k8s.io/v1alpha1',
      kind: 'MachineadmConfigTemplate',
      metadata: { name: NAME },
      spec: { template: { spec: { document } } },
    });
    // kubeadm init makes one, which the kubeadm provider leaves.
    const tokens = () =>
      kubectl('-n kube-system get secrets --field-selector=type=bootstrap.kubernetes.io/token -o name');
    const before = await tokens();
    const labels = { pool: NAME };
    await plane.server.ask('POST', `${CORE}/machinedeployments`, {
      apiVersion: 'cluster.x-k8s.io/v1beta2',
      kind: 'MachineDeployment',
      metadata: { name: WORKERS },
      spec: {
        clusterName: NAME,
        replicas: 3,
        selector: { matchLabels: labels },
        rollout: { strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } } },
        template: {
          metadata: { labels: { ...labels, 'cluster.x-k8s.io/cluster-name': NAME } },
          spec: {
            clusterName: NAME,
            version: RELEASE.version,
            bootstrap: { configRef: reference('bootstrap.cluster.x-k8s.io', 'MachineadmConfigTemplate') },
            infrastructureRef: machinesAre,
          },
        },
      },
    });
    await waitFor('three workers are Ready and available', 20, () => workersReady(3));
    const nodes = await kubectl('get nodes -l e2e.machineadm.dev/native=true --no-headers');
    assert.equal([...nodes.matchAll(new RegExp(` Ready .* ${RELEASE.version}$`, 'gm'))].length, 3, nodes);
    await waitFor('no bootstrap token of theirs is left', 3, async () => (await tokens()) === before);
    for (const machine of await ready(`pool=${NAME}`)) {
      const { outcome, machine: reported } = await nodeOf(machine).status();
      assert.deepEqual([outcome, reported.uid], ['Succeeded', machine.metadata.uid]);
    }
  });

  /** The machine of the lab behind a Machine. */
  function nodeOf({ status }: Found): Node {
    const node = [...machines.values()].find(({ site }) => site.name === status?.nodeRef?.name);
    return node ?? assert.fail(`no machine has the node ${status?.nodeRef?.name}`);
  }

  test('a machine that lost its power is replaced by a MachineHealthCheck', { timeout: 20 * MINUTE }, async () => {
    await plane.server.ask('POST', `${CORE}/machinehealthchecks`, {
      apiVersion: 'cluster.x-k8s.io/v1beta2',
      kind: 'MachineHealthCheck',
      metadata: { name: NAME },
      spec: {
        clusterName: NAME,
        selector: { matchLabels: { pool: NAME } },
        checks: {
          unhealthyNodeConditions: [
            { type: 'Ready', status: 'Unknown', timeoutSeconds: 1 },
            { type: 'Ready', status: 'False', timeoutSeconds: 1 },
          ],
        },
      },
    });
    const [lost] = await ready(`pool=${NAME}`);
    assert.ok(lost);
    const name = nodeOf(lost).site.name;
    await nodeOf(lost).machine.powerOff();
    await waitFor('another machine is in its place', 15, async () => {
      const now = await ready(`pool=${NAME}`);
      return now.length === 3 && now.every(({ metadata }) => metadata.uid !== lost.metadata.uid);
    });
    await waitFor('its node is gone', 2, async () => !(await kubectl('get nodes -o name')).includes(name));
  });

  test('a deployment with fewer replicas drains a node, and clusterctl says that all is well', {
    timeout: 15 * MINUTE,
  }, async () => {
    await plane.patch(`${CORE}/machinedeployments/${WORKERS}`, { spec: { replicas: 2 } });
    await waitFor('two workers are left', 10, async () => (await workersReady(2)) && machines.size === 3);
    const { url, certificateAuthority, admin } = plane.server;
    const config = join(scratch, 'admin.conf');
    writeFileSync(config, kubeconfig(url, certificateAuthority, { token: admin.token?.reveal() ?? '' }), {
      mode: 0o600,
    });
    const described = await run(
      join(CAPI_DIRECTORY, 'clusterctl'),
      ['describe', 'cluster', NAME, '--namespace', NAMESPACE, '--kubeconfig', config, '--show-conditions=all'],
      { env: { HOME: scratch, PATH: '/usr/bin:/bin', CLUSTERCTL_DISABLE_VERSIONCHECK: 'true' }, timeoutMs: MINUTE },
    );
    assert.equal(described.status, 0, told(described));
    assert.match(described.stdout, new RegExp(`MachineDeployment/${WORKERS} +2/2 +2 +2 +2 `));
    const [, workers = ''] = described.stdout.split(WORKERS);
    assert.match(workers, /MachinesReady +True +Ready +\d+s *$/m, 'nothing is said of a machine that is well');
  });
});
