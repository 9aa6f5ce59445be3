import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import type { HardeningModel } from '@machineadm/document/model/index.ts';
import { readManifest } from '@machineadm/hardening/manifest.ts';
import { auditControls } from '../../../../src/features/hardening/audit.ts';
import { hardeningStep } from '../../../../src/features/hardening/index.ts';
import { EMPTY_RECORD, type StepRecord } from '../../../../src/step/index.ts';
import { ETCD_ID, FACTS_1_20, fixture, hardenedModel, nodeOf } from '../../../support/hardened-machine.ts';
import { type Breakage, breakages, WORKER_BREAKAGES } from '../../../support/hardening-breakages.ts';
import type { MemoryHost } from '../../../support/memory-host.ts';
import { planned, runStep } from '../../../support/run-step.ts';

const hardening = hardeningStep({ timeoutMs: 60_000, pauseMs: 1 });
const impatient = hardeningStep({ timeoutMs: 100, pauseMs: 1 });
const CIS: HardeningModel = { profiles: ['cis-level-1'], include: [], exceptions: [] };
const DONE: StepRecord = { ...EMPTY_RECORD, done: new Set(['hardening/cis-level-1']) };

const failing = async (host: MemoryHost, section: HardeningModel | undefined = CIS): Promise<readonly string[]> => {
  const { controls } = await auditControls(host, { profiles: section?.profiles ?? CIS.profiles }, section, 20);
  return controls.filter(({ state }) => state === 'fail').map(({ id }) => id);
};

const run = async (host: MemoryHost, record: StepRecord = DONE, model = hardenedModel(CIS)) =>
  await runStep(hardening, host, model, { facts: FACTS_1_20, record });

/** As the step control-plane-files lays it, before kubeadm runs. */
function layAuditPolicy(host: MemoryHost): void {
  const policy = hardenedModel(CIS).kubernetes?.controlPlane.apiServer.audit?.policy;
  assert.ok(policy !== undefined);
  host.put('/etc/kubernetes/audit-policy.yaml', { content: JSON.stringify(policy), mode: 0o600 });
}

describe('a control plane that kubeadm 1.20.2 made', () => {
  test('fails, without the profile, what the benchmark finds in kubeadm', async () => {
    const scored = ['1.1.12', '1.2.5', '1.2.15', '1.2.16', '1.2.17', '1.2.18', '1.2.19', '1.2.30', '1.3.2', '1.4.1'];
    const node = ['4.1.1', '4.1.9'];
    const notScored = [
      '1.2.1',
      '1.2.9',
      '1.2.11',
      '1.2.27',
      '1.2.28',
      '1.2.29',
      '1.3.1',
      '3.2.1',
      '4.2.9',
      '4.2.12',
      '4.2.13',
    ];
    const { controls } = await auditControls(await nodeOf('control-plane'), CIS, undefined, 20);
    const found = controls.filter(({ state }) => state === 'fail').map(({ id }) => id);
    assert.deepEqual(found.toSorted(), [...scored, ...node, ...notScored].map((id) => `cis-${id}`).sort());
    // There is no such admission plugin, and no such field, before 1.21 and 1.25.
    for (const id of ['cis-1.2.3', 'cis-4.2.14']) {
      assert.equal(controls.find((control) => control.id === id)?.state, 'not-applicable');
    }
  });

  test('passes it all after the step, but for what the profile leaves alone, and a second run changes nothing', async () => {
    const host = await nodeOf('control-plane');
    layAuditPolicy(host);
    const first = await run(host, EMPTY_RECORD);
    assert.deepEqual(
      first.changes.map(({ id }) => id),
      ['hardening/cis-level-1', 'hardening/record'],
    );
    assert.deepEqual(first.warnings, []);
    assert.deepEqual(await failing(host), []);
    const again = await run(host);
    assert.deepEqual([...again.changes, ...first.left], []);

    const { controls } = await auditControls(host, CIS, CIS, 20);
    const excepted = controls.filter(({ state }) => state === 'exception');
    assert.deepEqual(
      excepted.map(({ id }) => id),
      ['1.2.1', '1.2.5', '1.2.9', '1.2.11', '1.2.27', '1.2.28', '4.2.9'].map((id) => `cis-${id}`),
    );
    assert.ok(excepted.every(({ reason }) => reason !== undefined && reason.length > 20));
    assert.deepEqual(await host.stat('/var/lib/etcd'), {
      ...(await host.stat('/var/lib/etcd')),
      uid: ETCD_ID,
      gid: ETCD_ID,
    });
    const { args } = await readManifest(host.text('/etc/kubernetes/manifests/kube-apiserver.yaml') ?? '');
    assert.equal(args.get('enable-admission-plugins'), 'NodeRestriction', 'what kubeadm set is as it was');
  });

  test('gets no more than the plan says, and keeps the modes and owners of what is written', async () => {
    const host = await nodeOf('control-plane');
    const changes = await planned(hardening, host, hardenedModel(CIS), { facts: FACTS_1_20 });
    assert.deepEqual(host.log, []);
    assert.deepEqual(
      changes.map(({ knownAfter }) => knownAfter),
      ['kubeadm', undefined],
    );
    await run(host, EMPTY_RECORD);
    assert.equal((await host.stat('/etc/kubernetes/manifests/kube-apiserver.yaml'))?.mode, 0o600);
    assert.equal((await host.stat('/var/lib/kubelet/config.yaml'))?.mode, 0o600);
  });

  test('that is killed during the step restarts the kubelet once more, as it may not have read the change', async () => {
    const host = await nodeOf('control-plane');
    layAuditPolicy(host);
    await run(host, EMPTY_RECORD);
    host.log.length = 0;
    await run(host, { ...EMPTY_RECORD, interrupted: new Set(['hardening/cis-level-1']) });
    assert.deepEqual(
      host.log.filter((line) => line.startsWith('service')),
      ['service restart kubelet'],
    );
  });
});

