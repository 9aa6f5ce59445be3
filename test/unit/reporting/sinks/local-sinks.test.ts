import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { entryText, journalEntry, MESSAGE_IDS, messageId } from '@machineadm/status/journal-entry.ts';
import type { RunEvent, StepStatus } from '@machineadm/status/status.ts';
import { WRITE_EVENT } from '../../../../src/host/windows/system-scripts.ts';
import { consoleLine } from '../../../../src/reporting/sinks/console.ts';
import { journalSink } from '../../../../src/reporting/sinks/journal.ts';
import { windowsEntry, windowsEventLogSink } from '../../../../src/reporting/sinks/windows-event-log.ts';
import { loggerMachine } from '../../../support/logger-machine.ts';
import { memoryHost } from '../../../support/memory-host.ts';
import { FAILURE, statusAfter } from '../runs.ts';

const status = statusAfter();
const step = (state: StepStatus['state']): RunEvent => ({
  kind: 'step',
  step: { id: 'swap', state, changes: [] } as StepStatus,
  status,
});
const concluded = (outcome: 'Succeeded' | 'Failed' | 'Interrupted' | 'RebootRequired'): RunEvent => ({
  kind: 'concluded',
  status: statusAfter({
    kind: 'concluded',
    conclusion: { outcome, exitCode: 1, ...(outcome === 'Failed' ? { failure: FAILURE } : {}) },
  }),
});
const WARNING: RunEvent = { kind: 'warning', message: 'the disk is nearly full', status };

/** Each kind of event, its entry, and what Windows and syslog call it. */
const EVENTS = [
  [{ kind: 'started', status }, 'Started', 'Information'],
  [{ kind: 'waiting', step: 'kubeadm', waitingFor: 'the kubelet', status }, 'Waiting', 'Information'],
  [WARNING, 'Warning', 'Warning'],
  [step('Running'), 'StepStarted', undefined],
  [step('Succeeded'), 'StepDone', 'Information'],
  [step('Skipped'), 'StepDone', 'Information'],
  [step('Failed'), 'StepFailed', 'Error'],
  [concluded('Succeeded'), 'Succeeded', 'Information'],
  [concluded('Failed'), 'Failed', 'Error'],
  [concluded('Interrupted'), 'Interrupted', 'Warning'],
  [concluded('RebootRequired'), 'RebootRequired', 'Warning'],
] as const satisfies readonly (readonly [RunEvent, keyof typeof MESSAGE_IDS, string | undefined])[];

describe('an entry of a local log', () => {
  for (const [event, id, type] of EVENTS) {
    test(`of ${event.kind} is ${id}, for Windows ${type ?? 'a detail that is left out'}`, () => {
      assert.equal(messageId(event), MESSAGE_IDS[id]);
      const entry = windowsEntry(event);
      assert.equal(entry?.type, type);
      if (type !== undefined) assert.equal(entry?.id, Object.keys(MESSAGE_IDS).indexOf(id) + 1);
    });
  }

  test('has one line, and a failure with its evidence at the end of a run alone', () => {
    assert.equal(entryText(WARNING), 'warning: the disk is nearly full');
    assert.match(entryText(step('Running')), /swap/);
    assert.match(entryText(concluded('Failed')), /Swap is on\.[\s\S]*running with swap on is not supported/);
    assert.equal(entryText({ ...WARNING, status: concluded('Failed').status }).split('\n').length, 1);
  });

  test('of Windows has at most 31,000 characters, as its log takes no more than 31,839', () => {
    const messageOf = (length: number) => windowsEntry({ ...WARNING, message: 'x'.repeat(length) })?.message ?? '';
    const room = 31_000 - messageOf(0).length;
    assert.ok(messageOf(room).endsWith('x'));
    assert.equal(messageOf(room + 1).length, 31_001);
    assert.ok(messageOf(room + 1).endsWith('x…'));
  });

  test('of a console is one line of 900 characters at most, which a serial line sends in a second', () => {
    assert.equal(consoleLine('a\nb').split('\n').length, 1);
    const room = 900 - consoleLine('').length;
    assert.ok(consoleLine('x'.repeat(room)).endsWith('x'));
    const cut = consoleLine('x'.repeat(room + 1));
    assert.ok(cut.endsWith('x…'));
    assert.equal(cut.length, 900);
  });
});

