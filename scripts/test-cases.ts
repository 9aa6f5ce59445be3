import type { TestEvent } from 'node:test/reporters';

/** How one case of a `node --test` run ended. */
export interface TestCase {
  /** Its name behind those of the suites and tests that it lies in, as `suite > test`. */
  readonly name: string;
  readonly outcome: 'passed' | 'failed' | 'skipped';
  /** Why it failed or was skipped. */
  readonly because?: string;
}

/** A reporter for `node --test` that writes each case, and of suites those that were skipped as a whole, as a line of JSON. */
export default async function* cases(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const names: string[] = [];
  for await (const { type, data } of events) {
    if (type === 'test:start') names.splice(data.nesting, names.length, data.name);
    if (type !== 'test:pass' && type !== 'test:fail') continue;
    const name = [...names.slice(0, data.nesting), data.name].join(' > ');
    if (type === 'test:fail') {
      // Those that failed inside were told.
      if (failureType(data.details.error) !== 'subtestsFailed')
        yield line({ name, outcome: 'failed', because: reasonOf(data.details.error) });
    } else if (data.skip !== undefined && data.skip !== false)
      yield line({ name, outcome: 'skipped', because: String(data.skip) });
    else if (data.details.type !== 'suite') yield line({ name, outcome: 'passed' });
  }
}

function failureType(error: Error): unknown {
  return 'failureType' in error ? error.failureType : undefined;
}

/** The runner wraps what a test threw. */
function reasonOf(error: Error): string {
  return error.cause instanceof Error
    ? (error.cause.stack ?? error.cause.message)
    : String(error.cause ?? error.message);
}

function line(found: TestCase): string {
  return `${JSON.stringify(found)}\n`;
}
