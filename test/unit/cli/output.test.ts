import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { readSavedLog } from '@machineadm/failures/saved-log.ts';
import { verdict } from '@machineadm/failures/verdict.ts';
import { formatChecklist } from '@machineadm/status/checklist.ts';
import { formatEvent, formatFailure, formatStatus } from '@machineadm/status/progress.ts';
import { printError, printNotice, printReport } from '../../../src/cli/output.ts';
import { openProgress } from '../../../src/cli/progress.ts';
import { formatVerdict } from '../../../src/commands/diagnose/run.ts';
import { attack } from '../../support/attacks.ts';
import { statusAfter } from '../reporting/runs.ts';

/** What drives a terminal, around words that are shown: what a test says of `words` must hold for each. */
const HOSTILE: readonly string[] = [
  '\u001b[2J\u001b]0;owned\u0007\u009b31mwords\u001b[0m\r\u202e',
  '\u001b]52;c;b3duZWQ=\u0007words',
  '\u001b]8;;https://owned.example\u001b\\words\u001b]8;;\u001b\\',
  '\u001bP$q"p\u001b\\words\u001b[6n',
  '\u001b_owned\u001b\\\u001b^owned\u001b\\words',
  '\u001b[?1049h\u001b[1;1Hwords\u001b[?25l',
  '\u001bcwords\u0008\u007f\u0000',
  '\u009d0;words\u0085',
  '\u2066\u200fwords\u2069',
  '\u001b[31mwords\u001b',
];

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

const TERMINALS = 'Terminals';

/** One try for each. */
function eachHostile(show: (hostile: string) => string): number {
  for (const hostile of HOSTILE) {
    const text = show(hostile);
    assert.deepEqual(controlsOf(text), [], JSON.stringify(text));
    assert.match(text, /words/);
  }
  return HOSTILE.length;
}

test(
  'an error shows the output of a program without its terminal control characters',
  attack(TERMINALS, 'escape sequences in what an error quotes', () => {
    const errorOf = (hostile: string): MachineadmError =>
      new MachineadmError({
        reason: 'HookFailed',
        summary: `the command failed: ${hostile}`,
        remedy: 'Correct it.',
        evidence: [{ source: `hook ${hostile}`, text: `it printed ${hostile}` }],
      });
    assert.equal(
      printed('stderr', () => printError(errorOf(HOSTILE[0] ?? ''), 'text')),
      'machineadm: the command failed: words [HookFailed]\n  hook words: it printed words\nCorrect it.\n',
    );
    const internal = printed('stderr', () => printError(new Error(HOSTILE[0]), 'text'));
    assert.match(internal, /internal error, please report it: Error: words\n/);
    return (
      eachHostile((hostile) => printed('stderr', () => printError(errorOf(hostile), 'text'))) +
      eachHostile((hostile) => printed('stderr', () => printError(new Error(hostile), 'text')))
    );
  }),
);

test(
  'a notice about the text of a server or a file has no terminal control characters',
  attack(TERMINALS, 'escape sequences in what a notice quotes', () =>
    eachHostile((hostile) => printed('stderr', () => printNotice(`the mirror said ${hostile}`))),
  ),
);

test(
  'a failure of a run has no terminal control characters',
  attack(TERMINALS, 'escape sequences in the failure of a run', () =>
    eachHostile((hostile) =>
      formatFailure({
        reason: 'HookFailed',
        summary: `failed: ${hostile}`,
        remedy: `Correct ${hostile}`,
        evidence: [{ source: `hook ${hostile}`, text: hostile }],
        retryable: false,
      }),
    ),
  ),
);

test(
  'the progress and the warnings of a run have no terminal control characters',
  attack(TERMINALS, 'escape sequences in the progress of a run', () => {
    const status = statusAfter();
    const running = statusAfter({ kind: 'planned', steps: ['a'] }, { kind: 'stepStarted', step: 'a' });
    const view = { color: false, columns: 200, rows: 10, unicode: true };
    const now = Date.parse(status.startedAt);
    return (
      eachHostile((hostile) => formatEvent({ kind: 'waiting', step: 'readiness', waitingFor: hostile, status }) ?? '') +
      eachHostile((hostile) => formatEvent({ kind: 'warning', message: hostile, status }) ?? '') +
      eachHostile((hostile) => formatChecklist({ ...running, waitingFor: hostile }, now, view).join('')) +
      eachHostile((hostile) => formatStatus({ ...status, waitingFor: hostile, warnings: [hostile] }))
    );
  }),
);

test(
  'the output of a child of a run has no terminal control characters',
  attack(TERMINALS, 'escape sequences in the output of a child', () => {
    return eachHostile((hostile) =>
      printed('stderr', () => {
        const progress = openProgress(process.stderr, { isShared: true });
        progress.onOutput('hook', hostile);
        progress.close();
      }),
    );
  }),
);

test(
  'a verdict about saved logs has no terminal control characters',
  attack(TERMINALS, 'escape sequences in a log that is diagnosed', () =>
    eachHostile((hostile) => {
      const log = `failed to create shim task: OCI runtime create failed: runc create failed: ${hostile}\n`;
      const text = printed('stdout', () => printReport(formatVerdict(verdict({ lines: readSavedLog(log) }))));
      assert.match(text, /OCIRuntimeCreateFailed/);
      return text;
    }),
  ),
);
