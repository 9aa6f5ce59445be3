import type { EventType } from '@machineadm/document/model/index.ts';
import type { Failure } from '@machineadm/document/outcomes/errors.ts';
import { redactDeep } from '@machineadm/document/redaction/process-redactor.ts';
import { formatEvent } from './progress.ts';
import type { Moment } from './run-state.ts';
import type {
  Condition,
  Outcome,
  Phase,
  ProbableCause,
  RunEvent,
  RunStatus,
  StepStatus,
  TimelineEntry,
} from './status.ts';

export type { EventType } from '@machineadm/document/model/index.ts';

/**
 * A report of a machine: one format for every sink, `contract/event.v1.schema.json`. Redacted before it is created;
 * contains no secret.
 */
export interface ReportEvent {
  readonly apiVersion: 'machineadm.dev/event/v1';
  readonly kind: 'BootstrapEvent';
  /** `RUN.SEQUENCE`: the idempotency key. Each delivery of this event has the same. */
  readonly id: string;
  readonly type: EventType;
  /** True for what `machineadm report test` sends: nothing happened. Absent otherwise. */
  readonly test?: true;
  readonly runId: string;
  /** Within the run, from 1; not every sink gets every event. */
  readonly sequence: number;
  /** RFC 3339, UTC, by the machine's own clock, which may be wrong before it was set. */
  readonly time: string;
  /** Since the kernel's boot, by a monotonic clock; milliseconds. */
  readonly sinceBootMs: number;
  /** `watch` is `machineadm report watch`, which is not a run: it checks a node repeatedly. */
  readonly command: RunStatus['command'] | 'watch';
  readonly agent: RunStatus['agent'];
  readonly machine: RunStatus['machine'];
  readonly host: RunStatus['host'];
  readonly document: Pick<RunStatus['document'], 'sha256'>;
  readonly attempt: number;
  readonly phase: Phase;
  /** What happened, in one line. */
  readonly message: string;
  readonly conditions: readonly ReportCondition[];
  /** The step that changed; only for `stepChanged`. */
  readonly step?: StepStatus;
  /** Only for `waiting`. */
  readonly waitingFor?: string;
  /** While the bootstrapper waits: what it probably waits for in vain. A `warning` announces it. */
  readonly probableCause?: ProbableCause;
  /** Only for `concluded`, like all fields below. */
  readonly outcome?: Outcome;
  readonly exitCode?: number;
  readonly failure?: Failure;
  readonly warnings?: readonly string[];
  readonly steps?: readonly StepStatus[];
  readonly timeline?: readonly TimelineEntry[];
  /** What was omitted or shortened to fit the sink. */
  readonly omitted?: readonly string[];
}

/** What a run proves, and a watch observes: whether the kubelet answers and its Node is this machine's and Ready. */
export type ReportCondition = Omit<Condition, 'type'> & {
  readonly type: Condition['type'] | 'machineadm.dev/NodeHealthy';
};

/** The event for remote sinks, from a run's local event. */
export function reportEvent(event: RunEvent, sequence: number, at: Moment): ReportEvent {
  const { status } = event;
  return redactDeep({
    apiVersion: 'machineadm.dev/event/v1' as const,
    kind: 'BootstrapEvent' as const,
    id: `${status.runId}.${sequence}`,
    type: typeOf(event),
    runId: status.runId,
    sequence,
    time: new Date(at.time).toISOString(),
    sinceBootMs: Math.round(at.sinceBootMs),
    command: status.command,
    agent: status.agent,
    machine: status.machine,
    host: status.host,
    document: { sha256: status.document.sha256 },
    attempt: status.attempt,
    phase: status.phase,
    message: formatEvent(event) ?? (event.kind === 'step' ? `${event.step.id}: ${event.step.state.toLowerCase()}` : ''),
    conditions: status.conditions,
    ...(event.kind === 'step' ? { step: event.step } : {}),
    ...(event.kind === 'waiting' ? { waitingFor: event.waitingFor } : {}),
    ...(status.probableCause === undefined ? {} : { probableCause: status.probableCause }),
    ...(event.kind === 'concluded' ? conclusionOf(status) : {}),
  });
}

function conclusionOf(status: RunStatus): Partial<ReportEvent> {
  const { outcome, exitCode, failure, warnings, steps, timeline } = status;
  return {
    ...(outcome === undefined ? {} : { outcome }),
    ...(exitCode === undefined ? {} : { exitCode }),
    ...(failure === undefined ? {} : { failure }),
    warnings,
    steps,
    timeline,
  };
}

