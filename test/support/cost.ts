import assert from 'node:assert/strict';

/**
 * Fails where four times the input costs much more than four times the processor time, as every square does. It is the least
 * time of several runs, as others use the machine; what is too short to be measured passes.
 */
export async function assertLinear(what: string, run: (size: number) => unknown, size = 25_000): Promise<void> {
  /** The least of three runs, or the first that costs less than `limit`. */
  const cost = async (amount: number, limit = 0): Promise<number> => {
    let least = Number.POSITIVE_INFINITY;
    for (let round = 0; round < 3 && least >= limit; round++) {
      const before = process.cpuUsage();
      await run(amount);
      const { user, system } = process.cpuUsage(before);
      least = Math.min(least, user + system);
    }
    return least;
  };
  await run(size);
  const small = await cost(size);
  const limit = 12 * Math.max(small, 3000);
  const large = await cost(4 * size, limit);
  assert.ok(large < limit, `${what}: ${small} µs for ${size}, ${large} µs for four times as much`);
}
