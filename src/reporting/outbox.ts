import type { RemoteSinkModel } from '@machineadm/document/model/index.ts';
import { errorMessage } from '@machineadm/document/outcomes/errors.ts';
import type { SecretValue } from '@machineadm/document/secrets/secret.ts';
import type { ReportEvent } from '@machineadm/status/event.ts';
import type { Host } from '../host/seam/host.ts';
import { withTimeout } from '../host/time/timeout.ts';
import { type SinkPlan, STAGED_SECRETS, serializePlan } from './spool/serialized-plan.ts';
import type { Spool } from './spool/spool.ts';

export interface OutboxOptions {
  readonly plans: readonly SinkPlan[];
  readonly spool: Spool;
  readonly host: Pick<Host, 'writeFile' | 'makeDirectory' | 'secret'>;
  /** Starts the deliverer, a separate process. */
  readonly startDeliverer: (last: boolean) => Promise<void>;
  /** Called once for each kind of problem, with a message for the operator. */
  readonly onTrouble: (message: string) => void;
  /** Where the values of secrets in plans are staged. */
  readonly carriedDirectory?: string;
}

/** Pause between two starts of the deliverer during a run: each is a program start. */
const START_EVERY_MS = 5_000;
/** On a busy machine, too, a run ends a few seconds after its conclusion. */
const STARTING_MS = 2_000;

/**
 * The run's side of remote reporting: spools events and starts deliveries. `push` returns at once and nothing here
 * throws: an event that cannot be spooled is reported through the sinks of this machine.
 */
export class Outbox {
  readonly #options: OutboxOptions;
  readonly #told = new Set<string>();
  #working: Promise<void>;
  #timer: NodeJS.Timeout | undefined;
  #startedMs = Number.NEGATIVE_INFINITY;

  constructor(options: OutboxOptions) {
    this.#options = options;
    this.#working = this.#guard('its sinks could not be noted', () => this.#begin());
  }

  push(event: ReportEvent): void {
    const sinks = this.#options.plans.filter(({ model }) => model.events.includes(event.type));
    if (sinks.length === 0) return;
    this.#working = this.#working.then(async () => {
      for (const { model } of sinks) await this.#spool(model, event);
      if (event.type !== 'concluded') this.#startSoon();
    });
  }

  /**
   * Starts the last deliverer once everything is spooled, and flushes the spool to the disk, for which a busy disk gets
   * `ms`. Never throws.
   */
  async close(ms: number): Promise<void> {
    clearTimeout(this.#timer);
    if (this.#options.plans.length === 0) return;
    const { spool, startDeliverer } = this.#options;
    await this.#guard('not all events were spooled in time', () => withTimeout(STARTING_MS, () => this.#working));
    // The deliverer needs the files, not the disk: one that is not started leaves them to the timer, minutes later.
    await Promise.all([
      this.#guard('the deliverer was not started in time', () => withTimeout(STARTING_MS, () => startDeliverer(true))),
      withTimeout(ms, () => spool.sync()).catch(() => undefined),
    ]);
  }

  async #begin(): Promise<void> {
    for (const plan of this.#options.plans) {
      const { text, carried } = serializePlan(plan, this.#options.carriedDirectory);
      for (const [path, secret] of carried) await this.#carry(path, secret);
      await this.#options.spool.putPlan(plan.model.name, text);
    }
  }

  /** In memory, for root only. One newline follows, which reading a secret removes. */
  async #carry(path: string, value: SecretValue): Promise<void> {
    await this.#guard(`the secret ${value.name} cannot be had`, async () => {
      const { host, carriedDirectory = STAGED_SECRETS } = this.#options;
      const secret = await host.secret(value);
      await host.makeDirectory(carriedDirectory, 0o700);
      await host.writeFile({ path, content: `${secret.reveal()}\n`, mode: 0o600 });
    });
  }

  async #spool({ name }: RemoteSinkModel, event: ReportEvent): Promise<void> {
    await this.#guard(`sink ${name}: an event could not be spooled`, async () => {
      const lost = await this.#options.spool.add(name, event);
      if (lost > 0) this.#tell(`sink ${name}: the queue is full; its oldest events are dropped`);
    });
  }

  /** At once the first time, then at most every few seconds. */
  #startSoon(): void {
    if (this.#timer !== undefined) return;
    const wait = Math.max(0, this.#startedMs + START_EVERY_MS - performance.now());
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#startedMs = performance.now();
      void this.#guard('the deliverer could not be started', () => this.#options.startDeliverer(false));
    }, wait);
    this.#timer.unref();
  }

  async #guard(what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#tell(`${what}: ${errorMessage(error)}`);
    }
  }

  #tell(message: string): void {
    if (this.#told.has(message)) return;
    this.#told.add(message);
    this.#options.onTrouble(message);
  }
}
