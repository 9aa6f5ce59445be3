import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { DRIFTS, EVERYTHING } from '../../support/all-cases.ts';
import { loaded } from '../../support/document.ts';
import { driftMachine } from '../../support/drift-machine.ts';
import type { Drift } from '../../support/feature-cases.ts';
import { type HostRun, runHost, wholePlan } from '../../support/host-run.ts';
import { memoryJournal } from '../../unit/pipeline/fake-steps.ts';

const FIXTURE = join(import.meta.dirname, '../../fixtures/features/everything.txt');

/** Without the certificate of this run, and what depends on it. */
function withoutRandom(text: string): string {
  return text
    .replace(/-----BEGIN[^-]*-----[\s\S]*?-----END[^-]*-----/g, 'PEM')
    .replace(/\b[0-9a-f]{64}\b/g, 'SHA256')
    .replace(/\b[0-9a-f]{32}\b/g, 'ID')
    .replace(/\bsite-[0-9a-f]{8}\b/g, 'site-ID')
    .replace(/SHA-256 [0-9a-f]{16}…/g, 'SHA-256 ID')
    .replace(/\p{Cc}/gu, (control) => (control === '\n' ? control : `\\x${control.charCodeAt(0).toString(16)}`))
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f-]{21}/g, 'UUID');
}

/** A document with every part of the host: what is planned, what is done, in which order, and what each drift is called. */
test('plans, changes and drifts are those of the record (MACHINEADM_WRITE_STEPS=1 writes it)', async () => {
  const lines: string[] = [];
  const note = (title: string, values: readonly unknown[]): void => {
    lines.push(`### ${title}`);
    for (const value of values)
      lines.push(...withoutRandom(typeof value === 'string' ? value : JSON.stringify(value)).split('\n'));
  };
  const machine = driftMachine();
  const run: HostRun = { machine, journal: memoryJournal(), model: (await loaded(EVERYTHING)).model };
  const before = new Set(machine.snapshot());
  note('plan', (await wholePlan(run)).changes);
  await runHost(run);
  note('log', machine.log);
  const made = machine.snapshot().filter((line) => !before.has(line));
  note(
    'tree',
    made.map((line) => withoutRandom(line.replace(/(?<=^\S+\/prior-state\/key .*? 0:0 )[\s\S]*$/, 'KEY'))).sort(),
  );
  const drifts = Object.values(DRIFTS).flatMap((one) => (Array.isArray(one) ? one : []));
  for (const { what, by, finds, stays } of drifts as readonly Drift[]) {
    if (stays) continue;
    await by(machine);
    note(
      `${finds.join(' ')}: ${what}`,
      (await wholePlan(run)).changes.map(({ summary, diff }) => ({ summary, diff })),
    );
    await runHost(run);
  }
  const nothing: HostRun = { ...run, model: (await loaded('host: {}\n')).model };
  note('plan of nothing', (await wholePlan(nothing)).changes);
  machine.log.length = 0;
  await runHost(nothing);
  note('log of nothing', machine.log);
  const text = `${lines.join('\n')}\n`;
  if (process.env.MACHINEADM_WRITE_STEPS === '1') writeFileSync(FIXTURE, text);
  assert.deepEqual(text.split('\n'), readFileSync(FIXTURE, 'utf8').split('\n'));
});
