import { FSTAB } from '@machineadm/document/ownership/paths.ts';
import { withoutEntry } from '../../block-devices/fstab.ts';
import { swapKey } from '../../block-devices/mount-state.ts';
import { bootHooksFile } from '../../features/hooks/kept.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import { rewriteShared } from '../../owned-files/marked-block.ts';
import type { ResetAction } from '../../prior-state/action.ts';
import { UNKNOWN } from '../../prior-state/state.ts';
import type { StepsById } from '../../step/feature-step.ts';
import type { Memory } from '../../step/memory.ts';
import type { Asked } from '../../step/wants.ts';
import { droppedLines } from '../removals/dropped.ts';

/**
 * What goes with a document beside its resources: its lines in files that others share, and its hooks of every boot.
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
  const add = async (path: string, without: (text: string) => string): Promise<void> => {
    const text = (await host.readText(path)) ?? '';
    if (without(text) === text) return;
    actions.push({
      summary: `remove the lines of the document from ${path}`,
      resource: `path:${path}`,
      unsettles: [[`path:${path}`, UNKNOWN]],
      perform: (changing) => rewriteShared(changing, path, without),
    });
  };
  for (const { path, without } of droppedLines(steps, undefined, memory))
    await add(path, (text) => without(text, memory, document));
  const mounts = (asked?.wishes ?? []).flatMap(({ key }) => {
    const [, kind, path = ''] = /^(mount|swap):(\/.*)$/s.exec(key) ?? [];
    if (kind === undefined) return [];
    const isMount = kind === 'mount';
    if (memory.others(isMount ? `mount:${path}` : `swap:${path}`, 'mounts')) return [];
    return [isMount ? path : swapKey(path)];
  });
  if (mounts.length > 0) await add(FSTAB, (text) => mounts.reduce(withoutEntry, text));
  const hooks = bootHooksFile(name);
  if (memory.acted.has('hooks-boot') && (await host.stat(hooks)) !== undefined)
    actions.push({ summary: `remove ${hooks}`, perform: (changing) => changing.removeFile(hooks) });
  return actions;
}
