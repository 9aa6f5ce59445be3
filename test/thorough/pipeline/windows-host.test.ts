import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { Model } from '@machineadm/document/model/index.ts';
import type { Facts } from '../../../src/host/seam/facts.ts';
import type { QueryHost } from '../../../src/host/seam/host.ts';
import { afterRecord, newJournalState } from '../../../src/pipeline/journal.ts';
import type { JournalRecord } from '../../../src/pipeline/journal-record.ts';
import { stepsFor } from '../../../src/pipeline/pipeline.ts';
import { planSteps } from '../../../src/pipeline/plan.ts';
import { type PreflightScope, preflight } from '../../../src/pipeline/preflight.ts';
import { runSteps, StepFailure } from '../../../src/pipeline/runner.ts';
import { EMPTY_RECORD } from '../../../src/step/index.ts';
import { load } from '../../support/document.ts';
import { MachineKilled, type Recording, type WindowsMachine, windowsMachine } from '../../support/windows-machine.ts';
import { memoryJournal, runBench } from '../../unit/pipeline/fake-steps.ts';
import { begun, identity } from '../../unit/pipeline/records.ts';

const page = readFileSync(join(import.meta.dirname, '../../../docs/windows.md'), 'utf8');

/** The document of the page about Windows: every part of the host. */
async function example(): Promise<Model> {
  const result = await load(/```yaml\n([\s\S]*?)```/.exec(page)?.[1] ?? '');
  assert.ok(result.ok);
  return result.document.model;
}

const measured = (server: string): Recording => ({
  program: 'w32tm.exe',
  args: ['/stripchart', `/computer:${server}`, '/samples:1', '/dataonly'],
  stdout: `Tracking ${server} [10.0.0.1:123].\r\n10:00:00, +00.0123456s\r\n`,
  from: { composed: 'Microsoft Learn, "Windows Time service tools and settings"' },
});

const STEPS = stepsFor('base', 'windows');

function machineOf(): WindowsMachine {
  return windowsMachine({
    recordings: [measured('ntp1.corp.example.com')],
    files: { 'C:\\ProgramData\\machineadm\\proxy.txt': 'pa55word\r\n' },
    state: {
      services: {
        containerd: { state: 'Running', startMode: 'Auto', pid: 900, path: 'containerd.exe' },
        kubelet: { state: 'Stopped', startMode: 'Manual', pid: undefined, path: 'kubelet.exe' },
        w32time: { state: 'Stopped', startMode: 'Manual', pid: undefined, path: 'svchost.exe' },
        Spooler: { state: 'Running', startMode: 'Auto', pid: 12, path: 'spoolsv.exe' },
      },
    },
  });
}

/** PowerShell that does what the hooks of the example say, as the driver tells it. */
function shell(machine: WindowsMachine) {
  const host = machine.host();
  return {
    ...host,
    run: async (command: Parameters<typeof host.run>[0]) => {
      if (!command.args.some((word) => word.endsWith('driver.ps1'))) return await host.run(command);
      const [token = '', first = '1', last = '1'] = command.args.slice(-4);
      for (let entry = Number(first); entry <= Number(last); entry += 1) {
        command.onLine?.('stdout', `${token} begin ${entry}`);
        hooksRun.set(machine, [...(hooksRun.get(machine) ?? []), entry]);
        command.onLine?.('stdout', `${token} end ${entry} 0`);
      }
      return { status: 0, stdout: '', stderr: '', timedOut: false };
    },
  };
}

/** Which entries were run on a machine. */
const hooksRun = new WeakMap<WindowsMachine, readonly number[]>();

/** One run of the host's steps with what earlier runs journalled. Returns how it ended and what it changed. */
async function run(machine: WindowsMachine, model: Model, disk: JournalRecord[]) {
  const journal = memoryJournal(...disk);
  const append = journal.append;
  journal.append = (record) => {
    append(record);
    disk.push(record);
  };
  const changes: string[] = [];
  try {
    const facts = await machine.facts();
    journal.append({ ...begun(`r${disk.length}`), bootId: facts.bootId } as JournalRecord);
    const bench = runBench({ journal });
    await runSteps(STEPS, {
      ...bench,
      model,
      facts,
      host: shell(machine),
      mayReboot: true,
      observer: { ...bench.observer, stepDone: (_step, result) => changes.push(...result.changes) },
    });
    return { ended: 'well', changes };
  } catch (thrown) {
    const error = thrown instanceof StepFailure ? thrown.error : thrown;
    if (error instanceof MachineKilled) return { ended: 'killed', changes };
    if (error instanceof Error && 'reason' in error) return { ended: String(error.reason), changes };
    throw error;
  }
}

