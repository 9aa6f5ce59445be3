import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { LoadedDocument } from '@machineadm/document/loading/load.ts';
import { afterRecord, newJournalState } from '../../../src/pipeline/journal.ts';
import type { JournalRecord } from '../../../src/pipeline/journal-record.ts';
import { parseRecord } from '../../../src/pipeline/journal-record.ts';
import { podNames } from '../../../src/pipeline/pod-names.ts';
import { resumingCommand } from '../../../src/pipeline/reboot-resume.ts';
import { evaluateResumable } from '../../../src/pipeline/resume.ts';
import { refuseIfChanged, upgradeAsked } from '../../../src/pipeline/upgrade.ts';
import type { UpgradeOptions } from '../../../src/step/upgrade-order.ts';
import { loaded } from '../../support/document.ts';
import { facts } from '../../support/facts.ts';
import { memoryHost } from '../../support/memory-host.ts';
import { renewalNode } from '../../support/renewal-node.ts';
import { manifestFiles } from '../../support/upgrade-cluster.ts';
import { begun, done, ended, identity, started } from './records.ts';

const DRAINS: UpgradeOptions = { drain: { by: 'machineadm' } };
const BEGUN: JournalRecord = { is: 'upgrade', now: 'Begun', from: 'v1.35.2', to: 'v1.36.0', ...DRAINS, at: 'now' };

function document(version: string, more = '') {
  return loaded(`kubernetes: {version: ${version}, role: InitControlPlane${more}}\n`);
}

/** What the journal of a node with 1.35.2 knows. */
async function node(records: readonly JournalRecord[] = []) {
  const { lastingDigest: bootstrappedFrom } = await document('v1.35.2');
  const state = { ...newJournalState(identity(), false), bootstrappedFrom, bootstrappedVersion: 'v1.35.2' };
  return records.reduce(afterRecord, state);
}

const host = memoryHost({ files: manifestFiles('v1.35.2') });

describe('an upgrade', () => {
  test('is asked by another version, and by nothing else', async () => {
    assert.deepEqual(await upgradeAsked(host, await node(), await document('v1.36.0')), {
      from: 'v1.35.2',
      to: 'v1.36.0',
    });
    assert.equal(await upgradeAsked(host, await node(), await document('v1.35.2')), undefined);
  });

  test('of a journal of an earlier machineadm finds the version in the static pods', async () => {
    const known = { ...(await node()), bootstrappedVersion: undefined };
    assert.deepEqual(await upgradeAsked(host, known, await document('v1.36.0')), { from: 'v1.35.2', to: 'v1.36.0' });
  });

  test('does not change anything else of the section', async () => {
    const other = await document('v1.36.0', ', cluster: {podSubnets: [10.1.0.0/16]}');
    await assert.rejects(upgradeAsked(host, await node(), other), { reason: 'DocumentChanged', exit: 'Refused' });
  });

  test('needs a node that machineadm made', async () => {
    const known = newJournalState(identity(), false);
    await assert.rejects(upgradeAsked(host, known, await document('v1.36.0')), { reason: 'NotANode', exit: 'Refused' });
    await assert.rejects(upgradeAsked(host, await node(), await loaded('')), { reason: 'NotANode', exit: 'Refused' });
  });

  test('that was begun must end before another', async () => {
    const known = await node([BEGUN]);
    assert.deepEqual(await upgradeAsked(host, known, await document('v1.36.0')), { from: 'v1.35.2', to: 'v1.36.0' });
    for (const version of ['v1.36.1', 'v1.35.2']) {
      await assert.rejects(upgradeAsked(host, known, await document(version)), {
        reason: 'UpgradeUnfinished',
        exit: 'Refused',
      });
    }
  });
});

