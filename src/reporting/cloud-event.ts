import type { ReportEvent } from './event.ts';

/** CloudEvents 1.0, structured mode. */
export interface CloudEvent {
  readonly specversion: '1.0';
  readonly id: string;
  readonly source: string;
  readonly type: string;
  readonly subject: string;
  readonly time: string;
  readonly datacontenttype: 'application/json';
  readonly data: ReportEvent;
}

/** An event in the envelope of CloudEvents. `source` and `id` together name it for ever. */
export function cloudEvent(event: ReportEvent): CloudEvent {
  const { machine } = event;
  const parts = [machine.namespace, machine.cluster, machine.name].filter((part) => part !== undefined);
  return {
    specversion: '1.0',
    id: event.id,
    source: `/machineadm/${parts.map(encodeURIComponent).join('/')}`,
    type: `dev.machineadm.bootstrap.${event.type}.v1`,
    subject: machine.name,
    time: event.time,
    datacontenttype: 'application/json',
    data: event,
  };
}
