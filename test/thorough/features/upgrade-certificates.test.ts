import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { areCertificatesDue } from '../../../src/features/upgrade/renewal.ts';
import { INTERRUPTED, MONTH, RECORD_PATH, run, SOON } from '../../support/renewal.ts';
import { renewalNode } from '../../support/renewal-node.ts';
import { shortPauses } from '../../support/short-pauses.ts';

describe('a renewal that is killed', () => {
  shortPauses();
  class Killed extends Error {}

  test('at every change, and run again, ends as one that was not', async () => {
    let steps = 0;
    {
      const before = () => {
        steps += 1;
      };
      await using node = await renewalNode({ days: SOON, before });
      await run(node);
    }
    assert.ok(steps > 6, `${steps}`);
    for (let kill = 1; kill <= steps; kill += 1) {
      let seen = 0;
      const before = () => {
        seen += 1;
        if (seen === kill) throw new Killed();
      };
      await using node = await renewalNode({ days: SOON, before });
      await assert.rejects(run(node), Killed);
      const { left } = await run(node, INTERRUPTED);
      assert.deepEqual(left, [], `killed at ${kill}`);
      assert.equal(await areCertificatesDue(node.host, MONTH), false, `killed at ${kill}`);
      assert.deepEqual([...new Set(node.restarts)].sort(), ['etcd', 'kube-apiserver', 'kube-scheduler']);
      assert.deepEqual([...new Set(node.renewed)].sort(), Object.keys(SOON).sort());
      assert.equal(node.host.text(RECORD_PATH), undefined, `killed at ${kill}`);
    }
  });
});
