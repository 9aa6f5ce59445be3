import { MachineadmError } from '@machineadm/document/errors.ts';
import type { Model } from '@machineadm/document/model.ts';
import { redact } from '@machineadm/document/redaction.ts';
import { stepTitle } from '@machineadm/document/step-ids.ts';
import type { NodeHandover } from '@machineadm/status/status.ts';
import type { Facts } from '../host/seam/facts.ts';
import type { Host, QueryHost } from '../host/seam/host.ts';
import type { Change, Execution, Explanation, FollowUp, Step, StepRecord } from '../step/index.ts';
import { groupAdjacent, mapWithLimit } from './concurrency.ts';
import { desiredOf } from './desired.ts';
import { performFollowUp } from './follow-ups.ts';
import { priorStates } from './prior-states.ts';
import { endsForReboot, rebootNeeded, rebootWasFutile } from './reboot.ts';
import { makerOf, recordingHost, recordWrites } from './recording-host.ts';
import type { RunJournal } from './run-journal.ts';
import type { RunTrace } from './run-trace.ts';
import { untilAborted } from './until-aborted.ts';

/** The runner's progress events; the reporting room listens. */
export interface StepObserver {
  stepStarted(step: string): void;
  stepDone(step: string, result: StepResult): void;
  waitingFor(step: string, what: string | undefined): void;
  output(step: string, source: string, line: string): void;
  warn(message: string): void;
  /** What only the management side may set on the Node; without commands if it is all there. */
  handover?(handover: NodeHandover): void;
}

export interface StepResult {
  readonly state: 'Succeeded' | 'Unchanged' | 'Failed' | 'Skipped';
  /** Ids of the changes made, including follow-ups. */
  readonly changes: readonly string[];
  readonly durationMs: number;
}

export interface RunOptions {
  readonly model: Model;
  readonly facts: Facts;
  readonly host: Host;
  readonly journal: RunJournal;
  readonly observer: StepObserver;
  /** `base`: only what belongs in an image. */
  readonly scope: 'base' | 'all';
  readonly signal: AbortSignal;
  /** Whether the run reboots the machine where a step needs it, and resumes afterwards. Default false. */
  readonly mayReboot?: boolean;
  /** Records what each step changes, for `requireLasting`. */
  readonly trace?: RunTrace;
  /** Called when hooks of the document ran, before that is recorded. It may renew `facts`. */
  readonly hooksRan?: (step: Step, execution: Execution) => Promise<void>;
  /**
   * Called after a step that may have installed programs. It may renew `facts`, and throws a `StepFailure` where a later
   * step still has an unmet requirement.
   */
  readonly recheck?: (step: Step, hasChanged: boolean) => Promise<void>;
  /**
   * Called while a change of the bootstrapper is made, until its signal is aborted: looks for what the bootstrapper waits for
   * in vain. `end` ends the bootstrapper with this error.
   */
  readonly watchBootstrap?: (step: Step, end: (error: MachineadmError) => void, signal: AbortSignal) => Promise<void>;
  /** Called with the document as a step resolved it, for later steps. */
  readonly resolved?: (model: Model) => void;
  /** Whether a step is postponed until after later hooks; it is then skipped here, and performed by the caller. */
  readonly postpones?: (step: Step) => boolean;
}

/** The longest timer of Node, about 24 days; a longer one would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * Runs steps in order and stops at the first that fails, whose error it throws. For every step: inspect, plan, apply
 * each change, perform the follow-ups, settle, and verify by inspecting and planning again.
 */
export async function runSteps(steps: readonly Step[], options: RunOptions): Promise<void> {
  for (const [index, step] of steps.entries()) {
    // Hooks of an earlier step may have renewed the facts.
    const desired = desiredOf(step, options.model, options.facts, options.journal.record);
    if (desired === undefined || options.postpones?.(step) === true) continue;
    const begun = performance.now();
    const changes: string[] = [];
    options.observer.stepStarted(step.id);
    const finish = (state: StepResult['state']) => {
      options.observer.waitingFor(step.id, undefined);
      options.observer.stepDone(step.id, { state, changes, durationMs: performance.now() - begun });
    };
    try {
      options.signal.throwIfAborted();
      await runStep(step, desired, options, changes);
      options.trace?.inOrder(step.id);
      await resolveModel(step, desired, options);
      finish(changes.length === 0 ? 'Unchanged' : 'Succeeded');
      const hasRunHooks = step.runsHooks === true && changes.length > 0;
      if (hasRunHooks || step.brings !== undefined) await options.recheck?.(step, changes.length > 0);
    } catch (error) {
      if (endsForReboot(error)) {
        // The follow-ups are performed after the reboot.
        finish('Succeeded');
        throw new StepFailure(step.id, error);
      }
      const failure = error instanceof StepFailure ? error : new StepFailure(step.id, error);
      if (failure.step === step.id) finish('Failed');
      for (const later of steps.slice(index + 1)) {
        if (
          later.id === failure.step ||
          desiredOf(later, options.model, options.facts, options.journal.record) === undefined
        )
          continue;
        options.observer.stepDone(later.id, { state: 'Skipped', changes: [], durationMs: 0 });
      }
      if (failure.step !== step.id)
        options.observer.stepDone(failure.step, { state: 'Failed', changes: [], durationMs: 0 });
      throw failure;
    }
  }
}

