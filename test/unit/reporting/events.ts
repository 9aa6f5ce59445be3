import { type ReportEvent, reportEvent } from '@machineadm/status/event.ts';
import { at, statusAfter } from './runs.ts';

/** An event of a run that began, with these fields in place of its own. */
export function reported(fields: Partial<ReportEvent> = {}): ReportEvent {
  const event = { ...reportEvent({ kind: 'started', status: statusAfter() }, 1, at(1)), ...fields };
  return { ...event, id: fields.id ?? `${event.runId}.${event.sequence}` };
}
