import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Model, Role, Taint } from '@machineadm/document/model/index.ts';
import { nodeLabels } from '../../../../src/features/node-labels/index.ts';
import { planSteps } from '../../../../src/pipeline/plan.ts';
import { runSteps } from '../../../../src/pipeline/runner.ts';
import type { Step } from '../../../../src/step/index.ts';
import { type ApiAnswer, kubeconfig, newAuthority, nodeObject, startApiServer } from '../../../support/api-server.ts';
import { fakeClock } from '../../../support/fake-clock.ts';
import { hostModel } from '../../../support/host-model.ts';
import { kubernetesModel } from '../../../support/kubernetes-model.ts';
import { memoryHost } from '../../../support/memory-host.ts';
import { memoryJournal, runBench } from '../../pipeline/fake-steps.ts';

const ROLE = 'node-role.kubernetes.io/ingress';
const SENTINEL = '/run/cluster-api/bootstrap-success.complete';
const JOINED_MS = Date.parse('2026-11-28T10:00:00Z');
const DEDICATED: Taint = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' };

interface NodeState {
  labels: Record<string, string>;
  taints: object[];
  version: number;
  exists: boolean;
  created: string;
  /** Answers the next changes with these HTTP statuses. */
  refusals: number[];
  readonly patches: string[];
}

