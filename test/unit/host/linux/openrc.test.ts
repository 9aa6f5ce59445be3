import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { openrcServiceState, openrcServices } from '../../../../src/host/linux/openrc.ts';
import { type MemoryFile, type MemoryHost, type MemoryMachine, memoryHost } from '../../../support/memory-host.ts';

const SCRIPT: MemoryFile = { content: '#!/sbin/openrc-run\n', mode: 0o755 };
const STARTED = { '/run/openrc/started/chronyd': '' };
const BY_LAST_WORD = { start: 0, stop: 0, restart: 0, reload: 0, zap: 0 };

/** A machine with the service chronyd, whose script answers each command with a status. */
function machine(
  statuses: Readonly<Record<string, number>> = {},
  files: NonNullable<MemoryMachine['files']> = {},
): MemoryHost {
  const answers: Readonly<Record<string, number>> = { status: 0, ...BY_LAST_WORD, ...statuses };
  return memoryHost({
    files: { '/etc/init.d/chronyd': SCRIPT, ...files },
    programs: {
      'rc-service': ({ args }) => {
        const status = answers[args.at(-1) ?? ''] ?? 1;
        return { status, stderr: status === 0 ? '' : ' * ERROR: chronyd failed\n' };
      },
      'rc-update': ({ args }) => ({ status: answers[args.at(-1) ?? ''] ?? 0, stderr: 'rc-update says why' }),
    },
  });
}

/** What was run besides asking for the state. */
function commandsOf(host: MemoryHost): readonly string[] {
  return host.log.filter((line) => !line.endsWith(' status'));
}

describe('the state of a service of OpenRC', () => {
  for (const [what, status, files, detail, active] of [
    ['that runs', 0, STARTED, 'started', true],
    ['that has no command for its state, and was not started', 0, {}, 'stopped', false],
    ['that is stopped', 3, {}, 'stopped', false],
    ['that is stopping', 4, STARTED, 'stopping', false],
    ['that is starting', 8, STARTED, 'starting', false],
    ['that waits for another', 16, STARTED, 'inactive', false],
    ['whose process has died', 32, STARTED, 'crashed', false],
    ['whose supervisor is gone', 64, STARTED, 'unsupervised', false],
    ['that answers what nobody knows', 7, STARTED, 'status 7', false],
    ['that failed', 3, { '/run/openrc/failed/chronyd': '' }, 'failed', false],
    ['that runs although a start of it failed', 0, { ...STARTED, '/run/openrc/failed/chronyd': '' }, 'started', true],
  ] as const) {
    test(`of one ${what} is ${detail}`, async () => {
      const host = machine({ status }, files);
      assert.deepEqual(await openrcServiceState('chronyd.service', host), {
        exists: true,
        active,
        enabled: false,
        masked: false,
        detail,
        pid: undefined,
        startedAtMs: undefined,
      });
      assert.deepEqual(host.log, ['run rc-service --nocolor chronyd status']);
    });
  }

  test('of one that is not installed is reported as such, without a command', async () => {
    const host = machine();
    const { exists, active, enabled, masked, detail } = await openrcServiceState('ntpd', host);
    assert.deepEqual([exists, active, enabled, masked, detail], [false, false, false, false, 'not-found']);
    assert.deepEqual(host.log, []);
  });

  test('of one whose script may not be executed is masked, and it may run on', async () => {
    for (const [files, isActive] of [
      [{}, false],
      [STARTED, true],
    ] as const) {
      const host = machine({}, { '/etc/init.d/chronyd': { ...SCRIPT, mode: 0o644 }, ...files });
      const { exists, active, masked, detail } = await openrcServiceState('chronyd', host);
      assert.deepEqual([exists, active, masked, detail], [true, isActive, true, 'masked']);
      assert.deepEqual(host.log, []);
    }
  });

  test('of one that is a link is not masked by the mode of the link', async () => {
    const link: MemoryFile = { type: 'symlink', content: '/opt/chronyd', mode: 0o644 };
    assert.equal((await openrcServiceState('chronyd', machine({}, { '/etc/init.d/chronyd': link }))).masked, false);
  });

  test('is enabled in the runlevels of a boot only', async () => {
    for (const [level, enabled] of [
      ['sysinit', true],
      ['boot', true],
      ['default', true],
      ['shutdown', false],
      ['single', false],
    ] as const) {
      const host = machine({}, { [`/etc/runlevels/${level}/chronyd`]: '' });
      assert.equal((await openrcServiceState('chronyd', host)).enabled, enabled, level);
    }
  });

  test('has the main process by its pidfile, or by its supervisor', async () => {
    const pidfile = '/run/chronyd.pid';
    const byPidfile = { '/run/openrc/daemons/chronyd/001': `exec=x\npidfile=${pidfile}\n` };
    const bySupervisor = '/run/openrc/options/chronyd/child_pid';
    for (const [files, pid] of [
      [{ ...byPidfile, [pidfile]: ` ${process.pid}\n` }, process.pid],
      [{ ...byPidfile, [bySupervisor]: `${process.pid}` }, process.pid],
      [{ ...byPidfile, [pidfile]: 'none' }, undefined],
      [{ ...byPidfile, [pidfile]: '0' }, undefined],
      [{ ...byPidfile, [pidfile]: '' }, undefined],
      [byPidfile, undefined],
      // No such process: the largest id of Linux is 2^22.
      [{ [bySupervisor]: '4194305' }, undefined],
    ] as const) {
      const state = await openrcServiceState('chronyd', machine({}, { ...STARTED, ...files }));
      assert.equal(state.pid, pid, JSON.stringify(files));
      assert.equal(typeof state.startedAtMs, pid === undefined ? 'undefined' : 'number');
    }
  });

  test('has no process where the service does not run', async () => {
    const files = { '/run/openrc/options/chronyd/child_pid': `${process.pid}` };
    assert.equal((await openrcServiceState('chronyd', machine({ status: 3 }, files))).pid, undefined);
  });
});

