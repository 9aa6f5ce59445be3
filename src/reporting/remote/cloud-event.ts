import type { ReportEvent } from '@machineadm/status/event.ts';

/** CloudEvents 1.0, JSON format, structured mode (cloudevents/spec json-format.md). */
export interface CloudEvent {
  readonly specversion: '1.0';
  /** Unique within `source`: receivers can recognise duplicates. */
  readonly id: string;
  readonly source: string;
  readonly type: string;
  readonly subject: string;
  readonly time: string;
  readonly datacontenttype: 'application/json';
  readonly dataschema: string;
  readonly data: ReportEvent;
}

export const CLOUD_EVENT_TYPE = 'application/cloudevents+json; charset=utf-8';

/** An event as a CloudEvent: `dev.machineadm.bootstrap.concluded` of `/machineadm/machines/NAMESPACE/NAME`. */
export function cloudEvent(event: ReportEvent): CloudEvent {
  const { namespace, name } = event.machine;
  const path = [namespace, name].filter((part) => part !== undefined).map(encodeURIComponent);
  return {
    specversion: '1.0',
    id: event.id,
    source: `/machineadm/machines/${path.join('/')}`,
    type: `dev.machineadm.bootstrap.${event.test === true ? 'test' : event.type}`,
    subject: name,
    time: event.time,
    datacontenttype: 'application/json',
    dataschema: 'https://machineadm.dev/schema/event.v1.json',
    data: event,
  };
}
