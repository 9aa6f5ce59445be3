import type { Metadata } from '@machineadm/document/model/index.ts';
import type { Failure } from '@machineadm/document/outcomes/errors.ts';
import {
  afterHooksCondition,
  alreadyBootstrapped,
  bootstrapCondition,
  concludingCondition,
  labelsCondition,
  type NewCondition,
  setCondition,
} from './conditions.ts';
import type {
  FailedAttempt,
  NodeHandover,
  Outcome,
  Phase,
  ProbableCause,
  RunStatus,
  StepStatus,
  TimelineEntry,
} from './status.ts';

/** The subject of a run, known before the document is. */
export interface RunIdentity {
  readonly command: RunStatus['command'];
  readonly runId: string;
  readonly agentVersion: string;
  readonly host: RunStatus['host'];
  readonly process: RunStatus['process'];
  /** Where the document is read from. */
  readonly sources?: readonly string[];
}

/** What becomes known with the document and the journal of earlier runs. */
export interface RunSubject {
  readonly machine: RunStatus['machine'];
  readonly documentSha256: string;
  /** Absent for an image. */
  readonly apply?: 'Once' | 'EveryBoot';
  readonly attempt: number;
  /** An earlier run proved this machine: this run cannot turn it into a failed one. */
  readonly bootstrapped: boolean;
  /** The time of that, from an earlier run's status. */
  readonly bootstrappedSince?: string | undefined;
}

/** A cause when it is seen first. */
export type SeenCause = Omit<ProbableCause, 'since'>;

/** The machine as the status names it, from the document. */
export function machineOf({ name, namespace, cluster, uid }: Metadata): RunStatus['machine'] {
  return {
    name,
    ...(namespace === undefined ? {} : { namespace }),
    ...(cluster === undefined ? {} : { cluster }),
    ...(uid === undefined ? {} : { uid }),
  };
}

/** How a step ended; the times are milliseconds. */
export interface StepEnd {
  readonly state: 'Succeeded' | 'Unchanged' | 'Failed' | 'Skipped';
  readonly changes: readonly string[];
  readonly durationMs: number;
}

/** How an attempt to bootstrap failed that another will follow. */
export interface AttemptEnd {
  /** From 1 in each run. */
  readonly attempt: number;
  readonly failure: Failure;
  readonly durationMs: number;
}

/** How the run ended. If `afterHooks` did not succeed, `failure` is theirs: the bootstrap itself succeeded. */
export interface Conclusion {
  readonly outcome: Outcome;
  readonly exitCode: number;
  readonly failure?: Failure;
  readonly afterHooks?: 'Succeeded' | 'Failed' | 'Interrupted';
}

/** The events of a run. */
export type Transition =
  | { readonly kind: 'identified'; readonly subject: RunSubject }
  | { readonly kind: 'phase'; readonly phase: Phase }
  /** This run proved that the node works; only hooks follow. */
  | { readonly kind: 'bootstrapped' }
  | { readonly kind: 'planned'; readonly steps: readonly string[] }
  | { readonly kind: 'stepStarted'; readonly step: string }
  | { readonly kind: 'stepDone'; readonly step: string; readonly end: StepEnd }
  /** `cause`: why it is probably waited for in vain. */
  | {
      readonly kind: 'waiting';
      readonly step: string;
      readonly waitingFor: string | undefined;
      readonly cause?: SeenCause | undefined;
    }
  | { readonly kind: 'nodeAddresses'; readonly addresses: readonly string[] }
  | { readonly kind: 'handover'; readonly handover: NodeHandover }
  | { readonly kind: 'warning'; readonly message: string }
  | { readonly kind: 'attemptFailed'; readonly attempt: AttemptEnd }
  | { readonly kind: 'timeline'; readonly entries: readonly TimelineEntry[] }
  | { readonly kind: 'concluded'; readonly conclusion: Conclusion };

/** A time: by the wall clock in milliseconds since the epoch, and since the kernel's boot. */
export interface Moment {
  readonly time: number;
  readonly sinceBootMs: number;
}

const MOST_WARNINGS = 100;

/** The status document at the start of a run, before its document was read. */
export function begin(identity: RunIdentity, at: Moment): RunStatus {
  const time = timestamp(at);
  return {
    apiVersion: 'machineadm.dev/status/v1',
    kind: 'BootstrapStatus',
    command: identity.command,
    runId: identity.runId,
    agent: { version: identity.agentVersion },
    machine: { name: identity.host.hostname },
    host: identity.host,
    document: { sha256: '', ...(identity.sources === undefined ? {} : { sources: identity.sources }) },
    attempt: 1,
    phase: 'Loading',
    startedAt: time,
    updatedAt: time,
    process: identity.process,
    steps: [],
    warnings: [],
    conditions: [
      {
        type: 'machineadm.dev/BootstrapSucceeded',
        status: 'Unknown',
        reason: 'Running',
        message: `machineadm ${identity.command} is running.`,
        lastTransitionTime: time,
      },
    ],
    timeline: [],
  };
}

/** The status after an event. Pure: the given status is not changed. */
export function advance(status: RunStatus, transition: Transition, at: Moment): RunStatus {
  return { ...change(status, transition, at), updatedAt: timestamp(at) };
}

