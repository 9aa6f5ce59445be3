import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Model } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { isCriticalPath } from '@machineadm/document/ownership/paths.ts';
import { parse, stringify } from 'yaml';
import { removals } from '../../../src/pipeline/pipeline.ts';
import { planSteps } from '../../../src/pipeline/plan.ts';
import { desiredOf } from '../../../src/pipeline/plan-step.ts';
import { StepFailure } from '../../../src/pipeline/runner.ts';
import { DROPPED, EVERYTHING, STAYS, UNDO_DOCUMENTS } from '../../support/all-cases.ts';
import { loaded } from '../../support/document.ts';
import { driftMachine } from '../../support/drift-machine.ts';
import { facts } from '../../support/facts.ts';
import { runHost } from '../../support/host-run.ts';
import type { MemoryHost } from '../../support/memory-host.ts';
import { leafFields } from '../../support/schema-fields.ts';
import { noPauses } from '../../support/short-pauses.ts';
import { hostDocument, Killer, memoryJournal, provisionHost, treeOf } from '../../support/undo-bench.ts';
import { wholeMachine } from '../../support/whole-machine.ts';
import type { MemoryJournal } from '../../unit/pipeline/fake-steps.ts';

const NOTHING = await hostDocument('host: {}');

async function plan(machine: MemoryHost, journal: MemoryJournal, model: Model): Promise<readonly string[]> {
  const asked = { model, facts: facts(), host: machine, journal: journal.state(), scope: 'all' as const };
  return (await planSteps([removals], asked)).changes.map(({ summary }) => summary);
}

/** What is not as it was, each line of the tree with its path first. */
function differences(machine: MemoryHost, before: readonly string[]): readonly string[] {
  const now = treeOf(machine);
  const all = [...now.filter((line) => !before.includes(line)), ...before.filter((line) => !now.includes(line))];
  // A directory that every system has, and this one had not, stays.
  return all.filter((line) => !/ directory /.test(line) || !isCriticalPath(line.split(' ')[0] ?? ''));
}

for (const [name, yaml] of Object.entries(UNDO_DOCUMENTS)) {
  const isAbsence = yaml.includes('absent: true');
  const stays = STAYS[name];
  describe(`a machine that no longer has ${name} in its document`, () => {
    noPauses();
    test('had no removal to look for while its document had it', {
      skip: isAbsence && 'this document removes things',
    }, async () => {
      const [model, machine, journal] = [await hostDocument(yaml), wholeMachine(), memoryJournal()];
      await provisionHost(machine, model, journal);
      assert.equal(desiredOf(removals, model, facts(), journal.record), undefined);
    });

    test(
      isAbsence ? 'does not get back what was removed' : 'is what it was before, but for what is said to stay',
      async () => {
        const [model, machine, journal] = [await hostDocument(yaml), wholeMachine(), memoryJournal()];
        const before = treeOf(machine);
        await provisionHost(machine, model, journal);
        const with_ = treeOf(machine);
        const planned = await plan(machine, journal, NOTHING);
        await provisionHost(machine, NOTHING, journal);
        if (isAbsence) {
          assert.deepEqual([planned, differences(machine, with_)], [[], []]);
          return;
        }
        assert.ok(planned.length > 0);
        const left = differences(machine, before).filter(
          (line) => stays === undefined || !stays.paths.test(line.slice(0, line.indexOf(' ') + 1)),
        );
        assert.deepEqual(left, [], 'as it was');
        const told = planned.flatMap((summary) => /^no longer in the document: (.*)/.exec(summary)?.[1] ?? []);
        assert.equal(
          told.some((line) => stays?.told.test(line)),
          stays !== undefined,
          told.join('\n'),
        );
        assert.deepEqual(await plan(machine, journal, NOTHING), [], 'and is told once');
      },
    );

    if (isAbsence) return;
    test('is the same after a kill at any event of that run, and another', async () => {
      const model = await hostDocument(yaml);
      const [undisturbed, whole] = [wholeMachine(), new Killer()];
      const memory = memoryJournal();
      await provisionHost(undisturbed, model, memory);
      await provisionHost(undisturbed, NOTHING, memory, whole);
      for (let at = 1; at < whole.events; at += Math.ceil(whole.events / 8)) {
        const [machine, journal] = [wholeMachine(), memoryJournal()];
        await provisionHost(machine, model, journal);
        await provisionHost(machine, NOTHING, journal, new Killer(at));
        await provisionHost(machine, NOTHING, journal);
        assert.deepEqual(differences(machine, treeOf(undisturbed)), [], `killed after event ${at} of ${whole.events}`);
        assert.deepEqual(await plan(machine, journal, NOTHING), [], `killed after event ${at}`);
      }
    });

    test('stays as it is with prune: Never', async () => {
      const [model, machine, journal] = [await hostDocument(yaml), wholeMachine(), memoryJournal()];
      await provisionHost(machine, model, journal);
      const after = treeOf(machine);
      const never = await hostDocument('host: {prune: Never}');
      assert.deepEqual(await plan(machine, journal, never), []);
      await provisionHost(machine, never, journal);
      assert.deepEqual(differences(machine, after), []);
    });
  });
}

