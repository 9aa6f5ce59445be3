import { formatPlace } from '@machineadm/document/diagnostics/index.ts';
import { type ExitName, exitCode } from '@machineadm/document/outcomes/exit-codes.ts';
import type { Reason } from '@machineadm/document/outcomes/reasons.ts';
import { redact } from '@machineadm/document/redaction/process-redactor.ts';
import { printable } from '@machineadm/document/text/printable.ts';
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
  /** What follows from the findings. It begins the last line of the report for people; the counts of the findings end it. */
  readonly verdict: string;
  /** The reason of a verdict that is not good. */
  readonly reason?: Reason;
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

interface Term {
  /** Before each finding in a report for people. */
  readonly mark: string;
  /** The word in the counts at the end of a report for people. */
  readonly word: string;
  /** JUnit knows failures, errors and skipped cases. A warning must not fail a pipeline, so it is a skipped case with a text. */
  readonly junit?: 'failure' | 'error' | 'skipped';
}

/** The vocabulary of every command that checks something, in the order of the counts. */
const TERMS: Readonly<Record<Finding['severity'], Term>> = {
  failed: { mark: 'FAIL', word: 'failed', junit: 'failure' },
  warning: { mark: 'warn', word: 'warning', junit: 'skipped' },
  undecided: { mark: '?   ', word: 'undecided', junit: 'error' },
  passed: { mark: 'ok  ', word: 'ok' },
  skipped: { mark: '-   ', word: 'skipped', junit: 'skipped' },
};

/** Problems are printed last, where people look first. */
const ORDER: readonly Finding['severity'][] = ['passed', 'skipped', 'undecided'];

/** The report for people: each finding with its place and remedy, problems last, then the verdict with the counts. */
export function formatFindings({
  findings,
  verdict,
  reason,
  groups,
}: Pick<CheckReport, 'findings' | 'verdict' | 'reason' | 'groups'>): string {
  const rank = ({ severity }: Finding): number => (ORDER.indexOf(severity) + ORDER.length + 1) % (ORDER.length + 1);
  const lines =
    groups === undefined
      ? findings.toSorted((a, b) => rank(a) - rank(b)).flatMap((one) => linesOf(one, `${one.id} ${one.title}`.trim()))
      : groups.flatMap((group) => {
          const inside = findings.filter(({ title }) => title === group);
          return inside.length === 0 ? [] : [group, ...inside.flatMap(branch)];
        });
  const last = [verdict, countsOf(findings)].filter((part) => part !== '').join(': ');
  return [...lines, reason === undefined ? last : `${last} [${reason}]`].join('\n');
}

function countsOf(findings: readonly Finding[]): string {
  const counts = Object.entries(TERMS).flatMap(([severity, { word }]) => {
    const count = findings.filter((one) => one.severity === severity).length;
    return count === 0 ? [] : [`${count} ${word === 'warning' && count > 1 ? 'warnings' : word}`];
  });
  return counts.join(', ');
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
    `${TERMS[severity].mark} ${head === undefined ? '' : `${head}: `}${first}${named}`,
    ...[...more, ...below].flatMap((line) => (line === '' ? [] : [`     ${line}`])),
  ];
}

/** The findings as JUnit XML, for CI systems. */
export function formatJunit(name: string, findings: readonly Finding[]): string {
  const cases = findings.map(({ id, title, severity, text, remedy }) => {
    const head = `    <testcase classname="${escaped(name)}" name="${escaped(`${id} ${title}`.trim())}"`;
    const element = TERMS[severity].junit;
    if (element === undefined) return `${head}/>`;
    const advice = element === 'failure' ? escaped(remedy ?? '') : '';
    return `${head}><${element} message="${escaped(text)}">${advice}</${element}></testcase>`;
  });
  const count = (element: string): number =>
    findings.filter(({ severity }) => TERMS[severity].junit === element).length;
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
