import { formatPlace } from '@machineadm/document/diagnostics.ts';
import { type ExitName, exitCode } from '@machineadm/document/exit-codes.ts';
import { printable } from '@machineadm/document/printable.ts';
import { redact } from '@machineadm/document/redaction.ts';
import type { Finding } from '../diagnosis/checks/finding.ts';
import { type OutputFormat, printData, printReport, printText } from './output.ts';
import type { OutputKind } from './output-kinds.ts';

/** The output formats of the commands that check something. */
export type CheckFormat = OutputFormat | 'junit';

/** The report of a command that checks something, for people and programs. */
export interface CheckReport {
  readonly kind: OutputKind;
  /** What was checked; in JUnit the name of the test suite. */
  readonly name: string;
  readonly findings: readonly Finding[];
  /** The fields that the kind has in JSON beside its findings. */
  readonly data: object;
  /** The last line of the report for people. */
  readonly summary: string;
  /** The titles of the findings in their order, printed as a tree. Absent: each finding is a line of its own. */
  readonly groups?: readonly string[];
  readonly exit: ExitName;
}

/** Prints a report in the chosen format and returns the exit code. */
export async function printCheckReport(output: CheckFormat, report: CheckReport): Promise<number> {
  const { kind, name, findings, data } = report;
  if (output === 'junit') printText(redact(formatJunit(name, findings)));
  else if (output === 'text') printReport(formatFindings(report));
  else await printData(output, kind, { findings, ...data });
  return exitCode(report.exit);
}

const MARKS: Readonly<Record<Finding['severity'], string>> = {
  passed: 'ok  ',
  skipped: '-   ',
  undecided: '?   ',
  warning: 'warn',
  failed: 'FAIL',
};
/** Problems are printed last, where people look first. */
const ORDER: readonly Finding['severity'][] = ['passed', 'skipped', 'undecided'];

/** The report for people: each finding with its place and remedy, problems last, then the summary. */
export function formatFindings({
  findings,
  summary,
  groups,
}: Pick<CheckReport, 'findings' | 'summary' | 'groups'>): string {
  const rank = ({ severity }: Finding): number => (ORDER.indexOf(severity) + ORDER.length + 1) % (ORDER.length + 1);
  const lines =
    groups === undefined
      ? findings.toSorted((a, b) => rank(a) - rank(b)).flatMap((one) => linesOf(one, `${one.id} ${one.title}`.trim()))
      : groups.flatMap((group) => {
          const inside = findings.filter(({ title }) => title === group);
          return inside.length === 0 ? [] : [group, ...inside.flatMap(branch)];
        });
  return [...lines, summary].join('\n');
}

function branch(finding: Finding, index: number, all: readonly Finding[]): readonly string[] {
  const isLast = index === all.length - 1;
  return linesOf(finding).map((line, at) => `${at > 0 ? (isLast ? '  ' : '│ ') : isLast ? '└─' : '├─'} ${line}`);
}

function linesOf({ severity, text, reason, remedy, field, position }: Finding, head?: string): readonly string[] {
  const isWrong = severity !== 'passed';
  const [first = '', ...more] = text.split('\n');
  const named = reason === undefined || !isWrong ? '' : ` [${reason}]`;
  const below = isWrong ? [position === undefined ? '' : `${formatPlace(position)}  ${field}`, remedy ?? ''] : [];
  return [
    `${MARKS[severity]} ${head === undefined ? '' : `${head}: `}${first}${named}`,
    ...[...more, ...below].flatMap((line) => (line === '' ? [] : [`     ${line}`])),
  ];
}

/**
 * JUnit knows failures, errors and skipped cases. A warning must not fail a pipeline, so it is a skipped case with a
 * text.
 */
const ELEMENTS = {
  passed: undefined,
  warning: 'skipped',
  failed: 'failure',
  undecided: 'error',
  skipped: 'skipped',
} as const;

/** The findings as JUnit XML, for CI systems. */
export function formatJunit(name: string, findings: readonly Finding[]): string {
  const cases = findings.map(({ id, title, severity, text, remedy }) => {
    const head = `    <testcase classname="${escaped(name)}" name="${escaped(`${id} ${title}`.trim())}"`;
    const element = ELEMENTS[severity];
    if (element === undefined) return `${head}/>`;
    const advice = element === 'failure' ? escaped(remedy ?? '') : '';
    return `${head}><${element} message="${escaped(text)}">${advice}</${element}></testcase>`;
  });
  const count = (element: string): number => findings.filter(({ severity }) => ELEMENTS[severity] === element).length;
  const counts = `tests="${cases.length}" failures="${count('failure')}" errors="${count('error')}" skipped="${count('skipped')}"`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${counts}>`,
    `  <testsuite name="${escaped(name)}" ${counts}>`,
    ...cases,
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n');
}

/** Text for an attribute or element, without control characters and without characters that XML 1.0 forbids. */
function escaped(text: string): string {
  return printable(text)
    .replace(/[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu, '\uFFFD')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll('\n', '&#10;');
}