const APISERVER = '/etc/kubernetes/manifests/kube-apiserver.yaml';
const BREAKAGES = breakages('node-1');

async function setWrong(host: MemoryHost, { path, change, mode, uid, create }: Breakage): Promise<void> {
  const stat = (await host.stat(path)) ?? { type: 'file', mode: 0o644, uid: 0, gid: 0 };
  const present = create ?? (stat.type === 'directory' ? undefined : host.text(path));
  const content = change === undefined ? present : change(present ?? '');
  if (change !== undefined) assert.notEqual(content, present, `${path} has nothing to set wrong`);
  const { type, gid } = stat;
  const now = { type, mode: mode ?? stat.mode, uid: uid ?? stat.uid, gid };
  host.put(path, content === undefined ? now : { ...now, content });
}

describe('each control violated on a hardened control plane', () => {
  // It takes half of the time to harden one for each control; every test leaves it as it found it.
  let host: MemoryHost;
  before(async () => {
    host = await nodeOf('control-plane');
    layAuditPolicy(host);
    await run(host, EMPTY_RECORD);
  });

  test('is in a list of all that pass there, except those shown on a worker and one that only the cluster can correct', async () => {
    const { controls } = await auditControls(host, CIS, CIS, 20);
    const passing = controls.filter(({ state }) => state === 'pass').map(({ id }) => id.slice('cis-'.length));
    assert.deepEqual(
      passing.filter((id) => !(id in WORKER_BREAKAGES)),
      Object.keys(BREAKAGES),
    );
  });

  for (const [id, breakIt] of Object.entries(BREAKAGES)) {
    test(`cis-${id}: the audit fails it alone, and the next run corrects it`, async () => {
      await setWrong(host, breakIt);
      assert.deepEqual(await failing(host), [`cis-${id}`]);
      const mended = await run(host);
      assert.equal(mended.changes.length, 1, mended.changes.map((change) => change.id).join());
      assert.match(mended.changes[0]?.summary ?? '', new RegExp(`cis-${id}(,|$)`));
      assert.deepEqual(mended.left, []);
      assert.deepEqual(await failing(host), []);
    });
  }
});

