import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { kubeconfig } from '../../support/api-server.ts';
import { configs, core, createWorkerCluster, createWorkers } from '../../support/capi-clusters.ts';
import { type Found, ManagementPlane } from '../../support/management-plane.ts';
import { needs } from '../../support/needs.ts';
import { until as untilTrue } from '../../support/translator.ts';

const NAMESPACE = 'clusters';
const NAME = 'prod-d';
const WORKERS = `${NAME}-workers`;
const OLD = 'v1.35.2';
const NEW = 'v1.35.3';
const PODS = '/api/v1/namespaces/kube-system/pods';
const UPDATES = `${PODS}?labelSelector=machineadm.dev%2Fupdate`;
/** A document that brings the programs of a version. */
const documentFor = (version: string): object => ({
  host: {
    files: ['kubeadm', 'kubelet'].map((name) => ({
      path: `/usr/local/bin/${name}`,
      mode: '0755',
      contentFrom: { http: { url: `https://mirror.example/${version}/${name}`, sha256: 'a'.repeat(64) } },
    })),
  },
});

interface Pod extends Found {
  readonly status?: Found['status'] & { readonly phase?: string };
  readonly spec?: Found['spec'] & { readonly nodeName?: string };
}

/**
 * Cluster API's own managers ask for updates in place, and carry them out. Machines are Nodes of the management cluster, and the
 * test is their kubelet: what the pods do on a node is tested with machines of the lab (test/e2e/in-place-updates.test.ts).
 */
