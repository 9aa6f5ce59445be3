import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { convert } from '@machineadm/convert/index.ts';
import { attack } from '../support/attacks.ts';
import { HOSTILE_INPUTS } from '../support/hostile-conversions.ts';

const SIZE = 500;
const FACTOR = 4;
/** Of the processor's time, which the collector of garbage and other tests disturb: quadratic work would take sixteen times as much. */
const MOST = 2 * FACTOR;
const LEAST_MS = 60;
const MOST_TRIES = 4;

describe('the time of a conversion grows as its input does', () => {
  for (const [name, input] of Object.entries(HOSTILE_INPUTS)) {
    test(
      name,
      attack('Hostile texts', 'an input that makes the converter slow', async () => {
        await processorTime(input(SIZE / 5));
        const ratios: number[] = [];
        while (ratios.length < MOST_TRIES && !ratios.some((ratio) => ratio <= MOST)) {
          const once = Math.max(LEAST_MS, await processorTime(input(SIZE)));
          ratios.push((await processorTime(input(FACTOR * SIZE))) / once);
        }
        assert.ok(Math.min(...ratios) <= MOST, `${FACTOR} times the input takes ${ratios.join(', ')} times as long`);
        return 1;
      }),
    );
  }
});

async function processorTime(text: string): Promise<number> {
  const start = process.cpuUsage();
  await convert([{ name: 'input', text }], { kubernetesVersion: 'v1.34.1' });
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}
