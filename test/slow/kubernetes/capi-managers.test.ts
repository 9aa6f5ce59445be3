import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { parse, stringify } from 'yaml';
import { type RunOptions, run } from '../../../scripts/lab/process.ts';
import { bootstrapComponents, clusterctlMetadata, components } from '../../../scripts/translator/manifests.ts';
import { MAIN } from '../../support/agent.ts';
import { kubeconfig } from '../../support/api-server.ts';
import {
  configs,
  core,
  createCluster,
  createWorkerCluster,
  createWorkers,
  fakes,
  INFRASTRUCTURE,
  machinesAre,
} from '../../support/capi-clusters.ts';
import { CAPI_DIRECTORY, ownDefinitions } from '../../support/capi-managers.ts';
import { type KubeApiServer, startKubeApiServer } from '../../support/kube-apiserver.ts';
import { type Found, ManagementPlane } from '../../support/management-plane.ts';
import { needs } from '../../support/needs.ts';
import { until } from '../../support/translator.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const CONTROL_PLANES = 'control-planes';
/** As in the tutorial. */
const WORKERS = 'clusters';
const TUTORIAL = 'docs/tutorials/cluster-api-workers.md';
const VERSION = 'v1.35.2';
const NEXT = 'v1.35.3';
const TRANSLATED = 'machineadm.dev/BootstrapTranslated';
const TOKEN_ID = 'machineadm.dev/bootstrap-token-id';

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

