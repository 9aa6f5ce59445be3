import { posix } from 'node:path';
import type { AbsentModel, Model } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { canonicalPath } from '@machineadm/document/ownership/collisions.ts';
import { isCriticalPath } from '@machineadm/document/ownership/paths.ts';
import { rebuildTrust } from '../../features/certificate-authorities/stores.ts';
import type { FileStat, Host, QueryHost } from '../../host/seam/host.ts';
import { partsOf } from '../../host/seam/resource.ts';
import { scopeOfPath } from '../../owned-files/content.ts';
import { type Obstacle, obstructed } from '../../owned-files/obstacles.ts';
import { removeBlock, whyKept } from '../../owned-files/owned-places.ts';
import { entriesBelow, mountsBelow } from '../../owned-files/tree-below.ts';
import { type FeatureStep, STAYS, type StepsById } from '../../step/feature-step.ts';
import { DOCUMENT_FOLLOW_UP } from '../../step/follow-up.ts';
import { type Execution, type FollowUp, type OwnedPlace, owing, type StepRecord } from '../../step/index.ts';
import { isAt, type Wants } from '../../step/wants.ts';
import { claimed, droppedLines, droppedResources, planDropped } from './dropped.ts';
import { changeOf, type FoundName, findNames, removeName } from './removed-names.ts';
import { type Dropped, notReported, staysOf } from './stays.ts';
import { followUpsOf, stopUnit } from './unit-files.ts';

export interface RemovalsDesired {
  readonly model: Model;
  readonly osId: string;
  /** Whether something runs that reads units. */
  readonly managesServices: boolean;
}

/** Something on the machine that is to be removed. */
interface Found {
  readonly path: string;
  readonly type: FileStat['type'];
  /** Set where an earlier run created it. */
  readonly owned?: OwnedPlace;
  /** What the document says must follow. */
  readonly owes?: readonly FollowUp[];
  readonly entries?: number;
  /** Why it is kept and from now on belongs to the machine. */
  readonly kept?: string | undefined;
}

export interface RemovalsActual {
  readonly names?: readonly FoundName[];
  readonly found: readonly Found[];
  /** What earlier runs changed, and the document does not ask for any more. */
  readonly dropped?: readonly Dropped[];
  readonly obstacles: readonly Obstacle[];
}

export interface RemovalPayload {
  readonly found: Found | undefined;
  readonly name?: FoundName;
  readonly dropped?: Dropped;
  /** Obstacles of all removals, reported before the first. */
  readonly obstacles: readonly Obstacle[];
}

/**
 * Removes what the document wants removed, and what earlier runs of it created and it no longer lists; what they changed
 * is restored. Both only as far as the journal proves that nothing else changed it since; the rest is
 * reported once. No link is followed, and nothing that is mounted is entered.
 *
 * @param steps all that made something, and know whether it is still requested
 */
