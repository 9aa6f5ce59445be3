import { RedactedParts, redact, redactDeep } from '@machineadm/document/redaction/process-redactor.ts';
import { formatHandover } from '@machineadm/status/conditions.ts';
import { reportEvent } from '@machineadm/status/event.ts';
import {
  type AttemptEnd,
  advance,
  begin,
  type Conclusion,
  type Moment,
  type RunIdentity,
  type RunSubject,
  type SeenCause,
  type StepEnd,
  type Transition,
} from '@machineadm/status/run-state.ts';
import type { NodeHandover, Phase, RunEvent, RunStatus, TimelineEntry } from '@machineadm/status/status.ts';
import type { Outbox } from './outbox.ts';
import type { Sink } from './sink.ts';
import { SinkQueue } from './sink-queue.ts';
import { STATUS_PATHS, type StatusPaths, StatusWriter, type StatusWriterOptions } from './status-writer.ts';

/**
 * The reporter of a run. Every method except `conclude` and `close` returns at once and never throws: sinks can neither
 * delay nor fail the run.
 */
export interface Reporter {
  /** The current status document. */
  readonly status: RunStatus;
  /** The machine's identity; known once the document is loaded. */
  identify(subject: RunSubject): void;
  /** Opens the sinks of the document; each gets `started`, and then all further events. */
  useSinks(sinks: readonly Sink[], deadlineMs: number): void;
  /** Attaches the outbox for remote sinks: it gets `started`, and then all further events. */
  useOutbox(outbox: Outbox): void;
  /** Spans before this process. */
  timeline(entries: readonly TimelineEntry[]): void;
  phase(phase: Phase): void;
  /** This run has proved that the node works; later failures of this run do not change that. */
  bootstrapped(): void;
  /** The steps of the run, in order: shown as pending. */
  planned(steps: readonly string[]): void;
  /** The addresses that the document's choice led to. */
  nodeAddresses(addresses: readonly string[]): void;
  /** What only the management side may set on the Node; without commands if it is all there. */
  handover(handover: NodeHandover): void;
  stepStarted(step: string): void;
  stepDone(step: string, end: StepEnd): void;
  /** @param cause why it is probably waited for in vain */
  waitingFor(step: string, what: string | undefined, cause?: SeenCause): void;
  warn(message: string): void;
  /** An attempt to bootstrap failed, and another follows. */
  attemptFailed(attempt: AttemptEnd): void;
  /** Ends the run: resolves when the status file is written, or could not be. Never throws. */
  conclude(conclusion: Conclusion): Promise<void>;
  /** Gives all sinks a moment, and the outbox time to hand over, then closes them. Never throws. */
  close(): Promise<void>;
}

export interface ReporterOptions {
  readonly identity: RunIdentity;
  readonly host: StatusWriterOptions['host'];
  readonly paths?: StatusPaths;
  /** Called for every event at once. */
  readonly onEvent?: (event: RunEvent) => void;
  /** Called once for every event to display: for the progress on a terminal. */
  readonly onShown?: (event: RunEvent) => void;
  /** True where the display goes to the journal: events of the journal sink are then not displayed as well. */
  readonly shownInJournal?: boolean;
  readonly clock?: () => Moment;
  /** Time limit for opening a sink, and for each delivery to it. Default 2 s. */
  readonly deliveryMs?: number;
}

const DEFAULT_DELIVERY_MS = 2_000;
/**
 * Time limit for the sinks of this machine and the outbox after the conclusion, so that a blocked console does not keep
 * the caller waiting. The document's deadline is for the deliverer, but it may be shorter.
 */
const CLOSING_MS = 900;

/**
 * Starts reporting before anything else is known, so that a document that cannot be loaded is also reported. The status
 * file is written before this returns, if possible.
 */
export async function openReporter(options: ReporterOptions): Promise<Reporter> {
  const reporter = new RunReporter(options);
  await reporter.begin();
  return reporter;
}

/** Now; the clock since boot is also systemd's (uv_hrtime is CLOCK_MONOTONIC). */
export function systemClock(): Moment {
  return { time: Date.now(), sinceBootMs: Number(process.hrtime.bigint() / 1_000_000n) };
}

