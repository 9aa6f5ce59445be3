import assert from 'node:assert/strict';

/**
 * Fails where four times the input costs much more than four times the processor time, as every square does. It is the least
 * time of several runs, as others use the machine; what is too short to be measured passes.
 */
export async function assertLinear(what: string, run: (size: number) => unknown, size = 25_000): Promise<void> {
  const cost = async (amount: number): Promise<number> => {
    let least = Number.POSITIVE_INFINITY;
    for (let round = 0; round < 3; round++) {
      const before = process.cpuUsage();
      await run(amount);
      const { user, system } = process.cpuUsage(before);
      least = Math.min(least, user + system);
    }
    return least;
  };
  await run(size);
  const [small, large] = [await cost(size), await cost(4 * size)];
  assert.ok(large < 12 * Math.max(small, 3000), `${what}: ${small} µs for ${size}, ${large} µs for four times as much`);
}