describe('an upgrade of containerd', () => {
  const at = (running: string, installed = running) =>
    memoryHost({
      files: manifestFiles('v1.35.2'),
      cri: { version: async () => ({ runtimeName: 'containerd', runtimeVersion: running }) },
      programs: { containerd: () => ({ stdout: `containerd containerd.io v${installed} abc\n` }) },
    });
  const asking = (version?: string, kubernetes = 'v1.35.2') =>
    loaded(
      `containerRuntime: {containerd: {${version === undefined ? '' : `version: ${version}`}}}\nkubernetes: {version: ${kubernetes}, role: InitControlPlane}\n`,
    );
  const ONLY = { from: 'v1.35.2', to: 'v1.35.2', subjects: ['containerd'] as const };
  const VERSIONS = { from: '1.7.24', to: '2.1.9' };
  const BEGUN_ONE: JournalRecord = { is: 'upgrade', now: 'Begun', ...ONLY, containerd: VERSIONS, ...DRAINS, at: 'now' };

  test('is asked by the version of the document, or by a program that was replaced already', async () => {
    const expected = { ...ONLY, containerd: VERSIONS };
    assert.deepEqual(await upgradeAsked(at('1.7.24~ds1'), await node(), await asking('2.1.9'), true), expected);
    assert.deepEqual(await upgradeAsked(at('v1.7.24', '2.1.9'), await node(), await asking(), true), expected);
    for (const [host, version] of [
      [at('1.7.24'), undefined],
      [at('2.1.9+unknown'), '2.1.9'],
      [at(''), '2.1.9'],
    ] as const)
      assert.equal(await upgradeAsked(host, await node(), await asking(version), true), undefined);
  });

  test('is nothing for another command, or without a section of containerd', async () => {
    assert.equal(await upgradeAsked(at('1.7.24'), await node(), await asking('2.1.9')), undefined);
    assert.equal(await upgradeAsked(at('1.7.24', '2.1.9'), await node(), await document('v1.35.2'), true), undefined);
  });

  test('goes together with another version of Kubernetes', async () => {
    assert.deepEqual(await upgradeAsked(at('1.7.24'), await node(), await asking('2.1.9', 'v1.36.0'), true), {
      ...{ from: 'v1.35.2', to: 'v1.36.0', subjects: ['version', 'containerd'] },
      containerd: VERSIONS,
    });
  });

  test('that was begun continues with the version from which it came, also for a run that finds the new daemon', async () => {
    const line = JSON.stringify(BEGUN_ONE);
    assert.deepEqual(parseRecord('/journal', line, 1), BEGUN_ONE);
    const known = await node([BEGUN_ONE]);
    const asked = await upgradeAsked(at('2.1.9'), known, await asking('2.1.9'), true);
    assert.deepEqual(asked, { ...ONLY, containerd: VERSIONS });
    const again = afterRecord(known, { ...BEGUN_ONE, containerd: { from: '2.0.7', to: '2.1.9' } });
    assert.deepEqual(again.upgrade?.containerd, VERSIONS);
    await assert.rejects(refuseIfChanged(host, known, await asking('2.1.9')), {
      reason: 'UpgradeUnfinished',
      message: /^an upgrade of containerd on this node was begun and has not ended/,
    });
    assert.equal(afterRecord(known, { is: 'upgrade', now: 'Done', at: 'now' }).upgrade, undefined);
  });
});

