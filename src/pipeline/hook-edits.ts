import type { Step } from '../step/index.ts';
import { stepsFor } from './pipeline.ts';
import { priorStates } from './prior-states.ts';
import type { RunOptions } from './runner.ts';
import { HOOK_EDIT } from './step-record.ts';

/**
 * Records how hooks changed files of earlier steps. A `sed` over a file of the document is common in hooks (Cluster
 * API's preKubeadmCommands), and hooks run once: without the record the next run would restore the document's file, and
 * lose the edit.
 */
export async function noteHookEdits(
  hooks: Step,
  { model, facts, host, journal }: Pick<RunOptions, 'model' | 'facts' | 'host' | 'journal'>,
): Promise<void> {
  const steps: readonly Step[] = stepsFor('all', model.host.platform);
  for (const step of steps.slice(0, steps.indexOf(hooks))) {
    const desired = step.hookEdits === undefined ? undefined : step.desired(model, facts);
    if (desired === undefined) continue;
    for (const [path, note] of (await step.hookEdits?.(host, desired, journal.record(step.id))) ?? []) {
      // A hook belongs to the document: its edit of a file is not drift.
      await priorStates(host, hooks.id, journal).around([`path:${path}`], () =>
        journal.append({ is: 'note', step: hooks.id, change: `${HOOK_EDIT}${path}`, note }),
      );
    }
  }
}
