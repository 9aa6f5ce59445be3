import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { afterEach, describe, test } from 'node:test';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { HookGroup } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { Secret } from '@machineadm/document/secrets/secret.ts';
import { afterBootstrapHooks, earlyHooks } from '../../../src/features/hooks/index.ts';
import { openHost } from '../../../src/host/index.ts';
import type { Command } from '../../../src/host/seam/host.ts';
import { EMPTY_RECORD } from '../../../src/step/index.ts';
import { attack } from '../../support/attacks.ts';
import { hostModel } from '../../support/host-model.ts';
import { inThrowAwayMachine } from '../../support/namespace.ts';
import { planned, runStep } from '../../support/run-step.ts';
import { waitUntil } from '../../support/wait-until.ts';

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

  afterEach(async () => {
    // The agent keeps directories open until then, which are removed here.
    await nextTurn();
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

      test(
        'sees what the document sets, and secrets as files that only root reads, which go with the group',
        attack('Secrets on the machine', `other users read the secret files of a hook in ${shell}`, async () => {
          const value = 'hook secret $(id) "quoted"';
          const secrets = {
            SECRET_FILE: { name: 'secrets.s', source: { kind: 'value', secret: new Secret(value) } },
          } as const;
          const injected = "'; touch /tmp/injected; $(touch /tmp/injected) #";
          await run(
            [
              `printf '%s\\n' "$RACK" >${OUT}; stat -c '%a %U' "$SECRET_FILE" >>${OUT}; cat "$SECRET_FILE" >>${OUT}`,
              `echo >>${OUT}; echo "$SECRET_FILE" >>${OUT}; tr '\\0' '\\n' </proc/$$/environ | grep -c quoted >>${OUT}`,
            ],
            { shell, environment: { RACK: injected }, secrets, onError: 'Continue' },
          );
          const [rack, mode, read, path, inEnvironment] = lines();
          assert.deepEqual([rack, mode, read, inEnvironment], [injected, '600 root', value, '0']);
          assert.ok(!existsSync('/tmp/injected'));
          assert.match(path ?? '', /^\/run\/machineadm\/hooks-early\/secret-1$/);
          assert.ok(!existsSync(path ?? ''));
        }),
      );

      test('that fails shows nothing of its text, only its field', async () => {
        const commands = ['true', 'curl -H "Authorization: Bearer hidden-in-a-command" http://127.0.0.1:1/ -s'];
        await assert.rejects(run(commands, { shell }), (error) => {
          assert.ok(error instanceof MachineadmError);
          assert.equal(error.reason, 'HookFailed');
          assert.ok(!JSON.stringify([error.message, error.evidence, error.remedy]).includes('hidden-in-a-command'));
          return true;
        });
      });

      test('names the entry that fails, with its status and its last lines, and does not run the rest', async () => {
        const commands = ['true', 'echo to stdout; echo to stderr >&2; (exit 7)', `echo never >${OUT}`];
        await assert.rejects(run(commands, { shell }), (error) => {
          assert.ok(error instanceof MachineadmError);
          assert.equal(error.reason, 'HookFailed');
          assert.match(error.message, /failed at entry 2 of 3 \(host\.hooks\.early\.commands\[1\]\): exit status 7\./);
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

      test('continues after a failing entry where onError is Continue, even one that ends its shell', async () => {
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

      test('runs an entry that fails again in the shell as it was before it, with retry', async () => {
        const commands = [
          `cd /var; export A=1; b=2; echo one >>${OUT}`,
          `echo "try $A$b$(pwd)$C" >>${OUT}; export C=lost; [ "$(grep -c try ${OUT})" -ge 3 ] || exit 9`,
          `echo "then $A$b" >>${OUT}`,
        ];
        const done = await run(commands, { shell, retry: { attempts: 3, delayMs: 20, backoff: 1, on: [9] } });
        assert.deepEqual(lines(), ['one', 'try 12/var', 'try 12/var', 'try 12/var', 'then 12']);
        assert.deepEqual(done.warnings, []);
      });

      test('resumes at the entry that failed, with its exports and directory, once the cause is removed', async () => {
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
        assert.equal(change?.summary, 'continue after command 1 of 3, where an earlier run ended');
        await runStep(earlyHooks, host, model, { record });
        rmSync('/tmp/cause');
        assert.deepEqual(lines(), ['one', 'kept', 'lines /usr']);
        assert.ok(!existsSync(STATE));
      });
    });
  }

  test(
    'the commands are in no argument and in no file that others may read; no file remains',
    attack('Secrets on the machine', 'other users read the commands of a hook', async () => {
      const done = await run([
        `export SECRET=hunter-two`,
        `for p in /proc/[0-9]*; do tr '\\0' ' ' <$p/cmdline 2>/dev/null; echo; done | grep -c 'hunter-tw[o]' >>${OUT}; ` +
          `find /run/machineadm /var/lib/machineadm -mindepth 1 -perm /077 >>${OUT}`,
      ]);
      assert.deepEqual(lines(), ['0']);
      assert.deepEqual(readdirSync('/run/machineadm/hooks-early'), []);
      assert.deepEqual(readdirSync('/var/lib/machineadm/hooks'), []);
      assert.doesNotMatch(JSON.stringify(done.changes.map(({ summary }) => summary)), /hunter/);
    }),
  );

  describe('as another user', () => {
    const daemon = { user: 'daemon' } as const;

    test('runs with its id, groups, home and directory, reads its secrets, and leaves nothing behind', async () => {
      writeFileSync(OUT, '', { mode: 0o666 });
      chmodSync(OUT, 0o666);
      const source = { kind: 'value', secret: new Secret('for daemon') } as const;
      const done = await run(
        [
          `A=kept; id -un >>${OUT}; id -G >>${OUT}; pwd >>${OUT}; echo "$HOME $USER" >>${OUT}; grep CapEff /proc/self/status >>${OUT}`,
          `echo "$A" >>${OUT}; cat "$T" >>${OUT}; stat -c ' %a %U' "$T" >>${OUT}; touch /run/machineadm/hooks-early-as-daemon/x 2>/dev/null || echo closed >>${OUT}`,
        ],
        { ...daemon, workingDirectory: '/usr', secrets: { T: { name: 'secrets.t', source } } },
      );
      assert.deepEqual(lines(), [
        'daemon',
        '1',
        '/usr',
        '/usr/sbin daemon',
        'CapEff:\t0000000000000000',
        'kept',
        'for daemon 600 daemon',
        'closed',
      ]);
      assert.deepEqual([done.left, done.warnings], [[], []]);
      assert.deepEqual(readdirSync('/run/machineadm/hooks-early-as-daemon'), []);
      assert.deepEqual(readdirSync('/var/lib/machineadm/hooks'), []);
    });

    test('runs again from the first entry where one failed, and says so', async () => {
      const seen = { notes: new Map<string, unknown>(), warnings: [] };
      const model = modelOf(['true', 'test -e /tmp/cause'], daemon);
      await assert.rejects(runStep(earlyHooks, host, model, { seen }), { reason: 'HookFailed' });
      writeFileSync('/tmp/cause', '');
      const interrupted = new Set(['hooks-early/run']);
      const record = { ...EMPTY_RECORD, notes: seen.notes, interrupted };
      const again = await runStep(earlyHooks, host, model, { record });
      rmSync('/tmp/cause');
      assert.match(
        again.changes[0]?.summary ?? '',
        /^run 2 commands with sh, again from the first: that of another user/,
      );
      assert.match(again.warnings[0] ?? '', /all commands run again/);
      assert.deepEqual(again.left, []);
    });

    test('that does not exist is refused', async () => {
      await assert.rejects(run(['true'], { user: 'nobody-here' }), {
        reason: 'HookFailed',
        message: 'The user nobody-here of host.hooks.early does not exist.',
      });
    });
  });

  test('a working directory that is not there is refused, and no entry runs', async () => {
    await assert.rejects(run([`echo ran >${OUT}`], { workingDirectory: '/no/such' }), { reason: 'HookFailed' });
    assert.deepEqual(lines(), []);
  });

  test('a group that does not end in time is HookTimedOut, and its process group is gone', async () => {
    const commands = ['true', `sh -c 'echo $$ >${OUT}; exec sleep 1000' & wait`];
    await assert.rejects(run(commands, { timeoutMs: 3_000 }), (error) => {
      assert.ok(error instanceof MachineadmError);
      assert.equal(error.reason, 'HookTimedOut');
      assert.match(error.message, /within 3 s; it was killed in entry 2 of 2/);
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

  describe('the shell of a group that an earlier run ended', () => {
    /** What the entries before set up, and how the last entry shows it. Line by line, the same in a restored shell. */
    const sets = {
      sh: [
        'set -eu -f; umask 027',
        `A="it's
two lines"; readonly B='b c'; export C=; IFS=:; cd /usr/share; set -- 'p q' '' "r'"; trap 'echo bye >>${OUT}' EXIT`,
      ],
      bash: [
        'set -euo pipefail; shopt -s extglob nullglob; umask 027',
        `A="it's
two lines"; declare -r B='b c'; export C=; IFS=:; cd /usr/share; set -- 'p q' '' "r'"; trap 'echo bye >>${OUT}' EXIT`,
        `declare -a array=(1 '2 3'); declare -A map=([key]='v 1'); f() { case $1 in +(a)) echo "f $A";; esac; }; export -f f; alias zz=ls`,
      ],
    };
    const shows = {
      sh: `{ echo "$A|$B|\${C-unset}|$IFS|$PWD|$#|$2|$3|$-"; umask; trap; } >>${OUT}`,
      bash: `{ echo "$A|$B|\${C-unset}|$IFS|$PWD|$#|$2|$3|$-|$SHELLOPTS"; umask; trap -p; declare -p array map; f aaa; declare -F; shopt -p extglob nullglob; alias; } | grep -v machineadm_ >>${OUT}`,
    };
    const program = resolve(import.meta.dirname, '../../fixtures/features/run-hooks.ts');
    /** Kills the agent that runs the entry, once. */
    const killsOnce = (name: string) =>
      `if [ ! -e /tmp/pass/${name} ]; then mkdir -p /tmp/pass; : >/tmp/pass/${name}; kill -9 $PPID; sleep 1000; fi`;
    const group = (shell: 'sh' | 'bash', commands: readonly string[]): HookGroup => ({
      shell,
      onError: 'Fail',
      timeoutMs: 60_000,
      frequency: 'Once',
      commands,
    });
    /** Runs the agent until it is not killed; before each run the machine was rebooted. Gives how often it ran. */
    const untilEnded = (hooks: HookGroup): { readonly runs: number; readonly output: string } => {
      writeFileSync('/tmp/group.json', JSON.stringify(hooks));
      for (let runs = 1; ; runs += 1) {
        assert.ok(runs < 20, 'does not come to an end');
        const { signal, stdout, stderr } = spawnSync(process.execPath, [program, '/tmp/group.json'], {
          encoding: 'utf8',
        });
        if (signal !== 'SIGKILL') return { runs, output: `${stdout}${stderr}` };
        rmSync('/run/machineadm', { recursive: true, force: true });
      }
    };
    afterEach(() => rmSync('/tmp/pass', { recursive: true, force: true }));
    /** Runs a group whose second entry fails, and again when it does not. */
    const failsOnce = async (shell: 'sh' | 'bash', commands: readonly string[], meanwhile: () => void) => {
      const seen = { notes: new Map<string, unknown>(), warnings: [] };
      const model = modelOf(commands, { shell });
      await assert.rejects(runStep(earlyHooks, host, model, { seen }), { reason: 'HookFailed' });
      meanwhile();
      writeFileSync('/tmp/pass', '');
      const record = { ...EMPTY_RECORD, notes: seen.notes };
      const [change] = await planned(earlyHooks, host, model, { record });
      const { warnings } = await runStep(earlyHooks, host, model, { record });
      return { summary: change?.summary ?? '', warnings };
    };

    for (const shell of ['sh', 'bash'] as const) {
      test(`in ${shell} is the same, wherever it was killed, and an entry that is done is never repeated`, () => {
        const entries = [...sets[shell], shows[shell]];
        const undisturbed = untilEnded(group(shell, entries));
        assert.equal(undisturbed.runs, 1, undisturbed.output);
        const expected = readFileSync(OUT, 'utf8');
        assert.match(expected, /it's\ntwo lines\|b c\|\|:\|\/usr\/share\|3\|\|r'/);
        for (const path of [OUT, '/var/lib/machineadm']) rmSync(path, { recursive: true });

        const done = (index: number) => `echo ${index} >>/tmp/pass-done`;
        // Killed at the begin of each entry, and at its end, when all but its last word is done.
        const killed = entries.map((entry, index) =>
          [killsOnce(`begin-${index}`), index + 1 === entries.length ? killsOnce('end') : '', entry, done(index)].join(
            '\n',
          ),
        );
        const { runs, output } = untilEnded(group(shell, killed));
        assert.match(output, /^Succeeded$/m);
        assert.equal(runs, entries.length + 2);
        assert.equal(readFileSync(OUT, 'utf8'), expected);
        assert.deepEqual(
          readFileSync('/tmp/pass-done', 'utf8').trim().split('\n'),
          entries.map((_, index) => `${index}`),
        );
        rmSync('/tmp/pass-done');
      });

      test(`in ${shell} records an entry that ends after its agent was killed, and does not repeat it`, async () => {
        const outlives = 'kill -9 $PPID; while kill -0 $PPID 2>/dev/null; do sleep 0.05; done';
        const commands = [`A=kept; echo one >>${OUT}; ${outlives}`, `echo "two $A" >>${OUT}`];
        writeFileSync('/tmp/group.json', JSON.stringify(group(shell, commands)));
        const first = spawnSync(process.execPath, [program, '/tmp/group.json'], { stdio: 'ignore' });
        assert.equal(first.signal, 'SIGKILL');
        await waitUntil(
          () => existsSync(STATE) && / 1 whole\n/.test(readFileSync(STATE, 'utf8')),
          'the shell without its agent saves its entry',
        );
        assert.deepEqual(lines(), ['one']);
        assert.match(untilEnded(group(shell, commands)).output, /^Succeeded$/m);
        assert.deepEqual(lines(), ['one', 'two kept']);
        assert.deepEqual(readdirSync('/var/lib/machineadm/hooks'), []);
      });

      test(`in ${shell} keeps the bytes of its variables, also those that are no text`, async () => {
        const commands = [
          `A=$(printf 'a\\377b')`,
          'exit 0',
          `test -e /tmp/pass; printf '%s' "$A" | od -An -tx1 >>${OUT}`,
        ];
        await failsOnce(shell, ['set -e', ...commands], () => {});
        assert.deepEqual(lines(), [' 61 ff 62']);
      });

      test(`in ${shell} keeps "set -e" after a kill: a check that fails still ends the entry`, () => {
        const options = shell === 'bash' ? 'set -euo pipefail' : 'set -eu';
        const check = shell === 'bash' ? 'false | cat' : 'test -e /nowhere';
        const commands = [options, killsOnce('second'), `${check}; echo passed >>${OUT}`];
        const { runs, output } = untilEnded(group(shell, commands));
        assert.equal(runs, 2);
        assert.match(output, /HookFailed[\s\S]*entry 3 of 3/);
        assert.deepEqual(lines(), []);
      });

      for (const [what, command, why] of [
        ['a program in the background', 'sleep 1000 & ', /programs of it ran in the background/],
        ['an open descriptor', 'exec 5</dev/null', /had changed its descriptors or limits/],
        ['a limit', 'ulimit -n 500', /had changed its descriptors or limits/],
        ['another standard output', 'exec >/tmp/elsewhere', /had changed its descriptors or limits/],
        ...(shell === 'bash'
          ? ([['a stack of directories', 'pushd /usr >/dev/null', /its stack of directories is not empty/]] as const)
          : ([
              ['a function', 'isBad() { true; }', /sh cannot write down its functions and aliases/],
              ['an alias', 'alias isBad=true', /sh cannot write down its functions and aliases/],
            ] as const)),
      ] as const) {
        test(`in ${shell} with ${what} cannot be restored: all entries run again, with a warning`, async () => {
          const commands = [
            `echo one >>${OUT}; ${command}`,
            'test -e /tmp/pass',
            `if isBad 2>/dev/null; then echo seen >>${OUT}; fi`,
          ];
          const { summary, warnings } = await failsOnce(shell, commands, () => {});
          assert.match(summary, /^run 3 commands with \w+, again from the first: /);
          assert.match(summary, why);
          assert.match(warnings.join(), /^hooks-early: all commands run again, including those that are done/);
          assert.deepEqual(lines(), /isBad/.test(command) ? ['one', 'one', 'seen'] : ['one', 'one']);
        });
      }

      test(`in ${shell} whose directory a reboot took away cannot be restored`, async () => {
        const commands = [`echo one >>${OUT}; mkdir -p /tmp/gone; cd /tmp/gone`, 'test -e /tmp/pass', `pwd >>${OUT}`];
        const reboot = () => rmSync('/tmp/gone', { recursive: true });
        const { summary, warnings } = await failsOnce(shell, commands, reboot);
        assert.equal(summary, 'continue after command 1 of 3, where an earlier run ended');
        assert.match(warnings.join(), /the shell that was restored is not like the one before/);
        assert.deepEqual(lines(), ['one', 'one', '/tmp/gone']);
      });

      test(`in ${shell} is restored for the entry after one that ends it by exit, and is refused where it cannot be`, async () => {
        await run(['set -eu; A=kept', 'exit 0', `echo "$A $-" >>${OUT}`], { shell });
        assert.match(lines()[0] ?? '', /^kept .*e/);
        await assert.rejects(run(['exec 5</dev/null', 'exit 0', `echo never >>${OUT}`], { shell }), (error) => {
          assert.ok(error instanceof MachineadmError);
          assert.deepEqual([error.reason, error.exit], ['HookFailed', 'HostStepFailed']);
          assert.match(error.message, /failed before entry 3 of 3 .*had changed its descriptors or limits/);
          return true;
        });
        assert.equal(lines().length, 1);
      });
    }

    test('is nowhere to be found when the group has ended, and meanwhile only root may read it', async () => {
      const commands = [
        'SECRET=hunter-two',
        `find /run/machineadm /var/lib/machineadm -mindepth 1 -perm /077 >>${OUT}; echo end >>${OUT}`,
      ];
      await run(commands);
      assert.deepEqual(lines(), ['end']);
      assert.deepEqual(readdirSync('/run/machineadm/hooks-early'), []);
      assert.deepEqual(readdirSync('/var/lib/machineadm/hooks'), []);
    });

    test('shows nothing of its variables where an entry traces', async () => {
      const seen: string[] = [];
      const traced = openHost({ runId: 'test' });
      const quiet = {
        ...traced,
        run: (command: Command) => traced.run({ ...command, onLine: (_, line) => seen.push(line) }),
      };
      await runStep(earlyHooks, quiet, modelOf(['SECRET=hunter-two', 'set -x', 'true'], { shell: 'bash' }));
      assert.doesNotMatch(seen.join('\n'), /hunter/);
      assert.ok(seen.some((line) => line.startsWith('+')));
    });

    test('shows of itself neither a trace nor commands where entries ask for their own', async () => {
      for (const shell of ['sh', 'bash'] as const) {
        const seen: string[] = [];
        const traced = openHost({ runId: 'test' });
        const heard = {
          ...traced,
          run: (command: Command) => traced.run({ ...command, onLine: (_, line) => seen.push(line) }),
        };
        await runStep(earlyHooks, heard, modelOf(['set -vx', 'echo of-an-entry >/dev/null', 'true'], { shell }));
        // The trace of the entry, and its command, for the options are in force again after each entry.
        assert.equal(seen.filter((line) => line.includes('of-an-entry')).length, 2, `${shell}: ${seen.join('\n')}`);
        assert.doesNotMatch(seen.join('\n'), /machineadm_(?:text|had|umask)|mnt_id|set \+o/, shell);
        rmSync('/var/lib/machineadm', { recursive: true });
      }
    });
  });

  test('a program that is killed is named by its signal, and the command is not blamed', async () => {
    for (const [script, summary] of [
      ["sh -c 'kill -9 $$'", /exit status 137 \(it was killed by SIGKILL\)/],
      ['kill -9 $$', /exit status 137 \(it was killed by SIGKILL\)/],
      ["sh -c 'kill -SEGV $$'", /exit status 139 \(it crashed \(SIGSEGV\)\)/],
    ] as const) {
      await assert.rejects(run(['true', script]), (error) => {
        assert.ok(error instanceof MachineadmError);
        assert.deepEqual([error.reason, error.retryable], ['HookFailed', true]);
        assert.match(error.message, summary);
        assert.match(error.message, /entry 2 of 2/);
        assert.doesNotMatch(error.remedy, /Correct the command/);
        return true;
      });
      rmSync('/var/lib/machineadm', { recursive: true });
    }
  });

  test('a run that is killed in an entry resumes with that entry, and a further run does nothing', async () => {
    const commands = [
      `echo one >>${OUT}; export A=kept`,
      `echo two >>${OUT}; [ -e /tmp/second ] || exec sleep 1000`,
      `echo "three $A" >>${OUT}`,
    ];
    const group: HookGroup = { shell: 'sh', onError: 'Fail', timeoutMs: 60_000, frequency: 'Once', commands };
    writeFileSync('/tmp/group.json', JSON.stringify(group));
    const program = resolve(import.meta.dirname, '../../fixtures/features/run-hooks.ts');
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
