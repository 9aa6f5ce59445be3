import { setTimeout as sleep } from 'node:timers/promises';
import { redact } from '@machineadm/document/redaction/process-redactor.ts';
import { oneLine } from '@machineadm/document/text/printable.ts';
import type { ReportEvent } from '@machineadm/status/event.ts';
import { pauseMs } from '../delivery/pause.ts';
import { attempt, type SinkDelivery } from '../delivery/sink-delivery.ts';

export interface LatestDeliveryOptions extends Pick<SinkDelivery, 'sink' | 'timeoutMs' | 'context' | 'signal'> {
  readonly name: string;
  readonly random?: () => number;
  /** Called when deliveries begin to fail for a different cause, and when they succeed again. */
  readonly onNews: (message: string) => void;
}

/**
 * Keeps one sink up to date: of events offered during an outage it gets only the last, because older states are
 * obsolete. It pauses between attempts like every sender here.
 */
export class LatestDelivery {
  readonly #options: LatestDeliveryOptions;
  #next: ReportEvent | undefined;
  #working: Promise<void> | undefined;
  #trouble: string | undefined;

  constructor(options: LatestDeliveryOptions) {
    this.#options = options;
  }

  /** Returns at once. */
  offer(event: ReportEvent): void {
    this.#next = event;
    this.#working ??= this.#work();
  }

  /** Resolves when the sink has the last event, or the signal is aborted. Never throws. */
  async idle(): Promise<void> {
    await this.#working;
  }

  async #work(): Promise<void> {
    const { timeoutMs, signal, random = Math.random } = this.#options;
    let failures = 0;
    for (let event = this.#take(); event !== undefined; event = this.#take()) {
      const result = await attempt(event, this.#options, timeoutMs);
      if (signal.aborted) break;
      if (result.kind === 'delivered') this.#tell(undefined);
      else this.#tell(result.kind === 'refused' ? `it was refused permanently: ${result.why}` : result.why);
      failures = result.kind === 'retry' ? failures + 1 : 0;
      if (result.kind !== 'retry') continue;
      this.#next ??= event;
      await sleep(pauseMs(failures, result.afterMs, random), undefined, { signal }).catch(() => undefined);
      if (signal.aborted) break;
    }
    this.#working = undefined;
  }

  #take(): ReportEvent | undefined {
    const event = this.#next;
    this.#next = undefined;
    return event;
  }

  #tell(trouble: string | undefined): void {
    const { name, sink, onNews } = this.#options;
    if (trouble === this.#trouble) return;
    this.#trouble = trouble;
    const what =
      trouble === undefined
        ? 'receives reports again'
        : `did not accept the state of the node: ${oneLine(redact(trouble))}`;
    onNews(`sink ${name} (${sink.target}) ${what}`);
  }
}
