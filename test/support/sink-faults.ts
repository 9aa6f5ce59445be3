import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { stringify } from 'yaml';
import type { RunStatus } from '../../src/reporting/status.ts';
import { type AgentRun, agent, statusOf } from './agent.ts';

const STATE = '/var/lib/machineadm';
const RUN = '/run/machineadm';
const SPOOLS = [`${STATE}/spool`, `${RUN}/spool`];

/** The document's deadline in these tests: how long the deliverer goes on after the run. */
export const DEADLINE_MS = 2_000;
/**
 * "Within 1 s of its conclusion" is what the agent promises; a machine of two processors that others use is given half a
 * second more to notice.
 */
const EXIT_MS = 1_500;

export interface Provisioned {
  readonly run: AgentRun;
  readonly status: RunStatus;
  /** From the conclusion in the status file to the end of the process. */
  readonly exitMs: number;
}

/** A machine on which nothing was reported yet. */
export function freshMachine(): void {
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
  const { secrets, host = {}, deadline = `${DEADLINE_MS}ms` } = rest;
  writeFileSync(
    path,
    stringify({
      apiVersion: 'machineadm.dev/v1alpha1',
      kind: 'MachineBootstrap',
      metadata: { name: 'reported', namespace: 'clusters' },
      ...(secrets === undefined ? {} : { secrets }),
      host,
      reporting: { deadline, sinks },
    }),
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

/** Waits until the deliverer has said in the status file how far it came; gives what it said of a sink. */
export async function reported(sink: string, ms = 30_000): Promise<NonNullable<RunStatus['reports']>[number]> {
  for (const end = Date.now() + ms; ; await sleep(50)) {
    const status = JSON.parse(readFileSync(`${RUN}/status.json`, 'utf8')) as RunStatus;
    const report = status.reports?.find((one) => one.sink === sink);
    if (report !== undefined) return report;
    assert.ok(Date.now() < end, `nothing was reported of ${sink} within ${ms} ms`);
  }
}

/** Runs `report flush` as the timer does. */
export async function flushed(...args: readonly string[]): Promise<AgentRun> {
  return await agent(['report', 'flush', '--within', '5s', ...args]);
}

export interface FaultCase {
  /** As in the document. */
  readonly name: string;
  readonly sink: object;
  readonly secrets?: object;
  /** Ids that the receiver took, in order, each as often as it did. */
  readonly taken: () => readonly string[];
  readonly repair: () => Promise<void> | void;
}

/**
 * What is true of every sink and every fault: the run is undisturbed; what was not taken waits and is told of; once the
 * fault is repaired all of it is delivered, each event once, in order; then nothing is left.
 */
export async function assertSurvives({ name, sink, secrets, taken, repair }: FaultCase): Promise<void> {
  const provisioned = await provisionWith([sink], secrets === undefined ? {} : { secrets });
  assertUndisturbed(provisioned);
  const report = await reported(name);
  const { runId } = provisioned.status;
  assert.equal(report.state, 'Pending');
  assert.ok((report.message ?? '') !== '', 'says why');
  const left = waiting()[name] ?? [];
  assert.equal(left.length, report.pending);
  assert.match(left.at(-1) ?? '', new RegExp(`^${runId}\\.\\d+$`), 'the conclusion waits');
  assert.equal(new Set(left).size, left.length);
  const before = taken().length;
  await repair();
  // Ends as soon as everything is delivered; a busy machine takes its time.
  const flush = await flushed('--within', '20s');
  assert.equal(flush.status, 0, flush.stdout + flush.stderr);
  const all = taken();
  assert.deepEqual(all.slice(before), left, 'what waited came, in order');
  assert.equal(new Set(all).size, all.length, 'each event once');
  assert.deepEqual(waiting(), {});
  const again = await flushed();
  assert.deepEqual([again.status, again.stdout], [0, 'nothing waits\n']);
}

export function shell(script: string): string {
  const { status, stdout, stderr } = spawnSync('sh', ['-ec', script], { encoding: 'utf8' });
  assert.equal(status, 0, `${script}: ${stderr}`);
  return stdout;
}
