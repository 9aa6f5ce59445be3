import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { FaultBench } from '../support/faults/bench.ts';
import type { FaultRole } from '../support/faults/sabotage.ts';
import {
  MOST_SECONDS,
  recordTimes,
  TIMED_FAULTS,
  type TimedResult,
  timed,
  timesOf,
} from '../support/faults/time-to-cause.ts';
import { ALL_CASES, Fleet, LAB, told } from '../support/lab.ts';
import { needs } from '../support/needs.ts';

const MINUTE = 60_000;
/** Rewrites the table in docs/faults.md. */
const WRITES = process.env.MACHINEADM_WRITE_FAULTS === '1';
const WANTED = (process.env.MACHINEADM_FAULTS ?? '').split(',');

for (const role of ['init', 'worker'] satisfies readonly FaultRole[]) {
  const faults = TIMED_FAULTS.filter((fault) => fault.role === role && WANTED.some((part) => fault.id.includes(part)));
  const skip = needs(...LAB) || ((!ALL_CASES || faults.length === 0) && needs('MACHINEADM_E2E=all'));
  describe(`while kubeadm waits, the cause is in the status within ${MOST_SECONDS} s: ${role}`, {
    skip,
    timeout: 60 * MINUTE,
  }, () => {
    const results: TimedResult[] = [];
    let bench: FaultBench;
    after(() => {
      if (WRITES) recordTimes(results);
    });
    const fleet = Fleet.ofSuite(async () => {
      bench = await FaultBench.open(fleet, role, 1);
    });

    for (const fault of faults)
      test(`${fault.id}: ${fault.what}`, { timeout: 15 * MINUTE }, () =>
        bench.drive(timed(fault), async ({ node, run }) => {
          assert.equal(run.status.failure?.reason, fault.reason, told(run));
          const result = await timesOf(node, fault);
          results.push(result);
          assert.ok(result.status <= MOST_SECONDS, `status: ${JSON.stringify(result)}\n${told(run)}`);
          assert.ok(result.sink <= MOST_SECONDS, `sink: ${JSON.stringify(result)}\n${told(run)}`);
          // The second exit of the same kind proves that it repeats; the kubelet restarts a process after ten seconds or more.
          if (fault.isPermanent) assert.ok(result.end < 60, `end: ${JSON.stringify(result)}`);
        }),
      );
  });
}
