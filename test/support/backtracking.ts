import { type AST, RegExpParser } from '@eslint-community/regexpp';

type Matcher = (at: number, then: (at: number) => boolean) => boolean;

/**
 * How many steps a search that backtracks takes for an expression in a text: as V8 does, it tries every place and every way.
 * Knows characters, classes, groups, repetitions, `^` and `$`.
 */
export function backtrackingSteps({ source }: RegExp, text: string, most: number): number {
  const pattern = new RegExpParser({ ecmaVersion: 2025 }).parsePattern(source);
  let steps = 0;
  const counted = (matcher: Matcher): Matcher => {
    return (at, then) => {
      steps += 1;
      return steps > most || matcher(at, then);
    };
  };
  const alternatives = (branches: readonly AST.Alternative[]): Matcher => {
    const sequences = branches.map(({ elements }) => sequence(elements.map(element)));
    return (at, then) => sequences.some((one) => one(at, then));
  };
  const sequence = (matchers: readonly Matcher[]): Matcher =>
    matchers.reduceRight<Matcher>(
      (rest, one) => (at, then) => one(at, (next) => rest(next, then)),
      (at, then) => then(at),
    );
  const element = (one: AST.Element): Matcher => {
    switch (one.type) {
      case 'Group':
        return alternatives(one.alternatives);
      case 'Assertion':
        return (at, then) => at === (one.kind === 'start' ? 0 : text.length) && then(at);
      case 'Quantifier': {
        const { min, max } = one;
        const inner = element(one.element);
        const repeat = (at: number, count: number, then: (at: number) => boolean): boolean =>
          (count < max && inner(at, (next) => (next > at || count < min) && repeat(next, count + 1, then))) ||
          (count >= min && then(at));
        return (at, then) => repeat(at, 0, then);
      }
      default: {
        const character = new RegExp(`^${one.raw}$`);
        return counted((at, then) => at < text.length && character.test(text[at] ?? '') && then(at + 1));
      }
    }
  };
  const whole = alternatives(pattern.alternatives);
  for (let at = 0; at <= text.length; at++) if (whole(at, () => true)) break;
  return steps;
}
