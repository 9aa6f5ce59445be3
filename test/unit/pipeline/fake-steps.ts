import type { StepId } from '@machineadm/document/ownership/step-ids.ts';
import { omitUndefined } from '@machineadm/document/values/defined.ts';
import type { Facts } from '../../../src/host/seam/facts.ts';
import type { Host } from '../../../src/host/seam/host.ts';
import { afterRecord, newJournalState } from '../../../src/pipeline/journal.ts';
import type { JournalRecord } from '../../../src/pipeline/journal-record.ts';
import type { RunJournal } from '../../../src/pipeline/run-journal.ts';
import type { RunOptions, StepObserver } from '../../../src/pipeline/run-options.ts';
import { stepRecord } from '../../../src/pipeline/step-record.ts';
import type { AfterHooks, Bootstrapper, Programs } from '../../../src/step/abilities.ts';
import type { Change, Execution, FollowUp, Step, StepRecord } from '../../../src/step/index.ts';
import { facts } from '../../support/facts.ts';
import { hostModel } from '../../support/host-model.ts';
import { type MemoryHost, memoryHost } from '../../support/memory-host.ts';
import { identity } from './records.ts';

/** A change of a fake step, which is done as soon as it was applied. */
export interface FakeChange extends Partial<Omit<Change, 'payload' | 'undoes' | 'knownAfter'>> {
  readonly id: string;
  readonly undoes?: readonly string[];
  readonly knownAfter?: string;
  /** Applied, it does not hold. */
  readonly futile?: boolean;
  apply?(execution: Execution): Promise<void> | void;
}

export interface FakeStep extends Partial<Pick<Step, 'deadlineMs' | 'preflight' | 'settled' | 'whyNotEffective'>> {
  readonly id: string;
  readonly changes?: readonly FakeChange[];
  /** The document asks nothing of it. */
  readonly unasked?: boolean;
  /** What of the facts it depends on. */
  desired?(facts: Facts): object;
  inspect?(record: StepRecord): Promise<void> | void;
  readonly settles?: readonly FollowUp[];
  followUp?(followUp: FollowUp): Promise<void> | void;
  readonly bootstraps?: true;
  readonly inventory?: Bootstrapper<unknown>['inventory'];
  readonly runsHooks?: true;
  readonly renew?: AfterHooks<unknown>['renew'];
  readonly needs?: Programs<unknown>['needs'];
  readonly brings?: Programs<unknown>['brings'];
}

/** Steps whose state is the set of changes that were applied; one state for `plan` and a run of the same steps. */
export function fakeSteps(...wishes: readonly FakeStep[]): readonly Step[] {
  return wishes.map((wish) => fakeStep(wish));
}

/** The runner knows no step by its id, so that tests of it make ids up. */
export function madeUp(id: string): StepId {
  return id as StepId;
}

function fakeStep(wish: FakeStep): Step {
  const { id, changes = [], inspect, unasked, desired, deadlineMs, preflight, settled, whyNotEffective } = wish;
  const applied = new Set<string>();
  return {
    ...omitUndefined({ deadlineMs, preflight, settled, whyNotEffective }),
    ...abilitiesOf(wish),
    id: madeUp(id),
    desired: (_model, facts) => (unasked === true ? undefined : (desired?.(facts) ?? {})),
    async inspect(_host, _desired, record) {
      await inspect?.(record);
      return new Set([...applied, ...record.done]);
    },
    plan(_desired, actual) {
      const known = actual instanceof Set ? actual : new Set();
      return changes
        .filter((change) => change.futile === true || !known.has(change.id))
        .map((change) => ({
          id: change.id,
          scope: 'base',
          summary: `do ${change.id}`,
          ...withoutApply(change),
          payload: change,
        }));
    },
    async apply(_host, change, execution) {
      const { payload } = change;
      await (payload as FakeChange).apply?.(execution);
      applied.add(change.id);
    },
  };
}

function abilitiesOf(wish: FakeStep): Partial<Step> {
  const { settles, followUp, bootstraps, inventory, runsHooks, renew, needs, brings } = wish;
  const perform = followUp && (async (_host: Host, _desired: unknown, owed: FollowUp) => await followUp(owed));
  return {
    ...(settles && { followUps: { settles, ...(perform && { perform }) } }),
    ...((bootstraps || inventory) && { bootstrapper: { inventory: inventory ?? (async () => undefined) } }),
    ...(runsHooks && { hooks: { hasRun: (_desired, { done }) => done.size > 0 } }),
    ...(renew && { afterHooks: { renew } }),
    ...((needs || brings) && { programs: omitUndefined({ needs, brings }) }),
  };
}

function withoutApply({ apply: _apply, futile: _futile, undoes, knownAfter, ...change }: FakeChange): Partial<Change> {
  return {
    ...change,
    ...(undoes === undefined ? {} : { undoes: undoes.map(madeUp) }),
    ...(knownAfter === undefined ? {} : { knownAfter: madeUp(knownAfter) }),
  };
}

/** A journal in memory. */
export interface MemoryJournal extends RunJournal {
  readonly records: JournalRecord[];
}

export function memoryJournal(...earlier: readonly JournalRecord[]): MemoryJournal {
  const records: JournalRecord[] = [];
  let state = earlier.reduce(afterRecord, newJournalState(identity(), false));
  return {
    records,
    state: () => state,
    record: (step) => stepRecord(state, step),
    owed: () => state.owed,
    append(record) {
      records.push(record);
      state = afterRecord(state, record);
    },
    write() {},
    flush() {},
    close() {},
  };
}

/** All that a run of fake steps needs, and what it did and told. */
export interface Bench extends RunOptions {
  readonly journal: MemoryJournal;
  readonly host: MemoryHost;
  /** What happened in order: `started x`, `x Succeeded [changes]`, `x waits for y`, `x says y`, `warning`. */
  readonly story: string[];
}

export function runBench(different: Partial<Pick<Bench, 'journal' | 'host' | 'scope' | 'signal'>> = {}): Bench {
  const story: string[] = [];
  const observer: StepObserver = {
    stepStarted: (step) => story.push(`${step} started`),
    stepDone: (step, { state, changes }) => story.push(`${step} ${state} [${changes.join(' ')}]`),
    waitingFor: (step, what) => what !== undefined && story.push(`${step} waits for ${what}`),
    output: (step, source, line) => story.push(`${step} ${source}: ${line}`),
    warn: (message) => story.push(`warning: ${message}`),
  };
  return {
    model: hostModel(),
    facts: facts(),
    host: memoryHost({ services: { containerd: { active: true } } }),
    journal: memoryJournal(),
    scope: 'all',
    signal: new AbortController().signal,
    observer,
    story,
    ...different,
  };
}
