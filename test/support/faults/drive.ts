import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type { Member } from '../etcd-members.ts';
import type { Provisioned } from '../lab.ts';
import { ALL_CASES, assertFailed, assertSucceeded, Fleet, LAB, type Node, SENTINEL, told } from '../lab.ts';
import { needs } from '../needs.ts';
import { FaultBench, lanesOf, type Sabotaged } from './bench.ts';
import { capture } from './capture.ts';
import { SABOTAGES } from './index.ts';
import { record, resultOf } from './results.ts';
import type { FaultResult, FaultRole, Sabotage } from './sabotage.ts';

type Members = NonNullable<Sabotaged['members']>;

const MINUTE = 60_000;
/** Rewrites docs/faults.md and what the unit tests hold it against. */
const WRITES = process.env.MACHINEADM_WRITE_FAULTS === '1';
/** A directory: what each machine logged is written there, in the form of `test/fixtures/transcripts`. */
const CAPTURES = process.env.MACHINEADM_CAPTURE_FAULTS;
/** Ids, or parts of them, separated by commas; default: all. */
const WANTED = (process.env.MACHINEADM_FAULTS ?? '').split(',');

/** Drives the sabotages of one role on lab machines, a test each. */
export function driveFaults(role: FaultRole): void {
  const sabotages = SABOTAGES.filter(
    (sabotage) =>
      sabotage.role === role &&
      (ALL_CASES || sabotage.core === true) &&
      WANTED.some((part) => sabotage.id.includes(part)),
  );
  const skip = needs(...LAB) || (sabotages.length === 0 && needs('MACHINEADM_E2E=all'));
  describe(`a broken machine says what is broken: ${role}`, {
    skip,
    timeout: 90 * MINUTE,
    concurrency: lanesOf(role),
  }, () => {
    const results: FaultResult[] = [];
    let bench: FaultBench;

    const fleet = Fleet.ofSuite(async () => {
      bench = await FaultBench.open(fleet, role, Math.min(lanesOf(role), sabotages.length));
    });
    after(() => {
      if (WRITES) record(results, SABOTAGES);
    });

    for (const sabotage of sabotages) {
      test(`${sabotage.id}: ${sabotage.what}`, { timeout: 30 * MINUTE }, () =>
        bench.drive(sabotage, async ({ node, run, members }) => {
          results.push(resultOf(sabotage, run));
          if (CAPTURES !== undefined) await capture(CAPTURES, node, run, sabotage);
          await assertTrue(node, run, sabotage);
          if (members !== undefined) assertMembersKept(node, members, sabotage);
        }),
      );
    }
  });
}

async function assertTrue(node: Node, run: Provisioned, { expected }: Sabotage): Promise<void> {
  if (expected === 'success') return await assertSucceeded(node, run);
  const { reason, step, exitCode, proof } = expected;
  if (step === undefined) {
    assert.equal(run.status.failure?.reason, reason, told(run));
    assert.equal(run.exitCode, exitCode, told(run));
    assert.equal(await node.read(SENTINEL), undefined, 'no sentinel without success');
  } else await assertFailed(node, run, exitCode, step, reason);
  assert.match(JSON.stringify([run.status.failure?.summary, run.status.failure?.evidence]), proof, told(run));
}

/**
 * A run that fails has removed and changed no member of etcd. A member of this machine's own may have come, where kubeadm
 * got as far as announcing it: the next run removes that one.
 */
function assertMembersKept(node: Node, { before, after }: Members, { expected, spoils }: Sabotage): void {
  const own = `https://${node.site.ip}:2380`;
  const isNewOwn = ({ id, peerURLs }: Member): boolean =>
    peerURLs.includes(own) && before.every((member) => member.id !== id);
  const announced = after.filter(isNewOwn);
  assert.deepEqual(
    after.filter((member) => !announced.includes(member)),
    before,
  );
  if (expected === 'success') assert.equal(announced.length, 1);
  else if (spoils !== true) assert.deepEqual(announced, []);
}
