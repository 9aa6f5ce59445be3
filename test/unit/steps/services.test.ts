import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { FileModel, ServiceModel } from '../../../src/document/model.ts';
import { services } from '../../../src/steps/services.ts';
import { facts } from '../../support/facts.ts';
import { hostModel } from '../../support/host-model.ts';
import { type MemoryMachine, memoryHost } from '../../support/memory-host.ts';
import { planned, runStep } from '../../support/run-step.ts';

const DROP_IN = { name: '10-limits.conf', content: '[Service]\nLimitNOFILE=65536\n' };
const DROP_IN_PATH = '/etc/systemd/system/app.service.d/10-limits.conf';

function documentOf(service: Partial<ServiceModel>, files: readonly FileModel[] = []) {
  const whole = { name: 'app', enabled: undefined, masked: undefined, state: undefined, dropIns: [], ...service };
  return hostModel({ services: [whole], files });
}

function unitFile(text: string): FileModel {
  const content = { kind: 'inline', bytes: new TextEncoder().encode(text) } as const;
  const path = '/etc/systemd/system/app.service';
  return { path, content, mode: 0o644, user: 'root', group: 'root', directoryMode: 0o755, append: false };
}

async function missing(machine: MemoryMachine, model: ReturnType<typeof hostModel>) {
  const desired = services.desired(model, facts());
  assert.ok(desired !== undefined && services.preflight !== undefined);
  return (await services.preflight(memoryHost(machine), desired)).map(({ reason }) => reason);
}

