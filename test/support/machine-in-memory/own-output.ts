/** In place of `src/host/services/own-output.ts`: the tests may run in a unit. */
import type { OwnOutput } from '../../../src/host/services/own-output.ts';

export async function ownOutput(): Promise<OwnOutput> {
  return 'elsewhere';
}
