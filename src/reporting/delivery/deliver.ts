import type { LocalSinkModel } from '@machineadm/document/model/index.ts';
import { errorMessage } from '@machineadm/document/outcomes/errors.ts';
import { redact } from '@machineadm/document/redaction/process-redactor.ts';
import type { ReportEvent } from '@machineadm/status/event.ts';
import type { Moment } from '@machineadm/status/run-state.ts';
import type { SinkReport } from '@machineadm/status/status.ts';
import type { Host } from '../../host/seam/host.ts';
import { deserializePlan, type NetworkModel, type SinkPlan } from '../spool/serialized-plan.ts';
import type { Spool } from '../spool/spool.ts';
import { sinkContext } from './context.ts';
import type { Due } from './retry-window.ts';
import { separateSink } from './separate-sink.ts';
import { deliverSink, type SinkOutcome } from './sink-delivery.ts';

export interface Delivery {
  readonly spool: Spool;
  /** The machine, with the network settings for a sink's requests. */
  readonly hostFor: (network: NetworkModel) => Pick<Host, 'secret' | 'run'>;
  readonly machine: { readonly machineId: string; readonly bootId: string };
  /** How long to retry; each sink with pending events is tried at least once. */
  readonly withinMs: number;
  readonly signal: AbortSignal;
  /** Replaces the spool's plan of a sink: the document may be newer than its spooled events. */
  readonly plans?: readonly SinkPlan[];
  /** The sinks to deliver to, by name; default: all. */
  readonly only?: ReadonlySet<string> | undefined;
  /** Reports to the sinks of this machine. */
  readonly tellLocal: (sinks: readonly LocalSinkModel[], message: string) => Promise<void>;
  readonly clock: () => Moment;
}

export interface Delivered {
  readonly reports: readonly SinkReport[];
  /** Of the sinks with failed attempts. */
  readonly due: Due;
}

/** Additional time for reporting a sink's problem to the others. */
const TELLING_MS = 5_000;

interface Worked {
  readonly plan: SinkPlan;
  readonly target: string;
  readonly outcome: SinkOutcome;
  /** A pending event, which a warning about the sink is derived from. */
  readonly example: ReportEvent | undefined;
}

/**
 * Delivers all pending events, to all sinks concurrently, in order within each. A sink's problem is reported through
 * the others, once, and in the reports. Never throws because of a sink.
 */
export async function deliverAll(delivery: Delivery): Promise<Delivered> {
  const plans = (await plansOf(delivery)).filter(({ model }) => delivery.only?.has(model.name) ?? true);
  const untilMs = performance.now() + delivery.withinMs;
  const worked = await Promise.all(plans.map((plan) => work(plan, delivery, untilMs)));
  const news = worked.filter(({ outcome }) => isInTrouble(outcome) && !outcome.state.told);
  const after = news.length === 0 ? worked : await tellOthers(news, worked, delivery);
  const stranded = await strandedReports(plans, delivery);
  const due = new Map<string, number>();
  for (const { plan, outcome } of after) if (outcome.nextInMs !== undefined) due.set(plan.model.name, outcome.nextInMs);
  return { reports: [...after.map((one) => reportOf(one, delivery.clock())), ...stranded], due };
}

async function plansOf({ spool, plans: given = [] }: Delivery): Promise<readonly SinkPlan[]> {
  const known = new Map<string, SinkPlan>();
  for (const [name, text] of await spool.plans()) {
    const plan = deserializePlan(text);
    if (plan !== undefined) known.set(name, plan);
  }
  const waitedFor = await spool.sinksWaitedFor();
  for (const plan of given) {
    const { name } = plan.model;
    if (known.has(name) || waitedFor.has(name)) known.set(name, plan);
  }
  return [...known.values()];
}

/** Sinks with pending events but no usable plan: it is lost or damaged. */
async function strandedReports(plans: readonly SinkPlan[], delivery: Delivery): Promise<readonly SinkReport[]> {
  const { spool, only, clock } = delivery;
  const known = new Set(plans.map(({ model }) => model.name));
  const reports: SinkReport[] = [];
  for (const sink of await spool.sinksWaitedFor()) {
    if (known.has(sink) || only?.has(sink) === false) continue;
    reports.push({
      sink,
      type: 'Unknown',
      target: '',
      state: 'Unreadable',
      pending: (await spool.waiting(sink)).length,
      updatedAt: new Date(clock().time).toISOString(),
      message: 'its settings are lost or damaged; machineadm report flush -f FILE takes them from the document',
    });
  }
  return reports;
}

