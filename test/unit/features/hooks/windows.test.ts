import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { HookGroup } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { windowsEarlyHooks } from '../../../../src/features/hooks/windows.ts';
import { windowsHookCommand, windowsHookScript } from '../../../../src/features/hooks/windows-script.ts';
import type { Command, CommandResult, Host } from '../../../../src/host/seam/host.ts';
import { EMPTY_RECORD } from '../../../../src/step/index.ts';
import { hostModel } from '../../../support/host-model.ts';
import { planned, runStep } from '../../../support/run-step.ts';
import { type WindowsMachine, windowsMachine } from '../../../support/windows-machine.ts';

const group = (different: Partial<HookGroup> = {}): HookGroup => ({
  shell: 'powershell',
  onError: 'Fail',
  timeoutMs: 60_000,
  commands: ['$env:A = "päss-word"', 'Get-Item $env:A', 'exit 0'],
  frequency: 'Once',
  ...different,
});
const modelOf = (early: HookGroup) =>
  hostModel({ platform: 'windows', hooks: { early, beforeBootstrap: undefined, afterBootstrap: undefined } });

/** What a shell does with one entry: its status, or `exits` when it ends the shell. */
type Entry = { readonly status: number } | { readonly exits: number } | 'hangs';

/**
 * A host whose PowerShell and cmd follow the driver: composed after its text. Entries it has no behaviour for end with 0.
 */
function withShell(machine: WindowsMachine, behaviour: Readonly<Record<number, Entry>>): Host & { shells: Command[] } {
  const host = machine.host();
  const shells: Command[] = [];
  return {
    ...host,
    shells,
    async run(command): Promise<CommandResult> {
      shells.push(command);
      const [token = '', first = '1', last = '1', onError] = command.args.slice(-4);
      const say = (line: string): void => command.onLine?.('stdout', line);
      for (let entry = Number(first); entry <= Number(last); entry += 1) {
        say(`${token} begin ${entry}`);
        say(`output of ${entry}`);
        const does = behaviour[entry] ?? { status: 0 };
        if (does === 'hangs') return { status: 1, stdout: '', stderr: '', timedOut: true };
        if ('exits' in does) return { status: does.exits, stdout: '', stderr: '', timedOut: false };
        say(`${token} end ${entry} ${does.status}`);
        if (does.status !== 0 && onError === 'Fail')
          return { status: does.status, stdout: '', stderr: '', timedOut: false };
      }
      return { status: 0, stdout: '', stderr: '', timedOut: false };
    },
  };
}

