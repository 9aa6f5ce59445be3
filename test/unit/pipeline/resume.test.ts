import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { afterRecord, newJournalState } from '../../../src/pipeline/journal.ts';
import type { JournalRecord } from '../../../src/pipeline/journal-record.ts';
import { evaluateResumable } from '../../../src/pipeline/resume.ts';
import { begun, ended, identity, MACHINE_A, MACHINE_B } from './records.ts';

const HERE = { machineId: MACHINE_A, cloudInstanceId: undefined };
const HOST = { machineId: MACHINE_A, bootId: 'b', hostname: 'h' };

function journal(...records: readonly JournalRecord[]) {
  return records.reduce(afterRecord, newJournalState(identity({ cloudInstanceId: 'i-1' }), false));
}

describe('a run is resumed', () => {
  for (const [what, state] of [
    ['was killed', journal(begun('1'))],
    ['was ended by a signal, as an orderly reboot sends it', journal(begun('1'), ended('1', 'Interrupted', 14))],
    ['asked for a reboot', journal(begun('1'), ended('1', 'RebootRequired', 16))],
    ['was killed after an earlier one succeeded', journal(begun('1'), ended('1'), begun('2'))],
  ] as const) {
    test(`that ${what}`, () => assert.deepEqual(evaluateResumable(state, undefined, HERE), { resume: true }));
  }

  test('that was killed before its journal began', () => {
    const status = { command: 'provision', outcome: 'Interrupted', host: HOST } as const;
    assert.deepEqual(evaluateResumable(undefined, status, HERE), { resume: true });
  });
});

describe('no run is resumed', () => {
  const refuse = (...args: Parameters<typeof evaluateResumable>) => {
    const judged = evaluateResumable(...args);
    assert.ok(!judged.resume);
    return judged.why;
  };

  test('on a machine that never ran machineadm, such as at its first boot', () => {
    assert.match(refuse(undefined, undefined, HERE), /no change of machineadm is recorded/);
  });

  for (const outcome of ['Succeeded', 'Failed']) {
    test(`after a run that ${outcome}`, () => {
      assert.match(refuse(journal(begun('1'), ended('1', outcome)), undefined, HERE), new RegExp(outcome));
    });
  }

  test('after a bake, however it ended', () => {
    assert.match(refuse(journal(begun('1', { command: 'prepare' })), undefined, HERE), /prepare, and not provisioned/);
  });

  for (const [what, here] of [
    ['machine-id', { ...HERE, machineId: MACHINE_B }],
    ["the cloud's instance id", { ...HERE, cloudInstanceId: 'i-2' }],
  ] as const) {
    test(`on a copy of the disk, told by ${what}`, () => {
      assert.match(refuse(journal(begun('1')), undefined, here), /another machine/);
    });
  }

  test('by the status of another machine', () => {
    const host = { ...HOST, machineId: MACHINE_B };
    assert.match(refuse(undefined, { command: 'provision', outcome: 'Interrupted', host }, HERE), /another machine/);
  });
});
