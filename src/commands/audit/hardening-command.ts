import { buildInfo } from '../../cli/build-info.ts';
import { printCheckReport } from '../../cli/findings.ts';
import type { AuditOptions } from '../../cli/options.ts';
import type { Finding } from '../../diagnosis/checks/finding.ts';
import { type AuditedControl, auditHardening } from './hardening.ts';

/** `machineadm audit --profile P`: each control of a benchmark with what proves it. 20 while one fails. */
export async function auditHardeningCommand({ document, profile, output }: AuditOptions): Promise<number> {
  const report = await auditHardening(document ?? [], profile ?? [], buildInfo().version);
  const profiles = report.profiles.join(', ');
  return await printCheckReport(output, {
    kind: 'HardeningAudit',
    name: `machineadm audit of ${profiles}`,
    findings: report.controls.map(findingOf),
    data: report,
    verdict: profiles,
    exit: report.summary.fail > 0 ? 'DifferencesFound' : 'Success',
  });
}

const SEVERITIES = { pass: 'passed', fail: 'failed', exception: 'warning', 'not-applicable': 'skipped' } as const;

/** What proves that a control holds is printed as data only: it would be most of the report for people. */
function findingOf({ id, state, title, evidence, reason }: AuditedControl): Finding {
  const proof = evidence.map((one) => `${one.source}: ${one.text}`).join('\n');
  const excepted = state === 'exception' ? `excepted: ${reason}` : reason;
  return { id, title, severity: SEVERITIES[state], text: excepted ?? (state === 'pass' ? 'holds' : proof) };
}
