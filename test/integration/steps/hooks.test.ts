import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { afterEach, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { MachineadmError } from '../../../src/document/errors.ts';
import type { HookGroup } from '../../../src/document/model.ts';
import { openHost } from '../../../src/host/index.ts';
import { afterBootstrapHooks, earlyHooks } from '../../../src/steps/hooks.ts';
import { EMPTY_RECORD } from '../../../src/steps/step.ts';
import { hostModel } from '../../support/host-model.ts';
import { inThrowAwayMachine } from '../../support/namespace.ts';
import { planned, runStep } from '../../support/run-step.ts';

const STATE = '/var/lib/machineadm/hooks/hooks-early';
const OUT = '/tmp/out';

function modelOf(commands: readonly string[], different: Partial<HookGroup> = {}) {
  const early = { shell: 'sh', onError: 'Fail', timeoutMs: 20_000, frequency: 'Once', commands, ...different } as const;
  return hostModel({ hooks: { early, beforeBootstrap: undefined, afterBootstrap: early } });
}

function lines(): string[] {
  return existsSync(OUT) ? readFileSync(OUT, 'utf8').trimEnd().split('\n') : [];
}

inThrowAwayMachine(import.meta.filename, () => {
  const host = openHost({ runId: 'test' });
  const run = (commands: readonly string[], different: Partial<HookGroup> = {}) =>
    runStep(earlyHooks, host, modelOf(commands, different));

  afterEach(() => {
    for (const path of [OUT, '/var/lib/machineadm', '/run/machineadm']) rmSync(path, { recursive: true, force: true });
  });

  for (const shell of ['sh', 'bash'] as const) {
    describe(`a hook group in ${shell}`, () => {
      test('is one shell: exports, variables, functions and the directory persist', async () => {
        const done = await run(
          [
            'export A="x\'y z"; b=2; f() { echo "f $1"; }; cd /var',
            `echo "$A" >>${OUT}; echo "$b" >>${OUT}`,
            `f 3 >>${OUT}; pwd >>${OUT}`,
          ],
          { shell },
        );
        assert.deepEqual(lines(), ["x'y z", '2', 'f 3', '/var']);
        assert.deepEqual(done.left, []);
        assert.deepEqual(done.warnings, []);
      });

      test('starts from a clean environment, with an empty input and a umask of 022', async () => {
        await run([`env >${OUT}; umask >>${OUT}; wc -c >>${OUT}`], { shell });
        const seen = lines();
        assert.ok(seen.includes('MACHINEADM_PHASE=early'));
        assert.ok(seen.includes('HOME=/root') && seen.includes('LANG=C.UTF-8'));
        assert.deepEqual(seen.slice(-2), ['0022', '0']);
      });

      test('names the entry that fails, with its status and its last words, and does not run the rest', async () => {
        const commands = ['true', 'echo to stdout; echo to stderr >&2; (exit 7)', `echo never >${OUT}`];
        await assert.rejects(run(commands, { shell }), (error) => {
          assert.ok(error instanceof MachineadmError);
          assert.equal(error.reason, 'HookFailed');
          assert.match(error.message, /failed at entry 2 of 3 \(echo to stdout; .*exit status 7\./);
          assert.deepEqual(error.evidence.map(({ text }) => text).sort(), ['to stderr', 'to stdout']);
          return true;
        });
        assert.deepEqual(lines(), []);
      });

      test('names the entry with a syntax error, and its line', async () => {
        await assert.rejects(run(['true', 'echo a\necho "unterminated'], { shell }), (error) => {
          assert.ok(error instanceof MachineadmError);
          assert.match(error.message, /entry 2 of 2/);
          assert.ok(error.evidence.some(({ text }) => /entry-2: (line )?\d|\d: .*entry-2/.test(text)));
          return true;
        });
      });

      test('goes on after a failing entry where onError is Continue, even one that ends its shell', async () => {
        const commands = ['export A=kept', 'false', 'exit 3', 'echo "unterminated', `echo "$A" >${OUT}`];
        const done = await run(commands, { shell, onError: 'Continue' });
        assert.deepEqual(lines(), ['kept']);
        const failed = done.warnings.map((warning) => /entry (\d)/.exec(warning)?.[1]);
        assert.deepEqual(failed, ['2', '3', '4']);
        assert.deepEqual(done.left, []);
      });

      test('takes "exit 0" as the end of its entry, not of the group', async () => {
        await run(['export A=kept', 'exit 0', `echo "$A" >${OUT}`], { shell });
        assert.deepEqual(lines(), ['kept']);
      });

      test('survives what an entry does to the shell', async () => {
        const commands = [
          'export PATH=/nowhere; set -Cu; umask 000; IFS=:; set -- 1 2 3 4 5 6 7; exec 3>/dev/null; unset HOME',
          `echo still >>${OUT}`,
        ];
        const done = await run(commands, { shell });
        assert.deepEqual(lines(), ['still']);
        assert.deepEqual(done.warnings, []);
      });

      test('goes on where an entry failed, with its exports and directory, once the cause is removed', async () => {
        const commands = [
          `echo one >>${OUT}; export A="kept\nlines" && cd /usr`,
          'test -e /tmp/cause',
          `echo "$A $PWD" >>${OUT}`,
        ];
        const seen = { notes: new Map<string, unknown>(), warnings: [] };
        const model = modelOf(commands, { shell });
        await assert.rejects(runStep(earlyHooks, host, model, { seen }), { reason: 'HookFailed' });
        assert.equal(statSync(STATE).mode & 0o777, 0o600);
        writeFileSync('/tmp/cause', '');
        const record = { ...EMPTY_RECORD, notes: seen.notes };
        const [change] = await planned(earlyHooks, host, model, { record });
        assert.equal(change?.summary, 'go on behind command 1 of 3, where an earlier run ended');
        await runStep(earlyHooks, host, model, { record });
        rmSync('/tmp/cause');
        assert.deepEqual(lines(), ['one', 'kept', 'lines /usr']);
        assert.ok(!existsSync(STATE));
      });
    });
  }

  test('the commands are in no argument and in no file that others may read; nothing is left', async () => {
    const done = await run([
      `export SECRET=hunter-two`,
      `for p in /proc/[0-9]*; do tr '\\0' ' ' <$p/cmdline 2>/dev/null; echo; done | grep -c 'hunter-tw[o]' >>${OUT}; ` +
        `find /run/machineadm /var/lib/machineadm -perm /077 >>${OUT}`,
    ]);
    assert.deepEqual(lines(), ['0']);
    assert.deepEqual(readdirSync('/run/machineadm/hooks-early'), []);
    assert.deepEqual(readdirSync('/var/lib/machineadm/hooks'), []);
    assert.doesNotMatch(JSON.stringify(done.changes.map(({ summary }) => summary)), /hunter/);
  });

  test('a group that does not end in time is HookTimedOut, and its process group is gone', async () => {
    const commands = ['true', `sh -c 'echo $$ >${OUT}; exec sleep 1000' & wait`];
    await assert.rejects(run(commands, { timeoutMs: 700 }), (error) => {
      assert.ok(error instanceof MachineadmError);
      assert.equal(error.reason, 'HookTimedOut');
      assert.match(error.message, /within 0\.7 s; it was killed in entry 2 of 2/);
      return true;
    });
    // Killed, if not yet reaped: that is for the first process of the machine to do.
    const state = `/proc/${lines()[0]}/stat`;
    assert.ok(!existsSync(state) || /\) Z /.test(readFileSync(state, 'utf8')));
  });

  test('after the bootstrap a failure is AfterBootstrapHookFailed', async () => {
    await assert.rejects(runStep(afterBootstrapHooks, host, modelOf(['false'])), {
      reason: 'AfterBootstrapHookFailed',
    });
  });

  test('commands that were changed after a failure run from the first', async () => {
    const seen = { notes: new Map<string, unknown>(), warnings: [] };
    await assert.rejects(runStep(earlyHooks, host, modelOf([`echo a >>${OUT}`, 'false']), { seen }));
    const record = { ...EMPTY_RECORD, notes: seen.notes };
    await runStep(earlyHooks, host, modelOf([`echo b >>${OUT}`, 'true']), { record });
    assert.deepEqual(lines(), ['a', 'b']);
  });

  test('a run killed in an entry goes on with that entry, and a further run does nothing', async () => {
    const commands = [
      `echo one >>${OUT}; export A=kept`,
      `echo two >>${OUT}; [ -e /tmp/second ] || exec sleep 1000`,
      `echo "three $A" >>${OUT}`,
    ];
    const group: HookGroup = { shell: 'sh', onError: 'Fail', timeoutMs: 60_000, frequency: 'Once', commands };
    writeFileSync('/tmp/group.json', JSON.stringify(group));
    const program = resolve(import.meta.dirname, '../../fixtures/steps/run-hooks.ts');
    const start = () => spawn(process.execPath, [program, '/tmp/group.json'], { stdio: ['ignore', 'pipe', 'inherit'] });

    const killed = start();
    while (lines().length < 2) await sleep(20);
    const exited = once(killed, 'exit');
    killed.kill('SIGKILL');
    await exited;

    writeFileSync('/tmp/second', '');
    const text = async (child: ReturnType<typeof start>) => (await child.stdout?.toArray())?.join('') ?? '';
    assert.match(await text(start()), /^ended sleep$[\s\S]*^Succeeded$/m);
    assert.deepEqual(lines(), ['one', 'two', 'two', 'three kept']);
    assert.match(await text(start()), /^Unchanged$/m);
    assert.equal(lines().length, 4);
  });
});
