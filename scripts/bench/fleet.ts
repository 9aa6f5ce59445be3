/**
 * Ten thousand machines conclude within a minute and tell one receiver that limits its rate: `npm run bench:fleet`. Every
 * machine has its own spool and its own client, with the code that runs on a node; the receiver is a process of its own.
 *
 *     npm run bench:fleet -- [--machines N] [--seconds S] [--limit R] [--outage S] [--gone] [webhook] [api-server]
 *
 * An arrival is a request that the receiver got, whatever it answered: also those that it had to turn away, the retries, and
 * those during an outage in which it answers 503. With --gone it does not listen during the outage, and gets nothing. The mean
 * is that of all seconds from its first request to its last, the slow end included.
 *
 * Exits with 1 when an event was lost, or when more arrived in a second than three times the mean.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RemoteSinkModel } from '@machineadm/document/model/index.ts';
import { Secret } from '@machineadm/document/secrets/secret.ts';
import { type ReportEvent, reportEvent } from '@machineadm/status/event.ts';
import { advance, begin } from '@machineadm/status/run-state.ts';
import { openHost } from '../../src/host/index.ts';
import { sinkContext } from '../../src/reporting/delivery/context.ts';
import { type Due, RETRY_WINDOW_MS, untilTaken } from '../../src/reporting/delivery/retry-window.ts';
import { deliverSink } from '../../src/reporting/delivery/sink-delivery.ts';
import { remoteSinkOf } from '../../src/reporting/remote/registry.ts';
import { systemClock } from '../../src/reporting/reporter.ts';
import { Spool } from '../../src/reporting/spool/spool.ts';
import { readOptions } from '../options.ts';
import type { Heard, Listening } from './fleet-receiver.ts';

/** As in the documents of a fleet: the deliverer's time, what it lingers, and when the timer comes back to what is left. */
const DEADLINE_MS = 30_000;
const TIMER_MS = 300_000;
const TIMER_SPREAD_MS = 300_000;
const TIMER_WITHIN_MS = 60_000;
const RECEIVER = resolve(import.meta.dirname, 'fleet-receiver.ts');

const { values, positionals } = readOptions(import.meta.filename, {
  allowPositionals: true,
  options: {
    machines: { type: 'string', default: '10000' },
    seconds: { type: 'string', default: '60' },
    limit: { type: 'string', default: '200' },
    outage: { type: 'string', default: '0' },
    gone: { type: 'boolean', default: false },
  },
});

interface Fleet {
  readonly machines: number;
  readonly seconds: number;
  /** Requests a second that the receiver takes; the others get 429. */
  readonly limit: number;
  /** Seconds from the start in which it answers 503, or is gone. */
  readonly outage: number;
  readonly gone: boolean;
}

const kinds: Readonly<Record<string, (machine: string, at: Listening) => RemoteSinkModel>> = {
  webhook: (_, { url, secret }) => ({
    ...common('Webhook'),
    kind: 'Webhook',
    url,
    signingSecrets: [literal(secret)],
    headers: {},
    tls: { certificateAuthority: undefined, clientCertificate: undefined },
  }),
  'api-server': (machine, { url, secret, certificateAuthority }) => ({
    ...common('Kubernetes'),
    kind: 'Kubernetes',
    access: { server: url, serverName: undefined, certificateAuthority, credential: { token: literal(secret) } },
    configMap: { namespace: 'clusters', name: `machineadm-${machine}` },
  }),
};

function common(name: string) {
  return { name, events: ['concluded' as const], timeoutMs: 10_000 };
}

function literal(text: string) {
  return { name: 'the secret', source: { kind: 'value' as const, secret: new Secret(text) } };
}

/** The last event of a run that went well. */
function conclusion(machine: string): ReportEvent {
  const host = { machineId: machine, bootId: 'boot', hostname: machine };
  const identity = {
    command: 'provision',
    runId: machine,
    agentVersion: 'bench',
    host,
    process: { pid: 1, startTicks: 1 },
  };
  const began = begin({ ...identity, command: 'provision' as const }, systemClock());
  const ended = { kind: 'concluded' as const, conclusion: { outcome: 'Succeeded' as const, exitCode: 0 } };
  return reportEvent({ kind: 'concluded', status: advance(began, ended, systemClock()) }, 9, systemClock());
}

/**
 * One machine: waits for its moment, spools, delivers and lingers as its deliverer does; then the timer, until nothing
 * waits. Resolves with how many processes that took.
 */
