import { type ExitName, exitCode } from '@machineadm/document/exit-codes.ts';
import { printable } from '@machineadm/document/printable.ts';
import { redact } from '@machineadm/document/redaction.ts';
import type { Finding } from '../diagnosis/checks/finding.ts';
import { type OutputFormat, printData, printReport, printText } from './output.ts';
import type { OutputKind } from './output-kinds.ts';

/** The formats of the commands that check something. */
export type CheckFormat = OutputFormat | 'junit';

/** What a command that checks something has to say, for each of its readers. */
export interface CheckReport {
  readonly kind: OutputKind;
  /** What was checked: the name of the test suite. */
  readonly name: string;
  readonly data: object;
  readonly text: () => string;
  readonly findings: () => readonly Finding[];
  readonly exit: ExitName;
}

/** Prints a report in the format that was asked for. Gives the exit status. */
export async function printCheckReport(output: CheckFormat, report: CheckReport): Promise<number> {
  if (output === 'junit') printText(redact(formatJunit(report.name, report.findings())));
  else if (output === 'text') printReport(report.text());
  else await printData(output, report.kind, report.data);
  return exitCode(report.exit);
}

/** JUnit has failures, errors and skipped cases; a warning fails no pipeline, and is reported as skipped with its text. */
const ELEMENTS = {
  passed: undefined,
  warning: 'skipped',
  failed: 'failure',
  undecided: 'error',
  skipped: 'skipped',
} as const;

/** JUnit XML, as CI systems read it. */
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

/** Text in an attribute or an element: nothing in it drives a terminal, or is a character that XML 1.0 does not have. */
function escaped(text: string): string {
  return printable(text)
    .replace(/[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu, '\uFFFD')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll('\n', '&#10;');
}