test('what an earlier version recorded without what it made of it is left to a reset', async () => {
  const [model, machine, journal] = [await hostDocument('timezone: Europe/Zurich'), wholeMachine(), memoryJournal()];
  await provisionHost(machine, model, journal);
  assert.equal((await plan(machine, journal, NOTHING)).length, 2);
  const earlier = memoryJournal();
  for (const record of journal.records) {
    if (record.is !== 'after') earlier.append(record.is === 'before' ? { ...record, v: 1 } : record);
  }
  assert.deepEqual(await plan(machine, earlier, NOTHING), []);
});

test('a command that fails is an error of the run, and of the next one again', async () => {
  const model = await hostDocument('users: [{name: ada, shell: /bin/bash}]');
  const usermod = { fails: false };
  const machine = wholeMachine();
  const run = machine.run.bind(machine);
  machine.run = async (command) =>
    usermod.fails && command.program === 'usermod'
      ? { status: 1, stdout: '', stderr: 'passwd is locked\n', timedOut: false }
      : await run(command);
  const journal = memoryJournal();
  await provisionHost(machine, model, journal);
  usermod.fails = true;
  await assert.rejects(provisionHost(machine, NOTHING, journal), (failure: unknown) => {
    const error = failure instanceof StepFailure ? failure.error : failure;
    return error instanceof MachineadmError && error.reason === 'HostStepFailed' && /prune to Never/.test(error.remedy);
  });
  usermod.fails = false;
  await provisionHost(machine, NOTHING, journal);
  assert.match(machine.text('/etc/passwd') ?? '', /^ada:.*:\/bin\/sh$/m);
});

/** The entry of the table for a field: of those that match, the one that names the most of it. */
function entryFor(field: string) {
  const escaped = (pattern: string): string => pattern.replace(/[.[\]]/g, '\\$&');
  const matching = Object.entries(DROPPED).filter(([pattern]) =>
    new RegExp(
      `^${escaped(pattern)
        .replaceAll('**', '.+')
        .replace(/(?<!\.\+)\*/g, '[^.]+')}$`,
    ).test(field),
  );
  return matching.sort(([a], [b]) => b.replaceAll('*', '').length - a.replaceAll('*', '').length)[0];
}

/** Takes a field out of a document, in all entries of lists. */
function take(node: unknown, [part = '', ...rest]: readonly string[]): void {
  if (node === null || typeof node !== 'object') return;
  const [name, isList] = [part.replace('[]', ''), part.endsWith('[]')];
  for (const key of name === '*' ? Object.keys(node) : [name]) {
    const below: unknown = Reflect.get(node, key);
    if (rest.length === 0) Reflect.deleteProperty(node, key);
    else for (const one of isList && Array.isArray(below) ? below : [below]) take(one, rest);
  }
}

describe('every field of the host and of the container runtime', () => {
  noPauses();
  const fields = leafFields().filter((field) => /^(?:host|containerRuntime)\./.test(field));

  test('may have an entry in the table of dropped fields, and nothing else has one', () => {
    const used = new Set(fields.map((field) => entryFor(field)?.[0]));
    assert.deepEqual(
      Object.keys(DROPPED).filter((pattern) => !used.has(pattern)),
      [],
    );
  });

  const everything = async () => {
    const [machine, journal] = [driftMachine(), memoryJournal()];
    await runHost({ machine, journal, model: (await loaded(EVERYTHING)).model });
    return { machine, journal };
  };

  test('leaves nothing but what the table says when its section is dropped', async () => {
    const before = treeOf(driftMachine());
    const { machine, journal } = await everything();
    await runHost({ machine, journal, model: NOTHING });
    assertOnly(differences(machine, before));
  });

  test('leaves nothing but what the table says when it alone is dropped', async () => {
    const document: unknown = parse(EVERYTHING);
    const taken: string[] = [];
    for (const field of fields) {
      const without: unknown = structuredClone(document);
      take(without, field.split('.'));
      if (stringify(without) === stringify(document)) continue;
      // One that its entry cannot do without goes with its section, above.
      const isValid = await loaded(stringify(without)).then(
        () => true,
        () => false,
      );
      if (!isValid) continue;
      take(document, field.split('.'));
      taken.push(field);
    }
    assert.ok(taken.length > 30, String(taken.length));
    const { model } = await loaded(stringify(document));
    const [{ machine, journal }, fresh] = [await everything(), driftMachine()];
    await runHost({ machine, journal, model });
    await runHost({ machine: fresh, journal: memoryJournal(), model });
    assertOnly(differences(machine, treeOf(fresh)));
  });

  /** Only what a field leaves differs, and each entry of the table that leaves something is met. */
  function assertOnly(lines: readonly string[]): void {
    const stays = Object.values(DROPPED).flatMap((entry) => (entry.stays === undefined ? [] : [entry.stays]));
    assert.deepEqual(
      lines.filter((line) => !stays.some((paths) => paths.test(line.slice(0, line.indexOf(' ') + 1)))),
      [],
    );
  }
});
