import { buildInfo } from '../../cli/build-info.ts';
import { type CheckFormat, type CheckReport, printCheckReport } from '../../cli/findings.ts';
import { checkOf, examine } from './machine-checks.ts';

export interface DoctorOptions {
  readonly document?: readonly string[];
  readonly output: CheckFormat;
}

const GROUPS: readonly string[] = [
  'node',
  'document',
  'machine',
  'network',
  'container runtime',
  'certificates',
  'control plane',
];

/**
 * `machineadm doctor`: checks whether a bootstrap can succeed here, or whether the node works. Exits with 20 where
 * something is wrong.
 */
export async function doctor(options: DoctorOptions): Promise<number> {
  return await printCheckReport(
    options.output,
    doctorReport(await examine(options.document ?? [], buildInfo().version)),
  );
}

/** The report in the form that all checks share. */
export function doctorReport(report: Awaited<ReturnType<typeof examine>>): CheckReport {
  const { findings, failed } = report;
  return {
    kind: 'DoctorReport',
    name: 'machineadm doctor',
    findings,
    data: { ...report, checks: findings.map(checkOf) },
    groups: GROUPS,
    verdict: failed === 0 ? 'nothing prevents a run' : 'problems were found',
    exit: failed > 0 ? 'DifferencesFound' : 'Success',
  };
}