/** What clusterctl looks for to know that cert-manager is there, of which nothing runs. */
function certManagerDefinition(kind: string): object {
  const plural = `${kind.toLowerCase()}s`;
  const openAPIV3Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.cert-manager.io` },
    spec: {
      group: 'cert-manager.io',
      names: { kind, listKind: `${kind}List`, plural, singular: kind.toLowerCase() },
      scope: 'Namespaced',
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }],
    },
  };
}

const conditionOf = (object: Found | undefined, type: string) =>
  object?.status?.conditions?.find((one) => one.type === type);

/** What the API server and clusterctl are told by an administrator's kubeconfig. */
function adminOf({ server }: { readonly server: KubeApiServer }): string {
  return kubeconfig(server.url, server.certificateAuthority, { token: server.admin.token?.reveal() ?? '' });
}

describe('with the real controllers of Cluster API', {
  skip: needs('MACHINEADM_CAPI=DIRECTORY'),
  timeout: 1_800_000,
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

  /** Runs a program that ends well; gives what it printed. The webhooks are reached through this process: nothing may block it. */
  async function ended(program: string, args: readonly string[], options: RunOptions): Promise<string> {
    const { status, stdout, stderr } = await run(program, args, { ...options, timeoutMs: 180_000 });
    assert.equal(status, 0, stdout + stderr);
    return stdout;
  }

  /** clusterctl, with an empty configuration and no home directory. */
  async function clusterctl(configuration: object, ...args: readonly string[]): Promise<string> {
    const config = join(scratch, 'clusterctl.yaml');
    writeFileSync(config, JSON.stringify(configuration));
    const env = {
      HOME: scratch,
      XDG_CONFIG_HOME: scratch,
      PATH: '/usr/bin:/bin',
      CLUSTERCTL_DISABLE_VERSIONCHECK: 'true',
    };
    return await ended(join(CAPI_DIRECTORY, 'clusterctl'), [...args, '--config', config], { env });
  }

  /** The commands of a part of the tutorial. */
  function commandsUnder(heading: string): string {
    const [, part = ''] = readFileSync(join(ROOT, TUTORIAL), 'utf8').split(`\n## ${heading}\n`);
    const [own = ''] = part.split('\n## ');
    return [...own.matchAll(/^<!-- not run: .*\n```sh\n([\s\S]*?)^```$/gm)].map(([, text]) => text).join('');
  }

  /** Runs commands of the tutorial in a directory of its own, as an administrator of an API server. */
  async function follow(server: KubeApiServer, commands: string): Promise<string> {
    const directory = join(scratch, 'tutorial');
    mkdirSync(directory, { recursive: true });
    const config = join(directory, 'admin.conf');
    writeFileSync(config, adminOf({ server }), { mode: 0o600 });
    writeFileSync(join(directory, 'machineadm'), `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`);
    chmodSync(join(directory, 'machineadm'), 0o755);
    const env = {
      HOME: directory,
      XDG_CONFIG_HOME: directory,
      KUBECONFIG: config,
      PATH: `${directory}:${CAPI_DIRECTORY}:/usr/bin:/bin`,
      CLUSTERCTL_DISABLE_VERSIONCHECK: 'true',
    };
    return await ended('sh', ['-euc', `exec 2>&1\n${commands}`], { cwd: directory, env });
  }

  test('the first machine of a KubeadmControlPlane gets translated bootstrap data, and both objects say so', async () => {
    const name = 'prod-a';
    const group = 'controlplane.cluster.x-k8s.io';
    await createCluster(plane, CONTROL_PLANES, name, {
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

  test('clusterctl takes the components of a release', async () => {
    const release = join(scratch, 'runtime-extension-machineadm/v0.1.0');
    mkdirSync(release, { recursive: true });
    writeFileSync(join(release, 'components.yaml'), components(ROOT, '0.1.0'));
    writeFileSync(join(release, 'metadata.yaml'), clusterctlMetadata('0.1.0'));
    const provider = { name: 'machineadm', type: 'RuntimeExtensionProvider', url: join(release, 'components.yaml') };
    const images = { 'runtime-extension-machineadm': { repository: 'registry.example.com' } };
    const args = ['generate', 'provider', '--runtime-extension', 'machineadm:v0.1.0'];
    const text = await clusterctl({ providers: [provider], images }, ...args);
    assert.match(text, /image: registry\.example\.com\/machineadm-translator:0\.1\.0/);
  });

  test('clusterctl init installs the bootstrap provider, as the tutorial does it', async () => {
    await using server = await startKubeApiServer();
    const directory = join(scratch, 'tutorial');
    mkdirSync(join(directory, 'core/cluster-api/v1.13.0'), { recursive: true });
    const at = (name: string): string => join(directory, name);
    writeFileSync(at('bootstrap-components.yaml'), bootstrapComponents(ROOT, '0.1.0'));
    writeFileSync(at('metadata.yaml'), clusterctlMetadata('0.1.0'));
    // A Cluster API of which only the definitions are there: no controller runs on this API server.
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'capi-system' } };
    const parts = [namespace, ...ownDefinitions()].map((one) => stringify(one, { version: '1.1' }));
    const escaped = parts.join('---\n').replace(/\$+(?=\{)/g, (dollars) => `${dollars}${dollars}`);
    writeFileSync(at('core/cluster-api/v1.13.0/core-components.yaml'), escaped);
    writeFileSync(at('core/cluster-api/v1.13.0/metadata.yaml'), clusterctlMetadata('1.13.0'));
    const core = {
      name: 'cluster-api',
      type: 'CoreProvider',
      url: at('core/cluster-api/v1.13.0/core-components.yaml'),
    };
    // cert-manager is there already, as far as clusterctl looks; it reads the release all the same.
    const manager = { url: at('core/cert-manager/v1.20.0/cert-manager.yaml'), version: 'v1.20.0' };
    mkdirSync(join(manager.url, '..'), { recursive: true });
    writeFileSync(manager.url, stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'cert-manager' } }));
    const here = { providers: [core], 'cert-manager': manager };
    writeFileSync(at('core.yaml'), stringify(here));
    for (const kind of ['Issuer', 'Certificate']) await server.ask('POST', DEFINITIONS, certManagerDefinition(kind));
    await server.until('/apis/cert-manager.io/v1/certificates');
    await server.ask('POST', '/api/v1/namespaces', { metadata: { name: WORKERS } });
    const none = '--bootstrap - --control-plane - --infrastructure -';
    await follow(server, `clusterctl init --config core.yaml --core cluster-api:v1.13.0 ${none}`);
    // The namespace of its trial of cert-manager goes only where a namespace controller runs.
    const trial = {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'cert-manager-test' },
      spec: { finalizers: [] },
    };
    await server.ask('PUT', '/api/v1/namespaces/cert-manager-test/finalize', trial);
    await follow(server, commandsUnder('1. Tell clusterctl where the provider is'));
    // Where Cluster API itself is from, clusterctl knows: not from a server that can be asked here.
    const { providers, ...rest } = parse(readFileSync(at('clusterctl.yaml'), 'utf8'));
    writeFileSync(at('clusterctl.yaml'), stringify({ ...rest, ...here, providers: [...providers, core] }));
    const told = await follow(server, commandsUnder('2. Install it'));
    assert.match(told, /bootstrap-machineadm\s.*BootstrapProvider\s+machineadm\s+v0\.1\.0/);
    await server.until('/apis/bootstrap.cluster.x-k8s.io/v1alpha1/machineadmconfigs');
    const path = '/apis/apps/v1/namespaces/machineadm-system/deployments/machineadm-translator';
    const deployment = JSON.stringify(await server.ask('GET', path));
    assert.match(deployment, /"registry\.example\.com\/machineadm-translator:0\.1\.0"/);
    assert.match(deployment, /"--bootstrap-provider"/);
    const schema = await follow(server, 'kubectl explain machineadmconfig.spec.document.host.proxy.no');
    assert.match(schema, /reached directly/);
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
      await createWorkerCluster(plane, WORKERS, name, { version: VERSION, kubeconfig: adminOf(plane) });
      const document = { host: { sysctl: { 'vm.max_map_count': 262144 } } };
      await plane.server.ask('POST', `${configs(WORKERS)}/machineadmconfigtemplates`, {
        apiVersion: 'bootstrap.cluster.x-k8s.io/v1alpha1',
        kind: 'MachineadmConfigTemplate',
        metadata: { name },
        spec: { template: { spec: { document } } },
      });
    });

    const create = (deployment: string, replicas: number, kind: string, labels: object, template = name) =>
      createWorkers(plane, WORKERS, {
        ...{ cluster: name, name: deployment, replicas, version: VERSION, labels },
        config: { kind, name: template },
      });

    test('join, and leave no bootstrap token', async () => {
      await create(`${name}-native`, 3, 'MachineadmConfigTemplate', { pool: name });
      await until('three machines have joined', () => haveJoined(3, VERSION));
      const made = await plane.list(`${configs(WORKERS)}/machineadmconfigs`);
      assert.equal(made.length, 3);
      for (const config of made) {
        assert.equal(conditionOf(config, 'Ready')?.reason, 'DataSecretCreated');
        assert.match((await plane.secret(WORKERS, config.metadata.name)).value ?? '', /machineadm provision/);
      }
      await noTokenIsLeft();
    });

    test('are replaced for a new version, and when their node is not Ready', async () => {
      const change = { replicas: 4, template: { spec: { version: NEXT } } };
      await plane.patch(`${core(WORKERS)}/machinedeployments/${name}-native`, { spec: change });
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

    test('come from a KubeadmConfigTemplate by the tutorial, and go back', async () => {
      const deployment = `${name}-md-0`;
      const labels = { pool: 'tutorial' };
      const group = 'bootstrap.cluster.x-k8s.io/v1beta2';
      const files = [{ path: '/etc/registry-password', permissions: '0600', content: 'example-password' }];
      await plane.server.ask('POST', `/apis/${group}/namespaces/${WORKERS}/kubeadmconfigtemplates`, {
        apiVersion: group,
        kind: 'KubeadmConfigTemplate',
        metadata: { name: deployment },
        spec: { template: { spec: { files, preKubeadmCommands: ['sysctl -w vm.max_map_count=262144'] } } },
      });
      await create(deployment, 1, 'KubeadmConfigTemplate', labels, deployment);
      const machines = () => plane.list(`${core(WORKERS)}/machines?labelSelector=pool%3Dtutorial`);
      const isOneOf = (kind: string) => async (): Promise<boolean> => {
        const [machine, another] = await machines();
        return (
          another === undefined &&
          machine?.status?.nodeRef !== undefined &&
          machine.spec?.bootstrap?.configRef?.kind === kind
        );
      };
      await until('the worker of the kubeadm provider has joined', isOneOf('KubeadmConfig'));
      const page = readFileSync(join(ROOT, TUTORIAL), 'utf8');
      const [, conversion = ''] = /^```sh\n(machineadm convert [\s\S]*?)^```$/m.exec(page) ?? [];
      assert.match(conversion, /--to machineadmconfigtemplate/);
      // The first block exports the objects of the cluster; the second one stands for them where there is none.
      await follow(plane.server, `${commandsUnder('3. Convert the template')}\n${conversion}`);
      await follow(plane.server, commandsUnder('4. Apply it, and switch'));
      await until('the worker is one of a MachineadmConfig', isOneOf('MachineadmConfig'));
      const [machine] = await machines();
      const { value = '' } = await plane.secret(WORKERS, machine?.spec?.bootstrap?.dataSecretName ?? '');
      assert.match(value, /machineadm provision/);
      const shown = await follow(plane.server, commandsUnder('5. Follow the rollout'));
      assert.match(shown, /MachineDeployment\/prod-b-md-0/);
      assert.match(shown, /BootstrapConfigReady +True +DataSecretCreated/);
      assert.match(shown, /prod-b-md-0-\S+ +prod-b +True +DataSecretCreated/);
      const refused = await follow(plane.server, commandsUnder('6. A mistake is refused'));
      assert.match(refused, /spec\.template\.spec\.document\.host\.sysctls: unknown key \(hint: /);
      await follow(plane.server, commandsUnder('Go back'));
      await until('the worker is one of the kubeadm provider again', isOneOf('KubeadmConfig'));
      await plane.server.ask('DELETE', `${core(WORKERS)}/machinedeployments/${deployment}`);
      await until('its machines are gone', async () => (await machines()).length === 0);
    });

    test('of a MachinePool share a token, and get another one before it ends', async () => {
      const pool = `${name}-pool`;
      const metadata = { name: pool, labels: { 'cluster.x-k8s.io/cluster-name': name } };
      const ref = (apiGroup: string, kind: string) => ({ apiGroup, kind, name: pool });
      await plane.server.ask('POST', `${fakes(WORKERS)}/fakemachinepools`, {
        apiVersion: `${INFRASTRUCTURE}/v1`,
        kind: 'FakeMachinePool',
        metadata,
        spec: {},
      });
      await plane.server.ask('POST', `${configs(WORKERS)}/machineadmconfigs`, {
        apiVersion: 'bootstrap.cluster.x-k8s.io/v1alpha1',
        kind: 'MachineadmConfig',
        metadata,
        spec: { document: { host: { sysctl: { 'vm.max_map_count': 262144 } } } },
      });
      const path = `${core(WORKERS)}/machinepools/${pool}`;
      await plane.server.ask('POST', `${core(WORKERS)}/machinepools`, {
        apiVersion: 'cluster.x-k8s.io/v1beta2',
        kind: 'MachinePool',
        metadata,
        spec: {
          clusterName: name,
          replicas: 2,
          template: {
            metadata: { labels: metadata.labels },
            spec: {
              clusterName: name,
              version: VERSION,
              bootstrap: { configRef: ref('bootstrap.cluster.x-k8s.io', 'MachineadmConfig') },
              infrastructureRef: ref(INFRASTRUCTURE, 'FakeMachinePool'),
            },
          },
        },
      });
      const nodes = async (): Promise<number> => {
        const found = (await plane.server.ask('GET', path)) as Found;
        return found.status?.nodeRefs?.length ?? 0;
      };
      await until('both instances are nodes', async () => (await nodes()) === 2);
      const { value: first } = await plane.secret(WORKERS, pool);
      const own = async (): Promise<string> => {
        const secret = (await plane.server.ask('GET', `/api/v1/namespaces/${WORKERS}/secrets/${pool}`)) as Found;
        return `/api/v1/namespaces/kube-system/secrets/bootstrap-token-${secret.metadata.annotations?.[TOKEN_ID]}`;
      };
      const token = await own();
      const soon = Buffer.from(new Date(Date.now() + 60_000).toISOString()).toString('base64');
      await plane.patch(token, { data: { expiration: soon } });
      await until('the Secret has another token', async () => (await plane.secret(WORKERS, pool)).value !== first);
      await plane.patch(path, { spec: { replicas: 3 } });
      await until('a third instance joined with it', async () => (await nodes()) === 3);
      await plane.server.ask('DELETE', path);
      await plane.server.ask('DELETE', await own());
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
      await create(`${name}-kubeadm`, 1, 'KubeadmConfigTemplate', labels);
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
      await clusterctl({}, 'move', '--namespace', WORKERS, '--kubeconfig', from, '--to-kubeconfig', to);
      assert.deepEqual(await workers(plane), []);
      await until('all have their nodes again', () => haveJoined(4, NEXT, target));
      await until('each MachineadmConfig is Ready again', async () => {
        const moved = await target.list(`${configs(WORKERS)}/machineadmconfigs`);
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
