import { redact, redactDeep } from '@machineadm/document/redaction.ts';
import { reportEvent } from './event.ts';
import type { Outbox } from './outbox.ts';
import {
  type AttemptEnd,
  advance,
  begin,
  type Conclusion,
  type Moment,
  type RunIdentity,
  type RunSubject,
  type StepEnd,
  type Transition,
} from './run-state.ts';
import type { Sink } from './sink.ts';
import { SinkQueue } from './sink-queue.ts';
import type { Phase, RunEvent, RunStatus, TimelineEntry } from './status.ts';
import { STATUS_PATHS, type StatusPaths, StatusWriter, type StatusWriterOptions } from './status-writer.ts';

/**
 * What a run tells about itself. Every method but `conclude` and `close` returns at once and never throws: nothing
 * that listens can delay or fail the run.
 */
export interface Reporter {
  /** The status document as it is now. */
  readonly status: RunStatus;
  /** Whose run it is; known once the document is loaded. */
  identify(subject: RunSubject): void;
  /** Opens the sinks of the document; each is told `started`, and then what happens from now on. */
  useSinks(sinks: readonly Sink[], deadlineMs: number): void;
  /** Takes what remote sinks are told: `started` now, and then what happens. */
  useOutbox(outbox: Outbox): void;
  /** What happened before this process existed. */
  timeline(entries: readonly TimelineEntry[]): void;
  phase(phase: Phase): void;
  /** The node works, as this run has proved: no later word of this run takes that back. */
  bootstrapped(): void;
  /** The steps that will run, in order: shown as pending. */
  planned(steps: readonly string[]): void;
  stepStarted(step: string): void;
  stepDone(step: string, end: StepEnd): void;
  waitingFor(step: string, what: string | undefined): void;
  warn(message: string): void;
  /** An attempt to bootstrap failed, and another follows. */
  attemptFailed(attempt: AttemptEnd): void;
  /** Ends the run: resolves when the status file says so, or could not be written. Never throws. */
  conclude(conclusion: Conclusion): Promise<void>;
  /** Gives all sinks together a moment, and the outbox to hand over; then lets go of them. Never throws. */
  close(): Promise<void>;
}

export interface ReporterOptions {
  readonly identity: RunIdentity;
  readonly host: StatusWriterOptions['host'];
  readonly paths?: StatusPaths;
  /** Told every event at once. */
  readonly onEvent?: (event: RunEvent) => void;
  /** Told every event that is to be shown, once: for the progress on a terminal. */
  readonly onShown?: (event: RunEvent) => void;
  /** True where what is shown goes to the journal: then what the sink of the journal takes is not shown as well. */
  readonly shownInJournal?: boolean;
  readonly clock?: () => Moment;
  /** What opening a sink, and each delivery to it, may take. Default 2 s. */
  readonly deliveryMs?: number;
}

const DEFAULT_DELIVERY_MS = 2_000;
/**
 * What the sinks of this machine may cost after the conclusion, and the outbox beside them: whoever waits for the run is
 * not kept longer, whatever a console does. The document's deadline is the deliverer's, but it may ask for less.
 */
const CLOSING_MS = 900;

/**
 * Opens reporting before anything else is known, so that a document that cannot be loaded is reported as well. The
 * status file is written before this returns, as far as it can be.
 */
export async function openReporter(options: ReporterOptions): Promise<Reporter> {
  const reporter = new RunReporter(options);
  await reporter.begin();
  return reporter;
}

/** Now; the clock since boot is the one systemd uses, too (uv_hrtime is CLOCK_MONOTONIC). */
export function systemClock(): Moment {
  return { time: Date.now(), sinceBootMs: Number(process.hrtime.bigint() / 1_000_000n) };
}

class RunReporter implements Reporter {
  readonly #options: ReporterOptions;
  readonly #clock: () => Moment;
  readonly #writer: StatusWriter;
  readonly #sinks: SinkQueue[] = [];
  #deadlineMs = CLOSING_MS;
  #outbox: Outbox | undefined;
  #sequence = 0;
  #status: RunStatus;
  /** The start of the run while it is not shown yet: whether the journal gets it is known with the sinks. */
  #unshown: RunEvent | undefined;

