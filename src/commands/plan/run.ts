import { replacedPartRecord } from '@machineadm/document/diagnostics/index.ts';
import { diagnosticRecord, formatWarning } from '@machineadm/document/index.ts';
import { exitCode } from '@machineadm/document/outcomes/exit-codes.ts';
import { buildInfo } from '../../cli/build-info.ts';
import type { DocumentOptions } from '../../cli/options.ts';
import { printData, printNotice, printText } from '../../cli/output.ts';
import { isVerbose, painter, wrapWidthOf } from '../../cli/terminal.ts';
import { openDocument } from '../../pipeline/load.ts';
import { ALL_STEPS, stepsFor } from '../../pipeline/pipeline.ts';
import { makePlan } from '../../pipeline/plan.ts';
import type { RunRequest } from '../../pipeline/run-check.ts';
import { formatPlan, restartsOf } from './text.ts';

export interface PlanCommandOptions extends DocumentOptions {
  readonly prepare?: true;
  readonly diff?: true;
  readonly ids?: true;
  readonly exitCode?: true;
  /** Of `machineadm upgrade --dry-run`. */
  readonly upgrade?: NonNullable<RunRequest['upgrade']>;
}

/**
 * `machineadm plan`: shows what a run would change, and what is missing for it. Its host can only answer questions. If
 * `provision` would refuse, it exits as that would; `--exit-code` only adds the difference between changes and none.
 * Commands of hooks often contain secrets, so only `--diff` shows them.
 */
export async function plan(options: PlanCommandOptions): Promise<number> {
  const scope = options.prepare === true ? 'base' : 'all';
  const document = await openDocument(options.document, buildInfo().version, {
    forThisMachine: scope === 'all',
    distrust: 'collect',
  });
  const { changes, ...planned } = await makePlan(document, scope, options.upgrade);
  const { warnings, replaced } = document;
  if (options.output !== 'text') {
    const withDiff = options.diff === true;
    await printData(options.output, 'Plan', {
      changes: changes.map(({ commands, ...change }) => ({ ...change, ...(withDiff && commands ? { commands } : {}) })),
      ...planned,
      restarts: restartsOf(changes),
      reboots: changes.some(({ reboots }) => reboots === true),
      warnings: warnings.map(diagnosticRecord),
      replaced: replaced.map(replacedPartRecord),
    });
  } else {
    if (warnings.length > 0) printNotice(warnings.map(formatWarning).join('\n'));
    printText(
      formatPlan({ changes, ...planned }, replaced, {
        command: options.upgrade === undefined ? (options.prepare === true ? 'prepare' : 'provision') : 'upgrade',
        diff: options.diff === true,
        ids: options.ids === true,
        positions: isVerbose(),
        width: wrapWidthOf(process.stdout),
        paint: painter(process.stdout),
        order: [...ALL_STEPS, ...stepsFor('all', 'windows')].map(({ id }) => id),
      }),
    );
  }
  if (planned.refusal !== undefined) return planned.refusal.exitCode;
  const differs = options.exitCode === true && changes.length > 0;
  return exitCode(differs ? 'DifferencesFound' : 'Success');
}
