import type { Model } from '@machineadm/document/model/index.ts';
import { canonicalPath } from '@machineadm/document/ownership/collisions.ts';
import { authorizedKeysPath, CONTAINERD_CONFIGURATION, isCriticalPath } from '@machineadm/document/ownership/paths.ts';
import { readAccounts } from '../../accounts/databases.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import { partsOf, type Resource } from '../../host/seam/resource.ts';
import { rewriteShared } from '../../owned-files/marked-block.ts';
import type { SharedLines, StepsById } from '../../step/feature-step.ts';
import type { FollowUp } from '../../step/index.ts';
import type { BeforeRecord, Memory } from '../../step/memory.ts';
import type { ResetAction } from '../../step/reset-action.ts';
import { isAt } from '../../step/wants.ts';
import { planUndo } from '../restore.ts';
import { type Dropped, staysOf } from './stays.ts';
import { followUpsOf } from './unit-files.ts';

/** The lines that a document no longer asks for, as far as the journal knows. */
export function droppedLines(steps: StepsById, model: Model | undefined, memory: Memory): readonly SharedLines[] {
  if (model?.host.prune === 'Never') return [];
  return [...steps.values()].flatMap(({ id, isRequested, sharedLines }) => {
    if (sharedLines === undefined || !memory.acted.has(id)) return [];
    const { path, isOne } = sharedLines;
    if (model !== undefined && isRequested(model, { kind: 'path', name: path }, memory)) return [];
    // Whether another document has the section at all.
    return isOne && memory.others('hosts:', id) ? [] : [sharedLines];
  });
}

/** What earlier runs of the document changed, and it does not ask for any more, as far as it shows that itself. */
export function droppedResources(steps: StepsById, model: Model, memory: Memory): Memory['before'] {
  if (model.host.prune === 'Never') return new Map();
  const isAsked = (of: Resource, { step, was }: BeforeRecord): boolean => {
    const { kind, name } = partsOf(of);
    // What nothing can do without stays, and so do the files of a user.
    const isCritical = kind === 'path' && (was === null || was.is === 'directory') && isCriticalPath(name);
    if (isCritical || (kind === 'user' && was === null)) return true;
    return steps.get(step)?.isRequested(model, { kind, name }, memory) ?? true;
  };
  // Of what earlier versions recorded, nobody knows what was made of it: only a reset restores that.
  const isKnown = (of: Resource, { isMarked }: BeforeRecord): boolean => isMarked || memory.after.has(of);
  return new Map(
    [...memory.before].filter(
      ([of, before]) => isKnown(of, before) && !isAsked(of, before) && !memory.others(of, before.step),
    ),
  );
}

/**
 * How all that becomes again what it was before the first run, by what a reset does; and what stays.
 *
 * @param isClaimed whether something else in the document asks for a path
 */
