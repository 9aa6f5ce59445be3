import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Model } from '@machineadm/document/model/index.ts';
import { parseVersion } from '@machineadm/document/text/program-version.ts';
import { upgradeDrain } from '../../../../src/features/upgrade/drain.ts';
import { upgradeKubeadm } from '../../../../src/features/upgrade/kubeadm.ts';
import { upgradeKubelet } from '../../../../src/features/upgrade/kubelet.ts';
import { upgradeProof } from '../../../../src/features/upgrade/proof.ts';
import { upgradeState } from '../../../../src/features/upgrade/state.ts';
import { ownCredential } from '../../../../src/kubernetes/upgrade/cluster.ts';
import { keepState } from '../../../../src/kubernetes/upgrade/kept-state.ts';
import { podsNotBack } from '../../../../src/kubernetes/upgrade/pods-back.ts';
import { EMPTY_RECORD, type Step, type StepRecord } from '../../../../src/step/index.ts';
import type { Upgrade } from '../../../../src/step/upgrade-order.ts';
import { facts } from '../../../support/facts.ts';
import { hostModel } from '../../../support/host-model.ts';
import { kubernetesModel } from '../../../support/kubernetes-model.ts';
import { type MemoryHost, type MemoryProgram, memoryHost } from '../../../support/memory-host.ts';
import { planned, runStep } from '../../../support/run-step.ts';
import { shortPauses } from '../../../support/short-pauses.ts';
import { type ClusterState, manifestFiles, pod, upgradeCluster } from '../../../support/upgrade-cluster.ts';
import { startUpgradeEtcd } from '../../../support/upgrade-etcd.ts';

const UPGRADE: Upgrade = { from: 'v1.35.2', to: 'v1.35.3', drain: { by: 'machineadm' } };
const WORKER: Model = { ...hostModel(), kubernetes: kubernetesModel({ role: 'Worker', version: 'v1.35.3' }) };
const CONTROL_PLANE: Model = { ...hostModel(), kubernetes: kubernetesModel({ version: 'v1.35.3' }) };
const NEW = facts({ kubeadm: parseVersion('v1.35.3'), kubelet: parseVersion('Kubernetes v1.35.3') });

function record(different: Partial<StepRecord> = {}): StepRecord {
  return { ...EMPTY_RECORD, upgrade: UPGRADE, ...different };
}

/** kubeadm of the new version: `upgrade` does `act` and ends with a status. */
function kubeadm(act: (host: MemoryHost) => void = () => undefined, status = 0): MemoryProgram {
  return ({ args = [] }, host) => {
    if (args[0] === 'version') return { stdout: 'v1.35.3\n' };
    if (args[0] === 'upgrade' && args[1] !== 'diff') act(host);
    return { status };
  };
}

async function machine(program: MemoryProgram, different: Partial<ClusterState> = {}, files: object = {}) {
  const cluster = await upgradeCluster(different);
  const host = memoryHost({
    files: { ...cluster.files, ...files, '/usr/bin/kubelet': 'k', '/usr/bin/kubeadm': 'k' },
    programs: { kubeadm: program, kubelet: () => ({ stdout: 'Kubernetes v1.35.3\n' }), findmnt: () => ({ status: 1 }) },
  });
  return { ...cluster, host };
}

async function refusals(
  step: Step<never, never, never>,
  host: MemoryHost,
  model: Model,
  given: Partial<StepRecord> = {},
) {
  const any = step as unknown as Step;
  const desired = any.desired(model, NEW);
  const found = (await any.preflight?.(host, desired, record(given))) ?? [];
  return found.filter(({ severity }) => severity === undefined).map(({ reason, what }) => `${reason}: ${what}`);
}

const asAny = (step: unknown) => step as Step<never, never, never>;

