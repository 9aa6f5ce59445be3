import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { hookReasonLine } from '@machineadm/document/hook-reasons.ts';
import type { HookGroup } from '@machineadm/document/model.ts';
import { DRIVER_FILES, laterWords } from '../../../src/steps/hook-driver.ts';
import { hookFailed } from '../../../src/steps/hook-errors.ts';
import { hookScript, parseMarker, savedState } from '../../../src/steps/hook-script.ts';
import { afterBootstrapHooks, beforeBootstrapHooks, earlyHooks } from '../../../src/steps/hooks.ts';
import { EMPTY_RECORD, type StepRecord } from '../../../src/steps/step.ts';
import { facts } from '../../support/facts.ts';
import { hostModel } from '../../support/host-model.ts';
import { type MemoryProgram, memoryHost } from '../../support/memory-host.ts';
import { planned, runStep } from '../../support/run-step.ts';

const GROUP: HookGroup = {
  shell: 'sh',
  onError: 'Fail',
  timeoutMs: 1000,
  frequency: 'Once',
  commands: ['export T=hunter-two', 'true'],
};

function early(group: Partial<HookGroup> = {}) {
  return hostModel({ hooks: { early: { ...GROUP, ...group }, beforeBootstrap: undefined, afterBootstrap: undefined } });
}

/** A shell that says these lines on the driver's descriptor; what it really does is tested with real shells. */
function shell(...markers: string[]): MemoryProgram {
  return (command) => {
    for (const marker of markers) command.onDescriptorLine?.line(marker);
    return {};
  };
}

