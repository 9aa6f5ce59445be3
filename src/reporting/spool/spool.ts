import { RUN_DIRECTORY, STATE_DIRECTORY } from '@machineadm/document/ownership/paths.ts';
import { isRecord } from '@machineadm/document/values/shape.ts';
import { type ReportEvent, truncateEvent } from '@machineadm/status/event.ts';
import { isEvent } from '@machineadm/status/shapes.ts';
import { checksummedJson, withChecksum, withoutChecksum } from '../../host/files/checksum.ts';
import type { Host } from '../../host/seam/host.ts';

/** Where events wait: on disk or, if that cannot be written, in memory. */
const SPOOL_ROOTS: readonly string[] = [`${STATE_DIRECTORY}/spool`, `${RUN_DIRECTORY}/spool`];

/** The limits of a sink's pending events. */
export const SPOOL_LIMITS = {
  events: 128,
  bytes: 2 * 1024 * 1024,
  eventBytes: 256 * 1024,
  ageMs: 7 * 24 * 3_600_000,
} as const;

export interface SinkState {
  /** Consecutive failed deliveries. */
  readonly failures: number;
  readonly lastError?: string;
  /** The total of events that the receiver refused permanently. */
  readonly refused: number;
  /** Events that will not be delivered: too many were pending, or they became too old. */
  readonly lost: number;
  /** Whether its problem was reported to the other sinks. */
  readonly told: boolean;
  /** The earlier counts were damaged on disk: more events may have been lost. */
  readonly unreadable?: true;
}

const FRESH_STATE: SinkState = { failures: 0, refused: 0, lost: 0, told: false };

export interface SpooledEvent {
  readonly path: string;
  readonly number: number;
  readonly id: string;
}

type SpoolHost = Pick<
  Host,
  'writeFile' | 'removeFile' | 'readFile' | 'readText' | 'list' | 'stat' | 'makeDirectory' | 'sync'
>;

/** The subdirectory for files that cannot be read or used. Only a reset removes them. */
const QUARANTINE = 'quarantine';

/** `name~000000007~run.4.json`; names and ids never contain `~`. */
const EVENT_NAME = /^([^~]+)~(\d{9})~([^~]+)\.json$/;
const PLAN_NAME = /^([^~]+)~sink\.json$/;

/**
 * Pending events: one file each, named so that sorting by name gives each sink's order, written by rename, 0600 in a
 * directory 0700. The run adds files and the deliverer removes them, without locking each other. They contain no secret
 * (`serializePlan`). Each file has a checksum; damaged ones are set aside and never deleted.
 */
export class Spool {
  readonly #host: SpoolHost;
  readonly #roots: readonly string[];

  constructor(host: SpoolHost, roots: readonly string[] = SPOOL_ROOTS) {
    this.#host = host;
    this.#roots = roots;
  }

  /** Stores how to reach a sink, for events that are already pending, too. Throws `FileError`. */
  async putPlan(sink: string, text: string): Promise<void> {
    await this.#put(`${sink}~sink.json`, `${withChecksum(text)}\n`);
  }

  /**
   * Adds an event for a sink after the pending ones. Above the limits the oldest are dropped, conclusions of runs last.
   * Throws `FileError` when no root can be written.
   * @returns how many events were dropped
   */
  async add(sink: string, event: ReportEvent): Promise<number> {
    const waiting = await this.waiting(sink);
    const number = (waiting.at(-1)?.number ?? 0) + 1;
    const name = `${sink}~${`${number}`.padStart(9, '0')}~${event.id}.json`;
    await this.#put(name, `${withChecksum(JSON.stringify(truncateEvent(event, SPOOL_LIMITS.eventBytes)))}\n`);
    const lost = await this.#makeRoom(sink);
    if (lost > 0) {
      const state = await this.state(sink);
      await this.putState(sink, { ...state, lost: state.lost + lost });
    }
    return lost;
  }