describe('a renewal of certificates', () => {
  const RENEWS = ', controlPlane: {certificates: {renewBefore: 30d}}';
  const ONLY = { from: 'v1.35.2', to: 'v1.35.2', subjects: ['certificates'] as const };
  const RENEWAL: JournalRecord = { is: 'upgrade', now: 'Begun', ...ONLY, ...DRAINS, at: 'now' };

  test('is an upgrade of its own where certificates are due, and nothing for another command', async () => {
    await using due = await renewalNode({ days: { apiserver: 3 } });
    const asked = await document('v1.35.2', RENEWS);
    assert.deepEqual(await upgradeAsked(due.host, await node(), asked, true), ONLY);
    assert.equal(await upgradeAsked(due.host, await node(), asked), undefined);
    await refuseIfChanged(due.host, await node(), asked);
    await using fresh = await renewalNode();
    assert.equal(await upgradeAsked(fresh.host, await node(), asked, true), undefined);
  });

  test('comes with another version, and without one the version says nothing new', async () => {
    await using due = await renewalNode({ days: { apiserver: 3 } });
    assert.deepEqual(await upgradeAsked(due.host, await node(), await document('v1.36.0', RENEWS), true), {
      ...{ from: 'v1.35.2', to: 'v1.36.0' },
      subjects: ['version', 'certificates'],
    });
    assert.deepEqual(await upgradeAsked(due.host, await node(), await document('v1.36.0'), true), {
      from: 'v1.35.2',
      to: 'v1.36.0',
    });
  });

  test('that was begun is continued although nothing is due any more, and keeps provision away', async () => {
    await using renewed = await renewalNode();
    const known = await node([RENEWAL]);
    assert.deepEqual(known.upgrade, { ...ONLY, ...DRAINS });
    const asked = await document('v1.35.2', RENEWS);
    assert.deepEqual(await upgradeAsked(renewed.host, known, asked, true), ONLY);
    await assert.rejects(refuseIfChanged(renewed.host, known, asked), {
      reason: 'UpgradeUnfinished',
      message: /a renewal of the certificates of this node was begun and has not ended/,
    });
    assert.deepEqual(parseRecord('/journal', JSON.stringify(RENEWAL), 1), RENEWAL);
  });
});

describe('settings of the kubelet', () => {
  const settings = (text: string) => document('v1.35.2', `, node: {kubelet: ${text}}`);
  /** What a run records of a document. */
  async function recorded(asked: LoadedDocument): Promise<JournalRecord> {
    const { lastingDigest: lasting = '', lastingDigestWith, model } = asked;
    const { config = {}, args = [] } = model.kubernetes?.node.kubelet ?? {};
    const kubelet = {
      rest: (await lastingDigestWith('v1.35.2', ['kubelet'])) ?? '',
      ...{ fields: Object.keys(config), args: args.map(({ name }) => name) },
    };
    return { ...begun('r1', { lasting }), kubernetes: 'v1.35.2', kubelet } as JournalRecord;
  }
  /** A node that this machineadm bootstrapped. */
  async function made(asked: LoadedDocument) {
    const records = [await recorded(asked), started('kubeadm', 'kubeadm/init'), done('kubeadm', 'kubeadm/init')];
    return records.reduce(afterRecord, newJournalState(identity(), false));
  }
  const ONLY = { from: 'v1.35.2', to: 'v1.35.2', subjects: ['kubelet'] as const };

  test('are an upgrade of their own, or come with another version', async () => {
    const known = await made(await settings('{config: {maxPods: 110}}'));
    assert.deepEqual(await upgradeAsked(host, known, await settings('{config: {maxPods: 200}}')), ONLY);
    const more = await settings('{config: {maxPods: 110}, args: [{name: v, value: "4"}]}');
    assert.deepEqual(await upgradeAsked(host, known, more), ONLY);
    const both = await document('v1.36.0', ', node: {kubelet: {config: {maxPods: 200}}}');
    assert.deepEqual(await upgradeAsked(host, known, both), {
      ...{ from: 'v1.35.2', to: 'v1.36.0' },
      subjects: ['version', 'kubelet'],
    });
    assert.equal(await upgradeAsked(host, known, await settings('{config: {maxPods: 110}}')), undefined);
  });

  test('may be added to a document that says nothing of the kubelet, and nothing else may change with them', async () => {
    const known = await made(await document('v1.35.2'));
    assert.deepEqual(await upgradeAsked(host, known, await settings('{config: {maxPods: 200}}')), ONLY);
    const other = await document('v1.35.2', ', node: {name: n2, kubelet: {config: {maxPods: 200}}}');
    await assert.rejects(upgradeAsked(host, known, other), { reason: 'DocumentChanged' });
  });

  test('that are no longer written are refused: nobody knows what kubeadm would have chosen', async () => {
    const known = await made(await settings('{config: {maxPods: 110}, args: [{name: v, value: "4"}]}'));
    await assert.rejects(upgradeAsked(host, known, await settings('{config: {podPidsLimit: 5}}')), {
      reason: 'DocumentChanged',
      remedy: /no longer has these settings of kubernetes\.node\.kubelet: config\.maxPods, args: v\. Write the values/,
    });
  });

  test('are refused by provision, which names the command', async () => {
    const known = await made(await settings('{config: {maxPods: 110}}'));
    await assert.rejects(refuseIfChanged(host, known, await settings('{config: {maxPods: 200}}')), {
      reason: 'DocumentChanged',
      exit: 'Refused',
      remedy: /other settings of the kubelet: machineadm upgrade changes them/,
    });
  });

  test('of a node of an earlier machineadm change once its unchanged document was applied again', async () => {
    const before = await settings('{config: {maxPods: 110}}');
    const { lastingDigest: bootstrappedFrom } = before;
    const old = { ...newJournalState(identity(), false), bootstrappedFrom, bootstrappedVersion: 'v1.35.2' };
    await refuseIfChanged(host, old, before);
    const asked = await settings('{config: {maxPods: 200}}');
    await assert.rejects(upgradeAsked(host, old, asked), {
      reason: 'DocumentChanged',
      remedy: /An earlier version of machineadm made this node: .* first run machineadm provision with the unchanged/,
    });
    const seen = afterRecord(old, await recorded(before));
    assert.deepEqual(await upgradeAsked(host, seen, asked), ONLY);
    const changed = afterRecord(old, await recorded(asked));
    assert.equal(changed.bootstrappedKubelet, undefined, 'another document does not count');
  });
});

