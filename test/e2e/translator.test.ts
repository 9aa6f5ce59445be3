import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, describe, test } from 'node:test';
import { parseAllDocuments, stringify } from 'yaml';
import { buildCluster, buildLayer, type ClusterArtefacts } from '../../scripts/lab/artefacts.ts';
import { machineSource, SOURCES } from '../../scripts/quickstart/documents.ts';
import { caCertHash } from '../../scripts/quickstart/lab.ts';
import { buildTranslator } from '../../scripts/translator.ts';
import { kubeconfig, newAuthority } from '../support/api-server.ts';
import { userDataOfWorker } from '../support/bootstrap-provider.ts';
import { installClusterApi } from '../support/capi-definitions.ts';
import {
  type CreatedMachine,
  Machines,
  NAMESPACE,
  type Reported,
  type StoredSecret,
  userDataOf,
  type WithConditions,
} from '../support/capi-machines.ts';
import { assertCloudInitDone, layNodeImage, noCloudSeed } from '../support/cloud-init-machine.ts';
import { type NodeSite, newSeeds } from '../support/documents.ts';
import { apiServerAt, type KubeApiServer } from '../support/kube-apiserver.ts';
import { Fleet, LAB, type Node, progress, SENTINEL, told } from '../support/lab.ts';
import { needs } from '../support/needs.ts';
import { until } from '../support/translator.ts';

const MINUTE = 60_000;
const ROOT = resolve(import.meta.dirname, '../..');
const VERSION = 'v1.20.2';
const SYSTEM = 'machineadm-system';
const MANAGEMENT = { name: 'e2e-tr1', ip: '10.99.0.141', role: 'control-plane', podSubnet: '10.244.0.0/24' } as const;
const WORKER = { name: 'e2e-tr2', ip: '10.99.0.142', podSubnet: '10.244.1.0/24' };
/** The machine of a MachineadmConfig. */
const NATIVE = { name: 'e2e-tr3', ip: '10.99.0.143' };
const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const CONFIGS = `/apis/bootstrap.cluster.x-k8s.io/v1alpha1/namespaces/${NAMESPACE}/machineadmconfigs`;
/** What this cluster lacks: cert-manager, whose part is played below. Definitions are too large for `kubectl apply` of 1.20. */
const NOT_HERE: ReadonlySet<string> = new Set(['Certificate', 'Issuer', 'CustomResourceDefinition']);
const TLS = newAuthority('translator');
const SERVER_CERTIFICATE = TLS.issue('translator', [`machineadm-translator.${SYSTEM}.svc`]);
const APPLY = 'kubectl apply --validate=false -f manifests.json';
const base64 = (text: string) => Buffer.from(text).toString('base64');

/**
 * The manifests of a release, for this cluster: Kubernetes 1.20 has an older PodDisruptionBudget and no matchConditions (the
 * translator checks the Secret itself).
 */
function manifests(componentsText: string): string {
  const items = parseAllDocuments(componentsText).flatMap((document) => {
    const object = document.toJS();
    const { kind } = object;
    if (NOT_HERE.has(kind)) return [];
    if (kind === 'PodDisruptionBudget') return [{ ...object, apiVersion: 'policy/v1beta1' }];
    if (kind.endsWith('WebhookConfiguration')) {
      const [webhook] = object.webhooks;
      const clientConfig = { ...webhook.clientConfig, caBundle: base64(TLS.certificate) };
      return [{ ...object, webhooks: [{ ...webhook, clientConfig }] }];
    }
    if (kind === 'Deployment') {
      object.spec.template.spec.containers[0].args.push(
        `--report-namespace=${NAMESPACE}`,
        '--provider-user=system:serviceaccount:kube-system:admin',
      );
    }
    return [object];
  });
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace: SYSTEM, name: 'machineadm-translator-tls' },
    data: { 'tls.crt': base64(SERVER_CERTIFICATE.certificate), 'tls.key': base64(SERVER_CERTIFICATE.key) },
  };
  return JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [...items, secret] });
}

/**
 * The whole path of docs/cluster-api.md: the translator's image and its manifests in a cluster, with its Deployment, Service
 * and webhook. The cluster that manages is also the one that is joined.
 */
