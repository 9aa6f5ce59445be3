import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { loadDocument } from '@machineadm/document/loading/load.ts';
import { configOf } from '@machineadm/translator/provider/objects.ts';
import { checkDocument, renderDocument } from '@machineadm/translator/provider/render.ts';
import { parse, parseAllDocuments, stringify } from 'yaml';
import * as z from 'zod';
import { converting, EXAMPLES, withRelatedObjects } from '../../support/capi.ts';

const Tree = z.record(z.string(), z.unknown());
const Written = z.looseObject({
  kind: z.string(),
  metadata: z.looseObject({ name: z.string(), namespace: z.string().optional() }),
});

const template = (spec: object, name = 'md-0') => ({
  apiVersion: 'bootstrap.cluster.x-k8s.io/v1beta2',
  kind: 'KubeadmConfigTemplate',
  metadata: { name, namespace: 'clusters' },
  spec: { template: { spec } },
});
const maker = (kind: string, name: string, version: string, configRef: object, apiVersion = 'v1beta2') => ({
  apiVersion: `cluster.x-k8s.io/${apiVersion}`,
  kind,
  metadata: { name, namespace: 'clusters' },
  spec: { clusterName: 'prod', template: { spec: { clusterName: 'prod', version, bootstrap: { configRef } } } },
});
const refTo = (kind: string, name = 'md-0') => ({ apiGroup: 'bootstrap.cluster.x-k8s.io', kind, name });
const deployment = maker('MachineDeployment', 'md-0', 'v1.35.2', refTo('KubeadmConfigTemplate'));

async function objectsOf(inputs: readonly (string | object)[]) {
  const { documents, decisions } = await converting(inputs, { forProvider: true });
  // As kubectl reads it, and as everyone else does.
  const texts = documents.flatMap(({ yaml }) =>
    parseAllDocuments(yaml, { version: '1.1' }).map((one): unknown => one.toJS()),
  );
  assert.deepEqual(
    texts,
    documents.flatMap(({ yaml }) => parseAllDocuments(yaml).map((one): unknown => one.toJS())),
  );
  const told = (code: string) =>
    decisions.filter((one) => one.code === code).map(({ at, message }) => `${at}: ${message}`);
  return {
    objects: texts.map((one) => Written.parse(one)),
    decisions,
    told,
    errors: decisions.filter(({ severity }) => severity === 'error'),
  };
}

/** The document that the provider makes of a converted object for a machine. */
function machineOf(object: unknown): z.infer<typeof Tree> {
  const { spec, ...shared } = z
    .looseObject({ kind: z.string(), spec: z.looseObject({ template: z.unknown() }) })
    .parse(object);
  const own = shared.kind === 'MachineadmConfig' ? spec : Tree.parse(Tree.parse(spec.template)).spec;
  const config = configOf({ ...shared, kind: 'MachineadmConfig', spec: own });
  checkDocument(config);
  const secrets = new Map(config.spec.secrets.map(({ name }) => [name, '$6$salt$hash']));
  const document = renderDocument(config, {
    version: 'v1.35.2',
    endpoint: 'api.example:6443',
    caCertHashes: [`sha256:${'a'.repeat(64)}`],
    token: 'abcdef.0123456789abcdef',
    secrets,
    cluster: 'prod',
    name: 'md-0-x',
    uid: 'u-1',
  });
  return Tree.parse(document);
}

