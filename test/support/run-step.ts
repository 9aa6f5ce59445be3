import type { Model } from '@machineadm/document/model/index.ts';
import type { Facts } from '../../src/host/seam/facts.ts';
import type { Host, QueryHost } from '../../src/host/seam/host.ts';
import {
  type Change,
  EMPTY_RECORD,
  type Execution,
  type FollowUp,
  type Step,
  type StepRecord,
} from '../../src/step/index.ts';
import { facts } from './facts.ts';
import { ownedBy } from './ownership.ts';

/** What one run of one step did and said. */
export interface StepRun {
  readonly changes: readonly Change[];
  readonly warnings: readonly string[];
  readonly output: readonly string[];
  readonly waits: readonly (string | undefined)[];
  /** By change id, as the journal would hold them. */
  readonly notes: ReadonlyMap<string, unknown>;
  /** Paths that the step gave up. */
  readonly released: readonly string[];
  /** What verify found still to do. */
  readonly left: readonly Change[];
}

export interface StepRunOptions {
  readonly facts?: Facts;
  readonly record?: StepRecord;
  readonly signal?: AbortSignal;
  readonly scope?: 'base' | 'all';
  /** Filled while the step runs, for a test whose step throws. */
  readonly seen?: { notes: Map<string, unknown>; warnings: string[] };
}

/** Plans a step as `plan` would: nothing is changed. */
export async function planned<D, A, P>(
  step: Step<D, A, P>,
  host: QueryHost,
  model: Model,
  options: StepRunOptions = {},
): Promise<readonly Change<P>[]> {
  const desired = step.desired(model, options.facts ?? facts());
  if (desired === undefined) return [];
  const actual = await step.inspect(host, desired, options.record ?? EMPTY_RECORD);
  return step.plan(desired, actual).filter((change) => options.scope !== 'base' || change.scope === 'base');
}

/** Runs one step as the pipeline's runner does: inspect, plan, apply, settle, verify. */
export async function runStep<D, A, P>(
  step: Step<D, A, P>,
  machine: Host,
  model: Model,
  options: StepRunOptions = {},
): Promise<StepRun> {
  const wanted = step.desired(model, options.facts ?? facts());
  const owned = wanted === undefined ? undefined : await step.owns?.(machine, wanted);
  const host = ownedBy(step.id, model, machine, owned ?? []);
  const record = options.record ?? EMPTY_RECORD;
  const { notes, warnings } = options.seen ?? { notes: new Map<string, unknown>(), warnings: [] };
  const done = new Set(record.done);
  const interrupted = new Set(record.interrupted);
  const doneInRun = new Set(record.doneInRun);
  const output: string[] = [];
  const released: string[] = [];
  const waits: (string | undefined)[] = [];
  const execution = (change: string): Execution => ({
    signal: options.signal ?? new AbortController().signal,
    waitingFor: (what) => waits.push(what),
    output: (source, line) => output.push(`${source}: ${line}`),
    warn: (message) => warnings.push(message),
    release: (path) => released.push(path),
    remember: (note) => notes.set(change, note),
  });
  const changes = await planned(step, host, model, options);
  const desired = step.desired(model, options.facts ?? facts());
  for (const change of changes) {
    await step.apply(host, change, execution(change.id));
    if (change.repeatable !== false) continue;
    for (const known of [done, doneInRun]) known.add(change.id);
    interrupted.delete(change.id);
  }
  const owed = new Set([...record.owed, ...changes.flatMap((change) => change.owes ?? [])]);
  const { settles: own = [], settlesFor } = step.followUps ?? {};
  const settles = [...own, ...(desired === undefined ? [] : (settlesFor?.(desired, owed) ?? []))];
  for (const followUp of settles.filter((one) => owed.has(one))) {
    if (desired !== undefined && step.followUps?.perform !== undefined) {
      await step.followUps.perform(host, desired, followUp, execution(`follow-up/${followUp}`));
    } else if (followUp === 'daemon-reload') await host.services.reload();
    else await host.services.restart(followUp.slice('restart:'.length));
  }
  if (desired !== undefined && changes.length + owed.size > 0)
    await step.settled?.(host, desired, execution(`${step.id}/settled`));
  const kept = new Map([...record.owned].filter(([path]) => !released.includes(path)));
  const after = { ...record, done, doneInRun, interrupted, notes, owned: kept, owed: new Set<FollowUp>() };
  const left = await planned(step, host, model, { ...options, record: after });
  return { changes, warnings, output, waits, notes, released, left };
}