describe('settings of the control plane', () => {
  const settings = (text: string, more = '') => document('v1.35.2', `, controlPlane: ${text}${more}`);
  const NONE = { args: [], env: [], volumes: [] };
  const V2 = '{args: [{name: v, value: "2"}]}';
  async function made(asked: LoadedDocument) {
    const { kubernetes } = asked.model;
    assert.ok(kubernetes !== undefined);
    const of = async (...parts: ('kubelet' | 'controlPlane')[]) =>
      (await asked.lastingDigestWith('v1.35.2', parts)) ?? '';
    const { config, args } = kubernetes.node.kubelet;
    const names = { fields: Object.keys(config), args: args.map(({ name }) => name) };
    const kubelet = { rest: await of('kubelet'), ...names };
    const rest = { rest: await of('controlPlane'), bare: await of('kubelet', 'controlPlane') };
    const controlPlane = { ...rest, pods: podNames(kubernetes) };
    const run = {
      ...begun('r1', { lasting: asked.lastingDigest ?? '' }),
      kubernetes: 'v1.35.2',
      kubelet,
      controlPlane,
    };
    const records = [run as JournalRecord, started('kubeadm', 'kubeadm/init'), done('kubeadm', 'kubeadm/init')];
    const written = records.map((record) => parseRecord('/journal', JSON.stringify(record), 1));
    return written.reduce(afterRecord, newJournalState(identity(), false));
  }

  test('are an upgrade of their own, with the names that the earlier document asked for', async () => {
    const known = await made(await settings(`{scheduler: ${V2}}`));
    const asked = await settings('{scheduler: {args: [{name: profiling, value: "false"}]}}');
    assert.deepEqual(await upgradeAsked(host, known, asked), {
      ...{ from: 'v1.35.2', to: 'v1.35.2', subjects: ['controlPlane'] },
      before: { 'kube-controller-manager': NONE, 'kube-scheduler': { ...NONE, args: ['v', 'profiling'] }, etcd: NONE },
    });
    const etcd = await settings(`{scheduler: ${V2}, etcd: {local: {args: [{name: snapshot-count, value: "5000"}]}}}`);
    assert.deepEqual((await upgradeAsked(host, known, etcd))?.subjects, ['controlPlane']);
    assert.deepEqual((await upgradeAsked(host, known, await document('v1.35.2')))?.subjects, ['controlPlane']);
  });

  test('come with the kubelet and another version, and nothing else may change with them', async () => {
    const known = await made(await settings(`{scheduler: ${V2}}`));
    const both = await settings(`{controllerManager: ${V2}}`, ', node: {kubelet: {config: {maxPods: 5}}}');
    assert.deepEqual((await upgradeAsked(host, known, both))?.subjects, ['kubelet', 'controlPlane']);
    const all = await document('v1.36.0', ', node: {kubelet: {config: {maxPods: 5}}}');
    assert.deepEqual((await upgradeAsked(host, known, all))?.subjects, ['version', 'kubelet', 'controlPlane']);
    for (const other of [
      '{etcd: {local: {dataDirectory: /srv/etcd}}}',
      '{etcd: {local: {imageTag: 3.6.4-0, args: [{name: snapshot-count, value: "5"}]}}}',
      '{apiEndpoint: {bindPort: 7443}}',
    ])
      await assert.rejects(upgradeAsked(host, known, await settings(other)), { reason: 'DocumentChanged' });
  });

  test('are refused by provision, which names the command', async () => {
    const known = await made(await document('v1.35.2'));
    await assert.rejects(refuseIfChanged(host, known, await settings(`{scheduler: ${V2}}`)), {
      reason: 'DocumentChanged',
      exit: 'Refused',
      remedy: /settings of the control plane \(controller manager, scheduler or etcd\): machineadm upgrade changes/,
    });
  });

  test('that were begun are continued with the names of all documents', async () => {
    const known = await made(await document('v1.35.2'));
    const first = await upgradeAsked(host, known, await settings(`{scheduler: ${V2}}`));
    assert.ok(first !== undefined);
    const record: JournalRecord = { is: 'upgrade', now: 'Begun', ...first, ...DRAINS, at: 'now' };
    const unfinished = afterRecord(known, parseRecord('/journal', JSON.stringify(record), 1));
    const other = await settings('{scheduler: {args: [{name: profiling, value: "false"}]}}');
    const next = await upgradeAsked(host, unfinished, other);
    assert.deepEqual(next?.before?.['kube-scheduler']?.args, ['v', 'profiling']);
    const back = await upgradeAsked(host, unfinished, await document('v1.35.2'));
    assert.deepEqual([back?.subjects, back?.before?.['kube-scheduler']?.args], [['controlPlane'], ['v']]);
    await assert.rejects(refuseIfChanged(host, unfinished, other), {
      message: /a change of the control plane of this node was begun and has not ended/,
    });
  });

  test('of a node of an earlier machineadm change once its unchanged document was applied again', async () => {
    const { lastingDigest: bootstrappedFrom } = await document('v1.35.2');
    const old = { ...newJournalState(identity(), false), bootstrappedFrom, bootstrappedVersion: 'v1.35.2' };
    const asked = await settings(`{scheduler: ${V2}}`);
    await assert.rejects(upgradeAsked(host, old, asked), {
      remedy: /first run machineadm provision with the unchanged/,
    });
  });
});

