import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Model } from '@machineadm/document/model/index.ts';
import { restoringCommand, sentinel } from '../../../../src/features/sentinel/index.ts';
import { systemdBootFile } from '../../../../src/host/services/boot-command.ts';
import { hostModel } from '../../../support/host-model.ts';
import { kubernetesModel } from '../../../support/kubernetes-model.ts';
import { memoryHost } from '../../../support/memory-host.ts';
import { bench } from '../../../support/step-bench.ts';

const SENTINEL = '/run/cluster-api/bootstrap-success.complete';
const UNIT = '/etc/systemd/system/machineadm-sentinel.service';
/** What the journal holds once the sentinel was earned. */
const earned = (path = SENTINEL) => ({ notes: new Map([['sentinel/file', { path }]]) });
const NODE: Model = { ...hostModel(), kubernetes: kubernetesModel() };

function machine(files: Parameters<typeof memoryHost>[0] = {}) {
  return memoryHost({ services: { 'machineadm-sentinel.service': {} }, ...files });
}

describe('the sentinel', () => {
  test('is written for a Kubernetes node only', () => {
    assert.equal(bench(sentinel, machine(), hostModel()).desired, undefined);
  });

  test('comes last, after what brings it back, and then nothing is left to do', async () => {
    const host = machine();
    const step = bench(sentinel, host, NODE);
    const changes = await step.plan();
    assert.deepEqual(
      changes.map(({ id, owes = [] }) => [id, ...owes]),
      [['sentinel/unit', 'daemon-reload'], ['sentinel/enable'], ['sentinel/file']],
    );
    const { notes } = await step.apply();
    assert.deepEqual(notes, [{ path: SENTINEL }], 'what `sentinel restore` goes by');
    assert.equal(host.text(SENTINEL), 'success\n');
    assert.equal((await host.stat(SENTINEL))?.mode, 0o644);
    assert.equal((await host.stat('/run/cluster-api'))?.mode, 0o755);
    assert.deepEqual(await step.plan(earned()), []);
  });

  test('comes back alone after a reboot', async () => {
    const host = machine();
    const step = bench(sentinel, host, NODE);
    await step.apply();
    host.take(SENTINEL);
    assert.deepEqual(
      (await step.plan(earned())).map(({ id }) => id),
      ['sentinel/file'],
    );
  });

  test('that the journal knows nothing of is written again: a restore goes by the journal', async () => {
    const host = machine();
    const step = bench(sentinel, host, NODE);
    await step.apply();
    assert.deepEqual(
      (await step.plan()).map(({ id }) => id),
      ['sentinel/file'],
    );
  });

  test('of another content or mode is put right', async () => {
    for (const file of [
      { content: 'success \n' },
      { content: 'success\n', mode: 0o600 },
      { type: 'symlink' as const },
    ]) {
      const host = machine({ files: { [SENTINEL]: file } });
      const ids = (await bench(sentinel, host, NODE).plan(earned())).map(({ id }) => id);
      assert.ok(ids.includes('sentinel/file'));
    }
  });

  test('in a directory that others may not enter opens it, and leaves a wider one alone', async () => {
    const closed = machine({ files: { '/run/cluster-api': { type: 'directory', mode: 0o700 } } });
    await bench(sentinel, closed, NODE).apply();
    assert.equal((await closed.stat('/run/cluster-api'))?.mode, 0o755);

    const path = '/tmp/sentinel';
    const open = machine({ files: { '/tmp': { type: 'directory', mode: 0o777 } } });
    const step = bench(sentinel, open, { ...NODE, reporting: { ...NODE.reporting, sentinelPath: path } });
    await step.apply();
    assert.equal((await open.stat('/tmp'))?.mode, 0o777);
    assert.deepEqual(await step.plan(earned(path)), []);
  });

  test('needs no unit where no service manager would run it', async () => {
    const host = memoryHost({ serviceManager: 'none' });
    const step = bench(sentinel, host, NODE);
    await step.apply();
    assert.equal(host.text(UNIT), undefined);
    assert.equal(host.text(SENTINEL), 'success\n');
  });
});

describe('on a machine with OpenRC', () => {
  test('a service of the runlevel default brings it back', async () => {
    const host = memoryHost({ serviceManager: 'openrc', services: { 'machineadm-sentinel': {} } });
    const step = bench(sentinel, host, NODE);
    await step.apply();
    assert.match(host.text('/etc/init.d/machineadm-sentinel') ?? '', /^#!\/sbin\/openrc-run\n/);
    assert.equal((await host.stat('/etc/init.d/machineadm-sentinel'))?.mode, 0o755);
    assert.equal(host.text(UNIT), undefined);
    assert.equal((await host.service('machineadm-sentinel')).enabled, true);
    assert.deepEqual(await step.plan(earned()), []);
  });
});

describe('the unit that brings it back', () => {
  test('restores at every boot, after the cloud has said which instance this is', () => {
    const unit = systemdBootFile(restoringCommand(['/usr/local/bin/machineadm'])).content;
    assert.match(unit, /^ExecStart=\/usr\/local\/bin\/machineadm sentinel restore$/m);
    assert.match(unit, /^After=.*cloud-init\.service/m);
    assert.match(unit, /^WantedBy=multi-user\.target$/m);
  });

  test("survives systemd's own characters", () => {
    const unit = systemdBootFile(restoringCommand(['/opt/my agent/100%', 'a"b$c\\d'])).content;
    assert.match(unit, /^ExecStart="\/opt\/my agent\/100%%" "a\\"b\$\$c\\\\d" sentinel restore$/m);
  });
});
