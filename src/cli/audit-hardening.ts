import type { Finding } from '../diagnosis/checks/finding.ts';
import { type AuditedControl, auditHardening, type HardeningReport } from '../pipeline/audit-hardening.ts';
import { buildInfo } from './build-info.ts';
import { printCheckReport } from './findings.ts';
import type { AuditOptions } from './options.ts';

/** `machineadm audit --profile P`: each control of a benchmark with what proves it. 20 while one fails. */
export async function auditHardeningCommand({ document, profile, output }: AuditOptions): Promise<number> {
  const report = await auditHardening(document ?? [], profile ?? [], buildInfo().version);
  return await printCheckReport(output, {
    kind: 'HardeningAudit',
    name: `machineadm audit of ${report.profiles.join(', ')}`,
    data: report,
    text: () => formatReport(report),
    findings: () => report.controls.map(findingOf),
    exit: report.summary.fail > 0 ? 'DifferencesFound' : 'Success',
  });
}

const SEVERITIES = { pass: 'passed', fail: 'failed', exception: 'warning', 'not-applicable': 'skipped' } as const;

function findingOf({ id, state, title, evidence, reason }: AuditedControl): Finding {
  const text = reason ?? evidence.map((one) => `${one.source}: ${one.text}`).join('\n');
  return { id, title, severity: SEVERITIES[state], text };
}

const MARKS: Readonly<Record<AuditedControl['state'], string>> = {
  pass: 'pass     ',
  fail: 'FAIL     ',
  exception: 'exception',
  'not-applicable': '-        ',
};

/** A line for each control; below what fails or is excepted, why. */
export function formatReport({ profiles, controls, summary }: HardeningReport): string {
  const widest = Math.max(...controls.map(({ id }) => id.length), 0);
  const lines = controls.flatMap(({ id, state, title, evidence, reason }) => {
    const head = `${MARKS[state]}  ${id.padEnd(widest)}  ${title}`;
    const proof = state === 'fail' ? evidence.map(({ source, text }) => `             ${source}: ${text}`) : [];
    return [head, ...proof, ...(reason === undefined ? [] : [`             ${reason}`])];
  });
  const { pass, fail, exception, notApplicable } = summary;
  return [
    ...lines,
    `${profiles.join(', ')}: ${pass} pass, ${fail} fail, ${exception} excepted, ${notApplicable} not applicable`,
  ].join('\n');
}