/** Runs until it ends well, restarting the machine whenever it was killed or asked for it. */
async function runToTheEnd(machine: WindowsMachine, model: Model, disk: JournalRecord[]): Promise<number> {
  let reboots = 0;
  for (;;) {
    const { ended } = await run(machine, model, disk);
    if (ended === 'well') return reboots;
    assert.ok(ended === 'killed' || ended === 'Rebooting', ended);
    if (ended === 'Rebooting') reboots += 1;
    machine.reboot();
    assert.ok(reboots < 3, 'it reboots again and again');
  }
}

/** All that a run leaves on a machine. */
function leftOn(machine: WindowsMachine) {
  const { hostname, services, time, environment, authorities } = machine.state;
  const paths = ['C:\\k\\site.json', 'C:\\etc\\kubernetes\\proxy-password'];
  return {
    hostname,
    services: Object.entries(services).map(([name, { state, startMode }]) => [name, state, startMode]),
    time,
    environment,
    authorities,
    files: paths.map((path) => [path, machine.read(path), machine.descriptor(path)]),
  };
}

function nothingKnown(host: QueryHost, model: Model, facts: Facts): PreflightScope {
  return { host, model, facts, scope: 'all', record: () => EMPTY_RECORD };
}

describe('the host of a Windows machine', () => {
  test('is planned, reboots once for its name, and a second run changes nothing', async () => {
    const model = await example();
    await using machine = machineOf();
    const facts = await machine.facts();
    await preflight(STEPS, nothingKnown(machine.queryHost(), model, facts));
    const before = machine.effects;
    const state = newJournalState(identity(), false);
    const plan = await planSteps(STEPS, { model, facts, host: machine.queryHost(), journal: state, scope: 'all' });
    assert.equal(machine.effects, before, 'plan changes nothing');

    const disk: JournalRecord[] = [];
    const first = await run(machine, model, disk);
    assert.equal(first.ended, 'Rebooting');
    machine.reboot();
    const second = await run(machine, model, disk);
    assert.equal(second.ended, 'well');
    assert.deepEqual(
      [...first.changes, ...second.changes].sort(),
      plan.changes.map(({ id }) => id).sort(),
      'plan listed what was done',
    );
    const effects = machine.effects;
    assert.deepEqual(await run(machine, model, disk), { ended: 'well', changes: [] });
    assert.equal(machine.effects, effects, 'the second run changes nothing');
    machine.assertExpected();
  });

  test('has no secret in any command line or environment', async () => {
    const model = await example();
    await using machine = machineOf();
    await runToTheEnd(machine, model, []);
    assert.match(machine.read('C:\\etc\\kubernetes\\proxy-password') ?? '', /pa55word/);
    assert.equal(machine.descriptor('C:\\etc\\kubernetes\\proxy-password'), 'O:BAG:SYD:PAI(A;;FA;;;SY)(A;;FA;;;BA)');
    for (const { args, env } of machine.calls) {
      const told = args.map((word) => Buffer.from(word, 'base64').toString('utf16le')).join();
      assert.doesNotMatch(`${args.join(' ')} ${told} ${JSON.stringify(env ?? {})}`, /pa55word/);
    }
  });

  test('killed before each of its effects, ends as an undisturbed run', async () => {
    const model = await example();
    await using undisturbed = machineOf();
    await runToTheEnd(undisturbed, model, []);
    const wanted = leftOn(undisturbed);
    const { effects } = undisturbed;
    assert.ok(effects > 20, `${effects}`);
    for (let effect = 1; effect <= effects; effect += 1) {
      await using machine = machineOf();
      machine.killAt({ effect });
      const disk: JournalRecord[] = [];
      const reboots = await runToTheEnd(machine, model, disk);
      assert.ok(reboots <= 1, `killed at ${effect}: rebooted ${reboots} times`);
      assert.deepEqual(leftOn(machine), wanted, `killed at ${effect}`);
      assert.deepEqual((await run(machine, model, disk)).changes, [], `killed at ${effect}: nothing is left to do`);
      const owed = disk.reduce(afterRecord, newJournalState(identity(), false)).owed;
      assert.deepEqual([...owed], [], `killed at ${effect}`);
      machine.assertExpected();
    }
  });

  test('a document for Linux is refused before anything is changed', async () => {
    const { model } = runBench();
    await using machine = machineOf();
    const facts = await machine.facts();
    await assert.rejects(preflight(STEPS, nothingKnown(machine.queryHost(), model, facts)), {
      reason: 'UnsupportedOnPlatform',
      exit: 'Refused',
      message: /^host\.platform: the document is for Linux, and this machine runs Windows/,
    });
    assert.equal(machine.effects, 0);
  });
});
