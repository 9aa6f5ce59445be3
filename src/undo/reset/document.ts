import type { QueryHost } from '../../host/seam/host.ts';
import { removedLines } from '../../owned-files/removed-lines.ts';
import type { StepsById } from '../../step/feature-step.ts';
import type { Memory } from '../../step/memory.ts';
import type { ResetAction } from '../../step/reset-action.ts';
import type { Asked } from '../../step/wants.ts';
import { droppedLines } from '../removals/dropped.ts';

/**
 * What goes with a document beside its resources: its lines in files that others share, and what steps add.
 *
 * @param name undefined for a document of an earlier version
 */
export async function planLines(
  steps: StepsById,
  host: QueryHost,
  memory: Memory,
  name: string | undefined,
  asked: Asked | undefined,
): Promise<readonly ResetAction[]> {
  const document = { metadata: { name: name ?? '' } };
  const actions: ResetAction[] = [];
  for (const { path, without } of droppedLines(steps, undefined, memory))
    actions.push(...(await removedLines(host, path, (text) => without(text, memory, document))));
  for (const { restoring } of steps.values())
    actions.push(...((await restoring?.withDocument?.(host, memory, name, asked)) ?? []));
  return actions;
}
