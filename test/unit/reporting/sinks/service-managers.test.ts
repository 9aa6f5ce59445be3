import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MESSAGE_IDS } from '@machineadm/status/journal-entry.ts';
import type { RunEvent } from '@machineadm/status/status.ts';
import type { Command } from '../../../../src/host/seam/host.ts';
import { WRITE_EVENT } from '../../../../src/host/windows/system-scripts.ts';
import { systemdNotifySink } from '../../../../src/reporting/sinks/systemd-notify.ts';
import { windowsEntry, windowsEventLogSink } from '../../../../src/reporting/sinks/windows-event-log.ts';
import { FAILURE, statusAfter } from '../runs.ts';

const signal = new AbortController().signal;

/** A host that notes what it is asked to run, and answers with this status. */
function noting(status = 0, stderr = '', stdout = '') {
  const commands: Command[] = [];
  return {
    commands,
    run: async (command: Command) => {
      commands.push(command);
      return { status, stdout, stderr, timedOut: false };
    },
  };
}

const failed: RunEvent = {
  kind: 'concluded',
  status: statusAfter({
    kind: 'concluded',
    conclusion: { outcome: 'Failed', exitCode: 11, failure: { ...FAILURE, summary: "Swap is on: “/swap” '; rm" } },
  }),
};

describe('systemd-notify', () => {
  test('is given the status line, and the socket of the unit', async () => {
    const host = noting();
    const sink = systemdNotifySink(host, '/run/systemd/notify');
    await sink.open(signal);
    await sink.deliver(
      { kind: 'waiting', step: 'kubeadm', waitingFor: 'the API\nserver', status: statusAfter() },
      signal,
    );
    const [{ program, args, env } = assert.fail()] = host.commands;
    assert.deepEqual(
      [program, args, env],
      ['systemd-notify', ['--status=kubeadm: waiting for the API server'], { NOTIFY_SOCKET: '/run/systemd/notify' }],
    );
  });

  test('is refused where no unit listens', async () => {
    await assert.rejects(async () => systemdNotifySink(noting(), '').open(signal), {
      reason: 'HostStepFailed',
      message: /NOTIFY_SOCKET is not set/,
    });
  });

  test('that fails says so', async () => {
    const sink = systemdNotifySink(noting(1, 'Failed to notify init system: Connection refused\n'), '/run/x');
    await assert.rejects(() => sink.deliver(failed, signal), /Connection refused/);
  });
});

describe('the Windows event log', () => {
  test('gets an entry on standard input; no text of an event is part of the command', async () => {
    const host = noting(0, '', '{"script":"write-event","answer":{"written":true}}\r\n');
    await windowsEventLogSink(host, 'win32').deliver(failed, signal);
    const [{ program, args, input } = assert.fail()] = host.commands;
    assert.deepEqual([program, args], ['powershell.exe', WRITE_EVENT.args]);
    assert.match(WRITE_EVENT.text, /WriteEntry\('machineadm', /);
    assert.ok(typeof input === 'string');
    assert.match(input, /^[\x20-\x7e]*\n$/);
    const { message, type, id } = JSON.parse(input) as Record<string, unknown>;
    assert.match(`${message}`, /SwapEnabled: Swap is on: “\/swap” '; rm[\s\S]*What to do:/);
    assert.deepEqual([type, id], ['Error', 8]);
  });

  test('is not assumed to have the entry if PowerShell is a stub that prints nothing, or refuses', async () => {
    await assert.rejects(async () => windowsEventLogSink(noting(), 'win32').deliver(failed, signal), /did not answer/);
    const error = { message: 'Requested registry access is not allowed.', type: 'System.Security.SecurityException' };
    const refused = noting(0, '', `${JSON.stringify({ script: 'write-event', error })}\r\n`);
    await assert.rejects(async () => windowsEventLogSink(refused, 'win32').deliver(failed, signal), /registry access/);
  });

  test('has ids that never change', () => {
    assert.deepEqual(Object.keys(MESSAGE_IDS), [
      'Started',
      'StepStarted',
      'StepDone',
      'StepFailed',
      'Waiting',
      'Warning',
      'Succeeded',
      'Failed',
      'Interrupted',
      'RebootRequired',
    ]);
  });

  test('gets no entry for the beginning of each step, and none that is too long', () => {
    const step = { id: 'swap', state: 'Running', changes: [] } as const;
    assert.equal(windowsEntry({ kind: 'step', step, status: statusAfter() }), undefined);
    const warning = windowsEntry({ kind: 'warning', message: 'w'.repeat(50_000), status: statusAfter() });
    assert.equal(warning?.type, 'Warning');
    assert.ok((warning?.message.length ?? 0) < 31_839);
  });

  test('is refused where there is none', async () => {
    await assert.rejects(async () => windowsEventLogSink(noting(), 'linux').open(signal), {
      reason: 'UnsupportedOnPlatform',
    });
  });
});
