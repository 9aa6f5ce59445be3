import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { journalEntry, MESSAGE_IDS } from '@machineadm/status/journal-entry.ts';
import type { RunEvent } from '@machineadm/status/status.ts';
import { journalSink } from '../../../../src/reporting/sinks/journal.ts';
import { loggerMachine } from '../../../support/logger-machine.ts';
import { memoryHost } from '../../../support/memory-host.ts';
import { waitUntil } from '../../../support/wait-until.ts';
import { FAILURE, statusAfter } from '../runs.ts';

const SOCKET = { '/run/systemd/journal/socket': { type: 'socket' } } as const;
const signal = new AbortController().signal;
const SOURCE = resolve(import.meta.dirname, '../../../../src');
const STARTED: RunEvent = { kind: 'started', status: statusAfter() };

function fieldsOf(event: RunEvent): readonly string[] {
  return journalEntry(event).trimEnd().split('\n');
}

describe('an entry of the journal', () => {
  const status = statusAfter(
    {
      kind: 'identified',
      subject: { machine: { name: 'a-1' }, documentSha256: 'abc', attempt: 1, bootstrapped: false },
    },
    { kind: 'concluded', conclusion: { outcome: 'Failed', exitCode: 11, failure: FAILURE } },
  );

  test('has fields to select it by', () => {
    const fields = fieldsOf({ kind: 'concluded', status });
    for (const field of [
      `MESSAGE_ID=${MESSAGE_IDS.Failed.id}`,
      'PRIORITY=3',
      'SYSLOG_IDENTIFIER=machineadm',
      'MACHINEADM_RUN=run-1',
      'MACHINEADM_MACHINE=a-1',
      'MACHINEADM_DOCUMENT=abc',
      'MACHINEADM_STEP=kubeadm',
      'MACHINEADM_REASON=SwapEnabled',
      'MACHINEADM_OUTCOME=Failed',
      'MESSAGE=What to do: Set host.swap to Disabled.',
    ]) {
      assert.ok(fields.includes(field), field);
    }
  });

  test('cannot be forged by a newline in what others said', () => {
    const forged = 'x\nMACHINEADM_OUTCOME=Succeeded\n\nMESSAGE_ID=0';
    const fields = fieldsOf({ kind: 'waiting', step: forged, waitingFor: forged, status });
    assert.ok(
      !fields.some(
        (field) => /^(MACHINEADM_OUTCOME|MESSAGE_ID=0|)$/.test(field) || field.startsWith('MACHINEADM_OUTCOME'),
      ),
    );
  });

  test('always has a message', () => {
    const step = { id: 'sysctl', state: 'Skipped', changes: [] } as const;
    assert.ok(fieldsOf({ kind: 'step', step, status }).includes('MESSAGE=sysctl: skipped'));
  });

  test('has an id for each kind, none twice, as journalctl wants them', () => {
    const ids = Object.values(MESSAGE_IDS).map((message) => message.id);
    assert.equal(new Set(ids).size, ids.length);
    for (const id of ids) assert.match(id, /^[0-9a-f]{32}$/);
  });
});

