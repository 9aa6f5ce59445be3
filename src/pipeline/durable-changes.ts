import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { stepTitle } from '@machineadm/document/ownership/step-ids.ts';
import { abortable } from '../host/time/timeout.ts';
import type { Change, Explanation, Step } from '../step/index.ts';
import { explanationOf, planStep } from './plan-step.ts';
import type { RunOptions } from './run-options.ts';
import { notingHost, type RecordedChange, type RunTrace } from './run-trace.ts';
import { StepFailure } from './runner.ts';

/** The step that changed another step's result, and the paths and services. */
interface Culprit {
  readonly step: string;
  readonly names: readonly string[];
}

/**
 * Plans the steps of a run again, if another step made changes after them: their results must last until the end of the
 * run. Without this, two contradicting parts of a document would both succeed in every run. Steps without later changes
 * were verified when they ran and cost nothing here.
 * Throws a `StepFailure` of the first step with pending changes, with the reason `StepUndone` where another step undid
 * it.
 */
export async function requireLasting(
  steps: readonly Step[],
  options: RunOptions & { readonly trace: RunTrace },
): Promise<void> {
  const { model, facts, journal, scope, signal, trace, observer } = options;
  for (const step of steps) {
    if (options.postpones?.(step) === true) continue;
    const later = trace.since(step.id);
    const desired = later.length === 0 ? undefined : step.desired(model, facts);
    if (desired === undefined) continue;
    const asked = new Set<string>();
    const begun = performance.now();
    try {
      const host = notingHost(options.host, asked);
      const left = await abortable(planStep(step, desired, host, journal.record(step.id), scope), signal);
      if (left.length > 0) {
        const culprits = culpritsOf(left, asked, later);
        const why = culprits.length > 0 ? undefined : await explanationOf(step, desired, left, options.host);
        throw undone(step, left, culprits, later, why);
      }
    } catch (error) {
      observer.stepDone(step.id, { state: 'Failed', changes: [], durationMs: performance.now() - begun });
      throw new StepFailure(step.id, error);
    }
    trace.inOrder(step.id);
  }
}

/**
 * The step that changed what the pending changes name; otherwise any step that changed something this step inspects.
 */
function culpritsOf(
  left: readonly Change[],
  asked: ReadonlySet<string>,
  later: readonly RecordedChange[],
): readonly Culprit[] {
  const named = new Set(
    left.flatMap(({ id, summary }) => [...wordsOf(summary), ...wordsOf(id.replace(/^[^/]*\//, ''))]),
  );
  const byName = culpritsBy(later, named);
  return byName.length > 0 ? byName : culpritsBy(later, asked);
}

function culpritsBy(later: readonly RecordedChange[], names: ReadonlySet<string>): readonly Culprit[] {
  const found = new Map<string, Set<string>>();
  for (const { step, name } of later) {
    if (name === undefined || !names.has(name)) continue;
    found.set(step, (found.get(step) ?? new Set()).add(name));
  }
  return [...found].map(([step, touched]) => ({ step, names: [...touched] }));
}

/** The words of a line without surrounding punctuation: a path or a service is one. */
function wordsOf(text: string): readonly string[] {
  return text.split(/[\s;,()]+/).map((word) => word.replace(/(?<![:.])[:.]+$/, '').replace(/\.service$/, ''));
}

function undone(
  step: Step,
  left: readonly Change[],
  culprits: readonly Culprit[],
  later: readonly RecordedChange[],
  why: Explanation | undefined,
): MachineadmError {
  const titleOf = (id: string) => `"${stepTitle(id)}" (${id})`;
  const evidence = left.map((change) => ({ source: change.id, text: `to do again: ${change.summary}` }));
  const common = { exit: 'HostStepFailed', evidence } as const;
  const own = titleOf(step.id);
  if (culprits.length > 0) {
    const who = culprits.map(({ step: id, names }) => `the step ${titleOf(id)} changed ${names.join(', ')}`).join('; ');
    return new MachineadmError({
      ...common,
      reason: 'StepUndone',
      summary: `The result of the step ${own} did not last until the end of the run: ${who} after it.`,
      remedy:
        'Two parts of the document manage the same thing, and each run would change it twice: remove one of them from the document.',
      evidence: [
        ...evidence,
        ...culprits.map(({ step: id, names }) => ({ source: id, text: `changed ${names.join(', ')} in this run` })),
      ],
    });
  }
  const since = [...new Set(later.map((touch) => touch.step))];
  return new MachineadmError({
    ...common,
    reason: left[0]?.ineffective ?? 'StepUndone',
    summary: `The result of the step ${own} did not last until the end of the run${why === undefined ? '' : `: ${why.summary}`}. Since then the run performed ${since.map(titleOf).join(', ')}.`,
    remedy:
      why?.remedy ??
      'Find what changed it: a hook or another program that these steps started, or another agent on this machine. Stop it, or remove the setting from the document.',
    evidence: [...(why?.evidence ?? []), ...evidence, { source: 'steps since then', text: since.join(', ') }],
    retryable: why?.retryable ?? false,
  });
}