class RunReporter implements Reporter {
  readonly #options: ReporterOptions;
  readonly #clock: () => Moment;
  readonly #writer: StatusWriter;
  readonly #redacted = new RedactedParts();
  readonly #sinks: SinkQueue[] = [];
  #deadlineMs = CLOSING_MS;
  #outbox: Outbox | undefined;
  #sequence = 0;
  #status: RunStatus;
  #isStartTold = false;
  /** The start event, until it is known whether a journal sink gets it. */
  #unshown: RunEvent | undefined;

  constructor(options: ReporterOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#writer = new StatusWriter({
      host: options.host,
      paths: options.paths ?? STATUS_PATHS,
      onTrouble: (message) => this.warn(message),
    });
    this.#status = this.#redacted.redact(begin(options.identity, this.#clock()));
  }

  get status(): RunStatus {
    return this.#status;
  }

  async begin(): Promise<void> {
    this.#writer.write(this.#status);
    await this.#writer.settled();
  }

  identify(subject: RunSubject): void {
    this.#advance({ kind: 'identified', subject });
    this.#tellStart();
  }

  useSinks(sinks: readonly Sink[], deadlineMs: number): void {
    this.#tellStart();
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
    this.#tellStart();
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

  nodeAddresses(addresses: readonly string[]): void {
    this.#advance({ kind: 'nodeAddresses', addresses });
  }

  handover(handover: NodeHandover): void {
    this.#advance({ kind: 'handover', handover });
    for (const message of formatHandover(handover)) this.warn(message);
  }

  stepStarted(step: string): void {
    this.#advance({ kind: 'stepStarted', step });
    this.#stepEvent(step);
  }

  stepDone(step: string, end: StepEnd): void {
    this.#advance({ kind: 'stepDone', step, end });
    this.#stepEvent(step);
  }

  waitingFor(step: string, what: string | undefined, cause?: SeenCause): void {
    const text = what === undefined ? undefined : redact(what);
    if (this.#status.waitingFor === text) return;
    this.#advance({ kind: 'waiting', step, waitingFor: text, cause: cause && redactDeep(cause) });
    if (text === undefined) return;
    // Sinks that get warnings only must know it, too. It is none of the run's warnings: it may pass.
    if (cause === undefined) this.#tell({ kind: 'waiting', step, waitingFor: text, status: this.#status });
    else this.#tell({ kind: 'warning', message: `waiting for ${text}`, status: this.#status });
  }

  warn(message: string): void {
    this.#warn(message, undefined);
  }

  attemptFailed(attempt: AttemptEnd): void {
    this.#advance({ kind: 'attemptFailed', attempt });
  }

  async conclude(conclusion: Conclusion): Promise<void> {
    this.#advance({ kind: 'concluded', conclusion });
    // The status file comes first: it must contain everything that a sink reports (architecture 7).
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

  /** The sink that writes to the same journal as the display; undefined where the display goes elsewhere. */
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
      // As `onEvent`.
    }
  }

  #stepEvent(id: string): void {
    const step = this.#status.steps.find((other) => other.id === id);
    if (step !== undefined) this.#tell({ kind: 'step', step, status: this.#status });
  }

  #advance(transition: Transition): void {
    this.#status = this.#redacted.redact(advance(this.#status, transition, this.#clock()));
    this.#writer.write(this.#status);
  }

  /** Once the document has given the machine its name, or with the first event where it could not be loaded. */
  #tellStart(): void {
    if (this.#isStartTold) return;
    this.#isStartTold = true;
    this.#tell({ kind: 'started', status: this.#status });
  }

  #post(event: RunEvent): void {
    this.#sequence += 1;
    this.#outbox?.push(reportEvent(event, this.#sequence, this.#clock()));
  }

  #tell(event: RunEvent, except?: SinkQueue): void {
    this.#tellStart();
    for (const queue of this.#sinks) if (queue !== except) queue.push(event);
    this.#post(event);
    this.#show(event, except);
    try {
      this.#options.onEvent?.(event);
    } catch {
      // An error of a progress display must not end the run.
    }
  }
}
