import type { Check } from '../diagnosis/checks/check.ts';
import { type DoctorReport, examine } from '../pipeline/doctor.ts';
import { buildInfo } from './build-info.ts';
import { type CheckFormat, type Finding, printCheckReport } from './findings.ts';

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
    data: report,
    text: () => formatReport(report),
    findings: () => report.checks.map(findingOf),
    exit: report.failed > 0 ? 'DifferencesFound' : 'Success',
  });
}

function findingOf({ id, group, state, text, reason, remedy }: Check): Finding {
  const named = reason === undefined ? text : `${text} [${reason}]`;
  return {
    id,
    title: group,
    severity: state === 'ok' ? 'passed' : state,
    text: named,
    ...(remedy === undefined ? {} : { remedy }),
  };
}

const MARKS: Readonly<Record<Check['state'], string>> = {
  ok: 'ok  ',
  warning: 'warn',
  failed: 'FAIL',
  skipped: '-   ',
};
const GROUPS: readonly Check['group'][] = [
  'node',
  'document',
  'machine',
  'network',
  'container runtime',
  'certificates',
  'control plane',
];

/** A tree: groups, what was looked at in each, and below what is wrong its remedy. */
export function formatReport({ checks, failed, warnings }: DoctorReport): string {
  const lines = GROUPS.flatMap((group) => {
    const inside = checks.filter((check) => check.group === group);
    return inside.length === 0 ? [] : [group, ...inside.flatMap(branch)];
  });
  const count = (number: number, word: string): string => `${number} ${word}${number === 1 ? '' : 's'}`;
  const verdict =
    failed === 0 && warnings === 0
      ? 'nothing stands in the way'
      : `${count(failed, 'failure')}, ${count(warnings, 'warning')}; nothing was changed`;
  return [...lines, verdict].join('\n');
}

function branch({ state, text, reason, remedy }: Check, index: number, all: readonly Check[]): readonly string[] {
  const isLast = index === all.length - 1;
  const named = reason === undefined || state === 'ok' ? '' : ` [${reason}]`;
  const head = `${isLast ? '└─' : '├─'} ${MARKS[state]} ${text}${named}`;
  const rail = isLast ? '  ' : '│ ';
  return remedy === undefined || state === 'ok' ? [head] : [head, `${rail}      ${remedy}`];
}