function change(status: RunStatus, transition: Transition, at: Moment): RunStatus {
  switch (transition.kind) {
    case 'identified': {
      const { machine, documentSha256, apply, attempt, bootstrapped, bootstrappedSince } = transition.subject;
      const identified = {
        ...status,
        machine,
        document: { ...status.document, sha256: documentSha256, ...(apply === undefined ? {} : { apply }) },
        attempt,
      };
      if (!bootstrapped) return identified;
      // The condition did not change, so its transition time does not change either.
      const lastTransitionTime = bootstrappedSince ?? timestamp(at);
      return { ...identified, conditions: [{ ...alreadyBootstrapped('is running.'), lastTransitionTime }] };
    }
    case 'bootstrapped':
      return withConditions(status, [bootstrapCondition('Succeeded', undefined)], at);
    case 'phase':
      return { ...status, phase: transition.phase };
    case 'planned': {
      const known = new Set(status.steps.map((step) => step.id));
      const added = transition.steps.filter((id) => !known.has(id));
      return { ...status, steps: [...status.steps, ...added.map((id): StepStatus => pending(id))] };
    }
    case 'stepStarted': {
      // A later attempt performs the step again: its earlier changes are kept in the status.
      const { changes } = status.steps.find((step) => step.id === transition.step) ?? pending(transition.step);
      const running: StepStatus = { ...pending(transition.step), changes, state: 'Running', startedAt: timestamp(at) };
      return { ...withoutWaiting(status), step: transition.step, steps: withStep(status.steps, running) };
    }
    case 'stepDone':
      return stepDone(status, transition.step, transition.end, at);
    case 'waiting':
      if (transition.waitingFor === undefined) return withoutWaiting(status);
      return {
        ...withoutWaiting(status),
        step: transition.step,
        waitingFor: transition.waitingFor,
        ...(transition.cause === undefined ? {} : { probableCause: { ...transition.cause, since: timestamp(at) } }),
      };
    case 'nodeAddresses':
      return { ...status, host: { ...status.host, nodeAddresses: transition.addresses } };
    case 'handover':
      return handedOver(status, transition.handover, at);
    case 'warning':
      if (status.warnings.includes(transition.message) || status.warnings.length >= MOST_WARNINGS) return status;
      return { ...status, warnings: [...status.warnings, transition.message] };
    case 'attemptFailed':
      return attemptFailed(status, transition.attempt, at);
    case 'timeline':
      return { ...status, timeline: [...transition.entries, ...status.timeline] };
    case 'concluded':
      return concluded(status, transition.conclusion, at);
  }
}

function handedOver(status: RunStatus, handover: NodeHandover, at: Moment): RunStatus {
  const { forManagement: _before, ...others } = status;
  const next = handover.commands.length === 0 ? others : { ...others, forManagement: handover };
  return withConditions(next, [labelsCondition(handover)], at);
}

function stepDone(status: RunStatus, id: string, end: StepEnd, at: Moment): RunStatus {
  const before = status.steps.find((step) => step.id === id) ?? pending(id);
  const durationMs = Math.round(end.durationMs);
  const changes = [...before.changes, ...end.changes.filter((id) => !before.changes.includes(id))];
  const state = end.state === 'Unchanged' && changes.length > 0 ? 'Succeeded' : end.state;
  const ended: StepStatus = { ...before, state, changes, durationMs };
  const entry: TimelineEntry = { name: id, sinceBootMs: Math.round(at.sinceBootMs - durationMs), durationMs };
  return {
    ...withoutWaiting(status),
    steps: withStep(status.steps, ended),
    timeline: end.state === 'Skipped' ? status.timeline : [...status.timeline, entry],
  };
}

function attemptFailed(status: RunStatus, { attempt, failure, durationMs }: AttemptEnd, at: Moment): RunStatus {
  const duration = Math.round(durationMs);
  const { reason, summary, step } = failure;
  const failed: FailedAttempt = {
    attempt,
    reason,
    summary,
    ...(step === undefined ? {} : { step }),
    endedAt: timestamp(at),
    durationMs: duration,
  };
  const entry: TimelineEntry = {
    name: `attempt ${attempt} failed: ${reason}`,
    sinceBootMs: Math.round(at.sinceBootMs - duration),
    durationMs: duration,
  };
  return {
    ...withoutWaiting(status),
    failedAttempts: [...(status.failedAttempts ?? []), failed],
    timeline: [...status.timeline, entry],
  };
}

function concluded(status: RunStatus, conclusion: Conclusion, at: Moment): RunStatus {
  const { outcome, exitCode, failure, afterHooks } = conclusion;
  const conditions = [concludingCondition(status, conclusion)];
  const isApplied = outcome === 'Succeeded' && status.command !== 'prepare';
  if (afterHooks !== undefined) conditions.push(afterHooksCondition(afterHooks, failure));
  const ended: RunStatus = {
    ...withoutWaiting(status),
    phase: 'Concluded',
    outcome,
    exitCode,
    ...(isApplied ? { document: { ...status.document, appliedAt: timestamp(at) } } : {}),
    ...(failure === undefined ? {} : { failure }),
    // The steps that were still pending when a step of an earlier phase failed.
    steps: status.steps.map((step) => (step.state === 'Pending' ? { ...step, state: 'Skipped' } : step)),
    timeline: [...status.timeline, { name: 'concluded', sinceBootMs: Math.round(at.sinceBootMs), durationMs: 0 }],
  };
  return withConditions(ended, conditions, at);
}

function withConditions(status: RunStatus, conditions: readonly NewCondition[], at: Moment): RunStatus {
  const time = timestamp(at);
  return { ...status, conditions: conditions.reduce((all, one) => setCondition(all, one, time), status.conditions) };
}

function pending(id: string): StepStatus {
  return { id, state: 'Pending', changes: [] };
}

function withStep(steps: readonly StepStatus[], step: StepStatus): readonly StepStatus[] {
  return steps.some((other) => other.id === step.id)
    ? steps.map((other) => (other.id === step.id ? step : other))
    : [...steps, step];
}

function withoutWaiting(status: RunStatus): RunStatus {
  const { waitingFor: _, probableCause: _cause, ...rest } = status;
  return rest;
}

function timestamp(at: Moment): string {
  return new Date(at.time).toISOString();
}
