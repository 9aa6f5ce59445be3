import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { commandAborted, notStarted, resultOfQuery } from '../../../../src/host/commands/results.ts';
import type { Command } from '../../../../src/host/seam/host.ts';

function failure(reason: 'HostStepFailed' | 'Interrupted'): MachineadmError {
  return new MachineadmError({ reason, summary: 'lsblk is not installed', remedy: 'Install it.' });
}

describe('a query', () => {
  test('is run with its input and its timeout, 30 seconds by default', async () => {
    const ran: Command[] = [];
    const run = async (command: Command) => {
      ran.push(command);
      return notStarted('');
    };
    await resultOfQuery({ program: 'lsblk', args: ['-l'] }, run);
    await resultOfQuery({ program: 'cat', args: [], input: 'text', timeoutMs: 5 }, run);
    assert.deepEqual(ran, [
      { program: 'lsblk', args: ['-l'], timeoutMs: 30_000 },
      { program: 'cat', args: [], input: 'text', timeoutMs: 5 },
    ]);
  });

  test('of a program that cannot be started ends with status 127 and says why', async () => {
    const answer = await resultOfQuery({ program: 'lsblk', args: [] }, () => Promise.reject(failure('HostStepFailed')));
    assert.deepEqual(answer, { status: 127, stdout: '', stderr: 'lsblk is not installed', timedOut: false });
  });

  test('that is interrupted, or fails otherwise, throws', async () => {
    for (const error of [failure('Interrupted'), new Error('a defect')])
      await assert.rejects(
        resultOfQuery({ program: 'lsblk', args: [] }, () => Promise.reject(error)),
        error,
      );
  });
});

describe('a program that a signal ended', () => {
  test('gives the reason of the signal', () => {
    const reason = failure('Interrupted');
    assert.equal(commandAborted({ program: 'sh', args: [] }, AbortSignal.abort(reason)), reason);
  });

  test('has a reason of its own where the signal has none, and may be tried again', () => {
    const error = commandAborted({ program: 'sh', args: [] }, AbortSignal.abort('no error'));
    assert.deepEqual(
      [error.reason, error.message, error.retryable, error.cause],
      ['HostStepFailed', 'sh was ended because the run was aborted', true, 'no error'],
    );
  });
});