describe('provision', () => {
  test('refuses another version and names the command', async () => {
    const refused = refuseIfChanged(host, await node(), await document('v1.36.0'));
    await assert.rejects(refused, {
      reason: 'DocumentChanged',
      exit: 'Refused',
      remedy: /v1\.36\.0, and v1\.35\.2 runs here: machineadm upgrade/,
    });
  });

  test('does not name it for an older version, which no command installs', async () => {
    const refused = refuseIfChanged(host, await node(), await document('v1.34.1'));
    await assert.rejects(refused, { reason: 'DocumentChanged', remedy: /cannot be downgraded in place/ });
  });

  test('does not name it where more differs', async () => {
    const other = await document('v1.36.0', ', cluster: {podSubnets: [10.1.0.0/16]}');
    await assert.rejects(refuseIfChanged(host, await node(), other), (error: { remedy?: string; reason?: string }) => {
      assert.equal(error.reason, 'DocumentChanged');
      assert.doesNotMatch(error.remedy ?? '', /machineadm upgrade/);
      return true;
    });
  });

  test('refuses every document while an upgrade is unfinished', async () => {
    for (const version of ['v1.35.2', 'v1.36.0']) {
      const refused = refuseIfChanged(host, await node([BEGUN]), await document(version));
      await assert.rejects(refused, { reason: 'UpgradeUnfinished', exit: 'Refused' });
    }
  });
});

