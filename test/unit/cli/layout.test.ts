import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { formatDiagnostic } from '@machineadm/document/diagnostics/index.ts';
import type { Verdict } from '@machineadm/failures/verdict.ts';
import { formatStatus, formatSummary } from '@machineadm/status/progress.ts';
import { summaryOf } from '@machineadm/status/summary.ts';
import { formatTimeline } from '@machineadm/status/timeline-chart.ts';
import type { Command } from 'commander';
import { formatFindings } from '../../../src/cli/findings.ts';
import { fitted, fittedHelp, widthOf, wrapped } from '../../../src/cli/layout.ts';
import { formatVerdict } from '../../../src/commands/diagnose/run.ts';
import { doctorReport } from '../../../src/commands/doctor/run.ts';
import { createProgram } from '../../../src/commands/index.ts';
import { formatPlan } from '../../../src/commands/plan/text.ts';
import type { Finding } from '../../../src/diagnosis/checks/finding.ts';
import { FAILED } from '../../support/pages.ts';

const WIDTHS = [60, 80, 120, 200];
const LONG_NAME = 'a-machine-whose-name-is-as-long-as-names-of-cloud-providers-are-in-practice';
const PROSE = 'something that happened and is told at length '.repeat(8).trim();
const PATH = `/etc/${'a-directory-with-a-long-name/'.repeat(8)}file.conf`;

/** A line that is too wide is a word that cannot be broken, behind its indentation, its mark and its colours. */
function assertFits(text: string, width: number): void {
  for (const line of stripVTControlCharacters(text).split('\n')) {
    if (line.length <= width) continue;
    const words = line
      .trim()
      .split(' ')
      .filter((word) => word.length > 4);
    assert.equal(words.length, 1, `${line.length} columns of ${width}: ${line}`);
  }
}

const status = {
  ...FAILED,
  machine: { ...FAILED.machine, name: LONG_NAME },
  waitingFor: PROSE,
  warnings: [PROSE, `${PATH}: ${PROSE}`],
  steps: FAILED.steps.map((step) => ({ ...step, id: `${step.id} with a title that is longer than others` })),
  ...(FAILED.failure === undefined
    ? {}
    : { failure: { ...FAILED.failure, summary: PROSE, remedy: PROSE, evidence: [{ source: PATH, text: PROSE }] } }),
};
const verdict: Verdict = {
  outcome: 'failure',
  reason: 'SwapEnabled',
  summary: PROSE,
  remedy: PROSE,
  retryable: false,
  phase: 'preflight',
  symptoms: ['KubeletNotHealthy'],
  causes: ['SwapEnabled', 'KubeletNotHealthy'],
  cleanup: 'reset+member',
  confidence: 0.9,
  evidence: [{ source: PATH, line: 812, text: PROSE }],
};
const findings: readonly Finding[] = [
  { id: 'a', title: 'machine', severity: 'passed', text: PROSE },
  { id: 'b', title: 'machine', severity: 'failed', text: `${PATH} ${PROSE}`, reason: 'SwapEnabled', remedy: PROSE },
  { id: 'c', title: 'network', severity: 'warning', text: PROSE, remedy: PROSE },
  { id: 'd', title: 'network', severity: 'undecided', text: PROSE, remedy: PROSE },
];
const problem = formatDiagnostic({
  path: `host.files[3].${LONG_NAME}`,
  message: PROSE,
  hint: PROSE,
  place: { file: PATH, line: 7, column: 3 },
});

