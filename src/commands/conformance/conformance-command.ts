import type { ExitName } from '@machineadm/document/exit-codes.ts';
import type { Reason } from '@machineadm/document/reasons.ts';
import { type CheckFormat, type CheckReport, printCheckReport } from '../../cli/findings.ts';
import type { Finding } from '../../diagnosis/checks/finding.ts';
import type { Verdict } from '../../diagnosis/conformance/index.ts';
import { type ConformanceReport, type ConformanceScope, conformance } from './run.ts';

export interface ConformanceOptions extends ConformanceScope {
  readonly output: CheckFormat;
}

const ENDS: Readonly<Record<Verdict, { readonly exit: ExitName; readonly reason?: Reason; readonly text: string }>> = {
  kept: { exit: 'Success', text: 'keeps' },
  broken: { exit: 'DifferencesFound', reason: 'ContractBroken', text: 'does not keep' },
  notProven: { exit: 'NotProven', reason: 'ContractNotProven', text: 'is not proven to keep' },
};

/**
 * `machineadm conformance`: prints a line for each clause of the contract. Exits with 20 where a MUST is broken and
 * with 22 where one could not be checked.
 */
export async function conformanceCommand({ output, ...scope }: ConformanceOptions): Promise<number> {
  return await printCheckReport(output, checkReportOf(await conformance(scope)));
}

/** The report in the form that all checks share. */
export function checkReportOf(report: ConformanceReport): CheckReport {
  const { contract, profile, os, verdict } = report;
  const { exit, reason } = ENDS[verdict];
  return {
    kind: 'ConformanceReport',
    name: `machineadm contract ${contract}, profile ${profile}, ${os.id} ${os.version}`.trim(),
    findings: findingsOf(report),
    data: reason === undefined ? report : { ...report, reason },
    verdict: verdictOf(report),
    ...(reason === undefined ? {} : { reason }),
    exit,
  };
}

function verdictOf({ contract, profile, verdict, os, clauses }: ConformanceReport): string {
  const decisive = clauses.filter(({ state, level }) => state === verdict && level === 'MUST').map(({ id }) => id);
  const named = verdict === 'kept' ? '' : `: ${decisive.join(', ')}`;
  return `${`${os.id} ${os.version}`.trim()} ${ENDS[verdict].text} contract ${contract} (profile ${profile})${named}`;
}

/** A broken SHOULD is a warning: it does not change the exit code. */
function findingsOf({ clauses }: ConformanceReport): readonly Finding[] {
  return clauses.map((clause) => {
    const { id, level, title, state, text } = clause;
    const severities = { kept: 'passed', broken: 'failed', notProven: 'undecided', notApplicable: 'skipped' } as const;
    const severity = level === 'SHOULD' && /broken|notProven/.test(state) ? 'warning' : severities[state];
    const remedy = clause.state === 'broken' ? { remedy: clause.remedy } : {};
    return { id, title: `${level} ${title}`, severity, text, ...remedy };
  });
}
