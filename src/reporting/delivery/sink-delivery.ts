import { setTimeout as sleep } from 'node:timers/promises';
import { errorMessage } from '@machineadm/document/outcomes/errors.ts';
import { redact } from '@machineadm/document/redaction/process-redactor.ts';
import { oneLine } from '@machineadm/document/text/printable.ts';
import { type ReportEvent, truncateEvent } from '@machineadm/status/event.ts';
import { TimedOut, withTimeout } from '../../host/time/timeout.ts';
import type { DeliveryContext, DeliveryResult, RemoteSink } from '../remote/remote-sink.ts';
import { isExpired, type SinkState, type Spool, type SpooledEvent } from '../spool/spool.ts';
import { pauseMs } from './pause.ts';

export interface SinkDelivery {
  readonly name: string;
  readonly sink: RemoteSink;
  /** The limits of one delivery. */
  readonly timeoutMs: number;
  readonly spool: Spool;
  readonly context: Omit<DeliveryContext, 'signal'>;
  /** The identity of the running machine. */
  readonly host: { readonly machineId: string; readonly bootId: string };
  /** No attempt begins after this, by `now`; at least one is made. */
  readonly untilMs: number;
  readonly signal: AbortSignal;
  readonly random?: () => number;
  /** Milliseconds of a monotonic clock. */
  readonly now?: () => number;
}

export interface SinkOutcome {
  readonly delivered: number;
  readonly refused: number;
  /** Why events were set aside and will not be delivered; none: []. */
  readonly setAside: readonly ('unreadable' | 'expired' | 'foreign')[];
  readonly pending: number;
  readonly state: SinkState;
  /** When the next attempt would be due, in milliseconds from now: it did not fit into the time. */
  readonly nextInMs?: number;
}

/** How much of a receiver's message is reported. */
const LONGEST_WHY = 300;
/** On a busy machine, too, the processes of all sinks start in this time, one after the other. */
const PREPARING_MS = 120_000;

/**
 * Delivers the pending events of one sink, in order, each until the receiver has accepted it: an event never overtakes
 * an earlier one. Ends when nothing is pending, or when the time is over. Never throws.
 */
export async function deliverSink(delivery: SinkDelivery): Promise<SinkOutcome> {
  const { name, spool, random = Math.random, now = () => performance.now() } = delivery;
  let state = await spool.state(name);
  const counts = { delivered: 0, refused: 0 };
  const setAside: ('unreadable' | 'expired' | 'foreign')[] = [];
  // Earlier deliveries have failed, too. Each begins with one attempt, so that a recovered receiver is found soon.
  let failures = state.failures;
  let nextInMs: number | undefined;
  const untilMs = delivery.untilMs + (await preparingMs(delivery, now));
  for (;;) {
    const [next] = await spool.waiting(name);
    if (next === undefined || delivery.signal.aborted) break;
    const event = await usable(next, delivery);
    if (typeof event === 'string') {
      await spool.setAside(next);
      setAside.push(event);
      continue;
    }
    const result = await attempt(event, delivery, Math.max(untilMs - now(), 1));
    if (result.kind === 'delivered') {
      await spool.remove(next);
      counts.delivered += 1;
      failures = 0;
      const { lastError: _, ...rest } = state;
      state = { ...rest, failures: 0, told: false };
    } else if (result.kind === 'refused') {
      await spool.remove(next);
      counts.refused += 1;
      state = { ...state, refused: state.refused + 1, told: false, lastError: shortReason(result.why) };
    } else {
      failures += 1;
      state = { ...state, failures: state.failures + 1, lastError: shortReason(result.why) };
      const pause = pauseMs(failures, result.afterMs, random);
      if (now() + pause >= untilMs) {
        nextInMs = pause;
        break;
      }
      await sleep(pause, undefined, { signal: delivery.signal }).catch(() => undefined);
    }
  }
  await delivery.sink.close?.().catch(() => undefined);
  const pending = (await spool.waiting(name)).length;
  const expired = setAside.filter((why) => why === 'expired').length;
  // A run may have dropped some in the meantime to make room.
  state = { ...state, lost: (await spool.state(name)).lost + expired };
  return { ...counts, setAside, pending, state, ...(nextInMs === undefined ? {} : { nextInMs }) };
}

/** Makes the sink ready if something waits for it, and returns how long that took: it is not time for attempts. */
async function preparingMs({ name, sink, spool, signal }: SinkDelivery, now: () => number): Promise<number> {
  if (sink.prepare === undefined || (await spool.waiting(name)).length === 0) return 0;
  const began = now();
  // The attempt meets the same failure, and has it as its result.
  await prepare(sink, signal).catch(() => undefined);
  return now() - began;
}

async function prepare(sink: RemoteSink, until: AbortSignal): Promise<void> {
  await withTimeout(PREPARING_MS, async (signal) => await sink.prepare?.(signal), until);
}

/** The event, or why it is unusable. */
async function usable(
  next: SpooledEvent,
  { spool, host, context }: SinkDelivery,
): Promise<ReportEvent | 'unreadable' | 'expired' | 'foreign'> {
  const event = await spool.read(next);
  if (event === undefined) return 'unreadable';
  // On a copied disk: the original machine reports itself.
  if (event.host.machineId !== host.machineId) return 'foreign';
  return isExpired(event, context.clock(), host.bootId) ? 'expired' : event;
}

/** One attempt. Every failure is a result. */
export async function attempt(
  event: ReportEvent,
  { sink, timeoutMs, context, signal }: Pick<SinkDelivery, 'sink' | 'timeoutMs' | 'context' | 'signal'>,
  leftMs: number,
): Promise<DeliveryResult> {
  try {
    await prepare(sink, signal);
    const limit = Math.min(timeoutMs, leftMs);
    return await withTimeout(
      limit,
      (signal) => sink.deliver(truncateEvent(event, sink.capacity), { ...context, signal }),
      signal,
    );
  } catch (error) {
    const why = error instanceof TimedOut ? `no answer: it ${error.message}` : errorMessage(error);
    return { kind: 'retry', why };
  }
}

function shortReason(why: string): string {
  return oneLine(redact(why)).slice(0, LONGEST_WHY);
}
