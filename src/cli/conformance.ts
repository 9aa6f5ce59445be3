import { exitCode } from '@machineadm/document/exit-codes.ts';
import type { Reason } from '@machineadm/document/reasons.ts';
import { type ConformanceReport, conformance } from '../pipeline/conformance.ts';
import { type OutputFormat, printData, printReport } from './output.ts';

const REASON: Reason = 'ContractBroken';

/** `machineadm conformance`: a line for each clause of the contract. 20 where a MUST is broken. */
export async function conformanceCommand({ output }: { readonly output: OutputFormat }): Promise<number> {
  const report = await conformance();
  if (output !== 'text') {
    await printData(output, 'ConformanceReport', report.conforms ? report : { ...report, reason: REASON });
  } else printReport(formatConformance(report));
  return exitCode(report.conforms ? 'Success' : 'DifferencesFound');
}

/** For people: what is broken last, where the eye is. */
export function formatConformance({ contract, conforms, os, clauses }: ConformanceReport): string {
  const order = { kept: 0, unchecked: 1, broken: 2 };
  const lines = clauses
    .toSorted((a, b) => order[a.state] - order[b.state])
    .flatMap((clause) => {
      const mark = clause.state === 'kept' ? 'ok  ' : clause.state === 'unchecked' ? '-   ' : 'FAIL';
      const isWarning = clause.state === 'broken' && clause.level === 'SHOULD';
      const head = `${isWarning ? 'warn' : mark} ${clause.id} ${clause.level} ${clause.title}: ${clause.text}`;
      return clause.state === 'broken' ? [head, `     ${clause.remedy}`] : [head];
    });
  const count = (wanted: string): number => clauses.filter(({ state }) => state === wanted).length;
  const sum = `${count('kept')} kept, ${count('broken')} broken, ${count('unchecked')} not checked`;
  const musts = clauses.filter(({ state, level }) => state === 'broken' && level === 'MUST').map(({ id }) => id);
  const verdict = conforms
    ? `${os.id} ${os.version} keeps contract ${contract}: ${sum}`
    : `${os.id} ${os.version} does not keep contract ${contract}: ${musts.join(', ')}; ${sum} [${REASON}]`;
  return [...lines, verdict].join('\n');
}
