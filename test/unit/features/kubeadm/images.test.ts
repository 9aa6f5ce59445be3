import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Model } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { kubeadmImages } from '../../../../src/features/kubeadm/images.ts';
import { CriError } from '../../../../src/host/cri/client.ts';
import type { CriImage } from '../../../../src/host/cri/queries.ts';
import { EMPTY_RECORD } from '../../../../src/step/index.ts';
import { containerdModel } from '../../../support/containerd-model.ts';
import { facts } from '../../../support/facts.ts';
import { hostModel } from '../../../support/host-model.ts';
import { type KubernetesOverrides, kubernetesModel } from '../../../support/kubernetes-model.ts';
import { memoryHost } from '../../../support/memory-host.ts';
import { planned, runStep } from '../../../support/run-step.ts';

const CONFIG = '/run/kubeadm/kubeadm.yaml';
const LIST = ['m.example/kube-apiserver:v1.35.2', 'm.example/etcd:3.6.6-0', 'm.example/pause:3.10.1'];
const FACTS = facts({ kubeadm: { major: 1, minor: 35, patch: 2, text: 'v1.35.2' } });
const options = { facts: FACTS };

const model = (overrides: KubernetesOverrides = {}, part: Partial<Model> = {}): Model => ({
  ...hostModel(),
  images: { archives: [{ kind: 'file', path: '/a.tar', sha256: undefined }], required: [] },
  kubernetes: kubernetesModel(overrides),
  ...part,
});
const tagged = (...tags: readonly string[]): CriImage[] =>
  tags.map((tag, index) => ({ id: `sha256:${String(index).repeat(64)}`, tags: [tag], digests: [] }));

function machine(store: readonly CriImage[], list: { readonly status?: number; readonly stderr?: string } = {}) {
  return memoryHost({
    files: { [CONFIG]: 'kind: InitConfiguration\n' },
    cri: { images: async () => store },
    programs: { kubeadm: () => ({ stdout: `${LIST.join('\n')}\n`, ...list }), ctr: () => ({}) },
  });
}

describe('images that kubeadm needs', () => {
  test('are asked of the kubeadm found, with the configuration that it will run with', async () => {
    const host = machine(tagged(...LIST));
    const run = await runStep(kubeadmImages, host, model(), options);
    assert.deepEqual(
      run.changes.map(({ id }) => id),
      ['kubeadm-images/check'],
    );
    assert.deepEqual(run.left, []);
    assert.ok(host.queries.includes(`kubeadm config images list --config=${CONFIG}`), host.queries.join('\n'));
    assert.deepEqual(host.log, [], 'nothing is changed');
  });

  test('that are missing are reported all at once, with what is there instead', async () => {
    const host = machine(tagged('m.example/kube-apiserver:v1.35.2', 'registry.k8s.io/etcd:3.6.6-0'));
    await assert.rejects(runStep(kubeadmImages, host, model(), options), (error: unknown) => {
      assert.ok(error instanceof MachineadmError);
      assert.deepEqual([error.reason, error.exit], ['ImageMissing', 'HostStepFailed']);
      assert.match(error.message, /m\.example\/etcd:3\.6\.6-0, m\.example\/pause:3\.10\.1$/);
      assert.deepEqual(error.evidence, [
        { source: 'm.example/etcd:3.6.6-0', text: 'there is registry.k8s.io/etcd:3.6.6-0 instead' },
      ]);
      assert.match(error.remedy, /images\.archives.*imagePullPolicy: IfNotPresent/);
      return true;
    });
  });

  test('are checked again where the configuration names others, and where one has gone', async () => {
    const { notes } = await runStep(kubeadmImages, machine(tagged(...LIST)), model(), options);
    const record = { ...EMPTY_RECORD, notes };
    const ids = async (host: ReturnType<typeof machine>) =>
      (await planned(kubeadmImages, host, model(), { ...options, record })).map(({ id }) => id);
    assert.deepEqual(await ids(machine(tagged(...LIST))), []);
    assert.deepEqual(await ids(machine(tagged(...LIST.slice(1)))), ['kubeadm-images/check']);
    const other = [...LIST, 'm.example/coredns:v1'].join('\n');
    const changed = memoryHost({
      files: { [CONFIG]: '' },
      cri: { images: async () => tagged(...LIST, 'm.example/coredns:v1') },
      programs: { kubeadm: () => ({ stdout: other }) },
    });
    assert.deepEqual(await ids(changed), ['kubeadm-images/check']);
  });

  test('are known only after the configuration is written', async () => {
    const host = memoryHost({
      cri: { images: () => Promise.reject(new CriError('/run/c.sock', 'ListImages', 14, 'connect ENOENT')) },
    });
    const [change] = await planned(kubeadmImages, host, model(), options);
    assert.equal(change?.knownAfter, 'kubeadm-config');
  });

  test('of static pods and of the sandbox of the document count', async () => {
    const manifest = 'spec: {containers: [{image: "v.example/vip:1"}]}';
    const wanted = model(
      { controlPlane: { staticPods: [{ name: 'vip', manifest, adminKubeconfig: 'Auto' }] } },
      {
        containerd: containerdModel({ sandboxImage: 's.example/pause:1' }),
      },
    );
    await assert.rejects(
      runStep(kubeadmImages, machine(tagged(...LIST)), wanted, options),
      /s\.example\/pause:1, v\.example\/vip:1$/,
    );
  });

  test('that kubeadm does not list are not checked, which is reported: kubeadm checks its configuration itself', async () => {
    const host = machine([], { status: 1, stderr: 'W1\nerror: no default route' });
    const run = await runStep(kubeadmImages, host, model(), options);
    assert.match(run.warnings.join(), /not checked: error: no default route/);
    assert.deepEqual(run.left, []);
  });

  test("of a joining machine are the cluster's: only sandbox and static pods are checked", async () => {
    const host = machine([]);
    const run = await runStep(kubeadmImages, host, model({ role: 'Worker' }), options);
    assert.deepEqual(run.left, []);
    assert.deepEqual(host.queries, []);
  });

  test('are not asked for where they may be pulled, without kubeadm, and once the node is bootstrapped', async () => {
    const ids = async (wanted: Model, run = options) => (await planned(kubeadmImages, machine([]), wanted, run)).length;
    assert.equal(await ids(model({ node: { imagePullPolicy: 'IfNotPresent' } })), 0);
    assert.equal(await ids(model({}, { images: { archives: [], required: [] } })), 0);
    assert.equal(
      await ids(model({ node: { imagePullPolicy: 'Never' } }, { images: { archives: [], required: [] } })),
      1,
    );
    assert.equal(await ids(model(), { facts: facts({ kubeadm: undefined }) }), 0);
    const record = { ...EMPTY_RECORD, bootstrap: 'done' as const };
    assert.deepEqual(await planned(kubeadmImages, machine([]), model(), { ...options, record }), []);
  });
});
