import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { HookGroup } from '@machineadm/document/model/index.ts';
import { packageLockIn } from '@machineadm/document/outcomes/package-lock.ts';
import { afterBootstrapHooks, earlyHooks } from '../../../../src/features/hooks/index.ts';
import { problemsOf } from '../../../support/document.ts';
import { hostModel } from '../../../support/host-model.ts';
import { type MemoryMachine, memoryHost } from '../../../support/memory-host.ts';
import { runStep } from '../../../support/run-step.ts';

const RETRY = { attempts: 3, delayMs: 1, backoff: 2 };
const HELD = 'E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 1804 (unattended-upgr)';
const OPEN = 'E: Could not get lock /var/lib/dpkg/lock - open (11: Resource temporarily unavailable)';

/** A shell whose only entry fails so many times, with these lines. */
function failing(times: number, status: number, lines: readonly string[] = [], files: MemoryMachine['files'] = {}) {
  let runs = 0;
  const host = memoryHost({
    files,
    programs: {
      sh: (command) => {
        runs += 1;
        const ended = runs > times ? 0 : status;
        command.onDescriptorLine?.('begin 1', () => {});
        for (const line of runs > times ? [] : lines) command.onLine?.('stderr', line);
        command.onDescriptorLine?.(`end 1 ${ended}`, () => {});
        return { status: ended };
      },
    },
  });
  return { host, runs: () => runs };
}

function group(different: Partial<HookGroup> = {}) {
  const made: HookGroup = {
    shell: 'sh',
    onError: 'Fail',
    timeoutMs: 60_000,
    frequency: 'Once',
    commands: ['apt-get install conntrack'],
    ...different,
  };
  return hostModel({ hooks: { early: made, beforeBootstrap: undefined, afterBootstrap: made } });
}

describe('an entry that fails', () => {
  test('runs again in the same run, as often as retry says, and then the group is done', async () => {
    const { host, runs } = failing(2, 7);
    await runStep(earlyHooks, host, group({ retry: RETRY }));
    assert.equal(runs(), 3);
  });

  test('fails the run after its last attempt', async () => {
    const { host, runs } = failing(3, 7);
    await assert.rejects(runStep(earlyHooks, host, group({ retry: RETRY })), {
      reason: 'HookFailed',
      exit: 'HostStepFailed',
      retryable: false,
    });
    assert.equal(runs(), 3);
  });

  for (const [why, different] of [
    ['without retry', {}],
    ['with a status that retry does not name', { retry: { ...RETRY, on: [100] } }],
    ['where the pause is longer than the time that the group has left', { retry: { ...RETRY, delayMs: 90_000 } }],
  ] as const)
    test(`does not run again ${why}`, async () => {
      const { host, runs } = failing(1, 7);
      await assert.rejects(runStep(earlyHooks, host, group(different)), { reason: 'HookFailed' });
      assert.equal(runs(), 1);
    });

  test('runs again with a status that retry names', async () => {
    const { host, runs } = failing(1, 100);
    await runStep(earlyHooks, host, group({ retry: { ...RETRY, on: [1, 100] } }));
    assert.equal(runs(), 2);
  });
});

describe('a package manager whose lock another process holds', () => {
  test('is named with that process, may succeed later, and the remedy is retry', async () => {
    const { host } = failing(9, 100, [
      HELD,
      'E: Unable to acquire the dpkg frontend lock (/var/lib/dpkg/lock-frontend)',
    ]);
    await assert.rejects(runStep(earlyHooks, host, group()), {
      reason: 'PackageManagerLocked',
      exit: 'HostStepFailed',
      retryable: true,
      message:
        'The hook early failed at entry 1 of 1 (host.hooks.early.commands[0]): process 1804 (unattended-upgr) holds the lock /var/lib/dpkg/lock-frontend of the package manager.',
      remedy: /To wait for the lock in the run, set host\.hooks\.early\.retry\./,
    });
  });

  test('after the bootstrap leaves the exit code of such hooks', async () => {
    const { host } = failing(9, 100, [HELD]);
    await assert.rejects(runStep(afterBootstrapHooks, host, group()), {
      reason: 'PackageManagerLocked',
      exit: 'AfterHookFailed',
    });
  });

  test('that does not know the process: the kernel does', async () => {
    const path = '/var/lib/dpkg/lock';
    const { host } = failing(9, 100, [OPEN], { [path]: '', '/proc/1804/comm': 'apt.systemd.dai\n' });
    const inode = (await host.stat(path))?.fingerprint?.split(':')[1];
    host.put(
      '/proc/locks',
      `1: POSIX  ADVISORY  WRITE 77 fe:01:1${inode} 0 EOF\n2: POSIX  ADVISORY  WRITE 1804 fe:01:${inode} 0 EOF\n`,
    );
    await assert.rejects(runStep(earlyHooks, host, group()), {
      message: /process 1804 \(apt\.systemd\.dai\) holds the lock \/var\/lib\/dpkg\/lock of/,
    });
  });

  test('that nobody knows is another process, with the command that finds it', async () => {
    const { host } = failing(9, 1, ['System management is locked']);
    await assert.rejects(runStep(earlyHooks, host, group()), { reason: 'HookFailed' });
    const other = failing(9, 1, [
      "error: can't create transaction lock on /var/lib/rpm/.rpm.lock (Resource temporarily unavailable)",
    ]);
    await assert.rejects(runStep(earlyHooks, other.host, group()), {
      reason: 'PackageManagerLocked',
      message: /another process holds the lock \/var\/lib\/rpm\/\.rpm\.lock/,
      remedy: /fuser -v \/var\/lib\/rpm\/\.rpm\.lock/,
    });
  });

  test('is read from what apt, dnf and zypper print', () => {
    assert.deepEqual(packageLockIn([HELD]), {
      path: '/var/lib/dpkg/lock-frontend',
      pid: 1804,
      name: 'unattended-upgr',
    });
    assert.deepEqual(packageLockIn(['System management is locked by the application with pid 4711 (zypper).']), {
      pid: 4711,
      name: 'zypper',
    });
    assert.deepEqual(packageLockIn(['Another app is currently holding the yum lock; waiting for it to exit...']), {});
    assert.equal(packageLockIn(['E: Unable to locate package conntrack']), undefined);
  });
});

describe('retry in a document', () => {
  for (const [text, problem] of [
    ['retry: {attempts: 1}', /at least 2/],
    ['retry: {attempts: 3, on: [0]}', /0 is no failure/],
    ['retry: {attempts: 3}, onError: Continue', /does not run again/],
    ['retry: {attempts: 3, delay: 10}', /duration/],
    ['retry: {attempts: 3, backoff: 11}', /at most 10/],
  ] as const)
    test(`is refused: ${text}`, async () => {
      const found = await problemsOf(`host: {hooks: {early: {commands: [x], ${text}}}}\n`);
      assert.ok(
        found.some((line) => problem.test(line)),
        found.join('\n'),
      );
    });
});