describe('convert for the bootstrap provider', () => {
  test('makes of a KubeadmConfigTemplate what the same machine needs', async () => {
    const spec = {
      joinConfiguration: {
        nodeRegistration: { kubeletExtraArgs: [{ name: 'cloud-provider', value: 'external' }], taints: [] },
        discovery: { bootstrapToken: { unsafeSkipCAVerification: true } },
      },
      files: [
        { path: '/etc/token', permissions: '0600', content: 'in-clear-text' },
        { path: '/etc/cloud.conf', permissions: '0600', contentFrom: { secret: { name: 'cloud', key: 'conf' } } },
      ],
      users: [{ name: 'ops', passwdFrom: { secret: { name: 'ops', key: 'hash' } }, lockPassword: false }],
    };
    const { objects, told, errors } = await objectsOf([template(spec), deployment]);
    assert.deepEqual(errors, []);
    const [secret, made] = objects;
    assert.deepEqual(
      objects.map(({ kind, metadata }) => `${kind} ${metadata.namespace}/${metadata.name}`),
      ['Secret clusters/md-0-machineadm', 'MachineadmConfigTemplate clusters/md-0'],
    );
    assert.deepEqual(secret?.stringData, { token: 'in-clear-text\n' });
    const inner = z
      .object({ template: z.object({ spec: z.object({ document: Tree, secrets: z.array(z.unknown()) }) }) })
      .parse(made?.spec).template.spec;
    assert.deepEqual(inner.secrets, [
      { name: 'token', secretRef: { name: 'md-0-machineadm', key: 'token' } },
      { name: 'cloud-conf', secretRef: { name: 'cloud', key: 'conf' } },
      { name: 'ops-hash', secretRef: { name: 'ops', key: 'hash' } },
    ]);
    assert.deepEqual(Object.keys(inner.document), ['host', 'kubernetes']);
    assert.deepEqual(inner.document.kubernetes, {
      node: { taints: [], kubelet: { args: [{ name: 'cloud-provider', value: 'external' }] } },
    });
    assert.ok(!JSON.stringify(made).includes('in-clear-text'), 'the value is in the Secret only');
    assert.deepEqual(told('SecretStays'), [
      'KubeadmConfigTemplate clusters/md-0: spec.template.spec.files[1]: key conf of the Secret cloud',
      'KubeadmConfigTemplate clusters/md-0: spec.template.spec.users[0]: key hash of the Secret ops',
    ]);
    assert.equal(told('DecidedByCluster').length, 1);
    assert.deepEqual(told('ReferenceToChange'), [
      `MachineDeployment clusters/md-0: kubectl -n clusters patch machinedeployment md-0 --type merge -p '{"spec":{"template":{"spec":{"bootstrap":{"configRef":{"apiGroup":"bootstrap.cluster.x-k8s.io","kind":"MachineadmConfigTemplate","name":"md-0"}}}}}}'`,
    ]);
    assert.deepEqual(told('SecretInDocument'), []);
  });

  test('is read by kubectl as it was meant, although it reads YAML 1.1', async () => {
    const kubeletExtraArgs = ['yes', '12:30:45', '0755', '1_000', '2026-11-29', '0o17', '1e3', '~'].map(
      (value, index) => ({
        name: `arg-${index}`,
        value,
      }),
    );
    const { objects } = await objectsOf([
      template({ joinConfiguration: { nodeRegistration: { kubeletExtraArgs } } }),
      deployment,
    ]);
    assert.ok(JSON.stringify(objects).includes('12:30:45'));
  });

  test('makes one object of a template that several MachineDeployments use, for the oldest version', async () => {
    const newer = maker('MachineDeployment', 'md-1', 'v1.36.0', refTo('KubeadmConfigTemplate'));
    const old = { apiVersion: 'bootstrap.cluster.x-k8s.io/v1beta1', kind: 'KubeadmConfigTemplate', name: 'md-0' };
    const oldest = maker('MachineDeployment', 'md-2', 'v1.29.0', old, 'v1beta1');
    // Only v1beta4 of kubeadm, since 1.31, can say it.
    const spec = { joinConfiguration: { nodeRegistration: { imagePullSerial: false } } };
    const { objects, told } = await objectsOf([newer, deployment, oldest, template(spec)]);
    assert.deepEqual(
      objects.map(({ metadata }) => metadata.name),
      ['md-0'],
    );
    assert.equal(told('NotInThisKubeadm').length, 1);
    assert.equal(told('ReferenceToChange').length, 3);
    assert.ok(
      told('ReferenceToChange').some((line) => line.includes('"apiVersion":"bootstrap.cluster.x-k8s.io/v1alpha1"')),
    );
  });

  test('makes a MachineadmConfig of the KubeadmConfig of a MachinePool', async () => {
    const config = {
      apiVersion: 'bootstrap.cluster.x-k8s.io/v1beta2',
      kind: 'KubeadmConfig',
      metadata: { name: 'pool', namespace: 'clusters' },
      spec: { format: 'ignition', joinConfiguration: {} },
    };
    const pool = maker('MachinePool', 'pool', 'v1.35.2', refTo('KubeadmConfig', 'pool'));
    const { objects, told, errors } = await objectsOf([config, pool]);
    assert.deepEqual(errors, []);
    assert.deepEqual(
      objects.map(({ kind, spec }) => [kind, Tree.parse(spec).format]),
      [['MachineadmConfig', 'ignition']],
    );
    assert.match(
      told('ReferenceToChange')[0] ?? '',
      /patch machinepool pool .*"kind":"MachineadmConfig","name":"pool"/,
    );
  });

  test('leaves control planes, and what one machine was made from, as they are, and says so', async () => {
    const controlPlane = {
      apiVersion: 'controlplane.cluster.x-k8s.io/v1beta2',
      kind: 'KubeadmControlPlane',
      metadata: { name: 'cp', namespace: 'clusters' },
      spec: { version: 'v1.35.2', kubeadmConfigSpec: {} },
    };
    const ownerReferences = [{ apiVersion: 'cluster.x-k8s.io/v1beta2', kind: 'Machine', name: 'md-0-x', uid: 'm' }];
    const ofMachine = {
      apiVersion: 'bootstrap.cluster.x-k8s.io/v1beta2',
      kind: 'KubeadmConfig',
      metadata: { name: 'md-0-x', namespace: 'clusters', ownerReferences },
      spec: { joinConfiguration: {} },
    };
    const { objects, told } = await objectsOf([controlPlane, ofMachine, template({}), deployment]);
    assert.deepEqual(
      objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`),
      ['MachineadmConfigTemplate md-0'],
    );
    assert.ok(
      told('ObjectIgnored').some((line) => line.startsWith('KubeadmControlPlane clusters/cp: control planes stay')),
    );
    assert.ok(
      told('ObjectIgnored').some((line) => line.startsWith('KubeadmConfig clusters/md-0-x: it is that of one Machine')),
    );
    const alone = await objectsOf([controlPlane]);
    assert.deepEqual(
      alone.errors.map(({ code }) => code),
      ['InputUnknown'],
    );
  });

  test('a way to join that it cannot express is a decision', async () => {
    const discovery = {
      file: { kubeConfigPath: '/etc/kubernetes/discovery.conf' },
      tlsBootstrapToken: 'abcdef.0123456789abcdef',
    };
    const { told } = await objectsOf([
      template({ joinConfiguration: { discovery, caCertPath: '/etc/ca.crt' } }),
      deployment,
    ]);
    assert.equal(told('FieldWithoutCounterpart').length, 3);
  });

  for (const example of EXAMPLES.filter(({ golden }) => golden.some((one) => one === 'join-worker'))) {
    test(`the machine of ${example.name} is that of the document of the same input`, async () => {
      const inputs = withRelatedObjects(example).map(({ text }) => text);
      const { objects, errors } = await objectsOf(inputs);
      assert.deepEqual(errors, []);
      const made = objects.find(({ kind }) => kind === 'MachineadmConfigTemplate') ?? assert.fail('none made');
      const machine = machineOf(made);
      const { documents } = await converting(inputs);
      const worker = Tree.parse(parse(documents.find(({ role }) => role === 'Worker')?.yaml ?? ''));
      const withoutJoin = ({ join: _, version: __, cluster: ___, ...own }: Record<string, unknown>) => own;
      for (const section of ['host', 'containerRuntime', 'reporting'])
        assert.deepEqual(machine[section], worker[section], section);
      assert.deepEqual(withoutJoin(Tree.parse(machine.kubernetes)), withoutJoin(Tree.parse(worker.kubernetes)));
      const bytes = new TextEncoder().encode(stringify(machine));
      const loaded = await loadDocument([{ name: 'machine', bytes }], { agentVersion: '0.1.0' });
      assert.ok(loaded.ok, JSON.stringify(loaded.ok ? '' : loaded.problems));
    });
  }
});
