import { omitUndefined } from '@machineadm/document/values/defined.ts';
import type { ReportEvent } from '@machineadm/status/event.ts';

/**
 * Attributes that subscriptions can filter by without reading the event: SNS, SQS and Pub/Sub have them beside the
 * message.
 */
export function attributesOf(event: ReportEvent): Readonly<Record<string, string>> {
  return {
    id: event.id,
    type: event.type,
    machine: event.machine.name,
    ...omitUndefined({ cluster: event.machine.cluster, outcome: event.outcome }),
    ...(event.failure === undefined ? {} : { reason: event.failure.reason }),
  };
}