describe('the sink', () => {
  test('passes each entry to a logger on its input, never in its arguments', async () => {
    using machine = loggerMachine(SOCKET);
    const sink = journalSink(machine);
    await sink.open(signal);
    const event: RunEvent = { kind: 'started', status: statusAfter() };
    await sink.deliver(event, signal);
    await sink.deliver(event, signal);
    assert.deepEqual(machine.logged(), [
      { args: '--journald', input: journalEntry(event) },
      { args: '--journald', input: journalEntry(event) },
    ]);
    assert.equal(machine.shells().length, 1, 'one shell for all');
    await sink.close(signal);
  });

  test('passes on what a shell could take for its own', async () => {
    using machine = loggerMachine(SOCKET);
    const sink = journalSink(machine);
    const message = `$(touch /tmp/x) \`id\` $HOME \\n "'  =0 %s %n * \t`;
    const event: RunEvent = {
      kind: 'warning',
      message: `${message}\n%d\n${message}`,
      status: statusAfter(),
    };
    await sink.deliver(event, signal);
    assert.deepEqual(machine.logged(), [{ args: '--journald', input: journalEntry(event) }]);
    await sink.close(signal);
  });

  test('passes on a long entry with a shell that may write no file, as on a full disk', async () => {
    using machine = loggerMachine(SOCKET);
    const program = join(machine.directory, 'sh');
    writeFileSync(program, `#!/bin/bash\nulimit -S -f 0\ntrap '' XFSZ\nexec bash "$@"\n`, { mode: 0o755 });
    const sink = journalSink({ stat: machine.stat, run: (command) => machine.run({ ...command, program }) });
    const event: RunEvent = { kind: 'warning', message: 'long '.repeat(20_000), status: statusAfter() };
    await sink.deliver(event, signal);
    assert.deepEqual(machine.logged(), [{ args: '--journald', input: journalEntry(event) }]);
    await sink.close(signal);
  });

  test('writes to syslog where there is no journal, and says so once', async () => {
    using machine = loggerMachine({ '/dev/log': { type: 'socket' } });
    const sink = journalSink(machine);
    await sink.open(signal);
    const status = statusAfter({
      kind: 'concluded',
      conclusion: { outcome: 'Failed', exitCode: 11, failure: FAILURE },
    });
    await sink.deliver({ kind: 'started', status: statusAfter() }, signal);
    await sink.deliver({ kind: 'concluded', status }, signal);
    await sink.close(signal);
    const [first, last] = machine.logged();
    assert.deepEqual([first?.args, last?.args], ['-t machineadm -p daemon.notice', '-t machineadm -p daemon.err']);
    assert.match(first?.input ?? '', /^this machine has no journald: .*syslog.*\n.+\n$/);
    assert.match(last?.input ?? '', /SwapEnabled/);
    assert.doesNotMatch(last?.input ?? '', /no journal|\n\n/);
  });

  test('cannot be opened where there is neither a journal nor a syslog', async () => {
    // systemd's own /dev/log leads into a directory that is not there.
    for (const files of [{}, { '/dev/log': { type: 'symlink' } }] as const) {
      await assert.rejects(
        journalSink(memoryHost({ files })).open(signal),
        (error) => error instanceof MachineadmError && /neither a journal .* nor a syslog/.test(error.message),
      );
    }
  });

  test('fails with the message of a logger that fails, and delivers the next entry', async () => {
    using machine = loggerMachine(SOCKET);
    const sink = journalSink(machine);
    machine.behave('echo "logger: journald entry could not be written" >&2; exit 1');
    await assert.rejects(sink.deliver(STARTED, signal), /^Error: logger --journald: logger: journald entry could not/);
    machine.behave('exit 3');
    await assert.rejects(sink.deliver(STARTED, signal), /^Error: logger --journald: status 3$/);
    machine.behave('kill -9 $$');
    await assert.rejects(sink.deliver(STARTED, signal), /^Error: logger --journald: (status 137|.*Killed)/);
    machine.behave('exit 0');
    await sink.deliver(STARTED, signal);
    assert.equal(machine.shells().length, 1);
    await sink.close(signal);
  });

  test('delivers an entry after its shell was killed, and fails where that happens while it delivers', async () => {
    using machine = loggerMachine(SOCKET);
    const sink = journalSink(machine);
    await sink.deliver(STARTED, signal);
    process.kill(machine.shells()[0] ?? 0, 'SIGTERM');
    await sink.deliver(STARTED, signal);
    assert.equal(machine.logged().length, 2);
    await sink.close(signal);
    machine.behave('kill -9 $PPID');
    await assert.rejects(sink.deliver(STARTED, signal), /its shell was killed/);
  });

  test('ends a logger that hangs with the time limit of its delivery, and delivers the next entry', async () => {
    using machine = loggerMachine(SOCKET);
    const sink = journalSink(machine);
    machine.behave('exec sleep 1000');
    const limit = new AbortController();
    const hanging = sink.deliver(STARTED, limit.signal);
    await waitUntil(() => machine.logged().length === 1, 'the logger hangs');
    limit.abort(new Error('too late'));
    await assert.rejects(hanging, /too late/);
    machine.behave('exit 0');
    await sink.deliver(STARTED, signal);
    await sink.close(signal);
    assert.equal(machine.shells().length, 2);
    assertGone(machine.shells());
  });

  test('leaves no process after it was closed, and ends one that starts for a later entry', async () => {
    using machine = loggerMachine(SOCKET);
    const sink = journalSink(machine);
    await sink.deliver(STARTED, signal);
    await sink.close(signal);
    assertGone(machine.shells());
    await sink.deliver(STARTED, signal);
    assert.equal(machine.shells().length, 2);
    await waitUntil(() => machine.shells().every(isGone), 'the later shell ends');
  });

  test('leaves no process when the agent is killed', async () => {
    using machine = loggerMachine(SOCKET);
    const script = `
      import { runCommand } from '${SOURCE}/host/linux/commands.ts';
      import { LoggerShell } from '${SOURCE}/reporting/sinks/logger-shell.ts';
      const env = { PATH: '${machine.directory}:' + process.env.PATH };
      const shell = new LoggerShell({ run: (command) => runCommand({ ...command, env }) });
      await shell.log('--journald', 'MESSAGE=a\\n', new AbortController().signal);
      process.stdin.resume();`;
    const agent = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    await waitUntil(() => machine.shells().length === 1, 'an entry is written');
    assert.ok(!machine.shells().every(isGone));
    agent.kill('SIGKILL');
    await waitUntil(() => machine.shells().every(isGone), 'its shell ends');
  });
});

function isGone(pid: number): boolean {
  return !existsSync(`/proc/${pid}`);
}

function assertGone(pids: readonly number[]): void {
  assert.deepEqual(
    pids.filter((pid) => !isGone(pid)),
    [],
  );
}