describe('OpenRC', () => {
  for (const [verb, status, commands] of [
    ['start', 3, ['start']],
    ['start', 32, ['zap', 'start']],
    ['start', 64, ['zap', 'start']],
    ['stop', 0, ['stop']],
    ['stop', 32, ['zap']],
    ['restart', 0, ['restart']],
    ['restart', 32, ['zap', 'start']],
    ['reloadService', 0, ['reload']],
  ] as const) {
    test(`${verb} of a service whose status is ${status} runs ${commands.join(', then ')}`, async () => {
      const host = machine({ status }, STARTED);
      await openrcServices(host)[verb]('chronyd.service');
      assert.deepEqual(
        commandsOf(host),
        commands.map((word) => `run rc-service --nocolor chronyd ${word}`),
      );
    });
  }

  test('restarts a service that cannot reload', async () => {
    const host = machine({ reload: 1 }, STARTED);
    await openrcServices(host).reloadService('chronyd');
    assert.deepEqual(commandsOf(host), [
      'run rc-service --nocolor chronyd reload',
      'run rc-service --nocolor chronyd restart',
    ]);
  });

  test('reads its services again', async () => {
    const host = machine();
    await openrcServices(host).reload();
    assert.deepEqual(host.log, ['run rc-update --update']);
    await assert.rejects(openrcServices(machine({ '--update': 1 })).reload(), {
      reason: 'ServiceFailed',
      message: /^OpenRC could not be made to read its services again: no such service exists/,
    });
  });

  test('enables what no runlevel of a boot has, and disables in each runlevel that has it', async () => {
    const host = machine({}, { '/etc/runlevels/single/chronyd': '', '/etc/runlevels/boot/other': '' });
    await openrcServices(host).enable('chronyd.service');
    assert.deepEqual(host.log, ['run rc-update --nocolor add chronyd default']);
    const enabled = machine({}, { '/etc/runlevels/single/chronyd': '', '/etc/runlevels/boot/chronyd': '' });
    await openrcServices(enabled).enable('chronyd');
    assert.deepEqual(enabled.log, []);
    await openrcServices(enabled).disable('chronyd.service');
    assert.deepEqual(enabled.log, [
      'run rc-update --nocolor del chronyd boot',
      'run rc-update --nocolor del chronyd single',
    ]);
  });

  test('says which of enabling and disabling failed', async () => {
    const files = { '/etc/runlevels/boot/chronyd': '' };
    await assert.rejects(openrcServices(machine({ default: 1 })).enable('chronyd'), {
      message: /^chronyd could not be enabled: its state is stopped/,
    });
    await assert.rejects(openrcServices(machine({ boot: 1 }, files)).disable('chronyd'), {
      message: /^chronyd could not be disabled: its state is stopped/,
    });
  });

  test('masks a service by taking the right to execute its script away, and gives it back', async () => {
    const host = machine();
    await openrcServices(host).mask('chronyd.service');
    await openrcServices(host).unmask('chronyd.service');
    assert.deepEqual(host.log, ['chmod /etc/init.d/chronyd 0644', 'chmod /etc/init.d/chronyd 0755']);
    for (const [verb, word] of [
      ['mask', 'masked'],
      ['unmask', 'unmasked'],
    ] as const) {
      await assert.rejects(openrcServices(host)[verb]('ntpd'), {
        reason: 'ServiceFailed',
        message: `ntpd could not be ${word}: there is no /etc/init.d/ntpd`,
      });
    }
  });

  test('shows the last lines of a log', async () => {
    const host = machine({}, { '/var/log/chronyd.log': 'one\ntwo\nthree\n' });
    assert.deepEqual(await openrcServices(host).logs('chronyd.service', 2), ['two', 'three']);
  });

  for (const [what, files, summary, remedy] of [
    ['is stopped', {}, /^chronyd could not be started: its state is stopped$/, /^Run "rc-service chronyd start"/],
    [
      'is masked',
      { '/etc/init.d/chronyd': { ...SCRIPT, mode: 0o644 } },
      /: its script is not executable \(it is masked\)$/,
      /^Unmask it with "chmod 755 \/etc\/init\.d\/chronyd"/,
    ],
  ] as const) {
    test(`a start that fails is ServiceFailed with what it printed and logged, where the service ${what}`, async () => {
      const host = machine({ start: 1, status: 3 }, { '/var/log/chronyd.log': 'bad directive\n', ...files });
      await assert.rejects(openrcServices(host).start('chronyd'), (error) => {
        assert.ok(error instanceof MachineadmError);
        assert.equal(error.reason, 'ServiceFailed');
        assert.match(error.message, summary);
        assert.match(error.remedy, remedy);
        assert.equal(error.retryable, true);
        assert.deepEqual(error.evidence, [
          { source: 'rc-service chronyd start', text: '* ERROR: chronyd failed' },
          { source: 'log of chronyd', text: 'bad directive' },
        ]);
        return true;
      });
    });
  }

  test('a start of what is not installed, and one without an answer, say so', async () => {
    const absent = machine({ start: 1 });
    await assert.rejects(openrcServices(absent).start('ntpd'), (error) => {
      assert.ok(error instanceof MachineadmError);
      assert.match(error.message, /: no such service exists$/);
      assert.match(error.remedy, /^Install the package that provides ntpd/);
      return true;
    });
    const slow = memoryHost({
      files: { '/etc/init.d/chronyd': SCRIPT },
      programs: {
        'rc-service': ({ args }) => (args.at(-1) === 'start' ? { status: 143, timedOut: true } : { status: 3 }),
      },
    });
    await assert.rejects(openrcServices(slow).start('chronyd'), { message: /: no answer within 300 s$/ });
  });
});
