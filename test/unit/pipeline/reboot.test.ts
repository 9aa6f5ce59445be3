import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { conclude } from '../../../src/pipeline/conclusion.ts';
import { afterRecord, newJournalState } from '../../../src/pipeline/journal.ts';
import type { JournalRecord } from '../../../src/pipeline/journal-record.ts';
import { evaluateResumable } from '../../../src/pipeline/resume.ts';
import { runSteps, StepFailure } from '../../../src/pipeline/runner.ts';
import { stepRecord } from '../../../src/pipeline/step-record.ts';
import type { StepRecord } from '../../../src/step/index.ts';
import { memoryHost } from '../../support/memory-host.ts';
import { type Bench, fakeSteps, type MemoryJournal, memoryJournal, runBench } from './fake-steps.ts';
import { begun, ended, identity, MACHINE_A } from './records.ts';

/** A machine that can be rebooted: its join holds from the boot after the one in which it was made. */
class Machine {
  boot = 1;
  joinedIn: number | undefined;
  joins = 0;
  /** What was journalled so far, as on a disk. */
  disk: JournalRecord[] = [];
  /** The domain forgets the computer: no reboot makes the join hold. */
  futile = false;

  isJoined(): boolean {
    return !this.futile && this.joinedIn !== undefined && this.joinedIn < this.boot;
  }

  /** The steps of a machine that joins, and then does something else. */
  steps(applied: string[]) {
    const machine = this;
    const [join, after] = fakeSteps(
      { id: 'join', changes: [{ id: 'join/domain', needsReboot: true, repeatable: false }] },
      { id: 'after', changes: [{ id: 'after/1' }] },
    );
    assert.ok(join !== undefined && after !== undefined);
    return [
      {
        ...join,
        inspect: async (_host: unknown, _desired: unknown, record: StepRecord) => {
          const waits = record.done.has('join/domain') && record.reboot === 'owed';
          return new Set(machine.isJoined() || waits ? ['join/domain'] : []);
        },
        async apply() {
          machine.joins += 1;
          machine.joinedIn = machine.boot;
          applied.push('join/domain');
        },
      },
      after,
    ];
  }

  journal(): MemoryJournal {
    const bootId = `boot-${this.boot}`;
    const journal = memoryJournal(...this.disk);
    const append = journal.append;
    journal.append = (record) => {
      append(record);
      this.disk.push(record);
    };
    journal.append({ ...begun('r'), bootId } as JournalRecord);
    return journal;
  }

  /** One run: how it ended, and what it told. `dieAfter`: killed once so many records are on the disk. */
  async run(options: Partial<Bench> = {}, dieAfter?: number): Promise<{ reason: string | undefined; story: string[] }> {
    const journal = this.journal();
    const before = this.disk.length;
    const append = journal.append;
    journal.append = (record) => {
      if (dieAfter !== undefined && this.disk.length - before >= dieAfter) throw new Killed();
      append(record);
    };
    const bench = { ...runBench({ journal }), mayReboot: true, ...options };
    try {
      await runSteps(this.steps([]), bench);
      return { reason: undefined, story: bench.story };
    } catch (thrown) {
      assert.ok(thrown instanceof StepFailure);
      if (thrown.error instanceof Killed) return { reason: 'killed', story: bench.story };
      assert.ok(thrown.error instanceof MachineadmError, String(thrown.error));
      return { reason: thrown.error.reason, story: bench.story };
    }
  }
}

class Killed extends Error {}

const reboots = (machine: Machine) =>
  machine.disk.flatMap((record) => (record.is === 'reboot' ? [`${record.step} ${record.now}`] : []));

