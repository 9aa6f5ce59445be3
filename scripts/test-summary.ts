import { existsSync, readFileSync } from 'node:fs';
import type { TestEvent } from 'node:test/reporters';
import { caseReader, type TestCase } from './test-cases.ts';

/** The counts of a whole `node --test` run. */
export interface TestCounts {
  readonly passed: number;
  /** Failed and cancelled tests. */
  readonly failed: number;
  readonly skipped: number;
  /** Seconds of processor time of this process and of its children that have exited; 0 if the system does not report it. */
  readonly cpuSeconds: number;
  readonly failures: readonly TestCase[];
  /** Why each skipped test or suite was skipped. The tests of a skipped suite are not known. */
  readonly skips: readonly string[];
}

/**
 * A reporter for `node --test` that writes only the counts, the processor time and the failures of the whole run, as one line
 * of JSON. It reads the `test:summary` event without a file, which has the sums of all files (Node's doc/api/test.md).
 */
export default async function* summary(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const caseOf = caseReader();
  const failures: TestCase[] = [];
  const skips: string[] = [];
  for await (const event of events) {
    const found = caseOf(event);
    if (found?.outcome === 'failed') failures.push(found);
    if (found?.outcome === 'skipped') skips.push(found.because ?? 'without a reason');
    if (event.type !== 'test:summary' || event.data.file !== undefined) continue;
    const { passed, cancelled, skipped, tests, todo } = event.data.counts;
    const failed = tests - passed - skipped - todo - cancelled;
    const counts: TestCounts = {
      passed,
      failed: failed + cancelled,
      // Node's count leaves out suites.
      skipped: skips.length,
      cpuSeconds: cpuSeconds(),
      failures,
      skips,
    };
    yield `${JSON.stringify(counts)}\n`;
  }
}

/** The sum of utime, stime, cutime and cstime (proc(5)), in units of 1/100 s (USER_HZ is 100 on the supported platforms). */
export function cpuSeconds(): number {
  if (!existsSync('/proc/self/stat')) return 0;
  const stat = readFileSync('/proc/self/stat', 'utf8');
  // The name may contain spaces. The first field after it is field 3.
  const times = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 15);
  return times.reduce((sum, time) => sum + Number(time), 0) / 100;
}
