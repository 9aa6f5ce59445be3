import type { TestEvent } from 'node:test/reporters';

/** A reporter for `node --test` that exits at the first failed test, because one failure kills a mutant. */
export default async function* firstFailure(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const event of events) {
    if (event.type !== 'test:fail') continue;
    process.stdout.write(`${event.data.file ?? ''}: ${event.data.name}\n`);
    process.exit(1);
  }
  yield '';
}
