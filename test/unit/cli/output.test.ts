import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { formatVerdict } from '../../../src/cli/diagnose.ts';
import { printError, printReport } from '../../../src/cli/output.ts';
import { readSavedLog } from '../../../src/diagnosis/saved-log.ts';
import { verdict } from '../../../src/diagnosis/verdict.ts';
import { MachineadmError } from '../../../src/document/errors.ts';
import { formatFailure } from '../../../src/reporting/progress.ts';

const HOSTILE = '\u001b[2J\u001b]0;owned\u0007\u009b31mwords\u001b[0m\r\u202e';

function printed(stream: 'stdout' | 'stderr', work: () => unknown): string {
  const pieces: string[] = [];
  const { mock: write } = mock.method(process[stream], 'write', (piece: string) => pieces.push(piece) > 0);
  try {
    work();
  } finally {
    write.restore();
  }
  return pieces.join('');
}

/** Control characters of a text, without those that a report of several lines has. */
const controlsOf = (text: string): readonly string[] => text.match(/(?!\n)[\p{Cc}\u202e]/gu) ?? [];

test('an error shows what a program printed, and lets it drive no terminal', () => {
  const error = new MachineadmError({
    reason: 'HookFailed',
    summary: `the command failed: ${HOSTILE}`,
    remedy: 'Correct it.',
    evidence: [{ source: `hook ${HOSTILE}`, text: `it printed ${HOSTILE}` }],
  });
  const text = printed('stderr', () => printError(error, 'text'));
  assert.equal(
    text,
    'machineadm: the command failed: words [HookFailed]\n  hook words: it printed words\nCorrect it.\n',
  );
  const internal = printed('stderr', () => printError(new Error(HOSTILE), 'text'));
  assert.match(internal, /internal error, please report it: Error: words\n/);
  assert.deepEqual(controlsOf(internal), []);
});

test('a failure of a run does neither', () => {
  const text = formatFailure({
    reason: 'HookFailed',
    summary: `failed: ${HOSTILE}`,
    remedy: `Correct ${HOSTILE}`,
    evidence: [{ source: 'hook', text: HOSTILE }],
    retryable: false,
  });
  assert.deepEqual(controlsOf(text), []);
});

test('nor does a verdict about saved logs', () => {
  const log = `failed to create shim task: OCI runtime create failed: runc create failed: ${HOSTILE}\n`;
  const text = printed('stdout', () => printReport(formatVerdict(verdict({ lines: readSavedLog(log) }))));
  assert.match(text, /OCIRuntimeCreateFailed/);
  assert.deepEqual(controlsOf(text), []);
});
