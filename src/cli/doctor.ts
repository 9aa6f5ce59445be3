import { formatPlace } from '@machineadm/document/diagnostics.ts';
import type { Finding } from '../diagnosis/checks/finding.ts';

import { checkOf, type DoctorReport, examine } from '../pipeline/doctor.ts';
import { buildInfo } from './build-info.ts';
import { type CheckFormat, printCheckReport } from './findings.ts';

export interface DoctorOptions {
  readonly document?: readonly string[];
  readonly output: CheckFormat;
}

/** `machineadm doctor`: whether a bootstrap can succeed here, or a node works. 20 when something stands in the way. */
export async function doctor(options: DoctorOptions): Promise<number> {
  const report = await examine(options.document ?? [], buildInfo().version);
  return await printCheckReport(options.output, {
    kind: 'DoctorReport',
    name: 'machineadm doctor',
    data: { ...report, checks: report.findings.map(checkOf) },
    text: () => formatReport(report),
    findings: () => report.findings,
    exit: report.failed > 0 ? 'DifferencesFound' : 'Success',
  });
}

const MARKS: Readonly<Record<Finding['severity'], string>> = {
  passed: 'ok  ',
  warning: 'warn',
  failed: 'FAIL',
  undecided: '?   ',
  skipped: '-   ',
};
const GROUPS: readonly string[] = [
  'node',
  'document',
  'machine',
  'network',
  'container runtime',
  'certificates',
  'control plane',
];

/** A tree: groups, what was looked at in each, and below what is wrong its remedy. */
export function formatReport({ findings, failed, warnings }: DoctorReport): string {
  const lines = GROUPS.flatMap((group) => {
    const inside = findings.filter(({ title }) => title === group);
    return inside.length === 0 ? [] : [group, ...inside.flatMap(branch)];
  });
  const count = (number: number, word: string): string => `${number} ${word}${number === 1 ? '' : 's'}`;
  const verdict =
    failed === 0 && warnings === 0
      ? 'nothing stands in the way'
      : `${count(failed, 'failure')}, ${count(warnings, 'warning')}; nothing was changed`;
  return [...lines, verdict].join('\n');
}

function branch(finding: Finding, index: number, all: readonly Finding[]): readonly string[] {
  const { severity, text, reason, remedy, field, position } = finding;
  const isLast = index === all.length - 1;
  const named = reason === undefined || severity === 'passed' ? '' : ` [${reason}]`;
  const head = `${isLast ? '└─' : '├─'} ${MARKS[severity]} ${text}${named}`;
  const rail = isLast ? '  ' : '│ ';
  const below = [
    ...(position === undefined ? [] : [`${formatPlace(position)}  ${field}`]),
    ...(remedy === undefined ? [] : [remedy]),
  ];
  return severity === 'passed' ? [head] : [head, ...below.map((line) => `${rail}      ${line}`)];
}