describe('updates in place by the real controllers of Cluster API', {
  skip: needs('MACHINEADM_CAPI=DIRECTORY'),
  timeout: 900_000,
}, () => {
  let plane: ManagementPlane;
  const deployment = `${core(NAMESPACE)}/machinedeployments/${WORKERS}`;

  before(
    async () => {
      plane = await ManagementPlane.start([NAMESPACE], { updateImage: 'registry.example/machineadm:0.1.0' });
      const { url, certificateAuthority, admin } = plane.server;
      const admins = kubeconfig(url, certificateAuthority, { token: admin.token?.reveal() ?? '' });
      // No controller makes it here, and no pod is without one.
      await plane.server.ask('POST', '/api/v1/namespaces/kube-system/serviceaccounts', {
        metadata: { name: 'default' },
      });
      await createWorkerCluster(plane, NAMESPACE, NAME, { version: OLD, kubeconfig: admins });
    },
    { timeout: 300_000 },
  );
  after(async () => {
    await plane?.[Symbol.asyncDispose]();
  });

  /** With what our service said of updates, where it does not come to pass. */
  async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
    try {
      await untilTrue(what, holds);
    } catch (error) {
      const said = plane.service.log.filter(({ message }) => String(message).includes('update'));
      throw new Error(`${what}: ${JSON.stringify(said.slice(-5), undefined, 1)}`, { cause: error });
    }
  }

  const workers = (): Promise<readonly Found[]> =>
    plane.list(`${core(NAMESPACE)}/machines?labelSelector=pool%3D${NAME}`);
  const identities = async (): Promise<readonly string[]> =>
    (await workers()).map(({ metadata }) => metadata.uid).sort();
  const updating = (machine: Found) => machine.status?.conditions?.find(({ type }) => type === 'Updating');
  const pods = async (): Promise<readonly Pod[]> => await plane.list(UPDATES);

  async function createTemplate(name: string, document: object): Promise<void> {
    await plane.server.ask('POST', `${configs(NAMESPACE)}/machineadmconfigtemplates`, {
      apiVersion: 'bootstrap.cluster.x-k8s.io/v1alpha1',
      kind: 'MachineadmConfigTemplate',
      metadata: { name },
      spec: { template: { spec: { document } } },
    });
  }

  /** Machines of a version, all with their nodes, and none that is updated. */
  const areSettled = async (count: number, version: string): Promise<boolean> => {
    const { status } = (await plane.server.ask('GET', deployment)) as { status?: { upToDateReplicas?: number } };
    const machines = await workers();
    return (
      status?.upToDateReplicas === count &&
      machines.length === count &&
      machines.every(
        (one) =>
          one.spec?.version === version &&
          one.status?.nodeRef !== undefined &&
          updating(one)?.status !== 'True' &&
          Object.keys(one.metadata.annotations ?? {}).every((name) => !name.includes('in-place-updates')),
      )
    );
  };

  /** As the kubelets of all nodes: ends each pod of an update that is new, and reports the version after one that ran. */
  async function play(end: (pod: Pod) => { readonly exitCode: number; readonly message?: string }): Promise<void> {
    for (const pod of await pods()) {
      const { name } = pod.metadata;
      if (pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed') continue;
      const { exitCode, message = '' } = end(pod);
      const terminated = {
        exitCode,
        message,
        reason: 'x',
        finishedAt: new Date().toISOString(),
        startedAt: new Date().toISOString(),
      };
      if (exitCode === 0 && name.endsWith('-run')) {
        const nodeInfo = {
          kubeletVersion: (
            (await plane.server.ask('GET', deployment)) as Found & { spec: { template: { spec: { version: string } } } }
          ).spec.template.spec.version,
        };
        await plane.patch(`/api/v1/nodes/${pod.spec?.nodeName}/status`, { status: { nodeInfo } });
      }
      await plane.patch(`${PODS}/${name}/status`, {
        status: {
          phase: exitCode === 0 ? 'Succeeded' : 'Failed',
          containerStatuses: [
            { name: 'machineadm', image: 'x', imageID: 'x', ready: false, restartCount: 0, state: { terminated } },
          ],
        },
      });
    }
  }

  async function change(template: string, version: string): Promise<void> {
    // Otherwise there is one more machine meanwhile, and one of those before is removed.
    const rollout = { strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } } };
    await plane.patch(deployment, {
      spec: { rollout, template: { spec: { version, bootstrap: { configRef: { name: template } } } } },
    });
  }

  test('the extension is found, with its hooks', { timeout: 120_000 }, async () => {
    await until('its handlers are in the status', async () => {
      const { status } = (await plane.server.ask(
        'GET',
        '/apis/runtime.cluster.x-k8s.io/v1beta2/extensionconfigs/machineadm',
      )) as { status?: { handlers?: readonly { requestHook: { hook: string } }[] } };
      const hooks = status?.handlers?.map(({ requestHook }) => requestHook.hook) ?? [];
      return hooks.sort().join() === 'CanUpdateMachine,CanUpdateMachineSet,UpdateMachine';
    });
  });

  test('machines of a MachineDeployment stay, and get another version', { timeout: 300_000 }, async () => {
    await createTemplate(`${NAME}-1`, documentFor(OLD));
    await createWorkers(plane, NAMESPACE, {
      ...{ cluster: NAME, name: WORKERS, replicas: 2, version: OLD, labels: { pool: NAME } },
      config: { kind: 'MachineadmConfigTemplate', name: `${NAME}-1` },
    });
    await until('two machines have joined', () => areSettled(2, OLD));
    const before = await identities();
    await createTemplate(`${NAME}-2`, documentFor(NEW));
    await change(`${NAME}-2`, NEW);
    const refusal = 'Error: UpgradeVersionSkew: the API server is older';
    let isRefused = false;
    await until('a refusal of the node is seen on its Machine', async () => {
      await play(() => ({ exitCode: 4, message: refusal }));
      const messages = (await workers()).map(
        (one) => (updating(one) as { message?: string } | undefined)?.message ?? '',
      );
      isRefused ||= messages.some((text) => text.includes(refusal));
      return isRefused;
    });
    for (const { metadata, status } of await pods())
      if (status?.phase === 'Failed') await plane.server.ask('DELETE', `${PODS}/${metadata.name}`);
    await until('both machines have the new version', async () => {
      await play(() => ({ exitCode: 0 }));
      return await areSettled(2, NEW);
    });
    assert.deepEqual(await identities(), before, 'no machine was replaced');
    assert.deepEqual(await pods(), []);
    const secrets = await plane.list('/api/v1/namespaces/kube-system/secrets?labelSelector=machineadm.dev%2Fupdate');
    assert.deepEqual(secrets, []);
    const nodes = (await plane.list('/api/v1/nodes')) as readonly (Found & { spec?: { unschedulable?: boolean } })[];
    assert.ok(
      nodes.every(({ spec }) => spec?.unschedulable !== true),
      'every node takes pods again',
    );
  });

  test('what no node can change replaces the machines, as before', { timeout: 300_000 }, async () => {
    const before = await identities();
    await createTemplate(`${NAME}-3`, {
      ...documentFor(NEW),
      kubernetes: { bootstrapper: { kubeadm: { skipPhases: ['preflight'] } } },
    });
    await change(`${NAME}-3`, NEW);
    await until('two other machines are there', async () => {
      const now = await identities();
      return (await areSettled(2, NEW)) && now.every((uid) => !before.includes(uid));
    });
    assert.deepEqual(await pods(), []);
  });
});