describe('the journal of an upgrade', () => {
  const kept = [started('upgrade-state', 'upgrade-state/files'), done('upgrade-state', 'upgrade-state/files')];

  test('that went back is as if it had not begun', async () => {
    const state = await node([BEGUN, ...kept, { is: 'upgrade', now: 'Back', at: 'now' }]);
    assert.equal(state.upgrade, undefined);
    assert.equal(state.bootstrappedVersion, 'v1.35.2');
    assert.equal(state.steps.has('upgrade-state'), false);
  });

  test('that is done has the document of its run', async () => {
    const { lastingDigest: lasting = '' } = await document('v1.36.0');
    const run: JournalRecord = { ...begun('r2', { lasting }), kubernetes: 'v1.36.0' } as JournalRecord;
    const state = await node([run, BEGUN, ...kept, { is: 'upgrade', now: 'Done', at: 'now' }]);
    assert.equal(state.upgrade, undefined);
    assert.equal(state.bootstrappedFrom, lasting);
    assert.equal(await upgradeAsked(host, state, await document('v1.36.0')), undefined);
    assert.deepEqual(await upgradeAsked(host, state, await document('v1.36.1')), { from: 'v1.35.2', to: 'v1.36.1' });
  });

  test('keeps its steps and its first version when it is resumed', async () => {
    const state = await node([BEGUN, ...kept, { ...BEGUN, from: 'v1.36.0' } as JournalRecord]);
    assert.equal(state.upgrade?.from, 'v1.35.2');
    assert.equal(state.steps.get('upgrade-state')?.done.has('upgrade-state/files'), true);
  });

  test('is not believed without what it needs', () => {
    for (const record of [
      { ...BEGUN, drain: 'yes' },
      { ...BEGUN, to: undefined },
      { is: 'upgrade', now: 'Perhaps', at: 'now' },
    ]) {
      assert.throws(() => parseRecord('/journal', JSON.stringify(record), 1), { reason: 'JournalUnreadable' });
    }
    assert.deepEqual(parseRecord('/journal', JSON.stringify(BEGUN), 1), BEGUN);
  });
});

describe('--resume', () => {
  test('of an upgrade continues one that was begun, and provision leaves it alone', async () => {
    const machine = facts({ machineId: identity().machineId });
    const open = await node([begun('r1'), BEGUN]);
    assert.deepEqual(evaluateResumable(open, undefined, machine, 'upgrade'), { resume: true });
    assert.equal(evaluateResumable(open, undefined, machine).resume, false);
    const idle = await node([begun('r1'), ended('r1')]);
    assert.equal(evaluateResumable(idle, undefined, machine, 'upgrade').resume, false);
  });

  test('has the options of the first run', () => {
    const upgrade: UpgradeOptions = {
      drain: { by: 'machineadm', kubeconfig: '/root/admin.conf', deletesEmptyDir: true },
      overwritesManifests: true,
      ignorePreflightErrors: ['CreateJob', 'Swap'],
    };
    const args = resumingCommand({ command: 'upgrade', sources: ['/d.yaml'], upgrade }, ['machineadm']);
    assert.equal(
      args.join(' '),
      'machineadm upgrade --resume --kubeconfig /root/admin.conf --delete-emptydir-data --overwrite-manifests --ignore-preflight-errors CreateJob,Swap -d /d.yaml',
    );
    assert.match(
      resumingCommand({ command: 'upgrade', sources: ['/d.yaml'], upgrade: { drain: { by: 'caller' } } }, ['m']).join(
        ' ',
      ),
      /--drained/,
    );
  });
});
