import type { AST } from '@eslint-community/regexpp';

/** Sets of sample characters, one bit each. */
export type Characters = bigint;

/** Repetitions up to so many times are copied, others count as unbounded, which has more ways to match. */
const MOST_COPIES = 8;

interface Part {
  readonly isNullable: boolean;
  readonly first: readonly number[];
  readonly last: readonly number[];
}

const EMPTY: Part = { isNullable: true, first: [], last: [] };

/**
 * What is repeated without a bound, as the automaton of its characters (Glushkov's: a state for each character of the
 * expression). Where only one sequence of states can match a text, few sequences can match its beginning, and so a search
 * that backtracks tries each place of the text a fixed number of times.
 */
export class Loop {
  readonly #characters: Characters[] = [];
  readonly #followers: Set<number>[] = [];
  readonly #last: readonly number[];
  readonly #charactersOf: (element: AST.Element) => Characters;
  /** Whether one sequence of states stands for several ways to match. */
  #isAmbiguous = false;

  constructor(repeated: AST.Element, charactersOf: (element: AST.Element) => Characters) {
    this.#charactersOf = charactersOf;
    this.#last = this.#repeated(this.#part(repeated)).last;
  }

  /** What may come after a place where a repetition can end, if it goes on. */
  get afterEnd(): Characters {
    return this.#last
      .flatMap((state) => [...(this.#followers[state] ?? [])])
      .reduce((all, state) => all | (this.#characters[state] ?? 0n), 0n);
  }

  /** Whether it has one way only to match a text. */
  isUnambiguous(): boolean {
    if (this.#isAmbiguous) return false;
    const last = new Set(this.#last);
    const states = [...this.#characters.keys()];
    const seen = new Set<number>();
    // The states of two ways to match the same text. They part after a common state; the beginning is like an end.
    const pairs = states.flatMap((state) => this.#successors(state, state));
    for (let pair = pairs.pop(); pair !== undefined; pair = pairs.pop()) {
      const [one, other] = pair;
      if (one === other) continue;
      const key = one * states.length + other;
      if (seen.has(key)) continue;
      seen.add(key);
      if (last.has(one) && last.has(other)) return false;
      const next = this.#successors(one, other);
      if (next.some(([left, right]) => left === right)) return false;
      pairs.push(...next);
    }
    return true;
  }

  #successors(one: number, other: number): readonly (readonly [number, number])[] {
    const others = [...(this.#followers[other] ?? [])];
    return [...(this.#followers[one] ?? [])].flatMap((left) =>
      others.flatMap((right) =>
        ((this.#characters[left] ?? 0n) & (this.#characters[right] ?? 0n)) === 0n ? [] : [[left, right] as const],
      ),
    );
  }

  #part(element: AST.Element): Part {
    switch (element.type) {
      case 'Group':
      case 'CapturingGroup': {
        const branches = element.alternatives.map(({ elements }) =>
          this.#sequence(elements.map((one) => this.#part(one))),
        );
        if (branches.filter(({ isNullable }) => isNullable).length > 1) this.#isAmbiguous = true;
        return {
          isNullable: branches.some(({ isNullable }) => isNullable),
          first: branches.flatMap(({ first }) => first),
          last: branches.flatMap(({ last }) => last),
        };
      }
      case 'Quantifier':
        return this.#quantifier(element);
      case 'Assertion':
        return EMPTY;
      case 'Backreference':
        // What it repeats is one of the texts of its group.
        return Array.isArray(element.resolved) ? this.#anything(element) : this.#part(element.resolved);
      default:
        return this.#state(element);
    }
  }

  #quantifier({ element, min, max }: AST.Quantifier): Part {
    if (max > MOST_COPIES) {
      const part = this.#repeated(this.#part(element));
      return min === 0 ? { ...part, isNullable: true } : part;
    }
    let rest = EMPTY;
    for (let copy = max; copy > 0; copy--) {
      const part = this.#part(element);
      if (part.isNullable && min !== max) this.#isAmbiguous = true;
      const both = this.#sequence([part, rest]);
      rest = copy > min ? { ...both, isNullable: true } : both;
    }
    return rest;
  }

  #anything(element: AST.Element): Part {
    return { ...this.#repeated(this.#state(element)), isNullable: true };
  }

  #state(element: AST.Element): Part {
    const state = this.#characters.push(this.#charactersOf(element)) - 1;
    this.#followers.push(new Set());
    return { isNullable: false, first: [state], last: [state] };
  }

  #sequence(parts: readonly Part[]): Part {
    return parts.reduce((before, part) => {
      this.#link(before.last, part.first);
      return {
        isNullable: before.isNullable && part.isNullable,
        first: before.isNullable ? [...before.first, ...part.first] : before.first,
        last: part.isNullable ? [...before.last, ...part.last] : part.last,
      };
    }, EMPTY);
  }

  #repeated(part: Part): Part {
    if (part.isNullable) this.#isAmbiguous = true;
    this.#link(part.last, part.first);
    return part;
  }

  #link(before: readonly number[], after: readonly number[]): void {
    for (const state of before) {
      const followers = this.#followers[state] ?? new Set();
      for (const next of after) {
        if (followers.has(next)) this.#isAmbiguous = true;
        followers.add(next);
      }
    }
  }
}