describe('each control violated on a hardened worker', () => {
  const model = hardenedModel(CIS, 'Worker');
  for (const [id, breakIt] of Object.entries(WORKER_BREAKAGES)) {
    test(`cis-${id}: the audit fails it alone, and the next run corrects it`, async () => {
      const host = await nodeOf('worker');
      await run(host, EMPTY_RECORD, model);
      assert.deepEqual(await failing(host), []);
      await setWrong(host, breakIt);
      assert.deepEqual(await failing(host), [`cis-${id}`]);
      assert.deepEqual((await run(host, DONE, model)).left, []);
      assert.deepEqual(await failing(host), []);
    });
  }

  test('cis-4.3.1 is a matter of the cluster: the audit fails it, the step leaves it and says so where it changes anything', async () => {
    const commandLine = (address: string): string => `/usr/local/bin/kube-proxy\0--metrics-bind-address=${address}\0`;
    const path = '/proc/4242/cmdline';
    const host = await nodeOf('worker', { [path]: { content: commandLine('0.0.0.0:10249') } });
    const first = await run(host, EMPTY_RECORD, model);
    assert.match(first.warnings.join(), /cis-4\.3\.1 does not hold: ConfigMap kube-system\/kube-proxy/);
    assert.deepEqual(await failing(host), ['cis-4.3.1']);
    host.put(path, commandLine('127.0.0.1:10249'));
    assert.deepEqual(await failing(host), []);
  });
});

describe('a setting of the document itself', () => {
  test('is restored when it was changed on the machine', async () => {
    const model = hardenedModel(CIS);
    const { kubernetes } = model;
    assert.ok(kubernetes !== undefined);
    const { apiServer } = kubernetes.controlPlane;
    const args = apiServer.args.map((arg) => (arg.name === 'audit-log-maxage' ? { ...arg, value: '90' } : arg));
    const own = {
      ...model,
      kubernetes: { ...kubernetes, controlPlane: { ...kubernetes.controlPlane, apiServer: { ...apiServer, args } } },
    };
    const host = await nodeOf('control-plane');
    layAuditPolicy(host);
    await run(host, EMPTY_RECORD, own);
    assert.match(host.text(APISERVER) ?? '', /--audit-log-maxage=90/);
  });

  test('that is an exception is left as it is, and reported with its reason', async () => {
    const section: HardeningModel = { ...CIS, exceptions: [{ id: 'cis-1.2.15', reason: 'We profile.' }] };
    const host = await nodeOf('control-plane');
    layAuditPolicy(host);
    await run(host, EMPTY_RECORD, hardenedModel(section));
    assert.doesNotMatch(host.text(APISERVER) ?? '', /profiling/);
    const { controls } = await auditControls(host, section, section, 20);
    const control = controls.find(({ id }) => id === 'cis-1.2.15');
    assert.deepEqual([control?.state, control?.reason], ['exception', 'We profile.']);
  });
});

describe('a component that does not come back', () => {
  test('has its manifest restored, and the step fails with the setting that it was to have', async () => {
    const host = await nodeOf('control-plane');
    layAuditPolicy(host);
    // This kubelet ends the API server and cannot start it with the new arguments.
    const stubborn: MemoryHost = {
      ...host,
      async writeFile(file) {
        await host.writeFile(file);
        if (file.path === APISERVER && String(file.content).includes('profiling')) host.take('/proc/100/cmdline');
      },
    };
    await assert.rejects(
      runStep(impatient, stubborn, hardenedModel(CIS), { facts: FACTS_1_20 }),
      (error: { reason?: string; message?: string; evidence?: object[] }) => {
        assert.equal(error.reason, 'HardenedComponentFailed');
        assert.match(error.message ?? '', /kube-apiserver did not come back .*: it does not run/);
        assert.match(JSON.stringify(error.evidence), /set --profiling=false/);
        return true;
      },
    );
    assert.equal(host.text(APISERVER), fixture('kube-apiserver.yaml'));
  });
});
