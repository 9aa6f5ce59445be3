import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { unitDropInPath } from '@machineadm/document/ownership/paths.ts';
import { isChroot, parseServiceState, serviceState, systemdServices } from '../../../../src/host/linux/systemd.ts';
import { memoryHost } from '../../../support/memory-host.ts';
import { needs } from '../../../support/needs.ts';

function shown(properties: Readonly<Record<string, string>>): string {
  return Object.entries(properties)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('');
}

const RUNNING = {
  LoadState: 'loaded',
  ActiveState: 'active',
  UnitFileState: 'enabled',
  MainPID: '812',
  ExecMainStartTimestampMonotonic: '5250000',
};

describe('the state of a systemd unit', () => {
  test('one that runs, with the time of day of its start', () => {
    const { unit, ...state } = parseServiceState(shown(RUNNING), 1_700_000_000_000);
    assert.equal(unit?.activeState, 'active');
    assert.deepEqual(state, {
      exists: true,
      active: true,
      enabled: true,
      masked: false,
      detail: 'active',
      pid: 812,
      startedAtMs: 1_700_000_005_250,
      fixed: false,
      needsReload: false,
    });
  });

  test('one that does not exist', () => {
    const state = parseServiceState(shown({ LoadState: 'not-found', ActiveState: 'inactive', MainPID: '0' }), 0);
    assert.deepEqual([state.exists, state.active, state.detail, state.pid], [false, false, 'not-found', undefined]);
  });

  test('one that failed has no process and no start, though systemd remembers one', () => {
    const state = parseServiceState(shown({ ...RUNNING, ActiveState: 'failed', MainPID: '0' }), 0);
    assert.deepEqual(
      [state.active, state.detail, state.pid, state.startedAtMs],
      [false, 'failed', undefined, undefined],
    );
  });

  test('one that is masked, for now or for good', () => {
    assert.equal(
      parseServiceState(shown({ ...RUNNING, LoadState: 'masked', UnitFileState: 'masked' }), 0).masked,
      true,
    );
    assert.equal(parseServiceState(shown({ ...RUNNING, UnitFileState: 'masked-runtime' }), 0).masked, true);
  });

  test('one without an install section is fixed, and one changed on disk needs a reload', () => {
    const state = parseServiceState(shown({ ...RUNNING, UnitFileState: 'static', NeedDaemonReload: 'yes' }), 0);
    assert.deepEqual([state.fixed, state.needsReload], [true, true]);
  });

  test('a drop-in is in the directory for administrators, and is recognised by its unit and not by its name', () => {
    assert.equal(unitDropInPath('sshd', '10-x.conf'), '/etc/systemd/system/sshd.service.d/10-x.conf');
    assert.equal(unitDropInPath('a.b', '10-x.conf'), '/etc/systemd/system/a.b.service.d/10-x.conf');
    assert.equal(unitDropInPath('docker.socket', 'x.conf'), '/etc/systemd/system/docker.socket.d/x.conf');
  });

  test('enabled is what the next boot starts', () => {
    const enabled = (state: string) => parseServiceState(shown({ ...RUNNING, UnitFileState: state }), 0).enabled;
    assert.deepEqual(['enabled', 'static', 'alias', 'generated'].map(enabled), [true, true, true, true]);
    assert.deepEqual(['disabled', 'enabled-runtime', 'masked', ''].map(enabled), [false, false, false, false]);
  });
});

describe('a machine without systemd', { skip: needs('another process 1 than systemd') }, () => {
  test('has no services, and says so when one is to be changed', async () => {
    assert.equal((await serviceState('containerd')).exists, false);
    const services = systemdServices();
    const expected = { reason: 'ServiceFailed', message: /systemd does not run on this machine/ };
    for (const change of [services.start, services.stop, services.restart, services.enable]) {
      await assert.rejects(change('containerd'), expected);
    }
    await assert.rejects(services.reload(), expected);
  });
});

