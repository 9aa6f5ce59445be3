import { exitCode } from '@machineadm/document/exit-codes.ts';
import { diagnosticRecord, formatWarning } from '@machineadm/document/index.ts';
import { openDocument } from '../pipeline/load.ts';
import { makePlan, type Plan } from '../pipeline/plan.ts';
import { buildInfo } from './build-info.ts';
import type { DocumentOptions } from './options.ts';
import { printData, printNotice, printReport } from './output.ts';

export interface PlanCommandOptions extends DocumentOptions {
  readonly prepare?: true;
  readonly diff?: true;
  readonly exitCode?: true;
}

/** `machineadm plan`: what a run would change. It is handed a host that can only be asked. */
export async function plan(options: PlanCommandOptions): Promise<number> {
  const scope = options.prepare === true ? 'base' : 'all';
  const document = await openDocument(options.document, buildInfo().version, { forThisMachine: scope === 'all' });
  const planned = await makePlan(document, scope);
  const { warnings } = document;
  if (options.output !== 'text') {
    await printData(options.output, 'Plan', { ...planned, warnings: warnings.map(diagnosticRecord) });
  } else {
    if (warnings.length > 0) printNotice(warnings.map(formatWarning).join('\n'));
    printReport(formatPlan(planned, options.diff === true));
  }
  const differs = options.exitCode === true && planned.changes.length > 0;
  return exitCode(differs ? 'DifferencesFound' : 'Success');
}

function formatPlan({ changes }: Plan, withDiff: boolean): string {
  if (changes.length === 0) return 'nothing to change';
  const lines: string[] = [];
  let step = '';
  for (const change of changes) {
    if (change.step !== step) lines.push(`${change.step}:`);
    step = change.step;
    const later = change.knownAfter === undefined ? '' : ` (known after ${change.knownAfter})`;
    lines.push(`  ${change.summary}${later}  [${change.id}]`);
    if (withDiff && change.diff !== undefined)
      lines.push(
        ...change.diff
          .trimEnd()
          .split('\n')
          .map((line) => `      ${line}`),
      );
  }
  lines.push(`${changes.length} ${changes.length === 1 ? 'change' : 'changes'}; nothing was changed`);
  return lines.join('\n');
}
