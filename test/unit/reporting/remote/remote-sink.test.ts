import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { resultOfStatus, retryAfterMs } from '../../../../src/reporting/remote/remote-sink.ts';

const NOW = Date.parse('2026-11-20T10:00:00Z');

describe('what an HTTP status means for a delivery', () => {
  const none = new Map<string, string>();
  for (const status of [200, 201, 202, 204]) {
    test(`${status}: delivered`, () => assert.equal(resultOfStatus(status, none, NOW).kind, 'delivered'));
  }
  for (const status of [400, 413, 415, 422]) {
    test(`${status}: refused`, () => assert.equal(resultOfStatus(status, none, NOW).kind, 'refused'));
  }
  for (const status of [301, 401, 403, 404, 408, 425, 429, 500, 502, 503]) {
    test(`${status}: again later`, () => assert.equal(resultOfStatus(status, none, NOW).kind, 'retry'));
  }

  test('the receiver says when', () => {
    const result = resultOfStatus(429, new Map([['retry-after', '7']]), NOW);
    assert.deepEqual(result, { kind: 'retry', why: 'HTTP 429', afterMs: 7000 });
  });
});

describe('Retry-After', () => {
  test('is seconds, or a date that is not in the past', () => {
    assert.equal(retryAfterMs('3', NOW), 3000);
    assert.equal(retryAfterMs('Fri, 20 Nov 2026 10:00:09 GMT', NOW), 9000);
    assert.equal(retryAfterMs('Fri, 20 Nov 2026 09:00:00 GMT', NOW), 0);
  });

  test('counts for nothing where it is neither', () => {
    assert.equal(retryAfterMs('soon', NOW), undefined);
    assert.equal(retryAfterMs(undefined, NOW), undefined);
  });
});