async function resolveModel(step: Step, desired: unknown, options: RunOptions): Promise<void> {
  const { host, model, journal } = options;
  const resolved = await step.resolves?.(host, desired, model, journal.record(step.id));
  if (resolved !== undefined) options.resolved?.(resolved);
}

/** Which step failed, at which of its changes where it was at one, and its error. */
export class StepFailure extends Error {
  readonly step: string;
  readonly error: unknown;
  readonly change: string | undefined;

  constructor(step: string, error: unknown, change?: string) {
    super(`step ${step} failed`, { cause: error });
    this.step = step;
    this.error = error;
    this.change = change;
  }
}

async function runStep(step: Step, desired: unknown, options: RunOptions, made: string[]): Promise<void> {
  const { host, journal, model, trace } = options;
  const deadlineMs = step.deadlineMs?.(desired);
  const isLimited = deadlineMs !== undefined && deadlineMs <= LONGEST_TIMER_MS;
  const futile = new AbortController();
  const limits = [options.signal, futile.signal, ...(isLimited ? [AbortSignal.timeout(deadlineMs)] : [])];
  const signal = AbortSignal.any(limits);
  const within = <T>(work: Promise<T>) => untilAborted(work, signal, step, deadlineMs);
  const record = journal.record(step.id);
  const changes = await within(planStep(step, desired, host, record, options.scope, options.observer));
  const inVain = record.reboot === 'done' ? changes.filter(({ needsReboot }) => needsReboot === true) : [];
  if (inVain.length > 0) {
    // Recorded by now: a manual rerun may reboot the machine once more.
    journal.append({ is: 'reboot', step: step.id, now: 'Served' });
    throw rebootWasFutile(step, inVain);
  }
  const waits = waitsOf(step, options);
  const prior = priorStates(host, step.id, journal);
  const recording = (change?: Change) => recordingHost(host, makerOf(model, step, change), journal, trace, prior);
  await within(recordWrites(prior, changes));
  const changing = recording();
  const make = async (change: Change): Promise<void> => {
    if (change.owes !== undefined && change.owes.length > 0) {
      journal.append({ is: 'owed', step: step.id, change: change.id, followUps: change.owes });
    }
    if (change.needsReboot === true) journal.append({ is: 'reboot', step: step.id, now: 'Owed' });
    if (change.repeatable === false) {
      await recordInventory(step, desired, options, within);
      journal.append({ is: 'started', step: step.id, change: change.id });
    }
    trace?.touch(step.id);
    const running = execution(step, change.id, signal, options, waits);
    const applied = new AbortController();
    const watching =
      step.bootstraps === true && change.repeatable === false
        ? options.watchBootstrap?.(step, (error) => futile.abort(error), applied.signal)
        : undefined;
    try {
      await within(step.apply(change.owes === undefined ? changing : recording(change), change, running));
    } catch (error) {
      throw endsForReboot(error) ? error : new StepFailure(step.id, error, change.id);
    } finally {
      applied.abort();
      await watching;
    }
    if (step.runsHooks === true && options.hooksRan !== undefined) {
      await within(options.hooksRan(step, execution(step, change.id, signal, options, waits)));
    }
    if (change.repeatable === false) {
      const undoes = change.undoes === undefined ? {} : { undoes: change.undoes };
      journal.append({ is: 'done', step: step.id, change: change.id, ...undoes });
    }
    made.push(change.id);
  };
  for (const group of groupAdjacent(changes, isOneGroup)) {
    await mapWithLimit(group, group[0]?.concurrently ?? 1, make);
  }
  for (const followUp of pendingFollowUps(step, desired, journal.owed())) {
    const follow = execution(step, followUpId(followUp), signal, options, waits);
    await within(step.followUp?.(changing, desired, followUp, follow) ?? performFollowUp(changing, followUp));
    journal.append({ is: 'settled', followUp });
    made.push(followUpId(followUp));
  }
  if (made.length > 0 && step.settled !== undefined) {
    await within(step.settled(changing, desired, execution(step, `${step.id}/settled`, signal, options, waits)));
  }
  if (journal.record(step.id).reboot === 'owed') {
    journal.append({ is: 'reboot', step: step.id, now: 'Requested' });
    throw rebootNeeded(step, options.mayReboot === true);
  }
  if (made.length > 0) {
    const left = await within(planStep(step, desired, host, journal.record(step.id), options.scope));
    // What did not take effect is reported without a known cause, too.
    const why = async () => await step.whyNotEffective?.(host, desired, left).catch(() => undefined);
    if (left.length > 0) throw notEffective(step, left, await within(why()));
  }
  if (record.reboot === 'done') journal.append({ is: 'reboot', step: step.id, now: 'Served' });
  if (made.length === 0) return;
  journal.append({ is: 'step', step: step.id, changes: made });
}

