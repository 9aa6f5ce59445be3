import { type ChildProcess, spawn } from 'node:child_process';
import { globSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { kubeconfig, newAuthority } from './api-server.ts';
import { freePorts, type KubeApiServer } from './kube-apiserver.ts';
import { until } from './translator.ts';

/**
 * The directory with Cluster API's programs: `core`, `bootstrap` and `controlplane` (its three managers), `clusterctl`,
 * `kube-apiserver`, `etcd` and `kubectl` of a release that it supports, and its definitions in `crds/`.
 * docs/cluster-api.md says how to make it.
 */
export const CAPI_DIRECTORY = process.env.MACHINEADM_CAPI ?? '';

/** The bootstrap provider's own identity: only its Secrets are translated. */
const MANAGERS = [
  { name: 'core', namespace: 'capi-system', account: 'capi-manager' },
  { name: 'bootstrap', namespace: 'capi-kubeadm-bootstrap-system', account: 'capi-kubeadm-bootstrap-manager' },
  {
    name: 'controlplane',
    namespace: 'capi-kubeadm-control-plane-system',
    account: 'capi-kubeadm-control-plane-manager',
  },
] as const;

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
/** The objects of a cloud, of which only what the contract of infrastructure providers demands is there. */
const INFRASTRUCTURE = ['FakeCluster', 'FakeMachine', 'FakeMachineTemplate', 'FakeMachinePool'] as const;
/** Which version fulfils which contract, and what clusterctl adds to everything that it installs: `move` looks for it. */
const CONTRACTS = { 'cluster.x-k8s.io/v1beta1': 'v1beta1', 'cluster.x-k8s.io/v1beta2': 'v1beta2' };
const INSTALLED = { 'clusterctl.cluster.x-k8s.io': '' };

export interface Definition {
  readonly metadata: { readonly name: string; readonly labels?: object };
  readonly spec: { readonly group: string; readonly names: { readonly plural: string } };
}

/** Installs the definitions of Cluster API, and those of an infrastructure provider that a script plays. */
export async function installDefinitions(server: KubeApiServer): Promise<void> {
  for (const definition of [...ownDefinitions(), ...(INFRASTRUCTURE.map(fakeDefinition) as readonly Definition[])]) {
    const isFake = definition.spec.group.startsWith('infrastructure.');
    const contracts = isFake ? { 'cluster.x-k8s.io/v1beta2': 'v1' } : CONTRACTS;
    const metadata = { ...definition.metadata, labels: { ...definition.metadata.labels, ...contracts, ...INSTALLED } };
    await server.ask('POST', DEFINITIONS, { ...definition, metadata });
  }
  await server.until('/apis/controlplane.cluster.x-k8s.io/v1beta2/kubeadmcontrolplanes');
  await server.until('/apis/cluster.x-k8s.io/v1beta2/machines');
  await server.until('/apis/bootstrap.cluster.x-k8s.io/v1beta2/kubeadmconfigs');
  await server.until('/apis/infrastructure.cluster.x-k8s.io/v1/fakemachinetemplates');
}

/** The definitions of Cluster API itself. */
export function ownDefinitions(): readonly Definition[] {
  return globSync(join(CAPI_DIRECTORY, 'crds/*.yaml')).map((file): Definition => parse(readFileSync(file, 'utf8')));
}

function fakeDefinition(kind: string): object {
  const plural = `${kind.toLowerCase()}s`;
  const openAPIV3Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.infrastructure.cluster.x-k8s.io` },
    spec: {
      group: 'infrastructure.cluster.x-k8s.io',
      names: { kind, listKind: `${kind}List`, plural, singular: kind.toLowerCase() },
      scope: 'Namespaced',
      versions: [
        { name: 'v1', served: true, storage: true, subresources: { status: {} }, schema: { openAPIV3Schema } },
      ],
    },
  };
}

/** Cluster API's managers, each with the identity that its own manifests give it. */
export class ClusterApi implements AsyncDisposable {
  readonly #directory = mkdtempSync(join(tmpdir(), 'machineadm-capi-'));
  readonly #started: ChildProcess[] = [];

  /** @param gates feature gates that are not on by default */
  static async start(server: KubeApiServer, gates: readonly string[] = []): Promise<ClusterApi> {
    const all = new ClusterApi();
    try {
      for (const { name, namespace, account } of MANAGERS)
        await all.#startManager(server, name, namespace, account, gates);
    } catch (error) {
      await all[Symbol.asyncDispose]();
      throw error;
    }
    return all;
  }

  /** What a manager wrote. */
  log(name: (typeof MANAGERS)[number]['name']): string {
    return readFileSync(join(this.#directory, `${name}.log`), 'utf8');
  }

  async #startManager(
    server: KubeApiServer,
    name: string,
    namespace: string,
    account: string,
    gates: readonly string[],
  ): Promise<void> {
    const at = (file: string): string => join(this.#directory, file);
    await server.ask('POST', '/api/v1/namespaces', { metadata: { name: namespace } });
    await server.ask('POST', `/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name: account } });
    await server.ask('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
      metadata: { name: account },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ kind: 'ServiceAccount', namespace, name: account }],
    });
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`;
    const { status } = (await server.ask('POST', path, { spec: {} })) as { status: { token: string } };
    writeFileSync(at(`${name}.conf`), kubeconfig(server.url, server.certificateAuthority, status), { mode: 0o600 });
    // Their own webhooks (defaults, conversion) are not installed; a manager does not start without a certificate for them.
    const { certificate, key } = newAuthority(name).issue('webhook', ['localhost']);
    writeFileSync(at('tls.crt'), certificate);
    writeFileSync(at('tls.key'), key, { mode: 0o600 });
    const [webhook = 0, health = 0, diagnostics = 0] = await freePorts(3);
    const args = [
      `--kubeconfig=${at(`${name}.conf`)}`,
      `--webhook-port=${webhook}`,
      `--webhook-cert-dir=${this.#directory}`,
      `--health-addr=127.0.0.1:${health}`,
      `--diagnostics-address=127.0.0.1:${diagnostics}`,
      '--insecure-diagnostics',
      '--sync-period=10s',
      ...(gates.length === 0 ? [] : [`--feature-gates=${gates.map((gate) => `${gate}=true`).join(',')}`]),
      ...(name === 'core' ? ['--skip-crd-migration-phases=StorageVersionMigration,CleanupManagedFields'] : []),
    ];
    const log = openSync(at(`${name}.log`), 'w');
    const child = spawn(join(CAPI_DIRECTORY, name), args, {
      stdio: ['ignore', log, log],
      env: { POD_NAMESPACE: namespace, PATH: '/usr/bin:/bin' },
    });
    this.#started.push(child);
    await until(`the manager ${name} is ready`, async () => {
      if (child.exitCode !== null)
        throw new Error(`${name} ended:\n${readFileSync(at(`${name}.log`), 'utf8').slice(-3000)}`);
      return await fetch(`http://127.0.0.1:${health}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      );
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = this.#started.map((child) => new Promise((resolve) => child.once('exit', resolve)));
    for (const child of this.#started) if (child.exitCode === null) child.kill('SIGKILL');
    await Promise.all(ended);
    rmSync(this.#directory, { recursive: true, force: true });
  }
}