describe('a machine of Cluster API, by the bootstrap translator', {
  skip: needs(...LAB),
  timeout: 40 * MINUTE,
}, () => {
  const { token } = newSeeds();
  let artefacts: ClusterArtefacts;
  let management: Node;
  let server: KubeApiServer;
  let machine: CreatedMachine;
  let scratch = '';
  let built: readonly string[] = [];

  const shell = async (commands: string): Promise<string> => {
    const command = ['sh', '-euc', `export KUBECONFIG=/etc/kubernetes/admin.conf\n${commands}`];
    const run = await management.machine.exec(command, { timeoutMs: 5 * MINUTE });
    assert.equal(run.status, 0, told(run));
    return run.stdout;
  };

  const fleet = Fleet.ofSuite(
    async () => {
      scratch = mkdtempSync(join(tmpdir(), 'machineadm-translator-e2e-'));
      artefacts = await buildCluster('debian', progress);
      [built] = await Promise.all([buildTranslator(ROOT, join(scratch, 'dist'), false), provisionManagement()]);
      server = await apiServer();
      await installClusterApi(server, 'v1beta2', NAMESPACE);
    },
    { timeoutMs: 35 * MINUTE },
  );
  after(() => {
    if (scratch !== '') rmSync(scratch, { recursive: true });
  });

  /** The control plane of the quick start: a pod network, and kube-proxy, which leads to the translator's Service. */
  async function provisionManagement(): Promise<void> {
    management = await fleet.start({ ...MANAGEMENT, lower: artefacts.lower });
    const sources = '/etc/machineadm/bootstrap.d';
    for (const name of ['10-node.yaml', '20-control-plane.yaml']) {
      await management.machine.copyIn(join(SOURCES, name), `${sources}/${name}`);
    }
    const own = stringify(machineSource(MANAGEMENT, [MANAGEMENT], artefacts, { token }));
    await management.machine.write(`${sources}/30-machine.yaml`, own, '600');
    const run = await management.agent(['provision', '-d', sources]);
    assert.equal(run.exitCode, 0, told(run));
  }

  /** The API server of the control plane, for an administrator. */
  async function apiServer(): Promise<KubeApiServer> {
    const account = 'kubectl -n kube-system get serviceaccount admin -o';
    const secret = await shell(`kubectl -n kube-system create serviceaccount admin >&2
      kubectl create clusterrolebinding admin --clusterrole=cluster-admin --serviceaccount=kube-system:admin >&2
      until name=$(${account} 'jsonpath={.secrets[0].name}') && [ -n "$name" ]; do sleep 1; done
      kubectl -n kube-system get secret "$name" -o 'jsonpath={.data.token}'`);
    const authority = await management.machine.shell('cat /etc/kubernetes/pki/ca.crt');
    const admin = Buffer.from(secret, 'base64').toString();
    return apiServerAt(`https://${MANAGEMENT.ip}:6443`, authority, admin, async () => undefined);
  }

  /** Boots a machine from its Secret, as an infrastructure provider does, with machineadm in its image. */
  async function boot(site: NodeSite): Promise<Node> {
    const stored = await server.ask('GET', `/api/v1/namespaces/${NAMESPACE}/secrets/${site.name}`);
    const userData = userDataOf(stored as Parameters<typeof userDataOf>[0]);
    const image = join(scratch, 'image');
    layNodeImage(image);
    const node = await fleet.start({
      ...site,
      lower: [image, await buildLayer('cloud-init', progress)],
      files: noCloudSeed(userData, site.name, site.name),
      withoutAgent: true,
    });
    await assertCloudInitDone(node, 12 * MINUTE);
    return node;
  }

  const patch = async (path: string, body: object): Promise<void> => {
    const type = 'application/merge-patch+json';
    assert.equal(await server.statusOf(server.admin, 'PATCH', path, type, JSON.stringify(body)), 200, path);
  };

  const conditionOf = async (path: string, type: string): Promise<Reported | undefined> => {
    const { status } = (await server.ask('GET', path)) as WithConditions;
    return status?.conditions?.find((one) => one.type === `machineadm.dev/${type}`);
  };

  test('its image and its manifests give two replicas that are ready', { timeout: 10 * MINUTE }, async () => {
    const image = built.find((name) => name.endsWith('.tar')) ?? assert.fail('no image');
    await management.machine.copyIn(join(scratch, 'dist', image), `/root/${image}`);
    const components = readFileSync(join(scratch, 'dist/bootstrap-components.yaml'), 'utf8').replaceAll(
      '$${',
      () => '${',
    );
    for (const object of parseAllDocuments(components).map((one) => one.toJS())) {
      if (object.kind === 'CustomResourceDefinition') await server.ask('POST', DEFINITIONS, object);
    }
    await server.until(CONFIGS);
    await management.machine.write('/root/manifests.json', manifests(components), '600');
    await shell(`ctr -n k8s.io images import /root/${image}`);
    const profiles = stringify({ profiles: { default: { report: { server: `https://${MANAGEMENT.ip}:6443` } } } });
    await management.machine.write('/root/profiles.yaml', profiles);
    // With reports of machines, as docs/cluster-api.md says.
    await shell(`cd /root
      kubectl create namespace ${SYSTEM}
      kubectl -n ${SYSTEM} create configmap machineadm-translator-profiles --from-file=profiles.yaml
      for role in namespace reports; do
        kubectl -n ${NAMESPACE} create rolebinding machineadm-translator-$role \\
          --clusterrole=machineadm-translator-$role --serviceaccount=${SYSTEM}:machineadm-translator
      done
      kubectl -n ${NAMESPACE} create rolebinding machineadm-bootstrap-namespace \\
        --clusterrole=machineadm-bootstrap-namespace --serviceaccount=${SYSTEM}:machineadm-translator
      ${APPLY}
      kubectl -n ${SYSTEM} rollout status deployment/machineadm-translator --timeout=4m`);
    const ready = `kubectl -n ${SYSTEM} get deployment machineadm-translator -o 'jsonpath={.status.readyReplicas}'`;
    assert.equal(await shell(ready), '2');
  });

  test('the Secret of the provider becomes user data that runs machineadm', { timeout: 5 * MINUTE }, async () => {
    const machines = new Machines(server, 'v1beta2');
    await machines.createCluster();
    machine = await machines.create({
      name: WORKER.name,
      owner: 'MachineDeployment',
      labels: { 'machineadm.dev/bootstrap': 'enabled' },
      version: VERSION,
    });
    const hash = await caCertHash(management.machine);
    const userData = userDataOfWorker(`${MANAGEMENT.ip}:6443`, hash, token);
    let secret = await machine.createSecret('cloud-config', userData, '?dryRun=All');
    // The API server learns of a new webhook, and kube-proxy of its replicas, a moment after they are there.
    await until('the API server asks the translator', async () => {
      secret = await machine.createSecret('cloud-config', userData, '?dryRun=All');
      return secret.metadata.annotations?.['machineadm.dev/translated'] !== undefined;
    });
    secret = await machine.createSecret('cloud-config', userData);
    assert.notEqual(userDataOf(secret), userData);
    assert.match(userDataOf(secret), /machineadm provision /);
    await until('the KubeadmConfig says so', async () => {
      return (await conditionOf(machine.configPath, 'BootstrapTranslated'))?.status === 'True';
    });
  });

  test('its manifests are applied again, as for an upgrade, and change nothing of what it needs', async () => {
    await shell(`cd /root; ${APPLY}`);
    const profiles = `kubectl -n ${SYSTEM} get configmap machineadm-translator-profiles -o 'jsonpath={.data}'`;
    assert.match(await shell(profiles), /6443/);
  });

  test('the machine boots from it by cloud-init, becomes a node, and both objects say that it was translated', {
    timeout: 20 * MINUTE,
  }, async () => {
    const node = await boot(WORKER);
    const { outcome, machine: reported } = await node.status();
    assert.deepEqual([outcome, reported.name, reported.uid], ['Succeeded', machine.name, machine.uid]);
    assert.equal(await node.read(SENTINEL), 'success\n');

    // What the user data of the provider says of the node.
    const { metadata, spec } = JSON.parse(await shell(`kubectl get node ${WORKER.name} -o json`));
    assert.equal(metadata.labels['node.corp.example/pool'], 'batch');
    assert.ok(spec.taints.some(({ key }: { key: string }) => key === 'dedicated'));

    for (const path of [machine.path, machine.configPath]) {
      await until(`${path} has the condition of its machine`, async () => {
        return (await conditionOf(path, 'BootstrapTranslated'))?.status === 'True';
      });
    }
  });

  test('a machine boots from the Secret of a MachineadmConfig, with a token of its own, and becomes a node', {
    timeout: 20 * MINUTE,
  }, async () => {
    const machines = new Machines(server, 'v1beta2');
    const { name } = NATIVE;
    const labels = { 'cluster.x-k8s.io/cluster-name': 'prod-a' };
    // What Cluster API and an infrastructure provider know of the cluster: it is this one.
    await patch(machines.path('clusters', 'prod-a'), {
      spec: { controlPlaneEndpoint: { host: MANAGEMENT.ip, port: 6443 } },
    });
    await patch(`${machines.path('clusters', 'prod-a')}/status`, {
      status: { initialization: { infrastructureProvisioned: true, controlPlaneInitialized: true } },
    });
    const admin = kubeconfig(server.admin.server.href, server.admin.certificateAuthority ?? '', {
      token: server.admin.token?.reveal() ?? '',
    });
    await server.ask('POST', `/api/v1/namespaces/${NAMESPACE}/secrets`, {
      metadata: { name: 'prod-a-kubeconfig', labels },
      type: 'cluster.x-k8s.io/secret',
      stringData: { value: admin },
    });
    await server.ask('POST', `/api/v1/namespaces/${NAMESPACE}/secrets`, {
      metadata: { name: 'motd' },
      stringData: { text: 'from a Secret' },
    });
    const configRef = { apiGroup: 'bootstrap.cluster.x-k8s.io', kind: 'MachineadmConfig', name };
    const made = (await server.ask('POST', machines.path('machines'), {
      apiVersion: 'cluster.x-k8s.io/v1beta2',
      kind: 'Machine',
      metadata: { name, labels },
      spec: { clusterName: 'prod-a', version: VERSION, bootstrap: { configRef } },
    })) as WithConditions;
    const owner = { apiVersion: 'cluster.x-k8s.io/v1beta2', kind: 'Machine', name, uid: made.metadata.uid };
    const config = (document: object) => ({
      apiVersion: 'bootstrap.cluster.x-k8s.io/v1alpha1',
      kind: 'MachineadmConfig',
      metadata: { name, labels, ownerReferences: [{ ...owner, controller: true }] },
      spec: { document, secrets: [{ name: 'motd', secretRef: { name: 'motd', key: 'text' } }] },
    });
    await management.machine.write('/root/mistake.json', JSON.stringify(config({ host: { sysctls: {} } })));
    const refused = await shell(
      `kubectl -n ${NAMESPACE} create --validate=false -f /root/mistake.json 2>&1 || test $? = 1`,
    );
    assert.match(refused, /spec\.document\.host\.sysctls: unknown key/);
    const document = {
      host: {
        // The lab shares its kernel with this machine.
        swap: 'Unmanaged',
        files: [{ path: '/etc/motd', contentFrom: { secret: 'motd' } }],
      },
      containerRuntime: {
        containerd: { cgroupDriver: 'cgroupfs', sandboxImage: 'k8s.gcr.io/pause:3.2', restrictOomScoreAdj: true },
      },
      images: { archives: [{ path: '/opt/images/pause.tar' }] },
      kubernetes: {
        bootstrapper: { kubeadm: { ignorePreflightErrors: ['SystemVerification'] } },
        node: { labels: { 'e2e.machineadm.dev/native': 'true' } },
        ready: { require: 'NodeRegistered' },
      },
    };
    await server.ask('POST', CONFIGS, config(document));
    await until('the bootstrap data is there', async () => {
      const { status } = (await server.ask('GET', `${CONFIGS}/${name}`)) as WithConditions;
      return status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true;
    });
    const stored = (await server.ask('GET', `/api/v1/namespaces/${NAMESPACE}/secrets/${name}`)) as StoredSecret;
    const tokenName = `bootstrap-token-${stored.metadata.annotations?.['machineadm.dev/bootstrap-token-id']}`;
    const node = await boot(NATIVE);
    const { outcome, machine: reported } = await node.status();
    assert.deepEqual([outcome, reported.name, reported.uid], ['Succeeded', name, made.metadata.uid]);
    assert.equal(await node.read('/etc/motd'), 'from a Secret');
    const { metadata, spec } = JSON.parse(await shell(`kubectl get node ${name} -o json`));
    assert.equal(metadata.labels['e2e.machineadm.dev/native'], 'true');
    assert.ok(spec.taints.some(({ key }: { key: string }) => key === 'node.cluster.x-k8s.io/uninitialized'));
    assert.match(await shell(`kubectl -n kube-system get secret ${tokenName} -o name`), /bootstrap-token/);
    // Cluster API says so of the Machine, and the token is not needed any more.
    await patch(`${machines.path('machines', name)}/status`, { status: { nodeRef: { name } } });
    await until('the token is gone', async () => {
      return (await shell(`kubectl -n kube-system get secret ${tokenName} --ignore-not-found -o name`)) === '';
    });
  });

  test('neither replica was restarted', async () => {
    const restarts = `kubectl -n ${SYSTEM} get pods -o 'jsonpath={.items[*].status.containerStatuses[*].restartCount}'`;
    assert.equal(await shell(restarts), '0 0');
  });
});