/** What each command prints, with long names, for a terminal of so many columns. */
const REPORTS: Readonly<Record<string, (width: number) => string>> = {
  status: (width) => fitted(formatStatus(status, { color: true }), width),
  'status of an unprivileged user': (width) => fitted(formatSummary(summaryOf(status)), width),
  timeline: (columns) =>
    formatTimeline({ timeline: status.timeline.map((entry) => ({ ...entry, name: LONG_NAME })) }, { columns }),
  diagnose: (width) => fitted(formatVerdict(verdict), width),
  doctor: (width) => fitted(formatFindings(doctorReport({ findings, failed: 1, warnings: 1 })), width),
  validate: (width) => fitted(problem, width),
  plan: (width) =>
    formatPlan(
      {
        changes: [
          {
            id: 'files/a',
            step: 'files',
            action: 'add',
            scope: 'base',
            summary: `${PATH}: ${PROSE}`,
            knownAfter: LONG_NAME,
          },
          { id: 'files/b', step: 'files', action: 'restart', scope: 'base', summary: PROSE, reboots: true },
        ],
        findings: [],
        remarks: [{ step: 'files', message: PROSE }],
        problems: [{ step: 'files', code: 'ContainerRuntimeMissing', message: PROSE, hint: PROSE }],
      },
      [],
      {
        diff: true,
        ids: true,
        positions: true,
        width,
        paint: (_, text) => `\u001b[31m${text}\u001b[39m`,
        order: [],
      },
    ),
};

function commandsOf(command: Command): readonly Command[] {
  return [command, ...command.commands.flatMap(commandsOf)];
}

function helpOf(command: Command, width: number): string {
  let text = '';
  command.configureOutput({
    writeOut: (part) => {
      text += fittedHelp(part, width);
    },
    getOutHelpWidth: () => width,
  });
  command.outputHelp();
  return text;
}

for (const width of WIDTHS) {
  describe(`in ${width} columns`, () => {
    for (const [name, render] of Object.entries(REPORTS)) {
      test(`${name} has no line that is wider, and nothing is lost`, () => {
        const text = render(width);
        assertFits(text, width);
        const words = (whole: string): string =>
          stripVTControlCharacters(whole)
            .replace(/[\s│├└─]+/g, ' ')
            .trim();
        if (name !== 'timeline') assert.equal(words(text), words(render(100_000)));
      });
    }

    test('the help of every command has no line that is wider', () => {
      for (const command of commandsOf(createProgram(() => {}))) {
        const text = helpOf(command, width);
        assertFits(text, width);
        assert.match(text, /^Usage: machineadm/, 'as the terminal of the test has it');
      }
    });
  });
}

describe('a line that is broken', () => {
  test('continues under the text behind its mark', () => {
    assert.deepEqual(wrapped('  + one two three', 10), ['  + one', '    two', '    three']);
    assert.deepEqual(wrapped('├─ FAIL one two three', 15), ['├─ FAIL one two', '│       three']);
    assert.deepEqual(wrapped('└─ ok   one two three', 15), ['└─ ok   one two', '        three']);
  });
  test('continues a little further in than it began, or where its text begins', () => {
    assert.deepEqual(wrapped('  one two', 6), ['  one', '    two']);
    assert.deepEqual(wrapped('one two', 4, 1), ['one', ' two']);
  });
  test('has words that are whole, the first beside its mark', () => {
    assert.deepEqual(wrapped('  ~ /a/long/path: changed', 12), ['  ~ /a/long/path:', '    changed']);
  });
  test('keeps the columns of a table where it is not broken, and its colours', () => {
    assert.deepEqual(wrapped('a    b', 6), ['a    b']);
    const painted = '\u001b[31mone\u001b[39m two';
    assert.equal(widthOf(painted), 7);
    assert.deepEqual(wrapped(painted, 7), [painted]);
  });
});

test('a pipe gets lines as they are', () =>
  assert.equal(fitted(`${PROSE}\n  ${PROSE}`, undefined), `${PROSE}\n  ${PROSE}`));

test('a command to copy is continued with a backslash, and explained below', () => {
  assert.deepEqual(fittedHelp('  machineadm plan --diff -f a.yaml    what would change', 30).split('\n'), [
    '  machineadm plan --diff -f \\',
    '      a.yaml',
    '      what would change',
  ]);
});

test('diagnose shows three lines of logs, and the evidence of the run itself whole: the last line may be the cause', () => {
  const shown = (line: number): number => {
    const evidence = ['a', 'b', 'c', 'd'].map((text) => ({ source: 'hook early, entry 1', line, text }));
    return formatVerdict({ ...verdict, evidence }).match(/^ {2}hook early, entry 1/gm)?.length ?? 0;
  };
  assert.deepEqual([shown(12), shown(0)], [3, 4]);
});