/** A Node behind an API server that lets only the administrator change labels and taints. */
async function cluster(different: Partial<NodeState> = {}) {
  const state: NodeState = {
    labels: {},
    taints: [],
    version: 7,
    exists: true,
    // Long before the machine joined.
    created: '2026-11-27T10:00:00Z',
    refusals: [],
    patches: [],
    ...different,
  };
  const authority = newAuthority();
  const server = await startApiServer(authority, (path, { method, client, body }): ApiAnswer | undefined => {
    if (path !== '/api/v1/nodes/node-1' || !state.exists) return undefined;
    if (method === 'PATCH') {
      if (client !== 'kubernetes-admin') return { status: 403 };
      const [refusal] = state.refusals.splice(0, 1);
      if (refusal !== undefined) return { status: refusal };
      const { metadata = {}, spec } = JSON.parse(body);
      if (metadata.resourceVersion !== undefined && metadata.resourceVersion !== String(state.version))
        return { status: 409 };
      state.patches.push(body);
      state.version += 1;
      for (const [key, value] of Object.entries(metadata.labels ?? {})) {
        if (value === null) delete state.labels[key];
        else state.labels[key] = String(value);
      }
      state.taints = spec?.taints ?? state.taints;
    }
    const node = nodeObject({ labels: state.labels }) as { metadata: object; spec: object };
    return {
      ...node,
      metadata: { ...node.metadata, resourceVersion: String(state.version), creationTimestamp: state.created },
      spec: { taints: state.taints },
    };
  });
  const conf = (client: string) => kubeconfig(server.url, authority.certificate, authority.issue(client));
  const files = {
    '/etc/kubernetes/kubelet.conf': { content: conf('system:node:node-1'), modifiedMs: JOINED_MS },
    // Its server is the endpoint of the cluster, which this machine need not reach yet.
    '/etc/kubernetes/admin.conf': kubeconfig(
      'https://127.0.0.1:1',
      authority.certificate,
      authority.issue('kubernetes-admin'),
    ),
  };
  return { state, files, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

function document(role: Role, labels: Readonly<Record<string, string>>, taints?: readonly Taint[]): Model {
  const kubernetes = kubernetesModel({ role });
  return {
    ...hostModel(),
    kubernetes: { ...kubernetes, node: { ...kubernetes.node, reservedLabels: labels, taints } },
  };
}

const STEPS = [nodeLabels] as unknown as readonly Step[];

/** One run of the step: its changes, and what it handed over. */
async function runOn(host = memoryHost(), journal = memoryJournal(), model = document('InitControlPlane', {})) {
  const handovers: unknown[] = [];
  const bench = runBench({ host, journal });
  const observer = { ...bench.observer, handover: (one: unknown) => void handovers.push(one) };
  const { changes, remarks } = await planSteps(STEPS, { ...bench, model, journal: journal.state() });
  await runSteps(STEPS, { ...bench, model, observer });
  const done = journal.records.flatMap((record) => (record.is === 'step' ? record.changes : []));
  return {
    planned: changes.map(({ summary }) => summary),
    remarks: remarks.map(({ message }) => message),
    done,
    handovers,
  };
}

describe('labels that no kubelet may set', () => {
  test('are set by a control plane with admin.conf, once', async () => {
    await using api = await cluster({ labels: { [ROLE]: 'old', theirs: 'x' } });
    const [host, journal] = [memoryHost({ files: api.files }), memoryJournal()];
    const model = document('JoinControlPlane', { [ROLE]: '', 'node-restriction.kubernetes.io/zone': 'a' });
    const first = await runOn(host, journal, model);
    assert.deepEqual(first.planned, [
      `label ${ROLE}= of the Node (now: old)`,
      'label node-restriction.kubernetes.io/zone=a of the Node',
    ]);
    assert.deepEqual(api.state.labels, { [ROLE]: '', theirs: 'x', 'node-restriction.kubernetes.io/zone': 'a' });
    assert.deepEqual(first.handovers, []);
    assert.deepEqual((await runOn(host, journal, model)).planned, []);
    assert.equal(api.state.patches.length, 2);
  });

  test('that kubeadm or others have set already need nothing, and stay when the document drops them', async () => {
    await using api = await cluster({ labels: { [ROLE]: '' } });
    const [host, journal] = [memoryHost({ files: api.files }), memoryJournal()];
    assert.deepEqual((await runOn(host, journal, document('InitControlPlane', { [ROLE]: '' }))).planned, []);
    assert.deepEqual((await runOn(host, journal, document('InitControlPlane', {}))).planned, []);
    assert.deepEqual(api.state.labels, { [ROLE]: '' });
  });

  test('are removed when the document drops them, if nobody else has changed them', async () => {
    await using api = await cluster();
    const [host, journal] = [memoryHost({ files: api.files }), memoryJournal()];
    const other = 'node-role.kubernetes.io/edge';
    await runOn(host, journal, document('InitControlPlane', { [ROLE]: 'a', [other]: 'b' }));
    api.state.labels[other] = 'of somebody else';
    const { planned } = await runOn(host, journal, document('InitControlPlane', {}));
    assert.deepEqual(planned, [`label ${ROLE} of the Node: remove, the document no longer requests it`]);
    assert.deepEqual(api.state.labels, { [other]: 'of somebody else' });
    assert.deepEqual((await runOn(host, journal, document('InitControlPlane', {}))).planned, []);
  });

  test('that a killed run had set are known to be ours', async () => {
    await using api = await cluster({ labels: { [ROLE]: 'a' } });
    const killed = memoryJournal({
      is: 'note',
      step: 'node-labels',
      change: `node-labels/${ROLE}`,
      note: { value: 'a' },
    });
    const { planned } = await runOn(memoryHost({ files: api.files }), killed, document('InitControlPlane', {}));
    assert.deepEqual(planned, [`label ${ROLE} of the Node: remove, the document no longer requests it`]);
    assert.deepEqual(api.state.labels, {});
  });

  test('are planned before the join, known after kubeadm', async () => {
    const bench = runBench();
    const model = document('InitControlPlane', { [ROLE]: '' });
    const { changes } = await planSteps(STEPS, { ...bench, model, journal: bench.journal.state() });
    assert.deepEqual(
      changes.map(({ id, action, knownAfter }) => [id, action, knownAfter]),
      [[`node-labels/${ROLE}`, 'add', 'kubeadm']],
    );
  });

  test('that the API server refuses end the run with its reason', async () => {
    await using api = await cluster({ refusals: [403] });
    const model = document('InitControlPlane', { [ROLE]: '' });
    await assert.rejects(runOn(memoryHost({ files: api.files }), memoryJournal(), model), ({ error }) => {
      assert.equal(error.reason, 'NodeLabelsNotSet');
      assert.equal(error.exit, 'NotReady');
      assert.equal(error.retryable, false);
      assert.match(error.message, /could not be set: the API server answered 403: status 403\.$/);
      return true;
    });
    assert.deepEqual(api.state.labels, {});
  });

  test('are tried again while the API server is busy, and then end the run as retryable', async () => {
    using clock = fakeClock();
    await using api = await cluster({ refusals: [503, 429, 409] });
    const model = document('InitControlPlane', { [ROLE]: '' });
    await clock.until(runOn(memoryHost({ files: api.files }), memoryJournal(), model));
    assert.deepEqual(api.state.labels, { [ROLE]: '' });
    await using down = await cluster({ refusals: Array.from({ length: 100 }, () => 503) });
    await assert.rejects(clock.until(runOn(memoryHost({ files: down.files }), memoryJournal(), model)), ({ error }) => {
      assert.deepEqual([error.reason, error.retryable], ['NodeLabelsNotSet', true]);
      return true;
    });
  });
});

describe('labels of a machine that may not set them', () => {
  const expected = {
    node: 'node-1',
    labels: [`${ROLE}=`],
    taints: [],
    commands: [`kubectl label node node-1 ${ROLE}=`],
  };

  test('are named for the management side, and are no changes', async () => {
    await using api = await cluster();
    const { '/etc/kubernetes/admin.conf': _admin, ...files } = api.files;
    const worker = await runOn(memoryHost({ files }), memoryJournal(), document('Worker', { [ROLE]: '' }));
    assert.deepEqual(worker.handovers, [expected]);
    assert.deepEqual([worker.planned, worker.done], [[], []]);
    assert.deepEqual(worker.remarks, [
      `The management side must set the labels ${ROLE}= of the Node node-1: kubectl label node node-1 ${ROLE}=`,
    ]);
    const withoutAdmin = await runOn(
      memoryHost({ files }),
      memoryJournal(),
      document('JoinControlPlane', { [ROLE]: '' }),
    );
    assert.deepEqual(withoutAdmin.handovers, [expected]);
    assert.deepEqual(api.state.patches, []);
  });

  test('of a worker are not set with an admin.conf that lies there', async () => {
    await using api = await cluster();
    const { planned, handovers } = await runOn(
      memoryHost({ files: api.files }),
      memoryJournal(),
      document('Worker', { [ROLE]: '' }),
    );
    assert.deepEqual([planned, handovers], [[], [expected]]);
  });

  test('are named before the join, too', async () => {
    const { handovers } = await runOn(memoryHost(), memoryJournal(), document('Worker', { [ROLE]: '' }));
    assert.deepEqual(handovers, [expected]);
  });

  test('are no longer named once the Node has them', async () => {
    await using api = await cluster({ labels: { [ROLE]: '' } });
    const { handovers, remarks } = await runOn(
      memoryHost({ files: api.files }),
      memoryJournal(),
      document('Worker', { [ROLE]: '' }),
    );
    assert.deepEqual(handovers, [{ node: 'node-1', labels: [], taints: [], commands: [] }]);
    assert.deepEqual(remarks, []);
  });

  test('that have another value are overwritten by the command', async () => {
    await using api = await cluster({ labels: { [ROLE]: 'old' } });
    const { remarks } = await runOn(
      memoryHost({ files: api.files }),
      memoryJournal(),
      document('Worker', { [ROLE]: 'new' }),
    );
    assert.match(remarks[0] ?? '', /kubectl label node node-1 \S+=new --overwrite$/);
  });
});

describe('taints of a Node that existed before its kubelet registered', () => {
  const theirs = { key: 'theirs', effect: 'NoExecute' };

  test('are added by a control plane beside those of others, once', async () => {
    using clock = fakeClock();
    await using api = await cluster({ taints: [theirs], refusals: [409] });
    const [host, journal] = [memoryHost({ files: api.files }), memoryJournal()];
    const model = document('InitControlPlane', {}, [DEDICATED]);
    const { planned } = await clock.until(runOn(host, journal, model));
    assert.deepEqual(planned, [
      'taints of the Node: dedicated=gpu:NoSchedule, which it lacks because it existed before the kubelet registered',
    ]);
    assert.deepEqual(api.state.taints, [theirs, DEDICATED]);
    api.state.taints = [];
    assert.deepEqual((await runOn(host, journal, model)).planned, [], 'an operator may remove them');
  });

  test('are nothing of a run after one that succeeded', async () => {
    await using api = await cluster();
    const host = memoryHost({ files: { ...api.files, [SENTINEL]: 'success\n' } });
    assert.deepEqual((await runOn(host, memoryJournal(), document('InitControlPlane', {}, [DEDICATED]))).planned, []);
    const worker = await runOn(host, memoryJournal(), document('Worker', {}, [DEDICATED]));
    assert.deepEqual(worker.handovers, []);
  });

  test('of a worker are named for the management side', async () => {
    await using api = await cluster({ taints: [{ ...DEDICATED, value: 'other' }] });
    const { handovers } = await runOn(
      memoryHost({ files: api.files }),
      memoryJournal(),
      document('Worker', {}, [DEDICATED]),
    );
    assert.deepEqual(handovers, [
      {
        node: 'node-1',
        labels: [],
        taints: ['dedicated=gpu:NoSchedule'],
        commands: ['kubectl taint node node-1 dedicated=gpu:NoSchedule --overwrite'],
      },
    ]);
  });

  for (const role of ['InitControlPlane', 'Worker'] as const) {
    test(`are not asked for where a controller has removed them since: ${role}`, async () => {
      await using api = await cluster({ created: '2026-11-28T10:00:02Z' });
      const host = memoryHost({ files: api.files });
      const { planned, handovers } = await runOn(host, memoryJournal(), document(role, {}, [DEDICATED]));
      assert.deepEqual([planned, handovers], [[], []]);
    });
  }

  test('are nothing where the kubelet registered with them', async () => {
    await using api = await cluster({ taints: [DEDICATED] });
    const host = memoryHost({ files: api.files });
    assert.deepEqual((await runOn(host, memoryJournal(), document('InitControlPlane', {}, [DEDICATED]))).planned, []);
  });
});
