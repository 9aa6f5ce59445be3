import { redactDeep } from '@machineadm/document/redaction/process-redactor.ts';
import { oneLine } from '@machineadm/document/text/printable.ts';
import type { ReportCondition, ReportEvent } from '@machineadm/status/event.ts';
import type { Moment } from '@machineadm/status/run-state.ts';

/** The watcher and its subject: the same in every event of a watch. */
export type WatchIdentity = Pick<ReportEvent, 'runId' | 'agent' | 'machine' | 'host' | 'document'>;

/** The event for a watch's current state of its node. */
export function watchEvent(
  identity: WatchIdentity,
  condition: ReportCondition,
  sequence: number,
  at: Moment,
): ReportEvent {
  return redactDeep({
    apiVersion: 'machineadm.dev/event/v1' as const,
    kind: 'BootstrapEvent' as const,
    id: `${identity.runId}.${sequence}`,
    type: 'readinessChanged' as const,
    sequence,
    time: new Date(at.time).toISOString(),
    sinceBootMs: Math.round(at.sinceBootMs),
    command: 'watch' as const,
    attempt: 1,
    phase: 'Concluded' as const,
    message: oneLine(`NodeHealthy is ${condition.status} (${condition.reason})${formatMessage(condition)}`),
    conditions: [condition],
    ...identity,
  });
}

function formatMessage({ message }: ReportCondition): string {
  return message === '' ? '' : `: ${message}`;
}
