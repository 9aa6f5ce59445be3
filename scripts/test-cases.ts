import type { TestEvent } from 'node:test/reporters';

/** How one case of a `node --test` run ended. */
export interface TestCase {
  /** Its name with those of the suites and tests that contain it: `suite > test`. */
  readonly name: string;
  readonly outcome: 'passed' | 'failed' | 'skipped';
  /** Why it failed or was skipped. */
  readonly because?: string;
}

/** A reporter for `node --test` that writes each case as a line of JSON. A suite counts as a case only if it is skipped. */
export default async function* cases(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const caseOf = caseReader();
  for await (const event of events) {
    const found = caseOf(event);
    if (found !== undefined) yield `${JSON.stringify(found)}\n`;
  }
}

/** Returns a function that takes all events of a run in order, and returns the case that an event completes. */
export function caseReader(): (event: TestEvent) => TestCase | undefined {
  const names: string[] = [];
  return ({ type, data }) => {
    if (type === 'test:start') names.splice(data.nesting, names.length, data.name);
    if (type !== 'test:pass' && type !== 'test:fail') return undefined;
    const name = [...names.slice(0, data.nesting), data.name].join(' > ');
    if (type === 'test:fail') {
      const { error } = data.details;
      // The failed subtests have been reported.
      return failureType(error) === 'subtestsFailed'
        ? undefined
        : { name, outcome: 'failed', because: reasonOf(error) };
    }
    if (data.skip !== undefined && data.skip !== false) return { name, outcome: 'skipped', because: String(data.skip) };
    return data.details.type === 'suite' ? undefined : { name, outcome: 'passed' };
  };
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
