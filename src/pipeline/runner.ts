import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { stepTitle } from '@machineadm/document/ownership/step-ids.ts';
import { redact } from '@machineadm/document/redaction/process-redactor.ts';
import { formatDuration } from '@machineadm/document/text/units.ts';
import type { Host } from '../host/seam/host.ts';
import type { Change, Execution, Explanation, FollowUp, Step } from '../step/index.ts';
import { groupAdjacent, mapWithLimit } from './concurrency.ts';
import { desiredOf, explanationOf, followUpId, pendingFollowUps, planStep } from './plan-step.ts';
import { type PriorStates, priorStates } from './prior-states.ts';
import { endsForReboot, rebootNeeded, rebootWasFutile } from './reboot.ts';
import { makerOf, recordingHost, recordWrites } from './recording-host.ts';
import type { RunOptions, StepResult } from './run-options.ts';

/** The longest timer of Node, about 24 days; a longer one would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** How long a step may take to stop before the run continues without it, in milliseconds. */
const STOP_GRACE_MS = 15_000;

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
      const hasRunHooks = step.hooks !== undefined && changes.length > 0;
      if (hasRunHooks || step.programs?.brings !== undefined) await options.recheck?.(step, changes.length > 0);
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

/** A step that runs, and what the parts of its run share. */
interface Running {
  readonly step: Step;
  readonly desired: unknown;
  readonly options: RunOptions;
  /** The host whose changes the journal records: those of one change with its follow-ups. */
  hostFor(change?: Pick<Change, 'owes'>): Host;
  readonly prior: PriorStates;
  /** Waits for work that ends with the run, at the deadline of the step, or by `end`. */
  within<T>(work: Promise<T>): Promise<T>;
  /** Ends the step with this error. */
  end(error: MachineadmError): void;
  execution(change: string): Execution;
  /** Ids of the changes made, including follow-ups. */
  readonly made: string[];
}

function begin(step: Step, desired: unknown, options: RunOptions, made: string[]): Running {
  const { host, journal, model, trace } = options;
  const deadlineMs = step.deadlineMs?.(desired);
  const isLimited = deadlineMs !== undefined && deadlineMs <= LONGEST_TIMER_MS;
  const ended = new AbortController();
  const limits = [options.signal, ended.signal, ...(isLimited ? [AbortSignal.timeout(deadlineMs)] : [])];
  const signal = AbortSignal.any(limits);
  const waits = waitsOf(step, options);
  const prior = priorStates(host, step.id, journal);
  const recording = (change?: Pick<Change, 'owes'>) =>
    recordingHost(host, makerOf(model, step, change), journal, trace, prior);
  const changing = recording();
  return {
    ...{ step, desired, options, prior, made },
    hostFor: (change) => (change?.owes === undefined ? changing : recording(change)),
    within: (work) => untilAborted(work, signal, step, deadlineMs),
    end: (error) => ended.abort(error),
    execution: (change) => execution(step, change, signal, options, waits),
  };
}

async function runStep(step: Step, desired: unknown, options: RunOptions, made: string[]): Promise<void> {
  const { host, journal } = options;
  const running = begin(step, desired, options, made);
  const record = journal.record(step.id);
  const changes = await running.within(planStep(step, desired, host, record, options.scope, options.observer));
  if (record.reboot === 'done') refuseSecondReboot(running, changes);
  await running.within(recordWrites(running.prior, changes));
  for (const group of groupAdjacent(changes, isOneGroup)) {
    await mapWithLimit(group, group[0]?.concurrently ?? 1, (change) => makeChange(running, change));
  }
  await performFollowUps(running);
  if (made.length > 0 && step.settled !== undefined) {
    await running.within(step.settled(running.hostFor(), desired, running.execution(`${step.id}/settled`)));
  }
  if (journal.record(step.id).reboot === 'owed') {
    journal.append({ is: 'reboot', step: step.id, now: 'Requested' });
    throw rebootNeeded(step, options.mayReboot === true);
  }
  if (made.length > 0) await verify(running);
  if (record.reboot === 'done') journal.append({ is: 'reboot', step: step.id, now: 'Served' });
  if (made.length > 0) journal.append({ is: 'step', step: step.id, changes: made });
}

/** Another reboot would not help. It is recorded by now: a manual rerun may reboot the machine once more. */
function refuseSecondReboot({ step, options }: Running, changes: readonly Change[]): void {
  const inVain = changes.filter(({ needsReboot }) => needsReboot === true);
  if (inVain.length === 0) return;
  options.journal.append({ is: 'reboot', step: step.id, now: 'Served' });
  throw rebootWasFutile(step, inVain);
}

async function makeChange(running: Running, change: Change): Promise<void> {
  const { step, options, within, execution, made } = running;
  const { journal } = options;
  await recordStart(running, change);
  options.trace?.touch(step.id);
  await apply(running, change);
  if (step.hooks !== undefined && options.hooksRan !== undefined) {
    await within(options.hooksRan(step, execution(change.id)));
  }
  if (change.repeatable === false) {
    const undoes = change.undoes === undefined ? {} : { undoes: change.undoes };
    journal.append({ is: 'done', step: step.id, change: change.id, ...undoes });
  }
  made.push(change.id);
}