export function removalsOf(steps: () => StepsById): FeatureStep<RemovalsDesired, RemovalsActual, RemovalPayload> {
  return {
    id: 'removals',
    section: undefined,
    isRequested: STAYS,
    followUps: {
      settles: ['daemon-reload', 'update-ca-certificates'],

      async perform(host, desired, followUp, execution) {
        if (followUp === 'update-ca-certificates') await rebuildTrust(host, desired, execution);
        else if (desired.managesServices) await host.services.reload();
      },
    },

    desired: (model, { os, serviceManager }) => ({ model, osId: os.id, managesServices: serviceManager !== 'none' }),

    idle: ({ model }, record) =>
      model.host.absent.length === 0 &&
      model.host.absentNames.length === 0 &&
      droppedFrom(steps(), model, record.owned, record.memory().others).length === 0 &&
      droppedLines(steps(), model, record.memory()).length === 0 &&
      droppedResources(steps(), model, record.memory()).size === 0 &&
      notReported(staysOf(steps(), model, record.memory()), record).length === 0,

    async preflight(host, { model }) {
      if (model.host.hooks.early !== undefined) return [];
      const named = await findNames(host, model.host.absentNames);
      return [...named.obstacles, ...(await findAbsent(host, model.host.absent)).obstacles];
    },

    async inspect(host, { model }, record) {
      const { found, obstacles } = await findAbsent(host, model.host.absent);
      const isClaimed = claimed(host, model);
      const dropped: (readonly [string, OwnedPlace])[] = [];
      for (const place of droppedFrom(steps(), model, record.owned, record.memory().others))
        if (!(await isClaimed(place[0]))) dropped.push(place);
      const isOther = async (path: string): Promise<boolean> =>
        dropped.some(([other]) => other === path) ||
        model.host.absent.some((one) => isAt(path, one.path)) ||
        isClaimed(path);
      const undone = await planDropped(steps(), host, model, record.memory(), isOther);
      const named = await findNames(host, model.host.absentNames);
      return {
        names: named.names,
        found: [...found, ...(await findDropped(host, dropped, found))],
        dropped: notReported(undone, record),
        obstacles: [...named.obstacles, ...obstacles],
      };
    },

    plan({ model }, { names = [], found, dropped = [], obstacles }) {
      const { host } = model;
      const restores = dropped.flatMap((one) => one.restores ?? []);
      const refused = obstacles.map(({ path, scope, what }) => ({
        id: `removals${path}`,
        summary: what,
        scope,
        payload: { found: undefined, obstacles },
      }));
      const changes = found.map((one) => {
        const { path, kept, owned, owes = [] } = one;
        const goes = kept === undefined;
        return {
          id: `removals${path}`,
          summary: goes
            ? describe(one, owned && steps().get(owned.step)?.restoring?.untilBoot?.(model, restores))
            : `${path}: no longer in the document, and kept: ${kept}`,
          action: goes ? ('remove' as const) : ('run' as const),
          scope: owned === undefined ? scopeOfPath(path) : ('node' as const),
          ...(goes
            ? {
                removes: owned?.type === 'block' ? [] : [path],
                owes: [
                  ...new Set([
                    ...followUpsOf(path, host.services),
                    ...owes,
                    ...(owned?.owes ?? []).filter((one) => DOCUMENT_FOLLOW_UP.test(one)),
                  ]),
                ],
              }
            : {}),
          ineffective: 'RemovalRefused' as const,
          payload: { found: one, obstacles },
        };
      });
      const named = names.map((name) => ({ ...changeOf(name), payload: { found: undefined, name, obstacles } }));
      const restored = dropped.map((one) => ({
        id: one.id,
        summary: one.summary,
        action: one.perform === undefined ? ('run' as const) : ('change' as const),
        scope: 'node' as const,
        ...owing(one),
        payload: { found: undefined, dropped: one, obstacles },
      }));
      return [...refused, ...named, ...changes, ...restored];
    },

    async apply(host, { payload: { found, name, dropped, obstacles } }, execution) {
      if (dropped !== undefined && obstacles.length === 0) return await restore(host, dropped, execution);
      if (name !== undefined && obstacles.length === 0) return await removeName(host, name.removed, execution);
      if (found === undefined || obstacles.length > 0) throw obstructed(obstacles, 'Paths cannot be removed');
      const { path, owned } = found;
      // Judged again, because it may have changed since the plan.
      const kept = found.kept ?? (owned === undefined ? undefined : await whyKept(host, path, owned, []));
      if (kept !== undefined) {
        execution.warn(`${path} stays, although the document no longer lists it: ${kept}`);
        return execution.release(path);
      }
      await stopUnit(host, path);
      if (owned?.type === 'block') return await removeBlock(host, path, owned, execution);
      if (found.type === 'directory' && owned === undefined) await removeBelow(host, path);
      await (found.type === 'directory' ? host.removeDirectory(path) : host.removeFile(path));
      if (!path.startsWith('/etc/')) await host.sync(posix.dirname(path));
    },

    settled: async (host) => await host.sync('/etc'),
  };
}

/** Paths that earlier runs created and the document no longer requests, as far as its text shows; directories come last. */
function droppedFrom(
  steps: StepsById,
  model: Model,
  owned: StepRecord['owned'],
  others: Wants,
): readonly (readonly [string, OwnedPlace])[] {
  if (model.host.prune === 'Never') return [];
  const requested = new Map([...steps].map(([id, step]) => [id, step.owned?.(model) ?? []]));
  const wanted = new Set([...requested.values()].flatMap((paths) => paths.map(canonicalPath)));
  const isWanted = ([path, { step }]: readonly [string, OwnedPlace]) =>
    wanted.has(canonicalPath(path)) ||
    others(`path:${path}`, step) ||
    (requested.get(step) ?? []).some((tree) => tree.endsWith('/') && isAt(canonicalPath(path), canonicalPath(tree)));
  const places = [...owned];
  const kept = [...wanted, ...places.filter(isWanted).map(([path]) => canonicalPath(path))];
  const left = places.filter(
    (place) => !isWanted(place) && !kept.some((other) => isAt(other, canonicalPath(place[0]))),
  );
  return left.toSorted(([a], [b]) => depth(b, left) - depth(a, left));
}

/** Files and links in any order, and directories after their contents. */
function depth(path: string, places: readonly (readonly [string, OwnedPlace])[]): number {
  return places.find(([other]) => other === path)?.[1].type === 'directory' ? path.split('/').length : Infinity;
}

