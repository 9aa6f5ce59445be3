import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { retry } from '../../../../src/host/http/retry.ts';

/** A clock that only pauses move. */
function clock() {
  const pauses: number[] = [];
  let time = 0;
  const wait = async (ms: number) => {
    pauses.push(ms);
    time += ms;
  };
  return { pauses, wait, now: () => time };
}

describe('retrying', () => {
  test('pauses with a ceiling that doubles up to five seconds, and ends within its budget', async () => {
    const { pauses, wait, now } = clock();
    const attempt = async () => {
      throw new Error('down');
    };
    const options = { budgetMs: 30_000, isRetryable: () => true, random: () => 1, wait, now };
    await assert.rejects(retry(attempt, options), /down/);
    assert.deepEqual(pauses.slice(0, 7), [250, 500, 1000, 2000, 4000, 5000, 5000]);
    assert.ok(now() <= 30_000 && now() > 24_000);
  });

  test('draws each pause from zero on', async () => {
    const { pauses, wait, now } = clock();
    let attempts = 0;
    const attempt = async () => {
      attempts += 1;
      if (attempts < 4) throw new Error('down');
      return 'up';
    };
    const draws = [0, 0.5, 0.1];
    const random = () => draws.shift() ?? 1;
    assert.equal(await retry(attempt, { budgetMs: 30_000, isRetryable: () => true, random, wait, now }), 'up');
    assert.deepEqual(pauses, [0, 250, 100]);
  });

  test('does not repeat a permanent failure', async () => {
    let attempts = 0;
    const attempt = async () => {
      attempts += 1;
      throw new Error('refused');
    };
    await assert.rejects(retry(attempt, { budgetMs: 30_000, isRetryable: () => false }), /refused/);
    assert.equal(attempts, 1);
  });
});