describe('a step whose change needs a reboot', () => {
  test('ends the run after it, without failing; later steps do not start', async () => {
    const machine = new Machine();
    const { reason, story } = await machine.run();
    assert.equal(reason, 'Rebooting');
    assert.deepEqual(story, ['join started', 'join Succeeded [join/domain]']);
    assert.deepEqual(reboots(machine), ['join Owed', 'join Requested']);
  });

  test('is complete after the reboot, and the run resumes', async () => {
    const machine = new Machine();
    await machine.run();
    machine.boot = 2;
    const { reason, story } = await machine.run();
    assert.equal(reason, undefined);
    assert.deepEqual(story, ['join started', 'join Unchanged []', 'after started', 'after Succeeded [after/1]']);
    assert.deepEqual(reboots(machine), ['join Owed', 'join Requested', 'join Served']);
    assert.equal(machine.joins, 1);
  });

  test('requests its reboot again, and changes nothing, if a run comes before the reboot', async () => {
    const machine = new Machine();
    await machine.run();
    const { reason, story } = await machine.run();
    assert.equal(reason, 'Rebooting');
    assert.deepEqual(story, ['join started', 'join Succeeded []']);
    assert.equal(machine.joins, 1);
  });

  test('that does not hold for all that fails, and never reboots the machine a second time by itself', async () => {
    const machine = new Machine();
    await machine.run();
    machine.boot = 2;
    machine.futile = true;
    const { reason, story } = await machine.run();
    assert.equal(reason, 'RebootNotEffective');
    assert.deepEqual(story, ['join started', 'join Failed []', 'after Skipped []']);
    assert.equal(machine.joins, 1);
  });

  test('may need another one when a user runs it again by hand, or asks for something else later', async () => {
    const machine = new Machine();
    await machine.run();
    machine.boot = 2;
    machine.futile = true;
    await machine.run();
    machine.futile = false;
    machine.joinedIn = undefined;
    assert.equal((await machine.run()).reason, 'Rebooting');
    machine.boot = 3;
    assert.equal((await machine.run()).reason, undefined);
  });

  test('leaves the reboot to others where the document says so', async () => {
    const machine = new Machine();
    assert.equal((await machine.run({ mayReboot: false })).reason, 'RebootRequired');
    machine.boot = 2;
    assert.equal((await machine.run({ mayReboot: false })).reason, undefined);
  });

  // Its records: owed, started, done, requested. With the last number it is not killed at all.
  for (const dieAfter of [1, 2, 3, 4, 5]) {
    for (const [what, boots] of [
      ['and run again', 0],
      ['and rebooted', 1],
    ] as const) {
      test(`killed behind its record ${dieAfter} ${what}, ends in the same state`, async () => {
        const machine = new Machine();
        await machine.run({}, dieAfter - 1);
        machine.boot += boots;
        let reason: string | undefined = 'killed';
        for (let runs = 0; reason !== undefined && runs < 4; runs += 1) {
          ({ reason } = await machine.run());
          assert.ok(reason === undefined || reason === 'Rebooting', reason);
          if (reason !== undefined) machine.boot += 1;
        }
        assert.equal(reason, undefined);
        assert.ok(machine.isJoined());
        assert.deepEqual((await machine.run()).story.slice(0, 2), ['join started', 'join Unchanged []']);
      });
    }
  }

  test('killed after the reboot before the record is complete, resumes all the same', async () => {
    const machine = new Machine();
    await machine.run();
    machine.boot = 2;
    assert.equal((await machine.run({}, 0)).reason, 'killed');
    assert.equal((await machine.run()).reason, undefined);
    assert.deepEqual(reboots(machine).at(-1), 'join Served');
  });
});

describe('a run that ends for a reboot', () => {
  test('is no failure, and nothing is diagnosed', async () => {
    const error = new MachineadmError({ reason: 'Rebooting', summary: 'It reboots.', remedy: 'Nothing.' });
    const host = memoryHost();
    const { outcome, exit, failure } = await conclude(host, new StepFailure('join', error), undefined, 0);
    assert.deepEqual(
      [outcome, exit, failure?.reason, failure?.step],
      ['RebootRequired', 'RebootRequired', 'Rebooting', 'join'],
    );
    assert.deepEqual(host.queries, []);
  });

  test('is resumed', () => {
    const state = [begun('1'), ended('1', 'RebootRequired', 16)].reduce(
      afterRecord,
      newJournalState(identity(), false),
    );
    assert.deepEqual(evaluateResumable(state, undefined, { machineId: MACHINE_A, cloudInstanceId: undefined }), {
      resume: true,
    });
  });
});

test('a reboot that was only owed has happened in another boot; one that was asked for is remembered', () => {
  const records: JournalRecord[] = [
    begun('1'),
    { is: 'reboot', step: 'a', now: 'Owed' },
    { is: 'reboot', step: 'b', now: 'Owed' },
    { is: 'reboot', step: 'b', now: 'Requested' },
  ];
  const state = records.reduce(afterRecord, newJournalState(identity(), false));
  const seen = (of: typeof state) => ['a', 'b', 'c'].map((step) => stepRecord(of, step).reboot);
  assert.deepEqual(seen(state), ['owed', 'owed', 'none']);
  const next = afterRecord(state, { ...begun('2'), bootId: 'boot-2' } as JournalRecord);
  assert.deepEqual(seen(next), ['none', 'done', 'none']);
});