describe('kubeadm upgrade', () => {
  shortPauses();
  test('of a worker that is old is `upgrade node`', async () => {
    await using one = await machine(kubeadm(), { version: 'v1.35.3', serving: 'v1.35.3' });
    const { host } = one;
    const [change] = await planned(upgradeKubeadm, host, WORKER, { facts: NEW, record: record() });
    assert.match(
      change?.summary ?? '',
      /^kubernetes 1\.35\.2 -> 1\.35\.3: kubeadm upgrade node, restart of the kubelet/,
    );
    await runStep(upgradeKubeadm, host, WORKER, { facts: NEW, record: record() });
    assert.deepEqual(
      host.log.filter((line) => line.startsWith('run ')),
      ['run kubeadm upgrade node'],
    );
  });

  test('of the first control plane is `upgrade apply`, of the next `upgrade node`', async () => {
    const replaced = (host: MemoryHost) => {
      for (const [path, file] of Object.entries(manifestFiles('v1.35.3'))) host.put(path, file);
    };
    for (const [version, command] of [
      ['v1.35.2', 'upgrade apply v1.35.3 --yes'],
      ['v1.35.3', 'upgrade node'],
    ] as const) {
      await using etcd = await startUpgradeEtcd(1);
      const files = { ...manifestFiles('v1.35.2'), ...etcd.filesOf(0) };
      await using one = await machine(kubeadm(replaced), { version }, files);
      const { notes } = await runStep(upgradeKubeadm, one.host, CONTROL_PLANE, { facts: NEW, record: record() });
      assert.deepEqual(
        one.host.log.filter((line) => line.startsWith('run ')),
        [`run kubeadm ${command}`],
      );
      assert.deepEqual(notes.get('upgrade-kubeadm/run'), { command: command.split(' ')[1] });
      assert.equal(one.state.holder, 'node-1', 'other control planes wait');
    }
  });

  test('that exits 0 without having replaced the static pods is KubeadmUpgradeFailed', async () => {
    await using etcd = await startUpgradeEtcd(1);
    await using one = await machine(kubeadm(), {}, { ...manifestFiles('v1.35.2'), ...etcd.filesOf(0) });
    const run = runStep(upgradeKubeadm, one.host, CONTROL_PLANE, { facts: NEW, record: record() });
    await assert.rejects(run, {
      reason: 'KubeadmUpgradeFailed',
      exit: 'BootstrapperFailed',
      message: /kube-apiserver is v1\.35\.2/,
    });
  });

  for (const [help, options] of [
    ['  /coredns        Upgrade it\n  /kube-proxy     Upgrade it\n', ' --skip-phases=addon/kube-proxy'],
    ['control-plane  Upgrade it\n', ''],
  ] as const) {
    test(`installs no add-on that the document disables${options}`, async () => {
      const given = kubernetesModel({ role: 'Worker', version: 'v1.35.3' });
      const proxy = { ...given.addons.proxy, enabled: false };
      const kubernetes = { ...given, addons: { ...given.addons, proxy } };
      const own = kubeadm();
      const program: MemoryProgram = (command, host) =>
        command.args?.includes('--help') === true ? { stdout: help } : own(command, host);
      await using one = await machine(program, { version: 'v1.35.3', serving: 'v1.35.3' });
      await runStep(upgradeKubeadm, one.host, { ...WORKER, kubernetes }, { facts: NEW, record: record() });
      const ran = one.host.log.filter((line) => line.startsWith('run '));
      assert.deepEqual(ran, [`run kubeadm upgrade node${options}`]);
    });
  }

  for (const status of [0, 1]) {
    test(`that ends with ${status} had the patches of the document, which are then removed`, async () => {
      const patch = { target: 'kubeletconfiguration', type: 'merge', patch: { maxPods: 42 } } as const;
      const given = kubernetesModel({ role: 'Worker', version: 'v1.35.3' });
      const kubernetes = { ...given, kubeadm: { ...given.kubeadm, patches: [patch] } };
      let had: string | undefined;
      const file = '/run/machineadm/upgrade-patches/kubeletconfiguration001+merge.yaml';
      const program = kubeadm((host) => {
        had = host.text(file);
      }, status);
      await using one = await machine(program, { version: 'v1.35.3', serving: 'v1.35.3' });
      const run = runStep(upgradeKubeadm, one.host, { ...WORKER, kubernetes }, { facts: NEW, record: record() });
      if (status === 0) await run;
      else await assert.rejects(run, { reason: 'KubeadmUpgradeFailed' });
      assert.match(had ?? '', /maxPods"?: 42/, one.host.log.join());
      assert.equal(one.host.text(file), undefined);
      const ran = one.host.log.filter((line) => line.startsWith('run '));
      assert.deepEqual(ran, ['run kubeadm upgrade node --patches=/run/machineadm/upgrade-patches']);
    });
  }

  test('that fails is KubeadmUpgradeFailed', async () => {
    await using one = await machine(kubeadm(undefined, 1), { version: 'v1.35.3', serving: 'v1.35.3' });
    const run = runStep(upgradeKubeadm, one.host, WORKER, { facts: NEW, record: record() });
    await assert.rejects(run, { reason: 'KubeadmUpgradeFailed', message: /exit status 1/ });
  });

  test('is not started with an old kubeadm, which would do nothing', async () => {
    const old: MemoryProgram = () => ({ stdout: 'v1.35.2\n' });
    await using one = await machine(old, { version: 'v1.35.3', serving: 'v1.35.3' });
    const run = runStep(upgradeKubeadm, one.host, WORKER, { facts: NEW, record: record() });
    await assert.rejects(run, { reason: 'UpgradeProgramMissing', exit: 'HostStepFailed' });
    assert.deepEqual(one.host.log, []);
  });

  test('after a kill finds every manifest: without it kubeadm takes a control plane for a worker', async () => {
    const apiServer = '/etc/kubernetes/manifests/kube-apiserver.yaml';
    let seen: string | undefined;
    const program = kubeadm((host) => {
      seen = host.text(apiServer);
    });
    await using one = await machine(program, {}, manifestFiles('v1.35.2'));
    await keepState(one.host);
    one.host.take(apiServer);
    const model = {
      ...CONTROL_PLANE,
      kubernetes: kubernetesModel({ version: 'v1.35.3', timeouts: { controlPlaneMs: 1 } }),
    };
    const run = runStep(upgradeKubeadm, one.host, model, {
      facts: NEW,
      record: record({ interrupted: new Set(['upgrade-kubeadm/run']) }),
    });
    // No control plane answers in this test: kubeadm is not started on one that does not work.
    await assert.rejects(run, { reason: 'KubeadmUpgradeFailed', message: /^This run did not start kubeadm upgrade: / });
    assert.match(one.host.text(apiServer) ?? '', /v1\.35\.2/);
    assert.equal(seen, undefined);
  });

  test('is refused in all its reasons at once, and nothing is changed', async () => {
    const kubelets = { 'node-1': 'v1.35.2', 'node-2': 'v1.31.0' };
    await using one = await machine(kubeadm(), { holder: 'node-2', kubelets }, manifestFiles('v1.35.2'));
    const found = await refusals(asAny(upgradeKubeadm), one.host, CONTROL_PLANE);
    assert.deepEqual(
      found.map((text) => text.split(':')[0]),
      ['UpgradeLocked', 'UpgradeVersionSkew', 'EtcdQuorumAtRisk'],
    );
    assert.deepEqual([one.host.log, one.state.changes], [[], []]);
  });

  test('is not asked without an upgrade', async () => {
    await using one = await machine(kubeadm());
    assert.deepEqual(await planned(upgradeKubeadm, one.host, WORKER, { facts: NEW }), []);
  });
});

describe('the state of the node before an upgrade', () => {
  shortPauses();
  test('an etcd that cannot be asked is EtcdSnapshotFailed: no run goes on without the snapshot that the plan promised', async () => {
    await using one = await machine(kubeadm());
    const run = runStep(upgradeState, one.host, CONTROL_PLANE, { facts: NEW, record: record() });
    await assert.rejects(run, { reason: 'EtcdSnapshotFailed', exit: 'HostStepFailed' });
    assert.deepEqual(
      one.host.log.filter((line) => line.startsWith('run kubeadm')),
      [],
    );
  });
});

describe('the drain', () => {
  shortPauses();
  const WITH_CREDENTIAL = {
    upgrade: { ...UPGRADE, drain: { by: 'machineadm', kubeconfig: '/etc/kubernetes/admin.conf' } },
  } as const;

  test('of a worker needs a credential or --drained', async () => {
    await using one = await machine(kubeadm());
    const refused = await refusals(asAny(upgradeDrain), one.host, WORKER);
    assert.match(refused.join(), /^DrainNotPossible: a worker has no right to evict its pods$/);
    const drained = { upgrade: { ...UPGRADE, drain: { by: 'caller' } } } as const;
    assert.deepEqual(await refusals(asAny(upgradeDrain), one.host, WORKER, drained), []);
  });

  test('is refused for pods that would be lost, and those that a budget protects', async () => {
    const pods = [pod('web'), pod('lonely', { owner: 'none' }), pod('cache', { emptyDir: 'data' })];
    const refusesEviction = (name: string) => (name === 'web' ? 429 : undefined);
    await using one = await machine(kubeadm(), { pods, refusesEviction });
    const found = await refusals(asAny(upgradeDrain), one.host, WORKER, WITH_CREDENTIAL);
    assert.equal(found.length, 3);
    assert.match(found.join('\n'), /nothing creates default\/lonely again/);
    assert.match(found.join('\n'), /default\/cache would lose the content of emptyDir/);
    assert.match(found.join('\n'), /default\/web/);
    assert.equal(one.state.pods.length, 3);
  });

  test('leaves the pod with which Cluster API started the upgrade', async () => {
    const update = pod('machineadm-update-check', { owner: 'none' });
    const own = { ...update, metadata: { ...update.metadata, labels: { 'machineadm.dev/update': '' } } };
    await using one = await machine(kubeadm(), { pods: [own, pod('web')] });
    assert.deepEqual(await refusals(asAny(upgradeDrain), one.host, WORKER, WITH_CREDENTIAL), []);
    await runStep(upgradeDrain, one.host, WORKER, { facts: NEW, record: record(WITH_CREDENTIAL) });
    assert.deepEqual(one.state.pods, [own]);
  });

  test('cordons the node and evicts, and remembers that it did', async () => {
    await using one = await machine(kubeadm(), { pods: [pod('web')] });
    const { notes } = await runStep(upgradeDrain, one.host, WORKER, { facts: NEW, record: record(WITH_CREDENTIAL) });
    assert.deepEqual([one.state.unschedulable, one.state.pods], [true, []]);
    assert.deepEqual(notes.get('upgrade-drain/run'), { cordons: true });
  });

  test('waits for an API server that has just started, which refuses everyone until it has read their rights', async () => {
    await using one = await machine(kubeadm(), { pods: [pod('web')], unsettled: 3 });
    assert.deepEqual(await refusals(asAny(upgradeDrain), one.host, WORKER, WITH_CREDENTIAL), []);
    one.state.unsettled = 3;
    const { notes } = await runStep(upgradeDrain, one.host, WORKER, { facts: NEW, record: record(WITH_CREDENTIAL) });
    assert.deepEqual([one.state.unschedulable, one.state.pods], [true, []]);
    assert.deepEqual(notes.get('upgrade-drain/run'), { cordons: true });
  });

  test('fails where its credential may not change the node: the pods are not evicted from one that takes new ones', async () => {
    const upgrade = { ...UPGRADE, drain: { by: 'machineadm', kubeconfig: '/etc/kubernetes/kubelet.conf' } } as const;
    await using one = await machine(kubeadm(), { pods: [pod('web')] });
    const run = runStep(upgradeDrain, one.host, WORKER, { facts: NEW, record: record({ upgrade }) });
    await assert.rejects(run, { reason: 'APIServerUnavailable', exit: 'BootstrapperFailed', message: /answered 403/ });
    assert.equal(one.state.pods.length, 1);
  });

  test('of a node that the operator cordoned leaves it cordoned', async () => {
    await using one = await machine(kubeadm(), { unschedulable: true });
    const { notes } = await runStep(upgradeDrain, one.host, WORKER, { facts: NEW, record: record(WITH_CREDENTIAL) });
    assert.equal(notes.get('upgrade-drain/run'), undefined);
  });
});

describe('the proof', () => {
  shortPauses();
  const memory =
    (uid: string, readyPods: readonly string[] = []) =>
    () => ({
      ...EMPTY_RECORD.memory(),
      note: (_step: string, change: string) =>
        change === 'upgrade-state/files' ? { nodeUid: uid, readyPods } : undefined,
    });
  const PODS = [pod('proxy-a1', { owner: 'DaemonSet' }), pod('web-a1'), pod('local', { owner: 'Node', mirror: 'x' })];
  const STAYING = ['DaemonSet default/proxy', 'static pod default/local'];
  const UPGRADED = { kubelets: { 'node-1': 'v1.35.3' } };

  test('of the pods needs those that a drain leaves, and that were Ready', async () => {
    const pods = [...PODS, pod('log-b1', { owner: 'DaemonSet', ready: 'False' })];
    await using one = await machine(kubeadm(), { pods });
    const { notes } = await runStep(upgradeState, one.host, WORKER, { facts: NEW, record: record() });
    assert.deepEqual(notes.get('upgrade-state/files'), {
      nodeUid: 'uid-of-node-1',
      etcdMemberId: undefined,
      readyPods: STAYING,
    });
  });

  test('waits until pods are Ready again, and not for those that somebody deleted', async () => {
    const [proxy, , local] = PODS;
    const restarted = { ...proxy, status: { phase: 'Pending', conditions: [] } };
    await using one = await machine(kubeadm(), { ...UPGRADED, pods: [restarted, local ?? {}] });
    const signal = AbortSignal.timeout(60_000);
    // It is asked again once it said what it waits for.
    const waitingFor = (): void => {
      one.state.pods = [pod('proxy-a2', { owner: 'DaemonSet' }), local ?? {}];
    };
    const options = { timeoutMs: 60_000, absentMs: 1, signal, waitingFor };
    const names = [...STAYING, 'DaemonSet default/deleted'];
    assert.deepEqual(await podsNotBack(await ownCredential(one.host, false), 'node-1', names, options), []);
    const proof = { facts: NEW, record: record({ memory: memory('uid-of-node-1', STAYING) }) };
    await runStep(upgradeProof, one.host, WORKER, proof);
  });

  test('names a pod that is there and not Ready', async () => {
    await using one = await machine(kubeadm(), {
      pods: [pod('proxy-a1', { owner: 'DaemonSet', ready: 'False' }), pod('proxy-a0', { owner: 'ReplicaSet' })],
    });
    const credential = await ownCredential(one.host, false);
    const signal = AbortSignal.timeout(60_000);
    const waited: unknown[] = [];
    const options = { timeoutMs: 1, absentMs: 1, signal, waitingFor: (what: unknown) => void waited.push(what) };
    assert.deepEqual(await podsNotBack(credential, 'node-1', ['DaemonSet default/proxy'], options), [
      'DaemonSet default/proxy',
    ]);
    assert.equal(waited[0], 'DaemonSet default/proxy to be Ready again');
  });

  test('needs the same Node, with the new version', async () => {
    for (const [uid, version, why] of [
      ['uid-of-node-1', 'v1.35.3', undefined],
      ['uid-of-another', 'v1.35.3', /UID uid-of-node-1, and before the upgrade it had uid-of-another/],
      ['uid-of-node-1', 'v1.35.2', /its kubelet is v1\.35\.2, not v1\.35\.3/],
    ] as const) {
      await using one = await machine(kubeadm(), { kubelets: { 'node-1': version } });
      const run = runStep(upgradeProof, one.host, WORKER, { facts: NEW, record: record({ memory: memory(uid) }) });
      if (why === undefined) await run;
      else await assert.rejects(run, { reason: 'UpgradeNotProven', exit: 'NotReady', message: why });
    }
  });
});

describe('the steps of an upgrade', () => {
  shortPauses();
  test('of another version have nothing to do in one that changes something else', async () => {
    const record = { ...EMPTY_RECORD, upgrade: { ...UPGRADE, subjects: ['certificates', 'kubelet'] } } as const;
    await using one = await machine(kubeadm(), { pods: [pod('web')] }, manifestFiles('v1.35.2'));
    for (const any of [upgradeState, upgradeKubeadm, upgradeDrain, upgradeKubelet]) {
      const step = any as unknown as Step;
      for (const model of [WORKER, CONTROL_PLANE]) {
        const desired = step.desired(model, NEW);
        assert.deepEqual(await step.preflight?.(one.host, desired, record), step.preflight && [], step.id);
        // A run asks steps without work again at its end.
        assert.deepEqual(step.plan(desired, await step.inspect(one.host, desired, record)), [], step.id);
      }
    }
    assert.deepEqual([one.host.log, one.state.changes], [[], []]);
  });

  test('do what the plan listed, and have nothing to do once it is done', async () => {
    const upgrade = { ...UPGRADE, drain: { by: 'machineadm', kubeconfig: '/etc/kubernetes/admin.conf' } } as const;
    await using one = await machine(kubeadm(), {
      ...{ version: 'v1.35.3', serving: 'v1.35.3', pods: [pod('web')] },
      kubelets: { 'node-1': 'v1.35.3' },
    });
    for (const any of [upgradeState, upgradeKubeadm, upgradeDrain, upgradeProof]) {
      const step = any as unknown as Step;
      const options = { facts: NEW, record: record({ upgrade }) };
      const before = (await planned(step, one.host, WORKER, options)).map(({ id, summary }) => ({ id, summary }));
      assert.ok(before.length > 0, step.id);
      const { changes } = await runStep(step, one.host, WORKER, options);
      assert.deepEqual(
        changes.map(({ id, summary }) => ({ id, summary })),
        before,
        step.id,
      );
      const done = new Set(before.map(({ id }) => id));
      const after = { facts: NEW, record: record({ upgrade, done }) };
      assert.deepEqual(await planned(step, one.host, WORKER, after), [], step.id);
      // A second upgrade is none: the journal has no upgrade any longer.
      assert.deepEqual(await planned(step, one.host, WORKER, { facts: NEW }), [], step.id);
    }
  });
});
