import { exitCode } from '@machineadm/document/exit-codes.ts';
import { type AuditedControl, auditHardening, type HardeningReport } from '../pipeline/audit-hardening.ts';
import { buildInfo } from './build-info.ts';
import type { AuditOptions } from './options.ts';
import { printData, printReport } from './output.ts';

/** `machineadm audit --profile P`: each control of a benchmark with what proves it. 20 while one fails. */
export async function auditHardeningCommand({ document, profile, output }: AuditOptions): Promise<number> {
  const report = await auditHardening(document ?? [], profile ?? [], buildInfo().version);
  if (output !== 'text') await printData(output, 'HardeningAudit', report);
  else printReport(formatReport(report));
  return exitCode(report.summary.fail > 0 ? 'DifferencesFound' : 'Success');
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
