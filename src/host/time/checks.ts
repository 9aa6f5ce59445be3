import { withTimeout } from './timeout.ts';

/**
 * Makes all checks at once: they only ask. One that throws is a finding like others, as `unable` words it, and so is one that
 * does not end within the time that all of them may take; the others still count. The findings are in the order of the checks.
 */
export async function runChecks<Name, Found>(
  checks: readonly (readonly [Name, () => Promise<readonly Found[]> | readonly Found[]])[],
  unable: (name: Name, error: unknown) => Found,
  limitMs?: number,
): Promise<readonly Found[]> {
  const found = checks.map(async ([name, check]) => {
    try {
      return limitMs === undefined ? await check() : await withTimeout(limitMs, async () => await check());
    } catch (error) {
      return [unable(name, error)];
    }
  });
  return (await Promise.all(found)).flat();
}
