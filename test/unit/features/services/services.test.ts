import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { FileModel, ServiceModel } from '@machineadm/document/model/index.ts';
import { services } from '../../../../src/features/services/index.ts';
import type { UnitFacts } from '../../../../src/host/seam/services.ts';
import { facts } from '../../../support/facts.ts';
import { fakeClock } from '../../../support/fake-clock.ts';
import { fileModel, hostModel } from '../../../support/host-model.ts';
import { type MemoryMachine, memoryHost } from '../../../support/memory-host.ts';
import { planned, runStep } from '../../../support/run-step.ts';

const DROP_IN = { name: '10-limits.conf', content: '[Service]\nLimitNOFILE=65536\n' };
const DROP_IN_PATH = '/etc/systemd/system/app.service.d/10-limits.conf';

function documentOf(service: Partial<ServiceModel>, files: readonly FileModel[] = []) {
  const whole = { name: 'app', enabled: undefined, masked: undefined, state: undefined, dropIns: [], ...service };
  return hostModel({ services: [whole], files });
}

function unitFile(text: string): FileModel {
  return fileModel('/etc/systemd/system/app.service', text);
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
    assert.equal(dropIn?.diff, '@@ -0,0 +1,2 @@\n+[Service]\n+LimitNOFILE=65536');
  });

  describe('that do not run after their start', () => {
    const unit = (different: Partial<UnitFacts>): UnitFacts => ({
      loadState: 'loaded',
      activeState: 'failed',
      subState: 'failed',
      result: 'exit-code',
      ended: { by: 'exit', status: 3 },
      restarts: 0,
      command: ['/usr/bin/app'],
      environment: '',
      environmentFiles: [],
      memoryMax: undefined,
      ...different,
    });
    /** A service that ends as `facts` say once it was started. */
    const ending = async (ended: Partial<UnitFacts>) => {
      const host = memoryHost({ services: { app: { logs: ['app: cannot open /etc/app.conf'] } } });
      const state = { ...(await host.service('app')), active: false, detail: 'failed', unit: unit(ended) };
      const failing = { ...host, service: async () => state };
      const model = documentOf({ state: 'Started' });
      const { left } = await runStep(services, failing, model);
      const desired = services.desired(model, facts());
      assert.ok(desired !== undefined);
      return { left, why: await services.whyNotEffective?.(failing, desired, await planned(services, failing, model)) };
    };
    test('are reported with how they ended and their journal', async () => {
      const { left, why } = await ending({});
      assert.deepEqual(
        left.map(({ ineffective }) => ineffective),
        ['ServiceFailed'],
      );
      assert.equal(
        why?.summary,
        'app was started but does not run: ends by itself (exit-code), last with exit status 3.',
      );
      assert.match(why?.remedy ?? '', /journalctl -u app -b/);
      assert.deepEqual(why?.evidence, [
        { source: 'state of app', text: 'ends by itself (exit-code), last with exit status 3' },
        { source: 'journal of app', text: 'app: cannot open /etc/app.conf' },
      ]);
    });

    test('by a signal, for lack of memory, or because their program cannot be executed are reported so', async () => {
      const summaryOf = async (ended: Partial<UnitFacts>) => (await ending(ended)).why?.summary ?? '';
      assert.match(await summaryOf({ result: 'signal', ended: { by: 'signal', status: 9 } }), /killed by SIGKILL/);
      assert.match(
        await summaryOf({ result: 'oom-kill', ended: { by: 'signal', status: 9 } }),
        /killed for lack of memory/,
      );
      assert.match(await summaryOf({ ended: { by: 'exit', status: 203 } }), /cannot be executed: \/usr\/bin\/app/);
    });

    test('although they ended well are units that do their work and end', async () => {
      const { why } = await ending({ activeState: 'inactive', result: 'success', ended: { by: 'exit', status: 0 } });
      assert.match(why?.summary ?? '', /it ended by itself with exit status 0/);
      assert.match(why?.remedy ?? '', /RemainAfterExit=yes, or remove "state: Started" of app/);
      assert.equal(why?.retryable, false);
    });

    test('are waited for: a program that ends right after its start has failed', async () => {
      using clock = fakeClock();
      const host = memoryHost({ services: { app: {} } });
      const startedAtMs = clock.now();
      let looks = 0;
      // As systemd shows a service of Type=simple: started, and a moment later ended.
      const failing = {
        ...host,
        service: async (name: string) => {
          const state = await host.service(name);
          looks += state.active ? 1 : 0;
          return looks > 3 ? { ...state, active: false, detail: 'failed' } : { ...state, startedAtMs };
        },
      };
      const run = await clock.until(runStep(services, failing, documentOf({ state: 'Started' })));
      assert.equal(run.left.length, 1);
    });
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

  describe('a unit that `files` writes', () => {
    const model = (text: string) => documentOf({ state: 'Started' }, [unitFile(text)]);

    test('that changed makes the service restart, and plan says so before it is written', async () => {
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

    test('that is new is started, and is not reported as missing by preflight', async () => {
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
