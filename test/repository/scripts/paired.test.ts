import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { atLeast, compare, verdictOf } from '../../../scripts/bench/paired.ts';

/** The same numbers each time, evenly between 0 and 1 (Park and Miller, 1988). */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48271) % 2147483647;
    return state / 2147483647;
  };
}

/** Seconds of a program on a machine whose load drifts and jumps; some runs take many times as long. */
function busyMachine(slowness: number, noise: number, seed: number): (program: 'old' | 'new') => number {
  const next = random(seed);
  let [run, load] = [0, 1];
  return (program) => {
    run += 1;
    if (run % 7 === 0) load = 1 + 3 * next();
    const jump = next() < 0.05 ? 10 : 1;
    const spread = Math.exp(noise * (next() + next() + next() + next() - 2));
    return (program === 'new' ? slowness : 1) * load * jump * spread;
  };
}

const slowerOf = (slowness: number, noise: number): number =>
  Array.from({ length: 300 }, (_, seed) => {
    const seconds = busyMachine(slowness, noise, seed * 7919 + 1);
    return compare({ what: 'x', seconds }, 40, () => true).isSlower ? 1 : 0;
  }).reduce<number>((sum, one) => sum + one, 0);

describe('the comparison of two programs', () => {
  test('knows the probability of coins', () => {
    assert.equal(atLeast(0, 5), 1);
    assert.equal(atLeast(5, 5), 1 / 32);
    assert.equal(atLeast(4, 5), 6 / 32);
  });

  test('says nothing of few pairs, however clear', () => {
    assert.equal(verdictOf(Array.from({ length: 9 }, () => 2)), 'open');
    assert.equal(verdictOf(Array.from({ length: 10 }, () => 2)), 'slower');
    assert.equal(verdictOf(Array.from({ length: 10 }, () => 1)), 'not slower');
    assert.equal(verdictOf(Array.from({ length: 40 }, (_, index) => (index % 2 === 0 ? 1 : 2))), 'open');
  });

  for (const noise of [0.02, 0.2, 1]) {
    test(`never refuses one that is as fast, with noise of ${noise}`, () => {
      assert.equal(slowerOf(1, noise), 0);
      assert.equal(slowerOf(1.05, noise), 0);
    });
  }

  test('refuses one that is slower, unless the noise hides it', () => {
    assert.ok(slowerOf(1.2, 0.02) > 295);
    assert.ok(slowerOf(1.5, 0.2) > 250);
    assert.equal(slowerOf(3, 0.2), 300);
  });

  test('needs two series that agree', () => {
    let runs = 0;
    const seconds = (program: 'old' | 'new') => {
      runs += 1;
      return program === 'new' && runs <= 20 ? 2 : 1;
    };
    assert.deepEqual(
      compare({ what: 'x', seconds }, 40, () => true),
      { what: 'x', isSlower: false, pairs: 20, ratio: 2 },
    );
  });

  test('passes what has no time left', () => {
    let left = 15;
    const seconds = (program: 'old' | 'new') => (program === 'new' ? 5 : 1);
    const { isSlower, pairs } = compare({ what: 'x', seconds }, 40, () => left-- > 0);
    assert.deepEqual([isSlower, pairs], [false, 15]);
  });
});
