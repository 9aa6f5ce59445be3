import type { Step } from '../steps/step.ts';
import { HOOK_EDIT } from './journal.ts';
import { stepsFor } from './pipeline.ts';
import type { RunOptions } from './runner.ts';

/**
 * Notes what hooks made of the files that earlier steps had written. A `sed` over a file of the document is common in
 * hooks (Cluster API's preKubeadmCommands), and they run once: without the note the next run would write the file of the
 * document again, and nothing would edit it any more.
 */
export async function noteHookEdits(
  hooks: Step,
  { model, facts, host, journal }: Pick<RunOptions, 'model' | 'facts' | 'host' | 'journal'>,
): Promise<void> {
  const steps = stepsFor('all', model.host.platform);
  for (const step of steps.slice(0, steps.indexOf(hooks))) {
    const desired = step.hookEdits === undefined ? undefined : step.desired(model, facts);
    if (desired === undefined) continue;
    for (const [path, note] of (await step.hookEdits?.(host, desired, journal.record(step.id))) ?? []) {
      journal.append({ is: 'note', step: hooks.id, change: `${HOOK_EDIT}${path}`, note });
    }
  }
}