/** What a later run must know of a change if this one is killed in it. */
async function recordStart({ step, desired, options, within }: Running, change: Change): Promise<void> {
  const { host, journal } = options;
  if (change.owes !== undefined && change.owes.length > 0) {
    journal.append({ is: 'owed', step: step.id, change: change.id, followUps: change.owes });
  }
  if (change.needsReboot === true) journal.append({ is: 'reboot', step: step.id, now: 'Owed' });
  if (change.repeatable !== false) return;
  if (step.bootstrapper !== undefined) {
    const entries = await within(step.bootstrapper.inventory(host, desired, journal.record(step.id)));
    if (entries !== undefined) journal.append({ is: 'inventory', step: step.id, entries });
  }
  journal.append({ is: 'started', step: step.id, change: change.id });
}

async function apply({ step, options, hostFor, within, execution, end }: Running, change: Change): Promise<void> {
  const applied = new AbortController();
  const watching =
    step.bootstrapper !== undefined && change.repeatable === false
      ? options.watchBootstrap?.(step, end, applied.signal)
      : undefined;
  try {
    await within(step.apply(hostFor(change), change, execution(change.id)));
  } catch (error) {
    throw endsForReboot(error) ? error : new StepFailure(step.id, error, change.id);
  } finally {
    applied.abort();
    await watching;
  }
}

async function performFollowUps({ step, desired, options, hostFor, within, execution, made }: Running): Promise<void> {
  const { journal } = options;
  for (const followUp of pendingFollowUps(step, desired, journal.owed())) {
    const own = step.followUps?.perform?.(hostFor(), desired, followUp, execution(followUpId(followUp)));
    await within(own ?? performFollowUp(hostFor(), followUp));
    journal.append({ is: 'settled', followUp });
    made.push(followUpId(followUp));
  }
}

/**
 * Performs the follow-ups of a change that its step does not perform itself. They can be repeated: a kill before the
 * record costs one more restart.
 */
async function performFollowUp(host: Host, followUp: FollowUp): Promise<void> {
  if (followUp === 'update-ca-certificates') throw new Error(`${followUp} is performed by its step alone`);
  if (followUp === 'daemon-reload') await host.services.reload();
  else if (followUp.startsWith('reload:')) await host.services.reloadService(followUp.slice('reload:'.length));
  else await host.services.restart(followUp.slice('restart:'.length));
}

/** Throws if a change is still needed: what did not take effect is reported without a known cause, too. */
async function verify({ step, desired, options, within }: Running): Promise<void> {
  const { host, journal, scope } = options;
  const left = await within(planStep(step, desired, host, journal.record(step.id), scope));
  if (left.length > 0) throw notEffective(step, left, await within(explanationOf(step, desired, left, host)));
}

/**
 * Waits for work that the same signal stops. Work that does not stop is abandoned after a grace period: a hanging child
 * must not hang the run. Whatever error the stopped work throws, the reason is the stop.
 */
async function untilAborted<T>(
  work: Promise<T>,
  signal: AbortSignal,
  step: Step,
  deadlineMs: number | undefined,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const abandoned = Promise.withResolvers<never>();
  const abandon = () => {
    timer = setTimeout(abandoned.reject, STOP_GRACE_MS, new Error(`${step.id} did not stop`));
  };
  if (signal.aborted) abandon();
  else signal.addEventListener('abort', abandon, { once: true });
  try {
    return await Promise.race([work, abandoned.promise]);
  } catch (error) {
    if (signal.aborted) throw stopError(signal.reason, step, deadlineMs, error);
    throw error;
  } finally {
    signal.removeEventListener('abort', abandon);
    clearTimeout(timer);
  }
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

/** Why a step was stopped: the run's own reason (a signal, the overall deadline), or the step's deadline. */
function stopError(reason: unknown, step: Step, deadlineMs: number | undefined, cause: unknown): MachineadmError {
  const known = cause instanceof MachineadmError ? cause : undefined;
  const why = reason instanceof MachineadmError ? reason : undefined;
  const limit = deadlineMs === undefined ? 'its time' : formatDuration(deadlineMs);
  return new MachineadmError({
    reason: why?.reason ?? 'DeadlinePassed',
    summary:
      why === undefined
        ? `the step "${stepTitle(step.id)}" did not end within ${limit}`
        : `${why.message} (in the step "${stepTitle(step.id)}")`,
    remedy:
      why?.remedy ?? 'Check what it waited for; a longer timeout helps only if the machine is slow rather than stuck.',
    evidence: known === undefined ? [] : [{ source: step.id, text: known.message }, ...known.evidence],
    transcript: known?.transcript ?? [],
    retryable: true,
    cause,
  });
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
