import { describe, test } from 'node:test';
import fc from 'fast-check';
import { checkTogether, hosts } from '../../support/several-documents.ts';

describe('several documents on one machine, whatever they ask for', () => {
  for (const [what, count, numRuns] of [
    ['pairs', 2, 30],
    ['triples', 3, 15],
  ] as const) {
    test(`${what}: all that was asked for holds, second runs are empty, a reset of one leaves the others`, async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(hosts, { minLength: count, maxLength: count }), async (documents) => {
          await checkTogether(documents);
        }),
        { numRuns, seed: 20261128 },
      );
    });
  }
});
