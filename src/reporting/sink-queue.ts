import { errorMessage } from '@machineadm/document/outcomes/errors.ts';
import type { RunEvent } from '@machineadm/status/status.ts';
import { TimedOut, withTimeout } from '../host/time/timeout.ts';
import type { Sink } from './sink.ts';

export interface SinkQueueOptions {
  readonly sink: Sink;
  /** Time limit for opening, and for each delivery, in milliseconds. */
  readonly deliveryMs: number;
  /** Called once for each kind of problem, with a message for the operator. */
  readonly onTrouble: (message: string) => void;
  /** Called for each event that the sink did not take. */
  readonly onLost?: (event: RunEvent) => void;
}

/**
 * Above this number, progress events that a slow sink has not taken are dropped; warnings and the conclusion never are.
 */
const MOST_WAITING = 200;
/** After this many consecutive failures only the conclusion is tried, so that it does not have to wait. */
const MOST_FAILURES = 3;

/**
 * Decouples a run from one sink: `push` returns at once, deliveries follow in the order of the events. A sink's problem
 * is only a warning for the run.
 */
export class SinkQueue {
  readonly #options: SinkQueueOptions;
  readonly #waiting: RunEvent[] = [];
  readonly #told = new Set<string>();
  /** Aborted when the queue is closed: the sink must not keep the process alive. */
  readonly #givenUp = new AbortController();
  #working: Promise<void>;
  #idle = false;
  #usable = true;
  #failures = 0;

  constructor(options: SinkQueueOptions) {
    this.#options = options;
    this.#working = this.#start();
  }

  get name(): string {
    return this.#options.sink.name;
  }

  /** Whether it takes events: each is either delivered or reported as lost. */
  get usable(): boolean {
    return this.#usable;
  }

  /** Adds an event. Never throws, never waits. */
  push(event: RunEvent): void {
    if (!this.#usable) return;
    this.#waiting.push(event);
    this.#makeRoom();
    if (this.#idle) this.#working = this.#work();
  }

  /** Waits until everything is delivered and closes the sink; gives up after `ms`. Never throws. */
  async close(ms: number): Promise<void> {
    try {
      const { closingMs = 0 } = this.#options.sink.patience ?? {};
      await withTimeout(Math.max(ms, closingMs), async (signal) => {
        await this.#working;
        if (this.#usable) await this.#options.sink.close(signal);
      });
    } catch (error) {
      const lost = this.#abandon();
      this.#tell(`could not be closed: ${reasonOf(error)}${lost > 0 ? `, ${lost} events were lost` : ''}`);
      this.#givenUp.abort(error);
    }
  }

  async #start(): Promise<void> {
    try {
      await this.#withTimeout((signal) => this.#options.sink.open(signal));
    } catch (error) {
      this.#abandon();
      this.#tell(`cannot be used: ${reasonOf(error)}`);
      return;
    }
    await this.#work();
  }

  async #work(): Promise<void> {
    this.#idle = false;
    for (let event = this.#waiting.shift(); event !== undefined; event = this.#waiting.shift()) {
      const current = event;
      if (this.#failures >= MOST_FAILURES && current.kind !== 'concluded') {
        this.#options.onLost?.(current);
        continue;
      }
      try {
        await this.#withTimeout((signal) => this.#options.sink.deliver(current, signal));
        this.#failures = 0;
      } catch (error) {
        this.#failures += 1;
        this.#tell(`did not take a report: ${reasonOf(error)}`);
        this.#options.onLost?.(current);
      }
    }
    this.#idle = true;
  }

  #withTimeout(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const { deliveryMs = 0 } = this.#options.sink.patience ?? {};
    return withTimeout(Math.max(this.#options.deliveryMs, deliveryMs), work, this.#givenUp.signal);
  }

  #makeRoom(): void {
    if (this.#waiting.length <= MOST_WAITING) return;
    const dropped = this.#waiting.findIndex((event) => event.kind === 'waiting' || event.kind === 'step');
    if (dropped >= 0) for (const event of this.#waiting.splice(dropped, 1)) this.#options.onLost?.(event);
  }

  /** Takes no more events; returns how many are lost. */
  #abandon(): number {
    this.#usable = false;
    const lost = this.#waiting.splice(0);
    for (const event of lost) this.#options.onLost?.(event);
    return lost.length;
  }

  #tell(trouble: string): void {
    if (this.#givenUp.signal.aborted || this.#told.has(trouble)) return;
    this.#told.add(trouble);
    this.#options.onTrouble(`sink ${this.name} ${trouble}`);
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof TimedOut) return error.message;
  return errorMessage(error);
}