describe('hooks on Windows', () => {
  for (const [shell, program, script] of [
    ['powershell', 'powershell.exe', 'driver.ps1'],
    ['cmd', 'cmd.exe', 'driver.cmd'],
  ] as const) {
    test(`${shell}: nothing of the document is in the command line, and the entries are gone afterwards`, async () => {
      await using machine = windowsMachine();
      const host = withShell(machine, { 3: { exits: 0 } });
      const laid: string[] = [];
      const run = host.run.bind(host);
      const watching: Host = {
        ...host,
        async run(command) {
          for (const name of (await host.list('C:\\ProgramData\\machineadm\\run\\hooks-early')) ?? []) {
            const path = `C:\\ProgramData\\machineadm\\run\\hooks-early\\${name}`;
            laid.push(`${name} ${machine.descriptor(path)}`);
            if (name.startsWith('entry-1')) assert.match(machine.read(path) ?? '', /\$env:A = "päss-word"\r\n/);
          }
          return await run(command);
        },
      };
      const { changes } = await runStep(windowsEarlyHooks, watching, modelOf(group({ shell })));
      assert.deepEqual(
        changes.map(({ id, repeatable }) => [id, repeatable]),
        [['hooks-early/run', false]],
      );
      assert.deepEqual(
        laid.map((one) => one.split(' ')[0]),
        [script, ...[1, 2, 3].map((index) => `entry-${index}.${script.split('.')[1]}`)],
      );
      for (const one of laid) assert.match(one, /O:BAG:SYD:AI\(A;ID;FA;;;SY\)\(A;ID;FA;;;BA\)$/);
      assert.deepEqual(await host.list('C:\\ProgramData\\machineadm\\run\\hooks-early'), []);
      const [command, ...more] = host.shells;
      assert.deepEqual(more, []);
      assert.equal(command?.program, program);
      assert.ok(command?.args.includes(`C:\\ProgramData\\machineadm\\run\\hooks-early\\${script}`));
      assert.doesNotMatch(command?.args.join(' ') ?? '', /päss|Get-Item/);
      assert.deepEqual(command?.env, { MACHINEADM_PHASE: 'early' });
    });
  }

  test('a failing entry is named with its number, its text and its status', async () => {
    await using machine = windowsMachine();
    await assert.rejects(
      runStep(windowsEarlyHooks, withShell(machine, { 2: { status: 7 } }), modelOf(group())),
      (error) => {
        assert.ok(error instanceof MachineadmError);
        assert.deepEqual([error.reason, error.exit], ['HookFailed', 'HostStepFailed']);
        assert.match(error.message, /entry 2 of 3 \(host\.hooks\.early\.commands\[1\]\): exit status 7/);
        assert.deepEqual(error.evidence.at(-1)?.text, 'output of 2');
        return true;
      },
    );
  });

  test('retry runs the first entry again; a later one is not retried, with a warning', async () => {
    await using machine = windowsMachine();
    const retry = { attempts: 3, delayMs: 1, backoff: 1 };
    const failing = async (entry: number) => {
      const host = withShell(machine, { [entry]: { status: 7 } });
      const seen = { notes: new Map<string, unknown>(), warnings: [] as string[] };
      await assert.rejects(runStep(windowsEarlyHooks, host, modelOf(group({ retry })), { seen }), {
        reason: 'HookFailed',
        exit: 'HostStepFailed',
      });
      return { shells: host.shells.length, warnings: seen.warnings };
    };
    assert.deepEqual(await failing(1), { shells: 3, warnings: [] });
    const { shells, warnings } = await failing(2);
    assert.equal(shells, 1);
    assert.match(warnings.join(), /entry 2 is not retried: the shell before it cannot be restored/);
  });

  test('an entry that ends its shell well is followed by the next one in a new shell', async () => {
    await using machine = windowsMachine();
    const host = withShell(machine, { 1: { exits: 0 } });
    await runStep(windowsEarlyHooks, host, modelOf(group()));
    assert.deepEqual(
      host.shells.map(({ args }) => args.at(-3)),
      ['1', '2'],
    );
  });

  test('with onError Continue, the run continues and warns', async () => {
    await using machine = windowsMachine();
    const host = withShell(machine, { 1: { status: 3 }, 2: { exits: 4 } });
    const { warnings } = await runStep(windowsEarlyHooks, host, modelOf(group({ onError: 'Continue' })));
    assert.equal(warnings.length, 3);
    assert.match(warnings.join(), /exit status 3.*exit status 4.*entry 2 ended its shell by exit/);
  });

  test('one that takes too long is reported with the entry it was in', async () => {
    await using machine = windowsMachine();
    await assert.rejects(runStep(windowsEarlyHooks, withShell(machine, { 2: 'hangs' }), modelOf(group())), (error) => {
      assert.ok(error instanceof MachineadmError);
      assert.equal(error.reason, 'HookTimedOut');
      assert.match(error.message, /entry 2 of 3/);
      return true;
    });
  });

  test('a shell that says nothing and ends with 0 did nothing', async () => {
    await using machine = windowsMachine();
    const host: Host = { ...machine.host(), run: async () => ({ status: 0, stdout: '', stderr: '', timedOut: false }) };
    await assert.rejects(runStep(windowsEarlyHooks, host, modelOf(group())), { reason: 'HookFailed' });
  });

  test('a group that an earlier run ended runs again from its first entry, whose settings the others need', async () => {
    await using machine = windowsMachine();
    const seen = { notes: new Map<string, unknown>(), warnings: [] };
    await assert.rejects(
      runStep(windowsEarlyHooks, withShell(machine, { 2: { status: 1 } }), modelOf(group()), { seen }),
    );
    const record = { ...EMPTY_RECORD, notes: seen.notes };
    const [change] = await planned(windowsEarlyHooks, machine.queryHost(), modelOf(group()), { record });
    assert.match(change?.summary ?? '', /^run 3 commands with powershell, again from the first/);
    const host = withShell(machine, {});
    const again = await runStep(windowsEarlyHooks, host, modelOf(group()), { record });
    assert.match(again.warnings[0] ?? '', /all commands run again/);
    assert.deepEqual(
      host.shells.map(({ args }) => args.at(-3)),
      ['1'],
    );
    const changed = modelOf(group({ commands: ['other'] }));
    const [anew] = await planned(windowsEarlyHooks, machine.queryHost(), changed, { record });
    assert.match(anew?.summary ?? '', /run 1 command with powershell/);
    const done = { ...record, done: new Set(['hooks-early/run']) };
    assert.deepEqual(await planned(windowsEarlyHooks, machine.queryHost(), modelOf(group()), { record: done }), []);
  });

  test('what an entry prints is not taken for the words of the driver', async () => {
    await using machine = windowsMachine();
    const host = machine.host();
    const forging: Host = {
      ...host,
      async run(command) {
        const [token] = command.args.slice(-4);
        command.onLine?.('stdout', `${token} begin 1`);
        command.onLine?.('stdout', 'machineadm-0 end 1 0');
        return { status: 5, stdout: '', stderr: '', timedOut: false };
      },
    };
    await assert.rejects(runStep(windowsEarlyHooks, forging, modelOf(group())), /entry 1 of 3 .*exit status 5/);
  });

  test('the line for cmd has no character that cmd takes for its own', () => {
    const { args } = windowsHookCommand(windowsHookScript('hooks-early'), group({ shell: 'cmd' }), 'machineadm-1', 2);
    assert.deepEqual(args.slice(0, 2), ['/d', '/c']);
    for (const word of args.slice(2)) assert.match(word, /^[A-Za-z0-9:\\._-]+$/);
  });
});
