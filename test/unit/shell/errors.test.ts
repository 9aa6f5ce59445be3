import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { HookGroup } from '@machineadm/document/model/index.ts';
import type { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { hookFailed, hookStateLost, hookTimedOut, lost } from '../../../src/shell/errors.ts';

const GROUP: HookGroup = {
  shell: 'sh',
  onError: 'Fail',
  timeoutMs: 90_000,
  commands: ['first', 'second', 'third'],
  frequency: 'Once',
};
const CONTINUES = 'The next run continues with this entry.';
const BEGINS = 'The next run begins with the first entry.';
const CORRECT = 'Correct the command, or what it depends on; its last output is the evidence.';
const COUNTER = { source: 'memory.events', text: 'oom_kill 1' };

/** All that an error tells. */
function toldBy({ reason, exit, message, remedy, evidence, retryable }: MachineadmError) {
  return { reason, exit, message, remedy, evidence, retryable };
}

describe('an entry of a hook that failed', () => {
  const failed = (over: Partial<Parameters<typeof hookFailed>[2]>, lines: readonly string[] = [], phase = 'early') =>
    toldBy(hookFailed(phase, GROUP, { entry: 2, status: 1, kill: undefined, ...over }, lines));

  test('is named by its number and its field, with its last lines and no text of the command', () => {
    assert.deepEqual(failed({ status: 3 }, ['one', 'two']), {
      reason: 'HookFailed',
      exit: 'HostStepFailed',
      message: 'The hook early failed at entry 2 of 3 (host.hooks.early.commands[1]): exit status 3.',
      remedy: `${CORRECT} ${CONTINUES}`,
      evidence: [
        { source: 'hook early, entry 2', text: 'one' },
        { source: 'hook early, entry 2', text: 'two' },
      ],
      retryable: false,
    });
  });

  test('after the bootstrap has a reason and an exit code of its own', () => {
    const { reason, exit, message } = failed({}, [], 'afterBootstrap');
    assert.deepEqual([reason, exit], ['AfterBootstrapHookFailed', 'AfterHookFailed']);
    assert.match(
      message,
      /^The hook afterBootstrap failed at entry 2 of 3 \(host\.hooks\.afterBootstrap\.commands\[1\]\)/,
    );
  });

  const STATUSES = [
    [1, 'exit status 1.', CORRECT],
    [126, 'exit status 126 (found but not executable).', CORRECT],
    [127, 'exit status 127 (command not found).', 'Install the program before this run, or correct its name.'],
    [128, 'exit status 128.', CORRECT],
  ] as const;
  for (const [status, why, remedy] of STATUSES)
    test(`with status ${status} says: ${why}`, () => {
      const found = failed({ status });
      assert.ok(found.message.endsWith(`: ${why}`), found.message);
      assert.equal(found.remedy, `${remedy} ${CONTINUES}`);
      assert.equal(found.retryable, false);
    });

  test('because of a signal may succeed later; the counter of the kernel comes first in the evidence', () => {
    const found = failed({ status: 137, kill: { signal: 'SIGKILL', outOfMemory: COUNTER } }, ['last']);
    assert.match(found.message, /: exit status 137 \(it was killed by SIGKILL: out of memory\)\.$/);
    assert.match(found.remedy, /^Give the machine more memory, .* The next run continues with this entry\.$/);
    assert.deepEqual(found.evidence, [COUNTER, { source: 'hook early, entry 2', text: 'last' }]);
    assert.equal(found.retryable, true);
    const crashed = failed({ status: 139, kill: { signal: 'SIGSEGV', outOfMemory: undefined } });
    assert.match(crashed.message, /: exit status 139 \(it crashed \(SIGSEGV\)\)\.$/);
    assert.deepEqual(crashed.evidence, []);
  });

  test('with a reason that its command printed has that reason, in the hook before the bootstrap only', () => {
    const lines = ['machineadm: RequiredUnitNotStarted: coreos-metadata failed'];
    const found = failed({}, lines, 'beforeBootstrap');
    assert.equal(found.reason, 'RequiredUnitNotStarted');
    assert.match(found.message, /\(host\.hooks\.beforeBootstrap\.commands\[1\]\): coreos-metadata failed\.$/);
    assert.match(found.remedy, /^Read the journal of that unit .* The next run continues with this entry\.$/);
    assert.equal(found.retryable, true);
    assert.equal(failed({}, lines, 'early').reason, 'HookFailed');
    const killed = failed({ kill: { signal: 'SIGTERM', outOfMemory: undefined } }, lines, 'beforeBootstrap');
    assert.equal(killed.reason, 'HookFailed');
    assert.equal(failed({}, ['machineadm: NoSuchReason: x'], 'beforeBootstrap').reason, 'HookFailed');
  });

  const SHELLS: readonly (readonly [string, Partial<HookGroup>, string])[] = [
    ['sh of root', { shell: 'sh' }, CONTINUES],
    ['bash of root', { shell: 'bash' }, CONTINUES],
    ['bash of another user', { shell: 'bash', user: 'app' }, BEGINS],
    ['sh of another user', { shell: 'sh', user: 'app' }, BEGINS],
    ['powershell', { shell: 'powershell' }, BEGINS],
    ['cmd', { shell: 'cmd' }, BEGINS],
  ];
  for (const [shell, over, repeated] of SHELLS)
    test(`in ${shell}: ${repeated}`, () => {
      const error = hookFailed('early', { ...GROUP, ...over }, { entry: 1, status: 1, kill: undefined }, []);
      assert.equal(error.remedy, `${CORRECT} ${repeated}`);
    });
});

describe('a hook that did not end in time', () => {
  test('names its limit, the entry and the field that raises the limit, and may succeed later', () => {
    assert.deepEqual(toldBy(hookTimedOut('early', GROUP, 3, ['waiting'])), {
      reason: 'HookTimedOut',
      exit: 'HostStepFailed',
      message: 'The hook early did not end within 90 s; it was killed in entry 3 of 3 (host.hooks.early.commands[2]).',
      remedy: `Find out what that entry waits for, or raise host.hooks.early.timeout. ${CONTINUES}`,
      evidence: [{ source: 'hook early, entry 3', text: 'waiting' }],
      retryable: true,
    });
  });

  test('after the bootstrap leaves the exit code of such hooks', () => {
    assert.equal(hookTimedOut('afterBootstrap', GROUP, 1, []).exit, 'AfterHookFailed');
  });
});

describe('a shell that cannot be restored', () => {
  test('in the middle of a group is explained by the entry that ended it', () => {
    assert.deepEqual(toldBy(hookStateLost('beforeBootstrap', GROUP, 2, lost('functions'))), {
      reason: 'HookFailed',
      exit: 'HostStepFailed',
      message:
        'The hook beforeBootstrap failed before entry 2 of 3 (host.hooks.beforeBootstrap.commands[1]): the entry before it ended ' +
        'the shell of the group, and the shell cannot be restored (sh cannot write down its functions and aliases).',
      remedy:
        'End that entry with "return" instead of "exit", merge both entries, or set shell to bash; then run again.',
      evidence: [{ source: 'hook beforeBootstrap, entry 1', text: 'exit ended its shell' }],
      retryable: false,
    });
  });

  test('at the first entry is the shell of the group before', () => {
    const found = toldBy(hookStateLost('afterBootstrap', GROUP, 1, 'it is gone'));
    assert.equal(found.reason, 'AfterBootstrapHookFailed');
    assert.equal(
      found.message,
      'The hook afterBootstrap failed before entry 1 of 3 (host.hooks.afterBootstrap.commands[0]): it continues the shell of ' +
        'beforeBootstrap, which cannot be restored (it is gone).',
    );
    assert.match(found.remedy, /^Define functions and aliases again in host\.hooks\.afterBootstrap, /);
    assert.deepEqual(found.evidence, []);
  });

  test('says what of it is lost', () => {
    assert.deepEqual((['functions', 'jobs', 'directories', 'descriptors'] as const).map(lost), [
      'sh cannot write down its functions and aliases',
      'programs of it ran in the background',
      'its stack of directories is not empty',
      'it had changed its descriptors or limits',
    ]);
  });
});