async function conclude(root: string, machine: string, model: RemoteSinkModel, startMs: number): Promise<number> {
  await sleep(startMs);
  const host = openHost({ runId: machine });
  const spool = new Spool(host, [join(root, machine)]);
  await spool.add(model.name, conclusion(machine));
  const { signal } = new AbortController();
  let pending = 1;
  const round = async (withinMs: number): Promise<Due> => {
    const { context, close } = sinkContext({ proxy: undefined, certificateAuthorities: [] }, host);
    const sink = await remoteSinkOf(model);
    const outcome = await deliverSink({
      name: model.name,
      sink,
      timeoutMs: model.timeoutMs,
      spool,
      context,
      host: { machineId: machine, bootId: 'boot' },
      untilMs: performance.now() + withinMs,
      signal,
    });
    await spool.putState(model.name, outcome.state);
    await close();
    pending = outcome.pending;
    return new Map(outcome.nextInMs === undefined ? [] : [[model.name, outcome.nextInMs]]);
  };
  for (let flushes = 1; ; flushes += 1) {
    const time =
      flushes === 1 ? { withinMs: DEADLINE_MS, lingerMs: RETRY_WINDOW_MS } : { withinMs: TIMER_WITHIN_MS, lingerMs: 0 };
    await untilTaken(round, { ...time, signal });
    if (pending === 0) return flushes;
    await sleep(TIMER_MS + Math.random() * TIMER_SPREAD_MS);
  }
}

async function simulate(kind: string, fleet: Fleet): Promise<boolean> {
  const modelOf = kinds[kind];
  if (modelOf === undefined) throw new RangeError(`${kind}: it is one of ${Object.keys(kinds).join(', ')}`);
  const root = mkdtempSync(join(tmpdir(), 'machineadm-fleet-'));
  const receiver = fork(RECEIVER, [kind, `${fleet.limit}`, `${fleet.outage}`, fleet.gone ? 'gone' : 'busy'], {
    stdio: 'inherit',
  });
  try {
    const [listening] = (await once(receiver, 'message')) as [Listening];
    console.log(
      `${kind}: ${fleet.machines} machines conclude within ${fleet.seconds} s; the receiver takes ${fleet.limit} a second` +
        (fleet.outage > 0 ? ` and ${fleet.gone ? 'is gone' : 'answers 503'} for ${fleet.outage} s` : ''),
    );
    const beganMs = performance.now();
    const machines = Array.from({ length: fleet.machines }, (_, index) => `m${index}`);
    for (const machine of machines) mkdirSync(join(root, machine));
    const flushes = await Promise.all(
      machines.map((machine) =>
        conclude(root, machine, modelOf(machine, listening), Math.random() * fleet.seconds * 1000),
      ),
    );
    const seconds = (performance.now() - beganMs) / 1000;
    receiver.send('report');
    const [heard] = (await once(receiver, 'message')) as [Heard];
    return print(fleet, heard, flushes, seconds);
  } finally {
    receiver.kill();
    rmSync(root, { recursive: true });
  }
}

function print(fleet: Fleet, heard: Heard, flushes: readonly number[], seconds: number): boolean {
  const { perSecond, taken, ids } = heard;
  const total = perSecond.reduce((sum, count) => sum + count, 0);
  const mean = total / Math.max(perSecond.length, 1);
  const peak = Math.max(...perSecond);
  const lost = fleet.machines - ids;
  console.log(`  all delivered after          ${seconds.toFixed(1)} s`);
  console.log(`  events lost                  ${lost}`);
  console.log(`  events taken more than once  ${taken - ids}`);
  console.log(`  requests                     ${total}, ${(total / fleet.machines).toFixed(2)} a machine`);
  console.log(
    `  arrivals a second            mean ${mean.toFixed(0)}, peak ${peak} (${(peak / mean).toFixed(2)} times the mean)`,
  );
  console.log(`  left to the timer            ${flushes.filter((count) => count > 1).length} machines`);
  return lost === 0 && peak <= 3 * mean;
}

const fleet: Fleet = {
  machines: Number(values.machines),
  seconds: Number(values.seconds),
  limit: Number(values.limit),
  outage: Number(values.outage),
  gone: values.gone,
};
let isGood = true;
for (const kind of positionals.length > 0 ? positionals : Object.keys(kinds)) {
  if (!(await simulate(kind, fleet))) isGood = false;
}
process.exitCode = isGood ? 0 : 1;
