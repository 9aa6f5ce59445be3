import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { upgradeContainerd } from '../../../src/features/upgrade/containerd.ts';
import { upgradeContainerdState } from '../../../src/features/upgrade/containerd-state.ts';
import {
  at,
  CONFIG,
  containerdNode,
  KEEP,
  KEPT,
  model,
  PROVE,
  RECORD,
  step,
} from '../../support/containerd-upgrade-node.ts';
import type { MemoryHost } from '../../support/memory-host.ts';
import { runStep } from '../../support/run-step.ts';
import { shortPauses } from '../../support/short-pauses.ts';

describe('an upgrade of containerd that is killed at any change', () => {
  shortPauses();
  test('ends as an undisturbed one when it is run again', async () => {
    class Killed extends Error {}
    let isOver = false;
    for (let kill = 1; !isOver; kill += 1) {
      await using node = await containerdNode();
      let seen = 0;
      const dying =
        <Args extends readonly unknown[]>(act: (...args: Args) => Promise<void>) =>
        async (...args: Args): Promise<void> => {
          seen += 1;
          if (seen === kill) throw new Killed();
          await act(...args);
        };
      const { host } = node;
      const killing: MemoryHost = {
        ...host,
        writeFile: dying(host.writeFile),
        removeFile: dying(host.removeFile),
        services: { ...host.services, restart: dying(host.services.restart) },
      };
      // As the journal: only the changes that were not repeatable and done are known.
      const done = new Set<string>();
      const owed = new Set<'restart:containerd'>();
      const all = async (machine: MemoryHost): Promise<void> => {
        const record = { ...RECORD, done };
        await runStep(upgradeContainerdState, machine, model(), { ...at('1.7.24'), record });
        done.add(KEEP);
        node.bring();
        owed.add('restart:containerd');
        await runStep(step, machine, model(), { ...at('2.1.9'), record: { ...record, owed } });
        owed.clear();
        await runStep(upgradeContainerd, machine, model(), { ...at('2.1.9'), record });
        done.add(PROVE);
      };
      try {
        await all(killing);
        isOver = true;
      } catch (error) {
        const cause = error instanceof Error && error.cause instanceof Killed ? error.cause : error;
        if (!(cause instanceof Killed)) throw error;
        await all(host);
      }
      assert.equal(node.running(), '2.1.9', `killed at ${kill}`);
      assert.match(host.text(CONFIG) ?? '', /^version = 3$/m);
      assert.equal(host.text(`${CONFIG}.machineadm-previous`), undefined);
      assert.match(host.text(KEPT) ?? '', /1\.7\.24/);
      assert.equal(host.text('/var/lib/machineadm/upgrade/containerd.usr.bin'), 'containerd 1.7.24');
    }
  });
});
