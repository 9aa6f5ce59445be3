import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { upgradeKubeletSettings } from '../../../src/features/upgrade/kubelet-settings.ts';
import { CONFIG, FLAGS, INTERRUPTED, KEPT, kubeletNode, model, RECORD } from '../../support/kubelet-settings-node.ts';
import type { MemoryHost } from '../../support/memory-host.ts';
import { runStep } from '../../support/run-step.ts';
import { shortPauses } from '../../support/short-pauses.ts';

describe('a change of the settings of a kubelet', () => {
  shortPauses();
  test('is continued after a kill at any change, and ends as an undisturbed one', async () => {
    class Killed extends Error {}
    const asked = model({ config: { maxPods: 200 }, args: [{ name: 'v', value: '4' }] });
    for (let kill = 1; kill <= 4; kill += 1) {
      await using node = await kubeletNode();
      let seen = 0;
      const killing: MemoryHost = {
        ...node.host,
        async writeFile(file) {
          seen += 1;
          if (seen === kill) throw new Killed();
          await node.host.writeFile(file);
        },
        async removeFile(path) {
          seen += 1;
          if (seen === kill) throw new Killed();
          await node.host.removeFile(path);
        },
      };
      await assert.rejects(runStep(upgradeKubeletSettings, killing, asked, { record: RECORD }), Killed);
      const { left } = await runStep(upgradeKubeletSettings, node.host, asked, { record: INTERRUPTED });
      assert.deepEqual(left, [], `killed at ${kill}`);
      assert.match(node.host.text(CONFIG) ?? '', /maxPods: 200/);
      assert.match(node.host.text(FLAGS) ?? '', /--v=4"/);
      assert.equal(node.host.text(KEPT), undefined);
      assert.ok(node.restarts() > 0);
    }
  });
});