async function work(plan: SinkPlan, delivery: Delivery, untilMs: number): Promise<Worked> {
  const { name, timeoutMs } = plan.model;
  const { spool, machine, signal } = delivery;
  const [first] = await spool.waiting(name);
  const example = first === undefined ? undefined : await spool.read(first);
  const { context: ofNetwork, close } = sinkContext(plan.network, delivery.hostFor(plan.network));
  const context = { ...ofNetwork, clock: delivery.clock };
  let target: string = plan.model.kind;
  try {
    const sink = await separateSink(plan);
    target = sink.target;
    const outcome = await deliverSink({ name, sink, timeoutMs, spool, context, host: machine, untilMs, signal });
    await spool.putState(name, outcome.state).catch(() => undefined);
    return { plan, target, outcome, example };
  } catch (error) {
    // A defect of one sink, or a spool that cannot be read, does not affect the others.
    const state = { ...(await spool.state(name)), lastError: errorMessage(error) };
    const pending = (await spool.waiting(name)).length;
    return { plan, target, outcome: { delivered: 0, refused: 0, setAside: [], pending, state }, example };
  } finally {
    await close();
  }
}

function isInTrouble({ pending, refused, state }: SinkOutcome): boolean {
  return refused > 0 || (pending > 0 && state.lastError !== undefined);
}

/** Through the sinks of this machine and the remote ones that take such events. */
async function tellOthers(
  news: readonly Worked[],
  worked: readonly Worked[],
  delivery: Delivery,
): Promise<readonly Worked[]> {
  const { spool } = delivery;
  const others = worked.filter(({ outcome, plan }) => !isInTrouble(outcome) && plan.model.events.includes('warning'));
  for (const { plan, target, outcome, example } of news) {
    const message = troubleOf(plan.model.name, target, outcome);
    await delivery.tellLocal(plan.local, message);
    if (example !== undefined) {
      const warning = warningFrom(example, plan.model.name, message, delivery.clock());
      for (const other of others) await spool.add(other.plan.model.name, warning).catch(() => 0);
    }
    await spool.putState(plan.model.name, { ...outcome.state, told: true }).catch(() => undefined);
  }
  const untilMs = performance.now() + TELLING_MS;
  const again = new Map(
    await Promise.all(others.map(async ({ plan }) => [plan, await work(plan, delivery, untilMs)] as const)),
  );
  return worked.map((one) => again.get(one.plan) ?? one);
}

function troubleOf(name: string, target: string, { pending, refused, state }: SinkOutcome): string {
  const what = [
    ...(refused > 0 ? [`refused ${count(refused)} permanently`] : []),
    ...(pending > 0 ? [`did not accept ${count(pending)}, which will be retried`] : []),
  ].join(' and ');
  return redact(`sink ${name} (${target}) ${what}: ${state.lastError ?? 'no reason given'}`);
}

function count(events: number): string {
  return events === 1 ? 'one event' : `${events} events`;
}

/** A warning about a sink, derived from an event that was not delivered: for the same run and machine. */
function warningFrom(event: ReportEvent, sink: string, message: string, at: Moment): ReportEvent {
  const { step: _s, waitingFor: _w, outcome: _o, exitCode: _e, failure: _f, warnings: _n, ...rest } = event;
  const { steps: _p, timeline: _t, omitted: _m, ...envelope } = rest;
  return {
    ...envelope,
    id: `${event.id}.sink.${sink}`,
    type: 'warning',
    time: new Date(at.time).toISOString(),
    sinceBootMs: Math.round(at.sinceBootMs),
    message: `warning: ${message}`,
  };
}

function reportOf({ plan, target, outcome }: Worked, at: Moment): SinkReport {
  const { pending, refused, state } = outcome;
  const message = messageOf(outcome);
  return {
    sink: plan.model.name,
    type: plan.model.kind,
    target,
    state:
      pending > 0
        ? 'Pending'
        : refused > 0
          ? 'Refused'
          : outcome.setAside.includes('unreadable') || state.unreadable === true
            ? 'Unreadable'
            : state.lost > 0 || outcome.setAside.length > 0
              ? 'Lost'
              : 'Delivered',
    pending,
    updatedAt: new Date(at.time).toISOString(),
    ...(message === '' ? {} : { message }),
  };
}

/** Why not everything was delivered; '' if it was. */
function messageOf({ pending, refused, setAside, state }: SinkOutcome): string {
  const [unreadable, foreign] = ['unreadable', 'foreign'].map((why) => setAside.filter((one) => one === why).length);
  return [
    ...((pending > 0 || refused > 0) && state.lastError !== undefined ? [state.lastError] : []),
    ...(state.lost > 0 ? [`lost, because the queue was full or they waited too long: ${count(state.lost)}`] : []),
    ...(unreadable === 0 ? [] : [`damaged and kept in quarantine: ${count(unreadable ?? 0)}`]),
    ...(state.unreadable === true ? ['what was counted before was damaged: more may have been lost'] : []),
    ...(foreign === 0 ? [] : [`of the machine that this disk was copied from: ${count(foreign ?? 0)}`]),
  ].join('; ');
}