async function findDropped(
  host: QueryHost,
  dropped: readonly (readonly [string, OwnedPlace])[],
  absent: readonly Found[],
): Promise<readonly Found[]> {
  const found: Found[] = [];
  for (const [path, owned] of dropped) {
    if (absent.some((other) => isAt(path, other.path))) continue;
    const stat = await host.stat(path);
    if (stat === undefined) continue;
    const going = [...absent, ...found].filter(({ kept }) => kept === undefined).map((other) => other.path);
    found.push({ path, type: stat.type, owned, kept: await whyKept(host, path, owned, going) });
  }
  return found;
}

/** Which of the paths that the document removes exist, and what forbids removing them. */
async function findAbsent(host: QueryHost, absent: readonly AbsentModel[]): Promise<RemovalsActual> {
  const found: Found[] = [];
  const obstacles: Obstacle[] = [];
  // What is in a directory goes before it.
  for (const { kind, path, recursive, ...rest } of absent.toSorted((a, b) => b.path.length - a.path.length)) {
    const stat = await host.stat(path);
    if (stat === undefined) continue;
    const refuse = (why: string, remedy: string): void => {
      const what = `${path} is not removed: ${why}`;
      obstacles.push({ path, scope: scopeOfPath(path), reason: 'RemovalRefused', what, remedy });
    };
    const { type } = stat;
    const real = await host.realPath(path);
    if (isCriticalPath(real)) refuse(`it is ${real}, which is part of the system`, 'Correct the path.');
    else if (kind === 'link' && type !== 'symlink') refuse(`it is a ${type}, not a link`, NAME_IT);
    else if (kind === 'file' && type === 'directory') refuse('it is a directory', NAME_IT);
    else if (kind === 'directory' && type !== 'directory') refuse(`it is a ${type}, not a directory`, NAME_IT);
    else if (kind !== 'directory') found.push({ path, type, ...owing(rest) });
    else {
      const [mount] = await mountsBelow(host, path);
      const going = new Set(found.map((one) => one.path));
      const entries = mount === undefined ? await entriesBelow(host, path, (other) => going.has(other)) : [];
      if (mount !== undefined) refuse(`${mount} is mounted`, `Unmount ${mount}, or correct the path.`);
      else if (entries.length === 0 || recursive) found.push({ path, type, ...owing(rest), entries: entries.length });
      else refuse(`it holds ${entries[0]?.path}`, `Set recursive: true for ${path} to remove its contents, too.`);
    }
  }
  return { found, obstacles };
}

const NAME_IT = 'Name it under host.files, host.directories or host.links as what it is, or correct the path.';

/** @param untilBoot what the removal does not change before the next boot */
function describe({ path, type, owned, entries = 0 }: Found, untilBoot: string | undefined): string {
  const what = entries > 0 ? `remove, with ${entries} ${entries === 1 ? 'entry' : 'entries'} in it` : 'remove';
  if (owned === undefined) return `${path}: ${what}`;
  if (owned.type === 'block')
    return `${path}: remove the block ${owned.block?.name}, which is no longer in the document`;
  const until = untilBoot === undefined ? '' : `; ${untilBoot}`;
  return `${path}: remove the ${type === 'symlink' ? 'link' : type}, which is no longer in the document${until}`;
}

/** Restores something that the document no longer has, or tells that it stays. */
async function restore(host: Host, { summary, perform, restores }: Dropped, execution: Execution): Promise<void> {
  if (perform === undefined) {
    execution.warn(summary);
    return execution.remember(summary);
  }
  // The journal knows what a killed run left in between.
  const run: Host['run'] = (command) => host.run({ ...command, changes: restores === undefined ? [] : [restores] });
  await perform({ ...host, run }, execution.signal).catch((error: unknown) => {
    if (!(error instanceof MachineadmError) || error.reason !== 'ResetFailed') throw error;
    const remedy = 'Correct the cause and run again. To keep it, set host.prune to Never.';
    const failed = { reason: 'HostStepFailed', summary: error.message, remedy, retryable: true } as const;
    throw new MachineadmError({ ...failed, evidence: error.evidence, cause: error });
  });
  if (restores !== undefined) execution.release(partsOf(restores).name, restores);
}

/** Inspected again, for it may have changed since it was planned: what was mounted since is not entered. */
async function removeBelow(host: Host, directory: string): Promise<void> {
  for (const { path, stat } of (await entriesBelow(host, directory)).toReversed()) {
    if (stat.type === 'directory') await host.removeDirectory(path);
    else await host.removeFile(path);
  }
}
