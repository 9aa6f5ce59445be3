import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backtrackingSteps } from '../support/backtracking.ts';
import fc from '../support/property.ts';
import { superlinearParts } from '../support/regexp-growth.ts';

const CHARACTER = fc.constantFrom('a', 'b', 'c', '[ab]', '[bc]', '[^a]', '[abc]');
const REPETITION = fc.constantFrom('', '', '', '*', '+', '?', '{0,2}', '{2}');
const { alternatives } = fc.letrec<{ alternatives: string; sequence: string; element: string }>((tie) => ({
  alternatives: fc.array(tie('sequence'), { minLength: 1, maxLength: 2 }).map((all) => all.join('|')),
  sequence: fc.array(tie('element'), { minLength: 1, maxLength: 4 }).map((all) => all.join('')),
  element: fc
    .tuple(
      fc.oneof(
        { maxDepth: 3 },
        CHARACTER,
        tie('alternatives').map((all) => `(?:${all})`),
      ),
      REPETITION,
    )
    .map((parts) => parts.join('')),
}));
const EXPRESSION = fc
  .tuple(fc.constantFrom('', '^', '^'), alternatives, fc.constantFrom('', '$', 'z'))
  .map(([start, all, end]) => new RegExp(`${start}(?:${all})${end}`));
const ABC = fc.constantFrom('a', 'b', 'c');
const PIECE = fc.string({ unit: ABC, maxLength: 3 });
const REPEATED = fc.string({ unit: ABC, minLength: 1, maxLength: 4 });
const MOST_STEPS = 1_000_000;

test('a search that backtracks takes linear time for what the judge accepts', () => {
  let accepted = 0;
  fc.assert(
    fc.property(EXPRESSION, fc.array(fc.tuple(PIECE, REPEATED, PIECE), { minLength: 20 }), (expression, texts) => {
      if (superlinearParts(expression).length > 0) return;
      accepted += 1;
      for (const [before, repeated, after] of texts) {
        const steps = (times: number): number =>
          backtrackingSteps(expression, before + repeated.repeat(times) + after, MOST_STEPS);
        const [first, second, third] = [steps(20), steps(40), steps(80)] as const;
        const isQuadratic = second > 2.5 * first + 50 && third > 2.5 * second + 50;
        assert.ok(
          !isQuadratic,
          `${expression} in ${before}(${repeated})*${after}: ${first}, ${second}, ${third} steps`,
        );
      }
    }),
    // The same expressions each time: how many steps count as quadratic is a limit that few small expressions come near to.
    { numRuns: 2000, seed: 33 },
  );
  assert.ok(accepted > 100, `only ${accepted} expressions were accepted`);
});
