import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MachineadmError } from '@machineadm/document/errors.ts';
import type { RunEvent } from '@machineadm/status/status.ts';
import type { Command } from '../../../../src/host/seam/host.ts';
import { journalEntry, journalSink, MESSAGE_IDS } from '../../../../src/reporting/sinks/journal.ts';
import { memoryHost } from '../../../support/memory-host.ts';
import { FAILURE, statusAfter } from '../runs.ts';

const SOCKET = { '/run/systemd/journal/socket': { type: 'socket' } } as const;
const signal = new AbortController().signal;

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
  test('hands each entry to logger on its input, never in its arguments', async () => {
    const commands: Command[] = [];
    const host = memoryHost({
      files: SOCKET,
      programs: {
        logger: (command) => {
          commands.push(command);
          return {};
        },
      },
    });
    const sink = journalSink(host);
    await sink.open(signal);
    const event: RunEvent = { kind: 'started', status: statusAfter() };
    await sink.deliver(event, signal);
    assert.deepEqual(
      commands.map(({ args }) => args),
      [['--journald']],
    );
    assert.equal(commands[0]?.input, journalEntry(event));
  });

  test('tells syslog where there is no journal, and says so once', async () => {
    const commands: Command[] = [];
    const host = memoryHost({
      files: { '/dev/log': { type: 'socket' } },
      programs: {
        logger: (command) => {
          commands.push(command);
          return {};
        },
      },
    });
    const sink = journalSink(host);
    await sink.open(signal);
    const status = statusAfter({
      kind: 'concluded',
      conclusion: { outcome: 'Failed', exitCode: 11, failure: FAILURE },
    });
    await sink.deliver({ kind: 'started', status: statusAfter() }, signal);
    await sink.deliver({ kind: 'concluded', status }, signal);
    assert.deepEqual(
      commands.map(({ args }) => args.join(' ')),
      ['-t machineadm -p daemon.notice', '-t machineadm -p daemon.err'],
    );
    const [first, last] = commands.map(({ input }) => String(input));
    assert.match(first ?? '', /^this machine has no journald: .*syslog.*\n.+\n$/);
    assert.match(last ?? '', /SwapEnabled/);
    assert.doesNotMatch(last ?? '', /no journal|\n\n/);
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

  test('says what logger said when it failed', async () => {
    const host = memoryHost({
      files: SOCKET,
      programs: { logger: () => ({ status: 1, stderr: 'logger: journald entry could not be written\n' }) },
    });
    await assert.rejects(
      journalSink(host).deliver({ kind: 'started', status: statusAfter() }, signal),
      /could not be written/,
    );
  });
});
