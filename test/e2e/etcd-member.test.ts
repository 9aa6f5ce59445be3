import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { controlPlaneDocument, initDocument, newSeeds } from '../support/documents.ts';
import { membersSeenBy } from '../support/etcd-members.ts';
import { AGENT, assertSucceeded, Fleet, JOURNAL, LAB, type Node, provisionOnce, told } from '../support/lab.ts';
import { needs } from '../support/needs.ts';
import { assertNoLeaks } from '../support/twice.ts';

const MINUTE = 60_000;
const skip = needs(...LAB, 'MACHINEADM_E2E=all');

/** The members of the cluster as its first one lists them. */
async function members(first: Node): Promise<readonly string[]> {
  const list = await membersSeenBy(first);
  return list.map(({ name = '', peerURLs }) => `${name} ${peerURLs.join(',')}`).sort();
}

describe('a control plane whose join was killed after etcd admitted it', { skip, timeout: 25 * MINUTE }, () => {
  const seeds = newSeeds();
  let first: Node;

  const fleet = Fleet.ofSuite(async () => {
    first = await fleet.start({ name: 'e2e-m1', ip: '10.99.0.71' });
    await provisionOnce(first, initDocument(first.site, seeds));
  });

  test('is removed from etcd by the next run, and joins', { timeout: 15 * MINUTE }, async () => {
    const second = await fleet.start({ name: 'e2e-m2', ip: '10.99.0.72' });
    await second.lay(controlPlaneDocument(second.site, seeds, first.machine.ip));
    // The note about the announcement is durable before anything else happens.
    const killer = second.machine.shell(
      `until grep -qs '"etcdMemberAnnounced":true' ${JOURNAL}; do sleep 0.05; done
       pkill -KILL kubeadm; pkill -KILL -f '^${AGENT} provision '`,
      { timeoutMs: 8 * MINUTE },
    );
    const killed = await second.provision().catch((error: unknown) => error);
    await killer;
    assert.ok(killed instanceof Error, 'a run that was killed prints no status');
    assert.equal((await members(first)).length, 2, 'the dead join left its member in the cluster');

    const run = await second.provision();
    await assertSucceeded(second, run);
    assert.ok(run.changes.includes('kubeadm-reset/reset'), told(run));
    assert.ok(
      run.status.warnings.some((warning) => warning.includes('was killed')),
      told(run),
    );
    assert.deepEqual(await members(first), ['e2e-m1 https://10.99.0.71:2380', 'e2e-m2 https://10.99.0.72:2380']);
    await assertNoLeaks(second, seeds, { run });
  });
});
