import type { TestEvent } from 'node:test/reporters';

/** The counts of a whole `node --test` run. */
export interface TestCounts {
  readonly passed: number;
  /** Failed and cancelled tests. */
  readonly failed: number;
  readonly skipped: number;
}

/**
 * A reporter for `node --test` that writes nothing but the counts of the whole run, as one line of JSON. It reads the
 * `test:summary` event that has no file: that one is the sum over all files (Node's doc/api/test.md).
 */
export default async function* summary(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const event of events) {
    if (event.type !== 'test:summary' || event.data.file !== undefined) continue;
    const { passed, cancelled, skipped, tests, todo } = event.data.counts;
    const failed = tests - passed - skipped - todo - cancelled;
    const counts: TestCounts = { passed, failed: failed + cancelled, skipped };
    yield `${JSON.stringify(counts)}\n`;
  }
}
