import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { upgradeControlPlane } from '../../../src/features/upgrade/control-plane.ts';
import type { StepRecord } from '../../../src/step/index.ts';
import { controlPlaneNode } from '../../support/control-plane-node.ts';
import { CHANGE, model, RECORD, V4 } from '../../support/control-plane-settings.ts';
import { planned, runStep } from '../../support/run-step.ts';

const KEPT = '/var/lib/machineadm/upgrade/control-plane.json';

describe('a change of the settings of static pods', () => {
  test('is continued after a kill at any change, and ends as an undisturbed one', async () => {
    class Killed extends Error {}
    for (let kill = 1; ; kill += 1) {
      let seen = 0;
      const node = await controlPlaneNode({
        before: () => {
          seen += 1;
          if (seen === kill) throw new Killed();
        },
      });
      await using _node = node;
      const asked = model({ controllerManager: { args: V4 }, etcd: [{ name: 'snapshot-count', value: '5' }] });
      let record: StepRecord = RECORD;
      try {
        await runStep(upgradeControlPlane, node.host, asked, { record });
        assert.ok(kill > 6, `only ${kill - 1} changes`);
        return;
      } catch (error) {
        if (!(error instanceof Killed)) throw error;
        // The journal has what ran: that which was killed is the first that is not in place.
        const left = await planned(upgradeControlPlane, node.host, asked, { record });
        const pods = ['kube-controller-manager', 'etcd', 'record'];
        const running = pods.findIndex((pod) => left.some(({ id }) => id === CHANGE(pod)));
        record = {
          ...record,
          done: new Set(pods.slice(0, running).map(CHANGE)),
          interrupted: new Set([CHANGE(pods[running] ?? '')]),
        };
      }
      const { left } = await runStep(upgradeControlPlane, node.host, asked, { record });
      assert.deepEqual(left, [], `killed at ${kill}`);
      assert.ok((await node.command('kube-controller-manager')).includes('--v=4'));
      assert.ok((await node.command('etcd')).includes('--snapshot-count=5'));
      assert.equal(node.recorded.length > 0, true);
      assert.equal(node.host.text(KEPT), undefined);
    }
  });
});
