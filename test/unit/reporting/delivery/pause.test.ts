import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { pauseMs } from '../../../../src/reporting/delivery/pause.ts';

const least = () => 0;
const most = () => 1;

describe('the pause between two tries', () => {
  test('is short after the first failure, which may be temporary; it grows to what a fleet needs, and at last to minutes', () => {
    const ceilings = [1, 2, 3, 12, 13, 14, 50].map((failures) => pauseMs(failures, undefined, most));
    assert.deepEqual(ceilings, [2_000, 60_000, 60_000, 60_000, 120_000, 240_000, 300_000]);
    assert.equal(pauseMs(5, undefined, least), 0);
  });

  test('is never shorter than what the receiver asked for, nor the same for all', () => {
    assert.equal(pauseMs(1, 7_000, least), 7_000);
    assert.equal(pauseMs(1, 7_000, most), 67_000);
    assert.equal(pauseMs(1, 120_000, most), 240_000);
  });

  test('is not short if the receiver reports that it is overloaded, even without a time', () => {
    assert.equal(pauseMs(1, 0, most), 60_000);
  });

  test('has an upper limit, whatever the receiver requests', () => {
    assert.equal(pauseMs(1, 1e12, least), 300_000);
    assert.equal(pauseMs(1, 1e12, most), 600_000);
  });
});