/** What exists before a bootstrapper starts is recorded before its start is. */
async function recordInventory(
  step: Step,
  desired: unknown,
  { host, journal }: RunOptions,
  within: <T>(work: Promise<T>) => Promise<T>,
): Promise<void> {
  if (step.inventory === undefined) return;
  const entries = await within(step.inventory(host, desired, journal.record(step.id)));
  if (entries !== undefined) journal.append({ is: 'inventory', step: step.id, entries });
}

/** What a step would do now; shared by `plan` and a run. */
export async function planStep(
  step: Step,
  desired: unknown,
  host: QueryHost,
  record: StepRecord,
  scope: 'base' | 'all',
  told: Partial<Pick<StepObserver, 'warn' | 'handover'>> = {},
): Promise<readonly Change[]> {
  const actual = await step.inspect(host, desired, record);
  for (const remark of step.remarks?.(desired, record, actual) ?? []) told.warn?.(remark);
  const handover = step.handover?.(desired, actual);
  if (handover !== undefined) told.handover?.(handover);
  return step.plan(desired, actual).filter((change) => scope === 'all' || change.scope === 'base');
}

/** The follow-ups of a step in execution order: units are reloaded before a service restarts. */
export function pendingFollowUps(step: Step, desired: unknown, owed: ReadonlySet<FollowUp>): FollowUp[] {
  return [...(step.settles ?? []), ...(step.settlesFor?.(desired, owed) ?? [])]
    .filter((followUp) => owed.has(followUp))
    .sort((a, b) => Number(b === 'daemon-reload') - Number(a === 'daemon-reload'));
}

/** The name of a follow-up among the changes of a step. */
export function followUpId(followUp: FollowUp): string {
  return `follow-up/${followUp}`;
}

function isOneGroup(left: Change, right: Change): boolean {
  return left.concurrently !== undefined && left.concurrently === right.concurrently;
}

/** What the changes of a step wait for, as one line: those of a group wait at the same time. */
type Waits = (change: string, what: string | undefined) => void;

function waitsOf(step: Step, { observer }: RunOptions): Waits {
  const waiting = new Map<string, string>();
  return (change, what) => {
    if (what === undefined) waiting.delete(change);
    else waiting.set(change, what);
    observer.waitingFor(step.id, [...waiting.values()].join(', ') || undefined);
  };
}

function execution(step: Step, change: string, signal: AbortSignal, options: RunOptions, waits: Waits): Execution {
  const { observer, journal } = options;
  return {
    signal,
    waitingFor: (what) => waits(change, what),
    output: (source, line) => observer.output(step.id, source, redact(line)),
    warn: (message) => observer.warn(redact(message)),
    release: (path, of) => journal.append({ is: 'released', step: step.id, path, ...(of && { of }) }),
    remember: (note) => journal.append({ is: 'note', step: step.id, change, note }),
  };
}

function notEffective(step: Step, left: readonly Change[], why: Explanation | undefined): MachineadmError {
  return new MachineadmError({
    reason: left[0]?.ineffective ?? 'StepNotEffective',
    summary: why?.summary ?? `the step "${stepTitle(step.id)}" made its changes, but they did not last`,
    remedy: why?.remedy ?? 'Another program changes the same settings. Find and stop it, then run again.',
    evidence: [
      ...(why?.evidence ?? []),
      ...left.map((change) => ({ source: change.id, text: `pending: ${change.summary}` })),
    ],
    retryable: why?.retryable ?? false,
  });
}