describe('systemd', () => {
  /** A machine whose systemctl answers by its first word; a status that is not 0 has a message. */
  const machine = (
    shown: Readonly<Record<string, string>>,
    statuses: Readonly<Record<string, number>> = {},
    timedOut = false,
  ) => ({
    ...memoryHost({
      programs: {
        systemctl: ({ args }) => {
          const status = statuses[args[0] ?? ''] ?? 0;
          const stdout = Object.entries(shown).map(([name, value]) => `${name}=${value}\n`);
          return { status, stdout: stdout.join(''), stderr: status === 0 ? '' : '\nJob failed.\n', timedOut };
        },
        journalctl: ({ args }) => ({ status: statuses.journalctl ?? 0, stdout: `${args.join(' ')}\n\nlast words\n` }),
      },
    }),
    isBooted: () => true,
  });
  const PRINTED = { source: 'systemctl start x.service', text: 'Job failed.' };
  const JOURNAL = [
    { source: 'journal of x.service', text: '-b -u x.service -n 400 -o cat --no-pager --quiet' },
    { source: 'journal of x.service', text: 'last words' },
  ];

  for (const [call, commands] of [
    ['start', ['start --no-ask-password x.service']],
    ['stop', ['stop --no-ask-password x.service']],
    ['restart', ['restart --no-ask-password x.service']],
    ['reloadService', ['reload-or-restart --no-ask-password x.service']],
    ['enable', ['enable --no-ask-password x.service']],
    ['disable', ['disable --no-ask-password x.service']],
    ['mask', ['mask --no-ask-password x.service']],
    ['unmask', ['unmask --no-ask-password x.service', 'unmask --no-ask-password --runtime x.service']],
    ['reload', ['daemon-reload']],
  ] as const) {
    test(`${call} is ${commands.map((command) => `systemctl ${command}`).join(', then ')}`, async () => {
      const host = machine(RUNNING);
      await systemdServices(undefined, host)[call]('x.service');
      assert.deepEqual(
        host.log,
        commands.map((command) => `run systemctl ${command}`),
      );
    });
  }

  for (const [call, verb, done] of [
    ['start', 'start', 'started'],
    ['stop', 'stop', 'stopped'],
    ['restart', 'restart', 'restarted'],
    ['reloadService', 'reload-or-restart', 'reloaded'],
    ['enable', 'enable', 'enabled'],
    ['disable', 'disable', 'disabled'],
    ['mask', 'mask', 'masked'],
    ['unmask', 'unmask', 'unmasked'],
  ] as const) {
    test(`a ${verb} that fails says that the unit could not be ${done}`, async () => {
      await assert.rejects(systemdServices(undefined, machine(RUNNING, { [verb]: 1 }))[call]('x.service'), {
        reason: 'ServiceFailed',
        message: new RegExp(`^x\\.service could not be ${done}: `),
      });
    });
  }

  for (const [what, shown, timedOut, why, remedy] of [
    [
      'is masked',
      { ...RUNNING, UnitFileState: 'masked' },
      false,
      'it is masked',
      'Unmask it with "systemctl unmask x.service" if it is wanted.',
    ],
    [
      'does not exist',
      { LoadState: 'not-found' },
      false,
      'no such unit exists',
      'Install the package that provides x.service.',
    ],
    ['hangs', RUNNING, true, 'no answer within 300 s', /^Read "journalctl -u x\.service -b"/],
    [
      'failed',
      { ...RUNNING, ActiveState: 'failed', Result: 'start-limit-hit' },
      false,
      /^it failed: \S/,
      /^Read "journalctl/,
    ],
    [
      'is starting',
      { ...RUNNING, ActiveState: 'activating', Result: 'success' },
      false,
      'its state is activating',
      /^Read "journalctl/,
    ],
  ] as const) {
    test(`a start that fails, of a unit that ${what}, has the reason, the remedy and the journal`, async () => {
      const host = machine(shown, { start: 1 }, timedOut);
      await assert.rejects(systemdServices(undefined, host).start('x.service'), (error) => {
        assert.ok(error instanceof MachineadmError);
        const [, found = ''] = error.message.split('x.service could not be started: ');
        if (typeof why === 'string') assert.equal(found, why);
        else assert.match(found, why);
        if (typeof remedy === 'string') assert.equal(error.remedy, remedy);
        else assert.match(error.remedy, remedy);
        assert.equal(error.retryable, true);
        assert.deepEqual(error.evidence, [PRINTED, ...JOURNAL]);
        return true;
      });
    });
  }

  test('a journal that cannot be read does not hide what failed', async () => {
    const host = machine(RUNNING, { start: 1, journalctl: 1 });
    await assert.rejects(systemdServices(undefined, host).start('x.service'), (error) => {
      assert.ok(error instanceof MachineadmError);
      assert.deepEqual(error.evidence, [PRINTED]);
      return true;
    });
  });

  test('that cannot read its units again says why', async () => {
    await assert.rejects(systemdServices(undefined, machine({}, { 'daemon-reload': 1 })).reload(), (error) => {
      assert.ok(error instanceof MachineadmError);
      assert.equal(error.message, 'systemd could not re-read its units');
      assert.equal(error.retryable, true);
      assert.deepEqual(error.evidence, [{ source: 'systemctl daemon-reload', text: 'Job failed.' }]);
      return true;
    });
  });

  test('returns a state with one command; a failure of it is the state', async () => {
    const host = machine(RUNNING);
    assert.equal((await serviceState('x.service', host)).pid, 812);
    assert.equal(host.log.length, 1);
    assert.match(
      host.log[0] ?? '',
      /^run systemctl show --no-pager --property=LoadState,.*,UnitFileState,NeedDaemonReload,MainPID,ExecMainStartTimestampMonotonic x\.service$/,
    );
    const failed = await serviceState('x.service', machine({}, { show: 1 }));
    assert.deepEqual([failed.exists, failed.active, failed.detail], [false, false, 'Job failed.']);
  });

  test('returns several states with one command; one that it does not show hides no other', async () => {
    const asked: string[] = [];
    const answering = (refused?: string) => ({
      ...memoryHost({
        programs: {
          systemctl: ({ args }) => {
            const units = args.slice(3);
            asked.push(units.join(' '));
            if (refused !== undefined && units.includes(refused))
              return { status: 1, stdout: '', stderr: `Unit name ${refused} is not valid.\n` };
            return { status: 0, stdout: units.map((unit) => `LoadState=loaded\nActiveState=${unit}\n`).join('\n') };
          },
        },
      }),
      isBooted: () => true,
    });
    const detailsOf = async (host: ReturnType<typeof answering>): Promise<readonly string[]> =>
      (await Promise.all(['a', 'b', 'c'].map((name) => serviceState(name, host)))).map(({ detail }) => detail);

    assert.deepEqual(await detailsOf(answering()), ['a', 'b', 'c']);
    assert.deepEqual(asked.splice(0), ['a b c']);
    assert.deepEqual(await detailsOf(answering('b')), ['a', 'Unit name b is not valid.', 'c']);
    assert.deepEqual(asked, ['a b c', 'a', 'b', 'c']);
  });

  test('has a journal of this boot; one that cannot be read is empty', async () => {
    assert.deepEqual(await systemdServices(undefined, machine({})).logs('x.service', 7), [
      '-b -u x.service -n 7 -o cat --no-pager --quiet',
      'last words',
    ]);
    assert.deepEqual(await systemdServices(undefined, machine({}, { journalctl: 1 })).logs('x.service', 7), []);
  });

  test('that does not run is no place for services, and nothing is started there', async () => {
    const host = { ...machine(RUNNING), isBooted: () => false };
    const state = await serviceState('x.service', host);
    assert.deepEqual([state.exists, state.enabled, state.detail], [false, false, 'systemd does not run']);
    await assert.rejects(systemdServices(undefined, host).start('x.service'), {
      reason: 'ServiceFailed',
      message: 'x.service could not be started: systemd does not run on this machine',
    });
    assert.deepEqual(host.log, []);
  });
});

test('a chroot has another root directory than the first process; where that cannot be seen, it is none', () => {
  const proc = mkdtempSync(join(tmpdir(), 'machineadm-proc-'));
  try {
    assert.equal(isChroot(proc), false);
    mkdirSync(join(proc, '1'));
    symlinkSync('/', join(proc, '1/root'));
    assert.equal(isChroot(proc), false);
    rmSync(join(proc, '1/root'));
    symlinkSync(proc, join(proc, '1/root'));
    assert.equal(isChroot(proc), true);
  } finally {
    rmSync(proc, { recursive: true });
  }
});