describe('the driver of a group', { skip: process.platform === 'linux' ? false : 'it needs /proc' }, () => {
  for (const shell of ['sh', 'bash']) {
    test(`in ${shell}: three programs save an entry`, () => {
      const directory = mkdtempSync(join(tmpdir(), 'machineadm-driver-'));
      try {
        const put = (name: string, content: string, mode = 0o600) =>
          writeFileSync(join(directory, name), content, { mode });
        for (const [name, content] of Object.entries(DRIVER_FILES)) put(name, content);
        const entries = 4;
        const commands = Array.from({ length: entries }, (_, index) => `export E${index + 1}=1\n`);
        for (const [index, command] of commands.entries()) put(`entry-${index + 1}`, command);
        put('words', laterWords(commands));
        // The driver looks up its programs once; each says that it ran.
        for (const name of ['mv', 'sync', 'cat', 'readlink', 'ls']) {
          const path = execFileSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim();
          put(name, `#!/bin/sh\necho ${name} >>${directory}/ran\nexec ${path} "$@"\n`, 0o755);
        }
        const args = [
          join(directory, 'driver'),
          directory,
          join(directory, 'state'),
          'token',
          '1',
          `${entries}`,
          'Fail',
          'no',
        ];
        const env = { PATH: `${directory}:${process.env.PATH}` };
        execFileSync(shell, args, { env, stdio: ['ignore', 'ignore', 'inherit', 'ignore'] });
        const saved = readFileSync(join(directory, 'state'), 'utf8');
        assert.match(saved, /^# machineadm hook token 4 whole\n[\s\S]*E4/);
        const ran = readFileSync(join(directory, 'ran'), 'utf8').trim().split('\n');
        const count = (name: string) => ran.filter((one) => one === name).length;
        // One more at the beginning; where the kernel says no inodes, readlink does.
        assert.deepEqual([count('cat'), count('sync'), count('mv'), count('ls')], [entries + 1, entries, entries, 0]);
      } finally {
        rmSync(directory, { recursive: true });
      }
    });
  }
});

describe('the words of a group that may be functions', () => {
  test('are each there once, with the last entry that has them, the last first', () => {
    assert.equal(laterWords(['f a', 'g', 'f b-c']), '3 f\n3 b-c\n2 g\n1 a\n');
  });
  test('are as many for a hundred entries with the same words as for two', () => {
    const lines = (count: number) =>
      laterWords(Array.from({ length: count }, () => 'f a >> /b.log')).split('\n').length;
    assert.equal(lines(100), lines(2));
  });
});

describe('hooks', () => {
  test('of plain words are not given to a shell to find mistakes in them', async () => {
    const host = memoryHost({ programs: { sh: shell() } });
    const asked = async (command: string): Promise<number> => {
      const before = host.queries.length;
      const desired = earlyHooks.desired(early({ commands: [command] }), facts());
      assert.ok(desired !== undefined);
      await earlyHooks.preflight?.(host, desired);
      return host.queries.length - before;
    };
    for (const plain of ['systemctl enable --now kubelet.service', 'echo a >> /var/log/x\n\n modprobe br_netfilter'])
      assert.equal(await asked(plain), 0, plain);
    for (const other of ['if true', 'echo "a', 'echo a; b', 'echo >', 'fi', 'a\ndone', 'echo $(a', 'x()'])
      assert.equal(await asked(other), 1, other);
  });

  // The shells themselves are driven in test/integration/steps/hooks.test.ts.
  test('are one change that is not repeated blindly, of the node, and show nothing of the commands', async () => {
    const changes = await planned(earlyHooks, memoryHost(), early());
    assert.deepEqual(
      changes.map(({ id, summary, scope, repeatable }) => [id, summary, scope, repeatable]),
      [['hooks-early/run', 'run 2 commands with sh', 'node', false]],
    );
  });

  test('fail for the reason that a command gives in its last words, before the bootstrap', () => {
    const failed = { entry: 2, status: 1, kill: undefined };
    const lines = [
      'Job failed.',
      hookReasonLine('RequiredUnitNotStarted', 'a.service did not start'),
      'its shell ended',
    ];
    const { reason, message, remedy, retryable } = hookFailed('beforeBootstrap', GROUP, failed, lines);
    assert.deepEqual([reason, retryable], ['RequiredUnitNotStarted', true]);
    assert.match(message, /entry 2 of 2 .*: a\.service did not start\.$/);
    assert.match(remedy, /journalctl -u/);
    assert.equal(hookFailed('afterBootstrap', GROUP, failed, lines).reason, 'AfterBootstrapHookFailed');
    for (const foreign of ['machineadm: KubeletNotHealthy: x', 'x machineadm: EnvironmentFileMissing: y'])
      assert.equal(hookFailed('beforeBootstrap', GROUP, failed, [foreign]).reason, 'HookFailed');
  });

  test('belong each to a place in the run', () => {
    const ids = [earlyHooks, beforeBootstrapHooks, afterBootstrapHooks].map(({ id }) => id);
    assert.deepEqual(ids, ['hooks-early', 'hooks-before-bootstrap', 'hooks-after-bootstrap']);
  });

  test('are not run again on an instance where they are done, whatever they say now', async () => {
    const record = { ...EMPTY_RECORD, done: new Set(['hooks-early/run']) };
    assert.deepEqual(await planned(earlyHooks, memoryHost(), early({ commands: ['other'] }), { record }), []);
  });

  describe('that ran to their end', () => {
    const programs = { sh: shell('begin 1', 'end 1 0', 'begin 2', 'end 2 0') };
    /** What the journal of a run of GROUP holds. */
    const ranOnce = async (group: Partial<HookGroup> = {}) => {
      const { notes } = await runStep(earlyHooks, memoryHost({ programs }), early(group));
      return { ...EMPTY_RECORD, done: new Set(['hooks-early/run']), notes };
    };
    const summaries = async (group: Partial<HookGroup>, record: StepRecord) =>
      (await planned(earlyHooks, memoryHost({ programs }), early(group), { record })).map(({ summary }) => summary);
    const remarks = (group: Partial<HookGroup>, record: StepRecord) => {
      const desired = earlyHooks.desired(early(group), facts());
      return desired === undefined ? [] : earlyHooks.remarks?.(desired, record, { done: true, unfinished: undefined });
    };

    test('and changed since are remarked on, and not run again', async () => {
      const record = await ranOnce();
      assert.deepEqual(remarks({}, record), []);
      for (const changed of [{ commands: ['other'] }, { environment: { A: 'b' } }, { workingDirectory: '/srv' }]) {
        assert.deepEqual(await summaries(changed, record), []);
        const told = ['host.hooks.early changed since it ran; not run again (rerun: Never)'];
        assert.deepEqual(remarks(changed, record), told);
      }
    });

    test('run again where they changed and say OnChange, once', async () => {
      const rerun = 'OnChange' as const;
      const record = await ranOnce({ rerun });
      assert.deepEqual(await summaries({ rerun }, record), []);
      const commands = ['export T=other', 'true'];
      assert.deepEqual(await summaries({ rerun, commands }, record), [
        'run 2 commands with sh, again: it changed since it ran',
      ]);
      assert.deepEqual(remarks({ rerun, commands }, record), []);
      const again = await runStep(earlyHooks, memoryHost({ programs }), early({ rerun, commands }), { record });
      assert.deepEqual([again.changes.length, again.left.length], [1, 0]);
    });

    test('run again in every run where they say Always, and in each only once', async () => {
      const rerun = 'Always' as const;
      const record = await ranOnce({ rerun });
      assert.deepEqual(await summaries({ rerun }, record), ['run 2 commands with sh, as in every run']);
      assert.deepEqual(await summaries({ rerun }, { ...record, doneInRun: new Set(['hooks-early/run']) }), []);
      const again = await runStep(earlyHooks, memoryHost({ programs }), early({ rerun }), { record });
      assert.deepEqual([again.changes.length, again.left.length], [1, 0]);
    });

    test('and were killed when they ran again are continued, though an earlier run brought them to their end', async () => {
      const rerun = 'OnChange' as const;
      const record = await ranOnce({ rerun });
      const interrupted = { ...record, interrupted: new Set(['hooks-early/run']) };
      assert.deepEqual(await summaries({ rerun }, interrupted), ['run 2 commands with sh']);
      const [[, note]] = [...record.notes] as [[string, { token: string }]];
      const files = { '/var/lib/machineadm/hooks/hooks-early': `# machineadm hook ${note.token} 1 fresh\n` };
      const [change] = await planned(earlyHooks, memoryHost({ files }), early({ rerun }), { record: interrupted });
      assert.equal(change?.summary, 'continue after command 1 of 2, where an earlier run ended');
    });
  });

  test('whose user or directory is not there are refused before any change', async () => {
    const group = { ...GROUP, user: 'core', workingDirectory: '/opt/site' };
    const programs = { sh: shell(), getent: () => ({ status: 2 }) };
    const asked = { phase: 'early', group, afterEarlyHooks: false, makesUser: false } as const;
    const missing = await earlyHooks.preflight?.(memoryHost({ programs }), asked);
    assert.deepEqual(
      missing?.map(({ what }) => what),
      [
        '/opt/site, the working directory of host.hooks.early, does not exist.',
        'The user core of host.hooks.early does not exist.',
        'setpriv, which runs host.hooks.early as another user, is not installed.',
      ],
    );
    const later = { ...asked, phase: 'beforeBootstrap', makesUser: true } as const;
    const withSetpriv = memoryHost({ programs: { ...programs, setpriv: shell() } });
    assert.deepEqual(await beforeBootstrapHooks.preflight?.(withSetpriv, later), []);
    await assert.rejects(runStep(earlyHooks, memoryHost({ programs }), early({ user: 'core' })), {
      reason: 'HookFailed',
    });
  });

  test('put the commands into files of root alone, and never into the arguments', async () => {
    const host = memoryHost({ programs: { sh: shell('begin 1', 'end 1 0', 'begin 2', 'end 2 0') } });
    const run = await runStep(earlyHooks, host, early());
    const writes = host.log.filter((line) => line.startsWith('write ') || line.startsWith('mkdir '));
    assert.ok(writes.length > 4);
    for (const line of writes) assert.match(line, / (0600 0:0|0700)$/);
    assert.ok(host.log.every((line) => !line.includes('hunter')));
    assert.deepEqual(run.left, []);
    assert.deepEqual(run.waits, ['entry 1 of 2 of the hook early', 'entry 2 of 2 of the hook early', undefined]);
    assert.doesNotMatch(JSON.stringify([...run.notes]), /hunter/);
  });

  test('of another instance, left on a cloned disk, are not gone on with', async () => {
    const host = memoryHost({
      files: { '/var/lib/machineadm/hooks/hooks-early': '# machineadm hook other-token 1\n' },
    });
    const [change] = await planned(earlyHooks, host, early());
    assert.equal(change?.summary, 'run 2 commands with sh');
    assert.equal((await savedState(host, hookScript('hooks-early'), 'my-token')).completed, 0);
    assert.equal((await savedState(host, hookScript('hooks-early'), 'other-token')).completed, 1);
  });

  test('say so when how far they came could not be saved', async () => {
    const host = memoryHost({ programs: { sh: shell('begin 1', 'unsaved 1', 'end 1 0') } });
    const run = await runStep(earlyHooks, host, early({ commands: ['true'] }));
    assert.match(run.warnings[0] ?? '', /could not be saved after entry 1 of 1/);
  });

  test('report a shell that is not installed before any change, unless an early hook may install it', async () => {
    const bash = { ...GROUP, shell: 'bash' } as const;
    const missing = await earlyHooks.preflight?.(memoryHost(), {
      phase: 'early',
      group: bash,
      afterEarlyHooks: false,
      makesUser: false,
    });
    assert.deepEqual(
      missing?.map(({ reason, what }) => [reason, what]),
      [['HookFailed', 'bash, the shell of host.hooks.early, is not installed']],
    );
    const later = { phase: 'beforeBootstrap', group: bash, afterEarlyHooks: true, makesUser: false } as const;
    assert.deepEqual(await beforeBootstrapHooks.preflight?.(memoryHost(), later), []);
  });

  test('refuse a note in the journal that they did not write', async () => {
    const record = { ...EMPTY_RECORD, notes: new Map([['hooks-early/run', { token: 1 }]]) };
    await assert.rejects(planned(earlyHooks, memoryHost(), early(), { record }), { reason: 'JournalUnreadable' });
  });

  test('understand only the lines of their own driver', () => {
    assert.deepEqual(parseMarker('end 2 127'), { kind: 'end', entry: 2, status: 127 });
    assert.equal(parseMarker('end 2'), undefined);
    assert.equal(parseMarker('begin'), undefined);
  });
});
