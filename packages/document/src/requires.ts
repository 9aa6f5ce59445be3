const COMPARATOR = '(?:>=|<=|>|<|=)?v?[0-9]+(?:\\.[0-9]+)?(?:\\.[0-9]+)?';

/** A condition on a version, such as `>=0.2 <2`. */
export const CONDITION = new RegExp(`^\\s*${COMPARATOR}(?:\\s+${COMPARATOR})*\\s*$`);

/** Whether a version satisfies a condition such as `>=0.2.0`, `>=0.2 <2`, `1.4.0`; undefined = not a condition. */
export function satisfies(version: string, condition: string): boolean | undefined {
  if (!CONDITION.test(condition)) return undefined;
  const comparators = condition.trim().split(/\s+/);
  let satisfied = true;
  for (const comparator of comparators) {
    const [, operator = '=', ...wanted] = /^([<>]?=?)v?(\d+)(?:\.(\d+))?(?:\.(\d+))?$/.exec(comparator) ?? [];
    const order = compare(
      numbers(version),
      wanted.map((part) => Number(part ?? 0)),
    );
    satisfied &&= holds(operator, order);
  }
  return satisfied;
}

function numbers(version: string): number[] {
  return (/^v?(\d+)\.(\d+)\.(\d+)/.exec(version) ?? []).slice(1).map(Number);
}

function compare(a: readonly number[], b: readonly number[]): number {
  for (let index = 0; index < 3; index++) {
    const difference = (a[index] ?? 0) - (b[index] ?? 0);
    if (difference !== 0) return Math.sign(difference);
  }
  return 0;
}

function holds(operator: string, order: number): boolean {
  switch (operator) {
    case '>=':
      return order >= 0;
    case '<=':
      return order <= 0;
    case '>':
      return order > 0;
    case '<':
      return order < 0;
    default:
      return order === 0;
  }
}
