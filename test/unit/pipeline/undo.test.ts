import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { describeReset } from '../../../src/steps/reset/plan.ts';
import {
  assertSameTree,
  hostDocument,
  Killer,
  memoryJournal,
  provisionHost,
  resetHost,
  resetPlan,
  treeOf,
} from '../../support/undo-bench.ts';
import { UNDO_DOCUMENTS } from '../../support/undo-documents.ts';
import { wholeMachine } from '../../support/whole-machine.ts';

for (const [name, yaml] of Object.entries(UNDO_DOCUMENTS)) {
  describe(`a machine with ${name}`, () => {
    test('is after a reset what it was before the run, and a dry run says the same', async () => {
      const model = await hostDocument(yaml);
      const machine = wholeMachine();
      const before = treeOf(machine);
      const journal = memoryJournal();
      await provisionHost(machine, model, journal);
      assert.notDeepEqual(treeOf(machine), before, 'the run changed something');
      const remembered = memoryJournal();
      for (const record of journal.records) remembered.append(record);
      const { planned, done } = await resetHost(machine, journal);
      assertSameTree(machine, before, 'after the reset');
      assert.deepEqual(done, planned);
      assert.deepEqual(describeReset(await resetPlan(machine, remembered)), [], 'nothing is left for another reset');
    });

    test('is the same after a kill at every event and another run, and a reset at once or later restores it', async () => {
      const model = await hostDocument(yaml);
      const whole = new Killer();
      const undisturbed = wholeMachine();
      const before = treeOf(undisturbed);
      await provisionHost(undisturbed, model, memoryJournal(), whole);
      const after = treeOf(undisturbed);
      assert.ok(whole.events > 1);
      for (let at = 1; at < whole.events; at += 1) {
        // Of a long run, each event is met by one of the two.
        for (const again of whole.events > 40 ? [at % 2 === 0] : [false, true]) {
          const machine = wholeMachine();
          const journal = memoryJournal();
          await provisionHost(machine, model, journal, new Killer(at));
          if (again) {
            await provisionHost(machine, model, journal);
            assertSameTree(machine, after, `killed after event ${at}, and run again`);
          }
          await resetHost(machine, journal);
          assertSameTree(machine, before, `killed after event ${at}${again ? ', run again' : ''}, and reset`);
        }
      }
    });

    test('is what it was before after a reset that was killed at every event, and another', async () => {
      const model = await hostDocument(yaml);
      for (let at = 1, whole = false; !whole; at += 1) {
        const machine = wholeMachine();
        const before = treeOf(machine);
        const journal = memoryJournal();
        await provisionHost(machine, model, journal);
        const killer = new Killer(at);
        await resetHost(machine, journal, killer);
        whole = !killer.isDead;
        await resetHost(machine, journal);
        assertSameTree(machine, before, `killed after event ${at} of the reset`);
      }
    });
  });
}
