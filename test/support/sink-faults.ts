import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RunStatus, SinkReport } from '@machineadm/status/status.ts';
import { stringify } from 'yaml';
import { type AgentRun, agent, statusOf } from './agent.ts';

const STATE = '/var/lib/machineadm';
const RUN = '/run/machineadm';
/** Of what was spooled while a deliverer was at work: that of the end comes to it. */
const NOT_TRIED = 'it was not tried yet';
const SPOOLS = [`${STATE}/spool`, `${RUN}/spool`];

/** What every deliverer of these tests ends within, on a busy machine too. */
const DELIVERERS_MS = 180_000;
/** Less than an agent takes that waits for a sink that hangs, which has 10 s for an answer. `npm run bench` measures the speed. */
export const EXIT_MS = 9_000;

export interface Provisioned {
  readonly run: AgentRun;
  readonly status: RunStatus;
  /** From the conclusion in the status file to the end of the process. */
  readonly exitMs: number;
}

/** A machine on which nothing was reported yet: what an earlier test's run left behind is ended and gone. */
export async function freshMachine(): Promise<void> {
  await endDeliverers();
  for (const root of [STATE, RUN]) {
    for (const name of existsSync(root) ? readdirSync(root) : [])
      rmSync(`${root}/${name}`, { recursive: true, force: true });
  }
}

/** Provisions a host (there is nothing to do on it but a hook) with these sinks. */
export async function provisionWith(
  sinks: readonly object[],
  rest: { readonly secrets?: object; readonly host?: object; readonly deadline?: string } = {},
): Promise<Provisioned> {
  const path = '/tmp/reported.yaml';
  const { secrets, host = {}, deadline } = rest;
  writeFileSync(
    path,
    stringify({
      apiVersion: 'machineadm.dev/v1alpha1',
      kind: 'MachineBootstrap',
      metadata: { name: 'reported', namespace: 'clusters' },
      ...(secrets === undefined ? {} : { secrets }),
      host,
      reporting: { ...(deadline === undefined ? {} : { deadline }), sinks },
    }),
    { mode: 0o600 },
  );
  const run = await agent(['provision', '-d', path, '-o', 'json']);
  const ended = Date.now();
  const status = statusOf(run);
  return { run, status, exitMs: ended - Date.parse(status.updatedAt) };
}

/** Whatever its sinks do: the outcome is the run's own, and nobody waits for them. */
export function assertUndisturbed({ run, status, exitMs }: Provisioned): void {
  assert.deepEqual([run.status, status.outcome, status.failure], [0, 'Succeeded', undefined], run.stderr);
  assert.ok(exitMs < EXIT_MS, `the agent ended ${exitMs} ms after its conclusion`);
}

/** Ids of the events that wait, by sink, in order. */
export function waiting(): Readonly<Record<string, string[]>> {
  const found: Record<string, string[]> = {};
  for (const root of SPOOLS) {
    for (const name of existsSync(root) ? readdirSync(root).sort() : []) {
      const [, sink, id] = /^([^~.][^~]*)~\d{9}~(.+)\.json$/.exec(name) ?? [];
      if (sink !== undefined && id !== undefined) found[sink] = [...(found[sink] ?? []), id];
    }
  }
  return found;
}

/** The processes of this throw-away machine, which are all of its tests, that deliver reports. */
function deliverers(): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => commandOf(pid).includes('\0report\0flush\0'));
}

/** '' for one that is gone, or ended and was not waited for. */
function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

function endProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It ended by itself.
  }
}

/**
 * Waits until the status file has the word of the last deliverer of a run on each of its sinks, which counts all that waits;
 * then ends those that would try again. One that is still to deliver to another sink must not be ended.
 */
export async function deliverersSettled(sinks: readonly string[]): Promise<void> {
  const all = () => new Set([...sinks, ...reports().map(({ sink }) => sink), ...Object.keys(waiting())]);
  for (const end = Date.now() + DELIVERERS_MS; ![...all()].every(isSettled); await sleep(20)) {
    const told = JSON.stringify([reports(), waiting()]);
    assert.ok(Date.now() < end, `after ${DELIVERERS_MS} ms only this was reported: ${told}`);
  }
  await endDeliverers();
}

function isSettled(sink: string): boolean {
  const report = reports().find((one) => one.sink === sink);
  return report !== undefined && report.pending === (waiting()[sink] ?? []).length && report.message !== NOT_TRIED;
}

async function endDeliverers(): Promise<void> {
  for (const pid of deliverers()) endProcess(pid);
  await deliverersEnded();
}

/** Waits until nothing that a run started delivers any more. */
export async function deliverersEnded(): Promise<void> {
  for (const end = Date.now() + DELIVERERS_MS; deliverers().length > 0; await sleep(20))
    assert.ok(Date.now() < end, `something still delivers after ${DELIVERERS_MS} ms`);
}

/** What the status file says of a sink once the deliverers of the run have said their last word on it. */
export async function reported(sink: string): Promise<SinkReport> {
  await deliverersSettled([sink]);
  return reports().find((report) => report.sink === sink) ?? assert.fail(`nothing was reported of ${sink}`);
}

/** The same, after what did not come in time on a busy machine was sent again, as the timer does it. */
export async function delivered(sink: string): Promise<SinkReport> {
  for (let tries = 0; tries < 4 && (await reported(sink)).state === 'Pending'; tries += 1) await flushed();
  return await reported(sink);
}

export function reports(): readonly SinkReport[] {
  const status = JSON.parse(readFileSync(`${RUN}/status.json`, 'utf8')) as RunStatus;
  return status.reports ?? [];
}

/** Runs `report flush` as the timer does. */
export async function flushed(...args: readonly string[]): Promise<AgentRun> {
  return await agent(['report', 'flush', '--within', '30s', ...args]);
}

export function shell(script: string): string {
  const { status, stdout, stderr } = spawnSync('sh', ['-ec', script], { encoding: 'utf8' });
  assert.equal(status, 0, `${script}: ${stderr}`);
  return stdout;
}
