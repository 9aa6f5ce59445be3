import fc from 'fast-check';
import { checkTogether, hosts } from '../../../test/support/several-documents.ts';
import type { FuzzTarget } from '../target.ts';

/** A number that depends on every character of the input. */
function seedOf(input: string): number {
  let seed = 0;
  for (const character of input) seed = (Math.imul(seed, 31) + (character.codePointAt(0) ?? 0)) | 0;
  return seed;
}

/** Pairs and triples of documents that are valid; the input is only their seed. */
export const documents: FuzzTarget = {
  name: 'documents',
  reads:
    'Pairs and triples of documents on one machine in memory: provisioned in turn and again, one of them reset, then all; the input is their seed',
  seeds: ['a', 'b'],
  tokens: ['0', '1', 'x', 'yz'],
  run: async (input) => {
    const together = fc.array(hosts, { minLength: 2, maxLength: 3 });
    const [chosen = []] = fc.sample(together, { numRuns: 1, seed: seedOf(input) });
    await checkTogether(chosen);
    return `${chosen.length} documents`;
  },
};
