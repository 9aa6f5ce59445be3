import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { pauseMs } from '../../../../src/reporting/delivery/pause.ts';

describe('the pause between two tries', () => {
  test('is drawn from zero up to a ceiling that doubles to five minutes', () => {
    const ceilings = [1, 2, 3, 9, 10, 50].map((failures) => pauseMs(failures, undefined, () => 1));
    assert.deepEqual(ceilings, [1000, 2000, 4000, 256_000, 300_000, 300_000]);
    assert.equal(
      pauseMs(5, undefined, () => 0),
      0,
    );
  });

  test('is never shorter than what the receiver asked for, nor the same for all', () => {
    assert.equal(
      pauseMs(1, 7000, () => 0),
      7000,
    );
    assert.equal(
      pauseMs(1, 7000, () => 1),
      14_000,
    );
  });

  test('is not for ever because a receiver says so', () => {
    assert.ok(pauseMs(1, 1e12, () => 0) <= 300_000);
  });
});
