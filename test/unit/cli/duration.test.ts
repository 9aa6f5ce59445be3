import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { durationOf } from '../../../src/cli/duration.ts';

describe('a duration on the command line', () => {
  for (const [text, milliseconds] of [
    ['90s', 90_000],
    ['10m', 600_000],
    ['1s', 1_000],
  ] as const) {
    test(`${text} is ${milliseconds} ms`, () => assert.equal(durationOf('--every', text, 1_000), milliseconds));
  }

  for (const [text, shortest, message] of [
    ['soon', 0, /^--every: "soon" is not a duration$/],
    ['soon', 1_000, /"soon" is not a duration of a second or more$/],
    ['999ms', 1_000, /"999ms" is not a duration of a second or more$/],
  ] as const) {
    test(`${text} is refused where the shortest is ${shortest} ms`, () => {
      assert.throws(() => durationOf('--every', text, shortest), { reason: 'UsageInvalid', message });
    });
  }
});