export async function planDropped(
  steps: StepsById,
  host: QueryHost,
  model: Model,
  memory: Memory,
  isClaimed: (path: string) => Promise<boolean>,
): Promise<readonly Dropped[]> {
  if (model.host.prune === 'Never') return [];
  const restored = new Map(droppedResources(steps, model, memory));
  for (const of of [...restored.keys()]) {
    const { kind, name } = partsOf(of);
    if ((kind === 'path' || kind === 'attributes') && (await isClaimed(name))) restored.delete(of);
  }
  for (const step of new Set([...memory.before.values()].map((before) => before.step)))
    for (const of of steps.get(step)?.restoring?.keeps?.(memory) ?? []) restored.delete(of);
  const undone = await planUndo(steps, host, memory, restored);
  const lines: Dropped[] = [];
  for (const { path, without } of droppedLines(steps, model, memory)) {
    const resource = `path:${path}` as const;
    const isWhole = undone.some((action) => action.resource === resource && action.perform !== undefined);
    if (isWhole) continue;
    const text = (await host.readText(path)) ?? '';
    if (without(text, memory, model) === text) continue;
    lines.push({
      id: `removals/lines${path}`,
      summary: `${path}: remove the lines of machineadm, which are no longer in the document`,
      perform: (changing) => rewriteShared(changing, path, (now) => without(now, memory, model)),
      ...(restored.has(resource) && { restores: resource }),
      owes: owedFor(steps, model, memory, resource),
    });
  }
  const found: Dropped[] = [];
  for (const [index, { resource, summary, perform, isFull }] of undone.entries()) {
    if (isFull === true) continue;
    const last = found.at(-1);
    if (summary === undefined) {
      // It completes the one before it.
      if (last !== undefined && perform !== undefined) found.splice(-1, 1, withMore(last, perform));
    } else if (perform !== undefined) {
      // A service may take more than one action.
      const isLast = !undone.slice(index + 1).some((other) => other.resource === resource);
      found.push({
        id: `removals/${summary.replaceAll(' ', '/')}`,
        summary: `${summary}: the document no longer has it`,
        perform,
        ...(isLast && { restores: resource }),
        owes: resource === undefined ? [] : owedFor(steps, model, memory, resource),
      });
    } else if (!lines.some(({ restores }) => restores !== undefined && restores === resource)) {
      found.push({ id: `removals/leave/${resource ?? summary}`, summary: `no longer in the document: ${summary}` });
    }
  }
  return [...lines, ...found, ...staysOf(steps, model, memory)];
}

function withMore(last: Dropped, more: NonNullable<ResetAction['perform']>): Dropped {
  const perform: ResetAction['perform'] = async (host, signal) => {
    await last.perform?.(host, signal);
    await more(host, signal);
  };
  return { ...last, perform };
}

/** What must follow, in the words of the steps that are still there to do it. */
function owedFor(steps: StepsById, model: Model, { before, everOwed }: Memory, of: Resource): readonly FollowUp[] {
  const { kind, name } = partsOf(of);
  if (kind !== 'path') return [];
  if (name === CONTAINERD_CONFIGURATION) return ['restart:containerd.service'];
  const step = before.get(of)?.step ?? '';
  const { followUps } = steps.get(step)?.restoring ?? {};
  const ever = followUps === undefined ? everOwed.get(step) : followUps(name, everOwed);
  const owed = [...(ever ?? [])].map((followUp): FollowUp => {
    const [, service] = /^restart:([^.]+)$/.exec(followUp) ?? [];
    const isSettled = service === undefined || (service === 'containerd' && model.containerd !== undefined);
    return isSettled ? followUp : `restart:${service}.service`;
  });
  return [...new Set([...followUpsOf(name, model.host.services), ...owed])];
}

/** Tells whether the document asks for a path, by any name: a directory may be a link to another. Looked up when first asked. */
export function claimed(host: QueryHost, model: Model): (path: string) => Promise<boolean> {
  let known: Promise<ReadonlySet<string>> | undefined;
  return async (path) => {
    known ??= claimedPaths(host, model);
    const all = [...(await known)];
    const names = [canonicalPath(path), await host.realPath(canonicalPath(path))];
    return all.some((other) => names.some((name) => isAt(other, name)));
  };
}

async function claimedPaths(host: QueryHost, model: Model): Promise<ReadonlySet<string>> {
  // Loaded here: it brings the schema library, which commands that read no document do without.
  const { claimsOf } = await import('@machineadm/document/claims/index.ts');
  const claims = claimsOf(model).filter(({ step }) => step !== 'removals');
  const { users } = await readAccounts(host);
  const homes = model.host.users.flatMap(({ name }) => users.get(name)?.home ?? []);
  const all = new Set<string>();
  for (const path of [...claims.map((claim) => claim.path), ...homes.map(authorizedKeysPath)])
    all.add(canonicalPath(path)).add(await host.realPath(canonicalPath(path)));
  return all;
}
