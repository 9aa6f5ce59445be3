// Semantic Versioning 2.0.0, sections 9 to 11: precedence. Range libraries compare differently (node-semver: no
// pre-release satisfies `>=0.2`), and compiling their patterns delays each validation.
const NUMBERS = '[0-9]+(?:\\.[0-9]+(?:\\.[0-9]+)?)?';
const COMPARATOR = `(?:>=|<=|>|<|=)?v?${NUMBERS}(?:-[0-9A-Za-z.-]+)?`;

/** A condition on a version, such as `>=0.2 <2`. */
export const CONDITION = new RegExp(`^\\s*${COMPARATOR}(?:\\s+${COMPARATOR})*\\s*$`);

/**
 * Whether a version satisfies a condition such as `>=0.2.0`, `>=0.2 <2`, `1.4.0`; undefined = not a condition. A
 * pre-release comes before its release: 0.2.0-rc.1 does not satisfy `>=0.2.0`, and does satisfy `>=0.2.0-rc.1`.
 */
export function satisfies(version: string, condition: string): boolean | undefined {
  if (!CONDITION.test(condition)) return undefined;
  return condition
    .trim()
    .split(/\s+/)
    .every((comparator) => {
      const [, operator = '', wanted = ''] = /^([<>]?=?)(.*)$/.exec(comparator) ?? [];
      const order = precedence(version, wanted);
      if (order === 0) return operator !== '<' && operator !== '>';
      return operator.startsWith(order < 0 ? '<' : '>');
    });
}

/** Negative where `a` precedes `b`. Build metadata after `+` is ignored (section 10). */
function precedence(a: string, b: string): number {
  const [left, right] = [partsOf(a), partsOf(b)];
  for (let index = 0; index < 3; index++) {
    const difference = (left.numbers[index] ?? 0) - (right.numbers[index] ?? 0);
    if (difference !== 0) return difference;
  }
  if (left.pre.length === 0 || right.pre.length === 0) return right.pre.length - left.pre.length;
  for (const [index, identifier] of left.pre.entries()) {
    const other = right.pre[index];
    if (other === undefined) return 1;
    if (identifier === other) continue;
    const [isNumber, isOther] = [identifier, other].map((one) => /^\d+$/.test(one));
    if (isNumber && isOther) return Number(identifier) - Number(other);
    if (isNumber !== isOther) return isNumber ? -1 : 1;
    return identifier < other ? -1 : 1;
  }
  return left.pre.length - right.pre.length;
}

function partsOf(version: string): { readonly numbers: readonly number[]; readonly pre: readonly string[] } {
  const [, numbers = '', pre] = /^v?([\d.]+)(?:-([^+]*))?/.exec(version) ?? [];
  return { numbers: numbers.split('.').map(Number), pre: pre?.split('.') ?? [] };
}