  /** Flushes added events to the disk. Best effort: they are written, but might be lost in a power cut. */
  async sync(): Promise<void> {
    for (const root of this.#roots) {
      if ((await this.#host.stat(root)) === undefined) continue;
      await this.#host.sync(root).catch(() => undefined);
      return;
    }
  }

  async plans(): Promise<ReadonlyMap<string, string>> {
    const plans = new Map<string, string>();
    // The copy in memory is the newer one: it was written when the disk could not be.
    for (const { name, path } of [...(await this.#files())].reverse()) {
      const sink = PLAN_NAME.exec(name)?.[1];
      if (sink === undefined || plans.has(sink)) continue;
      const text = withoutChecksum((await this.#host.readText(path)) ?? '')?.trimEnd();
      if (text === undefined) await this.#keep(path);
      else if (text !== '') plans.set(sink, text);
    }
    return plans;
  }

  /** The sinks with pending events, whether or not they have a plan. */
  async sinksWaitedFor(): Promise<ReadonlySet<string>> {
    return new Set((await this.#files()).flatMap(({ name }) => EVENT_NAME.exec(name)?.[1] ?? []));
  }

  /** The pending events of a sink, in order. */
  async waiting(sink: string): Promise<readonly SpooledEvent[]> {
    const found = (await this.#files()).flatMap(({ name, path }) => {
      const [, owner, number, id = ''] = EVENT_NAME.exec(name) ?? [];
      return owner === sink ? [{ path, number: Number(number), id }] : [];
    });
    return found.sort((a, b) => a.number - b.number || (a.id < b.id ? -1 : 1));
  }

  /** The event; undefined when it does not exist, or is damaged. */
  async read({ path }: SpooledEvent): Promise<ReportEvent | undefined> {
    const value = checksummedJson(await this.#host.readText(path));
    return isEvent(value) ? value : undefined;
  }

  async remove({ path }: SpooledEvent): Promise<void> {
    await this.#host.removeFile(path);
  }

  /** Removes an event from the pending ones, and keeps its bytes for inspection. */
  async setAside({ path }: SpooledEvent): Promise<void> {
    await this.#keep(path);
    await this.#host.removeFile(path);
  }

  /** Copies a damaged file before it is replaced. */
  async #keep(path: string): Promise<void> {
    const content = await this.#host.readFile(path);
    if (content === undefined) return;
    const at = path.lastIndexOf('/');
    const directory = `${path.slice(0, at)}/${QUARANTINE}`;
    await this.#host.makeDirectory(directory, 0o700);
    await this.#host.writeFile({ path: directory + path.slice(at), content, mode: 0o600 });
  }

  async state(sink: string): Promise<SinkState> {
    for (const root of [...this.#roots].reverse()) {
      const path = `${root}/${sink}~state.json`;
      const text = await this.#host.readText(path);
      if (text === undefined) continue;
      const state = parseState(text);
      if (state !== undefined) return state;
      await this.#keep(path);
      return { ...FRESH_STATE, unreadable: true };
    }
    return FRESH_STATE;
  }

  async putState(sink: string, state: SinkState): Promise<void> {
    await this.#put(`${sink}~state.json`, `${withChecksum(JSON.stringify(state))}\n`);
  }

  /** Removes a sink without pending events. */
  async forget(sink: string): Promise<void> {
    for (const root of this.#roots) {
      await this.#host.removeFile(`${root}/${sink}~sink.json`);
      await this.#host.removeFile(`${root}/${sink}~state.json`);
    }
  }

  async #put(name: string, content: string): Promise<void> {
    let failure: unknown;
    for (const root of this.#roots) {
      try {
        await this.#host.makeDirectory(root, 0o700);
        await this.#host.writeFile({ path: `${root}/${name}`, content, mode: 0o600 });
        // An older copy in another root would be read instead.
        for (const other of this.#roots) {
          if (other !== root) await this.#host.removeFile(`${other}/${name}`).catch(() => undefined);
        }
        return;
      } catch (error) {
        failure ??= error;
      }
    }
    throw failure;
  }

  async #makeRoom(sink: string): Promise<number> {
    const waiting = await this.waiting(sink);
    const found = await Promise.all(
      waiting.map(async (event) => ({ event, size: (await this.#host.stat(event.path))?.size ?? 0 })),
    );
    let count = found.length;
    let bytes = found.reduce((sum, { size }) => sum + size, 0);
    const isTooMuch = () => count > SPOOL_LIMITS.events || bytes > SPOOL_LIMITS.bytes;
    if (!isTooMuch()) return 0;
    const before = count;
    for (const { event, size } of await this.#leastWorthFirst(found)) {
      if (!isTooMuch()) break;
      await this.remove(event);
      count -= 1;
      bytes -= size;
    }
    return before - count;
  }

  async #leastWorthFirst<Found extends { readonly event: SpooledEvent }>(found: readonly Found[]): Promise<Found[]> {
    const judged = await Promise.all(
      found.map(async (one) => ({ one, concludes: (await this.read(one.event))?.type === 'concluded' })),
    );
    return judged.sort((a, b) => Number(a.concludes) - Number(b.concludes)).map(({ one }) => one);
  }

  async #files(): Promise<readonly { readonly name: string; readonly path: string }[]> {
    const found = await Promise.all(
      this.#roots.map(async (root) =>
        ((await this.#host.list(root)) ?? []).map((name) => ({ name, path: `${root}/${name}` })),
      ),
    );
    return found.flat();
  }
}

/** Whether an event is too old to be useful. False if its clock may have been wrong. */
export function isExpired(
  event: ReportEvent,
  now: { readonly time: number; readonly sinceBootMs: number },
  bootId: string,
): boolean {
  const age =
    event.host.bootId === bootId ? now.sinceBootMs - event.sinceBootMs : now.time - Math.max(Date.parse(event.time), 0);
  return age > SPOOL_LIMITS.ageMs && (event.host.bootId === bootId || Date.parse(event.time) > PLAUSIBLE_SINCE);
}

/** An earlier time means that the clock was not set: this program did not exist then. */
const PLAUSIBLE_SINCE = Date.parse('2025-01-01T00:00:00Z');

/** undefined: it is damaged or missing. */
function parseState(text: string): SinkState | undefined {
  const value = checksummedJson(text);
  if (!isRecord(value)) return undefined;
  const { failures, lastError, refused, lost, told, unreadable } = value;
  if (typeof failures !== 'number' || typeof refused !== 'number' || typeof lost !== 'number') return undefined;
  return {
    failures,
    refused,
    lost,
    told: told === true,
    ...(typeof lastError === 'string' ? { lastError } : {}),
    ...(unreadable === true ? { unreadable } : {}),
  };
}