describe('an entry of the journal', () => {
  const fieldsOf = (event: RunEvent) =>
    new Map(
      journalEntry(event)
        .trimEnd()
        .split('\n')
        .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)] as const),
    );

  test('has the fields of its event', () => {
    const fields = fieldsOf(step('Succeeded'));
    assert.deepEqual(
      [...fields.keys()].filter((name) => name !== 'MESSAGE'),
      ['MESSAGE_ID', 'PRIORITY', 'SYSLOG_IDENTIFIER', 'MACHINEADM_RUN', 'MACHINEADM_MACHINE', 'MACHINEADM_STEP'],
    );
    assert.deepEqual(
      ['MESSAGE_ID', 'PRIORITY', 'SYSLOG_IDENTIFIER', 'MACHINEADM_RUN', 'MACHINEADM_STEP'].map((name) =>
        fields.get(name),
      ),
      [MESSAGE_IDS.StepDone.id, '6', 'machineadm', 'run-1', 'swap'],
    );
  });

  test('has the document where it is known, and the reason and the outcome at the end alone', () => {
    const { document, ...rest } = status;
    const known = { ...rest, document: { ...document, sha256: 'abc' } };
    assert.equal(fieldsOf({ ...WARNING, status: known }).get('MACHINEADM_DOCUMENT'), 'abc');
    const failed = concluded('Failed');
    const end = fieldsOf(failed);
    assert.deepEqual([end.get('MACHINEADM_REASON'), end.get('MACHINEADM_OUTCOME')], ['SwapEnabled', 'Failed']);
    assert.equal(end.get('MACHINEADM_STEP'), 'kubeadm');
    const before = fieldsOf({ ...WARNING, status: failed.status });
    assert.deepEqual([before.has('MACHINEADM_REASON'), before.has('MACHINEADM_OUTCOME')], [false, false]);
  });
});

describe('the sink of', () => {
  const signal = new AbortController().signal;

  test('the journal gives each kind of event to logger', async () => {
    using machine = loggerMachine({
      '/run/systemd/journal/socket': { type: 'socket' },
      '/dev/log': { type: 'socket' },
    });
    const sink = journalSink(machine);
    assert.equal(sink.name, 'Journal');
    await sink.open(signal);
    for (const [event] of EVENTS) await sink.deliver(event, signal);
    await sink.close(signal);
    assert.deepEqual(
      machine.logged(),
      EVENTS.map(([event]) => ({ args: '--journald', input: journalEntry(event) })),
    );
  });

  test('the journal writes to syslog where there is no journald, and says so once', async () => {
    using machine = loggerMachine({ '/dev/log': { type: 'socket' } });
    const sink = journalSink(machine);
    await sink.open(signal);
    for (const [event] of EVENTS) await sink.deliver(event, signal);
    await sink.close(signal);
    const logged = machine.logged();
    assert.deepEqual(
      logged.map(({ args }) => args.split('.').at(-1)),
      EVENTS.map(
        ([, id]) => ({ 3: 'err', 4: 'warning', 5: 'notice', 6: 'info', 7: 'debug' })[MESSAGE_IDS[id].priority],
      ),
    );
    assert.match(logged[0]?.args ?? '', /^-t machineadm -p daemon\./);
    assert.match(logged[0]?.input ?? '', /^this machine has no journald: the run logs to syslog instead\n./);
    assert.equal(logged[2]?.input, 'warning: the disk is nearly full\n');
    assert.ok(!(logged[8]?.input ?? '').includes('\n\n'), 'an empty line would be an empty entry');
  });

  test('the journal has neither in a container', async () => {
    await assert.rejects(journalSink(memoryHost()).open(signal), { reason: 'HostStepFailed' });
  });

  test('the log of Windows writes what is no detail, and fails where Windows does not say that it wrote it', async () => {
    for (const [answer, isWritten] of [
      [{ written: true }, true],
      [{ written: false }, false],
      [{}, false],
    ] as const) {
      const stdout = JSON.stringify({ script: WRITE_EVENT.name, answer });
      const host = memoryHost({ programs: { 'powershell.exe': () => ({ stdout }) } });
      const sink = windowsEventLogSink(host, 'win32');
      assert.equal(sink.name, 'WindowsEventLog');
      await sink.open(signal);
      await sink.deliver(step('Running'), signal);
      assert.deepEqual(host.log, []);
      if (isWritten) await sink.deliver(WARNING, signal);
      else await assert.rejects(sink.deliver(WARNING, signal), /Windows did not say that the entry was written/);
    }
  });

  test('the log of Windows is none on Linux', async () => {
    await assert.rejects(windowsEventLogSink(memoryHost(), 'linux').open(signal), (error) => {
      assert.ok(error instanceof MachineadmError);
      assert.deepEqual(
        [error.reason, error.message],
        ['UnsupportedOnPlatform', 'there is no Windows event log on linux'],
      );
      return true;
    });
  });
});
