import { instant, listOf, number, object, oneOf, optional, string } from '@machineadm/document/values/shape.ts';
import type { ReportEvent } from './event.ts';
import type { RunStatus } from './status.ts';
import type { RunSummary } from './summary.ts';

const STEP = object({ id: string, state: string, changes: listOf(string), durationMs: optional(number) });
const CONDITION = { type: string, status: string, reason: string, message: string };
const FAILURE = object({
  reason: string,
  summary: string,
  remedy: string,
  evidence: listOf(object({ source: string, text: string })),
  step: optional(string),
  field: optional(string),
  position: optional(object({ file: string, line: number, column: number })),
  causes: optional(listOf(string)),
});

/** Types shared by status and event. */
const REPORT = {
  runId: string,
  command: string,
  phase: string,
  attempt: number,
  agent: object({ version: string }),
  machine: object({ name: string, namespace: optional(string), cluster: optional(string), uid: optional(string) }),
  host: object({ machineId: string, bootId: string, nodeAddresses: optional(listOf(string)) }),
  waitingFor: optional(string),
  outcome: optional(string),
  exitCode: optional(number),
  failure: optional(FAILURE),
};
const TIMELINE = listOf(object({ name: string, sinceBootMs: number, durationMs: number }));

const PROBABLE_CAUSE = object({
  reason: string,
  summary: string,
  remedy: string,
  evidence: listOf(object({ source: string, text: string })),
  since: instant,
});

const STATUS = object({
  ...REPORT,
  probableCause: optional(PROBABLE_CAUSE),
  document: object({
    sources: optional(listOf(string)),
    appliedAt: optional(string),
    apply: optional(oneOf('Once', 'EveryBoot')),
  }),
  step: optional(string),
  startedAt: instant,
  updatedAt: instant,
  process: object({ pid: number, startTicks: number }),
  steps: listOf(STEP),
  warnings: listOf(string),
  conditions: listOf(object({ ...CONDITION, lastTransitionTime: instant })),
  timeline: TIMELINE,
  failedAttempts: optional(listOf(object({ attempt: number, reason: string, summary: string }))),
  reports: optional(
    listOf(
      object({ sink: string, type: string, target: string, state: string, pending: number, message: optional(string) }),
    ),
  ),
});

const SUMMARY = object({
  runId: string,
  command: string,
  phase: string,
  startedAt: instant,
  updatedAt: instant,
  host: object({ bootId: string }),
  process: object({ pid: number, startTicks: number }),
  outcome: optional(string),
  exitCode: optional(number),
  reason: optional(string),
});

const EVENT = object({
  ...REPORT,
  apiVersion: oneOf('machineadm.dev/event/v1'),
  kind: oneOf('BootstrapEvent'),
  id: string,
  type: string,
  time: string,
  sinceBootMs: number,
  message: string,
  probableCause: optional(PROBABLE_CAUSE),
  conditions: listOf(object(CONDITION)),
  step: optional(STEP),
  warnings: optional(listOf(string)),
  steps: optional(listOf(STEP)),
  timeline: optional(TIMELINE),
  omitted: optional(listOf(string)),
});

export function isStatus(value: object): value is RunStatus {
  return STATUS(value);
}

export function isSummary(value: object): value is RunSummary {
  return SUMMARY(value);
}

export function isEvent(value: unknown): value is ReportEvent {
  return EVENT(value);
}
