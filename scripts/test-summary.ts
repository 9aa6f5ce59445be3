import { existsSync, readFileSync } from 'node:fs';
import type { TestEvent } from 'node:test/reporters';
import { caseReader, type TestCase } from './test-cases.ts';

/** The counts of a whole `node --test` run. */
export interface TestCounts {
  readonly passed: number;
  /** Failed and cancelled tests. */
  readonly failed: number;
  readonly skipped: number;
  /** Seconds of processor time, of this process and of those that it started and saw end; 0 where the system does not say. */
  readonly cpuSeconds: number;
  readonly failures: readonly TestCase[];
}

/**
 * A reporter for `node --test` that writes nothing but the counts of the whole run, what it cost and what failed, as one line of JSON. It reads the
 * `test:summary` event that has no file: that one is the sum over all files (Node's doc/api/test.md).
 */
export default async function* summary(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const caseOf = caseReader();
  const failures: TestCase[] = [];
  for await (const event of events) {
    const found = caseOf(event);
    if (found?.outcome === 'failed') failures.push(found);
    if (event.type !== 'test:summary' || event.data.file !== undefined) continue;
    const { passed, cancelled, skipped, tests, todo } = event.data.counts;
    const failed = tests - passed - skipped - todo - cancelled;
    const counts: TestCounts = { passed, failed: failed + cancelled, skipped, cpuSeconds: cpuSeconds(), failures };
    yield `${JSON.stringify(counts)}\n`;
  }
}

/** utime, stime, cutime and cstime of proc(5), which counts in hundredths (USER_HZ is 100 on every Linux). */
export function cpuSeconds(): number {
  if (!existsSync('/proc/self/stat')) return 0;
  const stat = readFileSync('/proc/self/stat', 'utf8');
  // Behind the name, which may have spaces in it, the third field is the first.
  const times = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 15);
  return times.reduce((sum, time) => sum + Number(time), 0) / 100;
}