function typeOf(event: RunEvent): EventType {
  return event.kind === 'step' ? 'stepChanged' : event.kind;
}

/** Size classes, in bytes of the event as JSON in UTF-8. `full` has no limit of its own. */
export const SIZE_CLASSES = { full: Number.POSITIVE_INFINITY, large: 64 * 1024, small: 4 * 1024 } as const;

/**
 * Shortens the event until its JSON has at most `bytes` bytes: first details (timeline, changes of steps), then long
 * parts (evidence, messages), never the outcome and the reason. Below about 1 KiB nothing more can be omitted, and it
 * may stay larger.
 */
export function truncateEvent(event: ReportEvent, bytes: number): ReportEvent {
  let smaller = event;
  for (const [what, leaveOut] of REDUCTIONS) {
    if (sizeOf(smaller) <= bytes) return smaller;
    const reduced = leaveOut(smaller);
    if (sizeOf(reduced) < sizeOf(smaller))
      smaller = { ...reduced, omitted: [...new Set([...(smaller.omitted ?? []), what])] };
  }
  return smaller;
}

/** The parts to omit, in this order, with their names in `omitted`. */
const REDUCTIONS: readonly (readonly [string, (event: ReportEvent) => ReportEvent])[] = [
  ['timeline', ({ timeline: _, ...rest }) => rest],
  ['steps.changes', (event) => withSteps(event, (step) => ({ ...step, changes: [] }))],
  ['warnings', ({ warnings, ...rest }) => ({ ...rest, warnings: warnings?.slice(0, 5).map(to(200)) ?? [] })],
  ['steps', ({ steps: _, ...rest }) => rest],
  ['failure.evidence', (event) => withFailure(event, (failure) => ({ ...failure, evidence: shortEvidence(failure) }))],
  ['conditions.message', (event) => withMessages(event, 200)],
  ['warnings', ({ warnings: _, ...rest }) => rest],
  ['failure.evidence', (event) => withFailure(event, (failure) => ({ ...failure, evidence: [] }))],
  ['probableCause', ({ probableCause: _, ...rest }) => rest],
  ['failure.causes', (event) => withFailure(event, ({ causes: _, ...failure }) => failure)],
  ['message', (event) => withMessages(withTexts(event, 300), 60)],
  ['message', (event) => withMessages(withTexts(event, 80), 0)],
];

function withTexts(event: ReportEvent, length: number): ReportEvent {
  const cut = to(length);
  const { waitingFor, step, ...rest } = event;
  return withFailure(
    {
      ...rest,
      message: cut(event.message),
      ...(waitingFor === undefined ? {} : { waitingFor: cut(waitingFor) }),
      ...(step === undefined ? {} : { step: { ...step, changes: step.changes.slice(0, 5).map(cut) } }),
    },
    (failure) => ({ ...failure, summary: cut(failure.summary), remedy: cut(failure.remedy) }),
  );
}

function withMessages(event: ReportEvent, length: number): ReportEvent {
  const conditions = event.conditions.map((condition) => ({ ...condition, message: to(length)(condition.message) }));
  return { ...event, conditions };
}

function withFailure(event: ReportEvent, change: (failure: Failure) => Failure): ReportEvent {
  return event.failure === undefined ? event : { ...event, failure: change(event.failure) };
}

function withSteps(event: ReportEvent, change: (step: StepStatus) => StepStatus): ReportEvent {
  return event.steps === undefined ? event : { ...event, steps: event.steps.map(change) };
}

function shortEvidence({ evidence }: Failure): Failure['evidence'] {
  return evidence.slice(-3).map(({ source, text }) => ({ source: to(100)(source), text: to(300)(text) }));
}

function to(length: number): (text: string) => string {
  // By code points: half of a surrogate pair is not valid UTF-8.
  return (text) => (text.length <= length ? text : `${[...text.slice(0, length)].slice(0, -1).join('')}…`);
}

/** Bytes of the event as JSON in UTF-8. */
export function sizeOf(event: ReportEvent): number {
  return Buffer.byteLength(JSON.stringify(event));
}

/** The event as one line of at most `length` characters, for sinks that take no more. */
export function eventLine(event: ReportEvent, length: number): string {
  const test = event.test === true ? 'TEST ' : '';
  const why = event.failure === undefined ? '' : ` [${event.failure.reason}]`;
  return to(length)(
    `${test}${event.message.replace(/\s+/g, ' ')}${event.message.includes(why.slice(2, -1)) ? '' : why}`,
  );
}