  constructor(options: ReporterOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#writer = new StatusWriter({
      host: options.host,
      paths: options.paths ?? STATUS_PATHS,
      onTrouble: (message) => this.warn(message),
    });
    this.#status = redactDeep(begin(options.identity, this.#clock()));
  }

  get status(): RunStatus {
    return this.#status;
  }

  async begin(): Promise<void> {
    this.#publish({ kind: 'started', status: this.#status });
    await this.#writer.settled();
  }

  identify(subject: RunSubject): void {
    this.#advance({ kind: 'identified', subject });
  }

  useSinks(sinks: readonly Sink[], deadlineMs: number): void {
    this.#deadlineMs = Math.min(deadlineMs, CLOSING_MS);
    for (const sink of sinks) {
      const queue = new SinkQueue({
        sink,
        deliveryMs: this.#options.deliveryMs ?? DEFAULT_DELIVERY_MS,
        onTrouble: (message) => this.#warn(message, queue),
        ...(sink.name === this.#journal ? { onLost: (event) => this.#callShown(event) } : {}),
      });
      this.#sinks.push(queue);
      queue.push({ kind: 'started', status: this.#status });
      if (sink.name === this.#journal) this.#unshown = undefined;
    }
  }

  useOutbox(outbox: Outbox): void {
    this.#outbox = outbox;
    this.#post({ kind: 'started', status: this.#status });
  }

  timeline(entries: readonly TimelineEntry[]): void {
    this.#advance({ kind: 'timeline', entries });
  }

  phase(phase: Phase): void {
    this.#advance({ kind: 'phase', phase });
  }

  bootstrapped(): void {
    this.#advance({ kind: 'bootstrapped' });
  }

  planned(steps: readonly string[]): void {
    this.#advance({ kind: 'planned', steps });
  }

  stepStarted(step: string): void {
    this.#advance({ kind: 'stepStarted', step });
    this.#stepEvent(step);
  }

  stepDone(step: string, end: StepEnd): void {
    this.#advance({ kind: 'stepDone', step, end });
    this.#stepEvent(step);
  }

  waitingFor(step: string, what: string | undefined): void {
    const text = what === undefined ? undefined : redact(what);
    if (this.#status.waitingFor === text) return;
    this.#advance({ kind: 'waiting', step, waitingFor: text });
    if (text !== undefined) this.#tell({ kind: 'waiting', step, waitingFor: text, status: this.#status });
  }

  warn(message: string): void {
    this.#warn(message, undefined);
  }

  attemptFailed(attempt: AttemptEnd): void {
    this.#advance({ kind: 'attemptFailed', attempt });
  }

  async conclude(conclusion: Conclusion): Promise<void> {
    this.#advance({ kind: 'concluded', conclusion });
    // The local truth comes first: what a sink tells must be found in the status file (architecture 7).
    await this.#writer.durable();
    this.#tell({ kind: 'concluded', status: this.#status });
  }

  async close(): Promise<void> {
    await Promise.all([
      ...this.#sinks.map((queue) => queue.close(this.#deadlineMs)),
      this.#outbox?.close(CLOSING_MS) ?? Promise.resolve(),
    ]);
    await this.#writer.settled();
  }

  #warn(message: string, source: SinkQueue | undefined): void {
    const text = redact(message);
    if (this.#status.warnings.includes(text)) return;
    this.#advance({ kind: 'warning', message: text });
    this.#tell({ kind: 'warning', message: text, status: this.#status }, source);
  }

  /** The sink whose entries stand beside what is shown; undefined where that goes elsewhere. */
  get #journal(): 'Journal' | undefined {
    return this.#options.shownInJournal === true ? 'Journal' : undefined;
  }

  #show(event: RunEvent, except: SinkQueue | undefined): void {
    const held = this.#unshown;
    this.#unshown = event.kind === 'started' && this.#journal !== undefined ? event : undefined;
    if (held !== undefined) this.#callShown(held);
    const isTaken = this.#sinks.some((queue) => queue.name === this.#journal && queue.usable && queue !== except);
    if (this.#unshown === undefined && !isTaken) this.#callShown(event);
  }

  #callShown(event: RunEvent): void {
    try {
      this.#options.onShown?.(event);
    } catch {
      // As of `onEvent`.
    }
  }

  #stepEvent(id: string): void {
    const step = this.#status.steps.find((other) => other.id === id);
    if (step !== undefined) this.#tell({ kind: 'step', step, status: this.#status });
  }

  #advance(transition: Transition): void {
    this.#status = redactDeep(advance(this.#status, transition, this.#clock()));
    this.#writer.write(this.#status);
  }

  #publish(event: RunEvent): void {
    this.#writer.write(this.#status);
    this.#tell(event);
  }

  #post(event: RunEvent): void {
    this.#sequence += 1;
    this.#outbox?.push(reportEvent(event, this.#sequence, this.#clock()));
  }

  #tell(event: RunEvent, except?: SinkQueue): void {
    for (const queue of this.#sinks) if (queue !== except) queue.push(event);
    this.#post(event);
    this.#show(event, except);
    try {
      this.#options.onEvent?.(event);
    } catch {
      // Who watches the progress must not end what it watches; its own errors are its own.
    }
  }
}
