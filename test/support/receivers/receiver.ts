import type { ReportEvent } from '@machineadm/status/event.ts';
import { againstContract } from '../event-contract.ts';

/** What a receiver took, in the order in which it took it: each time, also the same again. */
export interface Received {
  readonly id: string;
  readonly event: ReportEvent;
}

/** Every byte that reached a receiver, taken or not, to look for secrets in: headers and bodies. */
export interface Receiver extends AsyncDisposable {
  readonly port: number;
  readonly received: readonly Received[];
  readonly seen: () => string;
}

/** The event in what a receiver took. Throws where it is none: a receiver of a test takes nothing else. */
export function eventIn(text: string): ReportEvent {
  const event: ReportEvent = JSON.parse(text);
  const wrong = againstContract(event);
  if (wrong !== undefined) throw new TypeError(`not an event: ${wrong}: ${text.slice(0, 200)}`);
  return event;
}
