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
  const caseOf = caseReader();
  for await (const event of events) {
    const found = caseOf(event);
    if (found !== undefined) yield `${JSON.stringify(found)}\n`;
  }
}

/** Returns what tells the case that an event of a run ends; it wants all events in their order. */
export function caseReader(): (event: TestEvent) => TestCase | undefined {
  const names: string[] = [];
  return ({ type, data }) => {
    if (type === 'test:start') names.splice(data.nesting, names.length, data.name);
    if (type !== 'test:pass' && type !== 'test:fail') return undefined;
    const name = [...names.slice(0, data.nesting), data.name].join(' > ');
    if (type === 'test:fail') {
      const { error } = data.details;
      // Those that failed inside were told.
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