describe('services', () => {
  test('none asks for nothing', () => {
    assert.equal(services.desired(hostModel(), facts()), undefined);
  });

  /** What is there × what is wanted -> what is done. */
  const TABLE = [
    { is: {}, wanted: { enabled: true, state: 'Started' }, does: ['enable', 'start'] },
    { is: { active: true, enabled: true }, wanted: { enabled: true, state: 'Started' }, does: [] },
    { is: { active: true, enabled: true }, wanted: { enabled: false, state: 'Stopped' }, does: ['stop', 'disable'] },
    { is: {}, wanted: { enabled: false, state: 'Stopped' }, does: [] },
    { is: { active: true, enabled: true }, wanted: { masked: true, state: 'Stopped' }, does: ['stop', 'mask'] },
    { is: { active: true }, wanted: { masked: true }, does: ['mask'] },
    { is: { masked: true }, wanted: { masked: false, state: 'Started' }, does: ['unmask', 'start'] },
    { is: { masked: true }, wanted: { masked: true, state: 'Stopped' }, does: [] },
    { is: { detail: 'failed' }, wanted: { state: 'Started' }, does: ['start'] },
    { is: { active: true, enabled: true, fixed: true }, wanted: { masked: true, enabled: false }, does: ['mask'] },
  ] as const;
  for (const { is, wanted, does } of TABLE) {
    test(`${JSON.stringify(is)}, wanted ${JSON.stringify(wanted)}: ${does.join(', ') || 'nothing'}`, async () => {
      const host = memoryHost({ services: { app: is } });
      const run = await runStep(services, host, documentOf(wanted));
      assert.deepEqual(
        run.changes.map(({ id }) => id),
        does.map((act) => `services/app/${act}`),
      );
      assert.deepEqual(run.left, []);
    });
  }

  test('what runs is of this machine, what starts at boot is of an image', async () => {
    const host = memoryHost({ services: { app: {} } });
    const model = documentOf({ enabled: true, state: 'Started', dropIns: [DROP_IN] });
    const base = await planned(services, host, documentOf({ enabled: true, state: 'Started' }), { scope: 'base' });
    assert.deepEqual(
      base.map(({ id }) => id),
      ['services/app/enable'],
    );
    const [dropIn] = await planned(services, host, model);
    assert.equal(dropIn?.scope, 'base');
    assert.equal(dropIn?.diff, '+[Service]\n+LimitNOFILE=65536');
  });

  describe('drop-ins', () => {
    test('share one reload and one restart, and a second run does neither', async () => {
      const host = memoryHost({ services: { app: { active: true } } });
      const model = documentOf({ dropIns: [DROP_IN, { name: '20-b.conf', content: '[Unit]\n' }] });
      const run = await runStep(services, host, model);
      assert.deepEqual(host.log, [
        `write ${DROP_IN_PATH} 0644 0:0`,
        'write /etc/systemd/system/app.service.d/20-b.conf 0644 0:0',
        'service reload',
        'service restart app',
        'sync /etc',
      ]);
      assert.deepEqual(run.left, []);
      host.log.length = 0;
      assert.deepEqual((await runStep(services, host, model)).changes, []);
      assert.deepEqual(host.log, []);
    });

    test('start a wanted service only after they were read', async () => {
      const host = memoryHost({ services: { app: {} } });
      const run = await runStep(services, host, documentOf({ state: 'Started', enabled: true, dropIns: [DROP_IN] }));
      assert.deepEqual(host.log.slice(1), ['service enable app', 'service reload', 'service restart app', 'sync /etc']);
      assert.deepEqual(run.left, []);
    });

    for (const [what, is, wanted] of [
      ['one that does not run', {}, {}],
      ['one that is to stop', { active: true }, { state: 'Stopped' }],
      ['one that is masked', { masked: true }, {}],
    ] as const) {
      test(`do not start ${what}`, async () => {
        const host = memoryHost({ services: { app: is } });
        await runStep(services, host, documentOf({ ...wanted, dropIns: [DROP_IN] }));
        assert.ok(host.log.includes('service reload'));
        assert.ok(!host.log.includes('service restart app'));
      });
    }
  });

  describe('a unit that `files` lays', () => {
    const model = (text: string) => documentOf({ state: 'Started' }, [unitFile(text)]);

    test('that changed makes the service restart, and plan says so before it is laid', async () => {
      const host = memoryHost({
        services: { app: { active: true } },
        files: { '/etc/systemd/system/app.service': 'old' },
      });
      const before = await planned(services, host, model('new'));
      assert.deepEqual(
        before.map(({ id }) => id),
        ['services/app/reread'],
      );
      host.put('/etc/systemd/system/app.service', 'new');
      host.setService('app', { active: true, needsReload: true });
      const run = await runStep(services, host, model('new'));
      assert.deepEqual(
        run.changes.map(({ id }) => id),
        ['services/app/reread'],
      );
      assert.deepEqual(host.log, ['service reload', 'service restart app', 'sync /etc']);
      assert.deepEqual(run.left, []);
    });

    test('that is new is started, and missed by no preflight', async () => {
      assert.deepEqual(await missing({}, model('new')), []);
      const host = memoryHost({ services: { app: {} }, files: { '/etc/systemd/system/app.service': 'new' } });
      assert.deepEqual(
        (await planned(services, host, model('new'))).map(({ id }) => id),
        ['services/app/start'],
      );
    });
  });

  describe('before anything is changed', () => {
    test('a service that is not there is ServiceMissing', async () => {
      assert.deepEqual(await missing({}, documentOf({ state: 'Started' })), ['ServiceMissing']);
      assert.deepEqual(await missing({}, documentOf({ state: 'Stopped', enabled: false })), ['ServiceMissing']);
    });

    test('one that is not there can be masked', async () => {
      assert.deepEqual(await missing({}, documentOf({ masked: true })), []);
      const host = memoryHost();
      assert.deepEqual((await runStep(services, host, documentOf({ masked: true }))).left, []);
      assert.deepEqual(host.log, ['service mask app', 'sync /etc']);
    });

    test('a masked one that is to run is ServiceMasked', async () => {
      const machine = { services: { app: { masked: true } } };
      assert.deepEqual(await missing(machine, documentOf({ state: 'Started' })), ['ServiceMasked']);
      assert.deepEqual(await missing(machine, documentOf({ state: 'Started', masked: false })), []);
    });

    test('a static one cannot be disabled', async () => {
      const machine = { services: { app: { enabled: true, fixed: true } } };
      assert.deepEqual(await missing(machine, documentOf({ enabled: false })), ['ServiceUnsupported']);
    });

    test('drop-ins need a service manager that knows them', async () => {
      const machine = { services: { app: {} }, knowsNoDropIns: true };
      assert.deepEqual(await missing(machine, documentOf({ dropIns: [DROP_IN] })), ['ServiceUnsupported']);
    });
  });

  test('one that does not start is ServiceFailed', async () => {
    const host = memoryHost({ services: { app: { fails: 'app could not be started: it failed' } } });
    await assert.rejects(runStep(services, host, documentOf({ state: 'Started' })), { reason: 'ServiceFailed' });
  });

  test('one that ends at once, though its start succeeded, is ServiceFailed', async () => {
    const host = memoryHost({ services: { app: {} } });
    const flapping = { ...host, services: { ...host.services, start: async () => {} } };
    const run = await runStep(services, flapping, documentOf({ state: 'Started' }));
    assert.deepEqual(
      run.left.map(({ ineffective }) => ineffective),
      ['ServiceFailed'],
    );
  });
});
