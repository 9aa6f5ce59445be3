import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { buildLayer } from '../../scripts/lab/artefacts.ts';
import { MACHINE, NAMESPACE, providerObjects, shownCommands, userDataOfWorker } from '../support/bootstrap-provider.ts';
import { assertCloudInitDone, layNodeImage, noCloudSeed } from '../support/cloud-init-machine.ts';
import { initDocument, newSeeds } from '../support/documents.ts';
import { Fleet, LAB, type Node, progress, provisionOnce, SENTINEL, told } from '../support/lab.ts';
import { needs } from '../support/needs.ts';

const MINUTE = 60_000;
const VERSION = 'v1.20.2';
/** They change by themselves, whatever anybody does. */
const RESTLESS = /^(?:leases|events|nodes|pods|componentstatuses)(?:\.|$)/;
const skip = needs(...LAB, 'MACHINEADM_E2E=all');

/** A definition that takes any object of this kind: what Cluster API's own would say of its fields is not looked at. */
function definition(group: string, kind: string, plural: string): object {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      names: { kind, plural, singular: kind.toLowerCase() },
      scope: 'Namespaced',
      versions: [
        {
          name: 'v1beta1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
        },
      ],
    },
  };
}

describe('beside the kubeadm bootstrap provider', { skip, timeout: 20 * MINUTE }, () => {
  const seeds = newSeeds();
  let management: Node;
  let scratch = '';

  const fleet = Fleet.ofSuite(
    async () => {
      scratch = mkdtempSync(join(tmpdir(), 'machineadm-provider-e2e-'));
      management = await fleet.start({ name: 'e2e-bp1', ip: '10.99.0.131' });
      await provisionOnce(management, initDocument(management.site, seeds));
    },
    { timeoutMs: 35 * MINUTE },
  );
  after(() => {
    if (scratch !== '') rmSync(scratch, { recursive: true });
  });

  const shell = async (commands: string): Promise<string> => {
    const command = ['sh', '-euc', `export KUBECONFIG=/etc/kubernetes/admin.conf\n${commands}`];
    const run = await management.machine.exec(command, { timeoutMs: MINUTE });
    assert.equal(run.status, 0, told(run));
    return run.stdout;
  };
  const create = async (object: object): Promise<{ metadata: { uid: string } }> => {
    const path = '/root/object.json';
    await management.machine.write(path, JSON.stringify(object), '600');
    return JSON.parse(await shell(`kubectl create -o json -f ${path}`));
  };

  /** Uid and resource version of every object that has one, of every kind that the API server has. */
  async function everything(): Promise<ReadonlyMap<string, string>> {
    const kinds = (await shell('kubectl api-resources --verbs=list -o name')).trim().split('\n');
    const lasting = kinds.filter((kind) => !RESTLESS.test(kind));
    assert.ok(lasting.length > 25, lasting.join());
    const objects = new Map<string, string>();
    const list = JSON.parse(await shell(`kubectl get --all-namespaces -o json ${lasting.join(',')}`));
    for (const { apiVersion, kind, metadata } of list.items) {
      const { namespace = '', name, uid, resourceVersion } = metadata;
      objects.set(`${apiVersion} ${kind} ${namespace}/${name}`, `${uid} ${resourceVersion}`);
    }
    return objects;
  }

  /** Everything, once nothing changes any more. */
  async function settled(): Promise<ReadonlyMap<string, string>> {
    let earlier = await everything();
    for (const deadline = Date.now() + 2 * MINUTE; ; ) {
      await sleep(3000);
      const now = await everything();
      if (differing(earlier, now).length === 0) return now;
      assert.ok(Date.now() < deadline, `still changing: ${differing(earlier, now).join(', ')}`);
      earlier = now;
    }
  }

  let untouched: ReadonlyMap<string, string>;

  test('the commands of the page create a second Secret, and change nothing else', {
    timeout: 5 * MINUTE,
  }, async () => {
    await create(definition('cluster.x-k8s.io', 'Machine', 'machines'));
    await create(definition('bootstrap.cluster.x-k8s.io', 'KubeadmConfig', 'kubeadmconfigs'));
    await shell('kubectl wait --for=condition=Established --timeout=50s crd --all');
    await shell(`kubectl create namespace ${NAMESPACE}`);
    const userData = userDataOfWorker(`${management.machine.ip}:6443`, seeds.caHash, seeds.token);
    const { config, machine, secret } = providerObjects(userData, VERSION);
    const { metadata } = await create(config);
    await create(machine);
    await create(secret(metadata.uid));
    untouched = await settled();

    await shell(shownCommands('shell'));

    const after = await everything();
    const added = [...after.keys()].filter((object) => !untouched.has(object));
    assert.deepEqual(added, [`v1 Secret ${NAMESPACE}/${MACHINE}-machineadm`]);
    assert.deepEqual(
      differing(untouched, after).filter((object) => !added.includes(object)),
      [],
    );
  });

  test('the commands of the page change nothing when they run again', async () => {
    const earlier = await everything();
    const again = await management.machine.exec(
      ['sh', '-euc', `export KUBECONFIG=/etc/kubernetes/admin.conf\n${shownCommands('shell')}`],
      { timeoutMs: MINUTE },
    );
    assert.notEqual(again.status, 0);
    assert.match(again.stderr, /AlreadyExists/);
    assert.deepEqual(differing(earlier, await everything()), []);
  });

  test('a machine that boots with the second Secret by cloud-init becomes the node that the first one describes', {
    timeout: 8 * MINUTE,
  }, async () => {
    // What an infrastructure provider does: Machine -> dataSecretName -> Secret -> user data.
    const name = 'e2e-bp2';
    const { machine } = providerObjects('', VERSION);
    await create({
      ...machine,
      metadata: { ...machine.metadata, name: 'prod-b-by-machineadm' },
      spec: { ...machine.spec, bootstrap: { dataSecretName: `${MACHINE}-machineadm` } },
    });
    const get = `kubectl -n ${NAMESPACE} get`;
    const secretName = await shell(
      `${get} machine prod-b-by-machineadm -o jsonpath='{.spec.bootstrap.dataSecretName}'`,
    );
    const { data } = JSON.parse(await shell(`${get} secret ${secretName} -o json`));
    assert.equal(Buffer.from(data.format, 'base64').toString(), 'cloud-config');
    const userData = Buffer.from(data.value, 'base64').toString();

    const cloudInit = await buildLayer('cloud-init', progress);
    const image = join(scratch, 'image');
    layNodeImage(image);
    const node = await fleet.start({
      name,
      ip: '10.99.0.132',
      lower: [image, cloudInit],
      files: noCloudSeed(userData, name, name),
      withoutAgent: true,
    });
    await assertCloudInitDone(node, 6 * MINUTE);
    const status = await node.status();
    assert.deepEqual([status.outcome, status.exitCode], ['Succeeded', 0]);
    assert.equal(status.machine.name, MACHINE, 'it reports under the name of the Machine');
    assert.equal(await node.read(SENTINEL), 'success\n');
    assert.equal(await node.read('/etc/corp/control-plane-version'), 'v1.35.2\n');

    const { metadata, spec } = JSON.parse(await shell(`kubectl get node ${name} -o json`));
    assert.equal(metadata.labels['node.corp.example/pool'], 'batch');
    const taints = spec.taints.map(({ key, effect }: { key: string; effect: string }) => `${key}:${effect}`);
    for (const taint of ['dedicated:NoSchedule', 'node.cluster.x-k8s.io/uninitialized:NoSchedule']) {
      assert.ok(taints.includes(taint), taints.join());
    }

    const after = await everything();
    const ofProvider = [...untouched].filter(([object]) => object.includes(` ${NAMESPACE}/${MACHINE}`));
    assert.equal(ofProvider.length, 3, 'KubeadmConfig, Machine and Secret');
    for (const [object, version] of ofProvider) assert.equal(after.get(object), version, object);
    await fleet.remove(node);
  });
});

/** Objects that are not the same in both. */
function differing(one: ReadonlyMap<string, string>, other: ReadonlyMap<string, string>): readonly string[] {
  const all = new Set([...one.keys(), ...other.keys()]);
  return [...all].filter((object) => one.get(object) !== other.get(object));
}
