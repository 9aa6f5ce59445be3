import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  NOTHING_SEEN,
  type NodeHealth,
  type Observation,
  observed,
} from '../../../../src/reporting/watch/node-health.ts';
import { at } from '../runs.ts';

const GOOD: Observation = { healthy: true, reason: 'NodeWorks', why: '', unknown: false };
const KUBELET: Observation = { healthy: false, reason: 'KubeletNotHealthy', why: 'it does not answer', unknown: false };
const AWAY: Observation = { healthy: false, reason: 'NodeNotRegistered', why: 'no route', unknown: true };

/** What is believed after these looks, a second apart: `status reason @second of the last change of the status`. */
function beliefs(...looks: readonly Observation[]): string[] {
  let health: NodeHealth = NOTHING_SEEN;
  return looks.map((look, index) => {
    health = observed(health, look, at(index));
    const { status, reason, lastTransitionTime } = health.condition ?? assert.fail();
    return `${status} ${reason} @${Number(lastTransitionTime.slice(17, 19))}`;
  });
}

describe('the health of a node in a watch', () => {
  test('is what it sees first, good or bad', () => {
    assert.deepEqual(beliefs(GOOD), ['True NodeWorks @0']);
    assert.deepEqual(beliefs(KUBELET), ['False KubeletNotHealthy @0']);
  });

  test('does not change for a kubelet that is restarted', () => {
    assert.deepEqual(beliefs(GOOD, KUBELET, GOOD, KUBELET, GOOD), Array(5).fill('True NodeWorks @0'));
  });

  test('changes for the worse when that is seen twice in a row, and for the better at once', () => {
    assert.deepEqual(beliefs(GOOD, KUBELET, KUBELET, GOOD), [
      'True NodeWorks @0',
      'True NodeWorks @0',
      'False KubeletNotHealthy @2',
      'True NodeWorks @3',
    ]);
  });

  test('is unknown while nobody can be asked: that is no proof of anything', () => {
    assert.deepEqual(beliefs(GOOD, AWAY, AWAY), [
      'True NodeWorks @0',
      'True NodeWorks @0',
      'Unknown NodeNotRegistered @2',
    ]);
  });

  test('has another reason without another time', () => {
    const absent = { ...AWAY, unknown: false };
    assert.deepEqual(beliefs(KUBELET, absent, absent), [
      'False KubeletNotHealthy @0',
      'False KubeletNotHealthy @0',
      'False NodeNotRegistered @0',
    ]);
  });

  test('is the same object while nothing changed: another message alone is no change', () => {
    const first = observed(NOTHING_SEEN, KUBELET, at(0));
    const second = observed(first, { ...KUBELET, why: 'in other words' }, at(1));
    assert.equal(second.condition, first.condition);
  });
});
