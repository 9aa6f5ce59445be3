import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { describeReset } from '../../../src/undo/reset/plan.ts';
import { UNDO_DOCUMENTS } from '../../support/all-cases.ts';
import { killPoints } from '../../support/kill-points.ts';
import { noPauses } from '../../support/short-pauses.ts';
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
import { wholeMachine } from '../../support/whole-machine.ts';

for (const [name, yaml] of Object.entries(UNDO_DOCUMENTS)) {
  describe(`a machine with ${name}`, () => {
    noPauses();
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

    test('is the same after a kill at an event and another run, and a reset at once or later restores it', async () => {
      const model = await hostDocument(yaml);
      const whole = new Killer();
      const undisturbed = wholeMachine();
      const before = treeOf(undisturbed);
      await provisionHost(undisturbed, model, memoryJournal(), whole);
      const after = treeOf(undisturbed);
      assert.ok(whole.events > 1);
      for (const at of killPoints(whole.events - 1)) {
        for (const again of [false, true]) {
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

    test('is what it was before after a reset that was killed at an event, and another', async () => {
      const model = await hostDocument(yaml);
      const killedBy = async (killer: Killer): Promise<void> => {
        const machine = wholeMachine();
        const before = treeOf(machine);
        const journal = memoryJournal();
        await provisionHost(machine, model, journal);
        await resetHost(machine, journal, killer);
        await resetHost(machine, journal);
        assertSameTree(machine, before, `killed after event ${killer.at} of the reset`);
      };
      const whole = new Killer();
      await killedBy(whole);
      for (const at of killPoints(whole.events)) await killedBy(new Killer(at));
    });
  });
}
