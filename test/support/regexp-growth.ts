import { type AST, RegExpParser } from '@eslint-community/regexpp';
import { type Characters, Loop } from './regexp-loops.ts';

/**
 * Judges from its text whether the time of a regular expression grows linearly with the text it is applied to. V8
 * backtracks, and tries every place where a match may begin. It still takes linear time if every unbounded repetition can
 * begin at few places only: a character that it cannot repeat must come before it, since the repetition before (`"[^"]*`,
 * `^.*`, `=\S+ \S+`, but neither `x.*y` nor `^\s*(.*?)\s*$`). Its runs do not overlap then, and each is searched a fixed
 * number of times. A repeated group must have one way only to match what it matches (no `(a|a)*`, no `(a?b?)*`).
 *
 * The rule is sufficient and not necessary. What it refuses can be bounded (`.{0,200}`) or begin with a character that it
 * excludes. Repetitions with an upper bound count as constant.
 *
 * @returns the parts that break the rule, empty for an expression of linear time
 */
export function superlinearParts({ source, flags }: Pick<RegExp, 'source' | 'flags'>): readonly string[] {
  const unicode = flags.includes('u');
  const pattern = new RegExpParser({ ecmaVersion: 2025 }).parsePattern(source, 0, source.length, { unicode });
  const judge = new Judge(flags);
  const start: Path = flags.includes('y') ? [NOTHING] : [];
  judge.alternatives(pattern.alternatives, [start], { fallible: false, looped: false, nexts: [] });
  return [...judge.parts];
}

/** What must have been matched since the last unbounded repetition that can end in several places. */
type Path = readonly Characters[];

interface Rest {
  /** Whether what follows may fail to match, which leads to other attempts. */
  readonly fallible: boolean;
  /** Whether it is within an unbounded repetition. */
  readonly looped: boolean;
  /**
   * What follows may begin with, undefined where it may be nothing, or is not known; if it begins with single characters,
   * then the same for what comes after each of them.
   */
  readonly nexts: readonly (Characters | undefined)[];
}

/** ASCII and Latin-1, a Cyrillic and a Chinese letter, a surrogate, a line separator, a byte order mark. */
const SAMPLES = [...Array.from({ length: 256 }, (_, code) => code), 0x436, 0x5927, 0xd83d, 0x2028, 0xfeff].map((code) =>
  String.fromCharCode(code),
);
const NOTHING: Characters = 0n;
const ALL: Characters = (1n << BigInt(SAMPLES.length)) - 1n;
/** Of an assertion: what follows it does not begin where it ends. */
const OPAQUE: Rest = { fallible: true, looped: false, nexts: [] };

class Judge {
  readonly parts = new Set<string>();
  readonly #flags: string;
  readonly #known = new Map<string, Characters>();

  constructor(flags: string) {
    this.#flags = flags.replace(/[gymd]/g, '');
    this.#multiline = flags.includes('m');
  }

  readonly #multiline: boolean;

  /** The paths after one of several alternatives. */
  alternatives(branches: readonly AST.Alternative[], paths: readonly Path[], rest: Rest): readonly Path[] {
    return weakest(branches.flatMap(({ elements }) => this.#sequence(elements, paths, rest)));
  }

  #sequence(elements: readonly AST.Element[], before: readonly Path[], rest: Rest): readonly Path[] {
    return elements.reduce<readonly Path[]>((paths, element, index) => {
      const following = elements.slice(index + 1);
      const fallible = rest.fallible || following.some((other) => canFail(other));
      return this.#element(element, paths, following, { ...rest, fallible, nexts: this.#nexts(following, rest.nexts) });
    }, before);
  }

  #nexts(elements: readonly AST.Element[], after: Rest['nexts']): Rest['nexts'] {
    const [first, ...others] = elements;
    if (first === undefined) return after;
    const next = this.#next(elements, after[0]);
    return isCharacter(first) ? [next, ...this.#nexts(others, after)] : [next];
  }

  /** What a sequence may begin with that `after` follows. */
  #next(elements: readonly AST.Element[], after: Characters | undefined): Characters | undefined {
    const first = this.#first(elements) ?? NOTHING;
    if (elements.some((element) => isEnd(element) || !isNullable([element]))) return first;
    return after === undefined ? undefined : first | after;
  }

  #element(
    element: AST.Element,
    paths: readonly Path[],
    following: readonly AST.Element[],
    rest: Rest,
  ): readonly Path[] {
    switch (element.type) {
      case 'Group':
      case 'CapturingGroup':
        return this.alternatives(element.alternatives, paths, rest);
      case 'Assertion':
        return this.#assertion(element, paths, following);
      case 'Quantifier':
        return this.#quantifier(element, paths, rest);
      case 'Backreference':
        // What it repeats may be as long as the text.
        if ([element.resolved].flat().some(({ raw }) => /[*+]|,\}/.test(raw))) this.parts.add(element.raw);
        return paths;
      default:
        return paths.map((path) => [...path, this.#characters(element)]);
    }
  }

  #assertion(assertion: AST.Assertion, paths: readonly Path[], following: readonly AST.Element[]): readonly Path[] {
    const behind = (characters: Characters): readonly Path[] => paths.map((path) => [...path, characters]);
    switch (assertion.kind) {
      case 'start':
        return behind(this.#multiline ? charactersOf(isLineEnd) : NOTHING);
      case 'end':
        return paths;
      case 'word': {
        const word = charactersOf((sample) => /\w/.test(sample));
        const next = this.#first(following);
        if (assertion.negate || next === undefined) return paths;
        if ((next & ~word) === 0n) return behind(ALL & ~word);
        return (next & word) === 0n ? behind(word) : paths;
      }
      case 'lookahead':
        this.alternatives(assertion.alternatives, paths, OPAQUE);
        return paths;
      case 'lookbehind': {
        const [only, ...others] = assertion.alternatives.map(({ elements }) => elements);
        const [character, more] = only ?? [];
        if (others.length > 0 || character === undefined || more !== undefined || !isCharacter(character)) {
          this.alternatives(assertion.alternatives, [[]], OPAQUE);
          return paths;
        }
        const matched = this.#characters(character);
        return behind(assertion.negate ? ALL & ~matched : matched);
      }
    }
  }

  #quantifier(quantifier: AST.Quantifier, paths: readonly Path[], rest: Rest): readonly Path[] {
    const { element, min, max } = quantifier;
    const first = this.#first([element]) ?? NOTHING;
    const next = rest.nexts[0];
    const again: Rest = { ...rest, fallible: true, nexts: next === undefined ? [] : [next | first] };
    if (Number.isFinite(max)) {
      const once = this.#element(element, paths, [], max === 1 ? rest : again);
      const inside = max === 1 ? once : [...once, ...this.#element(element, once, [], again)];
      return weakest(min === 0 ? [...paths, ...inside] : inside);
    }
    const repeated = this.#all(element);
    const isGuarded = paths.every((path) => path.some((characters) => (characters & repeated) === 0n));
    // What cannot fail afterwards is not tried twice.
    if (!isGuarded && (rest.fallible || rest.looped)) this.parts.add(quantifier.raw);
    if (isCharacter(element)) {
      // It ends in few places only where what follows cannot go on with it: what was matched before still counts then.
      const hasFewEnds = rest.nexts.some((one) => one !== undefined && (one & repeated) === 0n);
      const once = hasFewEnds ? paths.map((path) => [...path, repeated]) : [[repeated]];
      return weakest(min === 0 ? [...paths, ...once] : once);
    }
    const loop = new Loop(element, (one) => (isCharacter(one) ? this.#characters(one) : ALL));
    if (!loop.isUnambiguous()) this.parts.add(quantifier.raw);
    const inside: Rest = { ...again, looped: true };
    // The first time it comes after what is before it, then after itself.
    const last = this.#element(element, this.#element(element, paths, [], inside), [], inside);
    const hasOneEnd = next !== undefined && (next & loop.afterEnd) === 0n;
    // It can end after each time: only what one time matches is certain then.
    const ends = hasOneEnd ? last : new Judge(this.#flags).#element(element, [[]], [], inside);
    return weakest(min === 0 ? [...paths, ...ends] : ends);
  }

  /** What a sequence may begin with; undefined where it matches no character. */
  #first(elements: readonly AST.Element[]): Characters | undefined {
    let first: Characters | undefined;
    for (const element of elements) {
      const own = this.#firstOf(element);
      if (own !== undefined) first = (first ?? NOTHING) | own;
      if (isEnd(element) || !isNullable([element])) break;
    }
    return first;
  }

  #firstOf(element: AST.Element): Characters | undefined {
    if (isCharacter(element)) return this.#characters(element);
    if (element.type === 'Quantifier') return this.#firstOf(element.element);
    if (element.type === 'Group' || element.type === 'CapturingGroup') {
      return element.alternatives.reduce<Characters | undefined>((all, { elements }) => {
        const one = this.#first(elements);
        return one === undefined ? all : (all ?? NOTHING) | one;
      }, undefined);
    }
    if (isEnd(element)) return this.#multiline ? charactersOf(isLineEnd) : NOTHING;
    return element.type === 'Backreference' ? ALL : undefined;
  }

  /** All that an element may match somewhere. */
  #all(element: AST.Element): Characters {
    if (isCharacter(element)) return this.#characters(element);
    if (element.type === 'Quantifier') return this.#all(element.element);
    if (element.type !== 'Group' && element.type !== 'CapturingGroup') return NOTHING;
    return element.alternatives
      .flatMap(({ elements }) => elements)
      .reduce((all, part) => all | this.#all(part), NOTHING);
  }

  #characters({ raw }: CharacterElement): Characters {
    const known = this.#known.get(raw);
    if (known !== undefined) return known;
    const expression = new RegExp(`^(?:${raw})$`, this.#flags);
    const characters = charactersOf((sample) => expression.test(sample));
    this.#known.set(raw, characters);
    return characters;
  }
}

/** Without paths on which more was matched than on another: what holds there holds for them. */
function weakest(paths: readonly Path[]): readonly Path[] {
  const distinct = [...new Map(paths.map((path) => [[...new Set(path)].sort().join(), new Set(path)])).values()];
  return distinct
    .filter((path) => !distinct.some((other) => other !== path && [...other].every((one) => path.has(one))))
    .map((path) => [...path]);
}

type CharacterElement = AST.Character | AST.CharacterSet | AST.CharacterClass | AST.ExpressionCharacterClass;

function isCharacter(element: AST.Element): element is CharacterElement {
  return /^(?:Character|CharacterSet|CharacterClass|ExpressionCharacterClass)$/.test(element.type);
}

function charactersOf(isMatched: (sample: string) => boolean): Characters {
  return SAMPLES.reduce((all, sample, index) => (isMatched(sample) ? all | (1n << BigInt(index)) : all), NOTHING);
}

/** A line of JavaScript also begins after these: many of them are many places for `^` with the flag m. */
function isLineEnd(sample: string): boolean {
  return /[\n\r\u2028\u2029]/.test(sample);
}

/** `$`: no character follows, or a line feed. */
function isEnd(element: AST.Element): boolean {
  return element.type === 'Assertion' && element.kind === 'end';
}

/** Whether a sequence may match the empty text. */
function isNullable(elements: readonly AST.Element[]): boolean {
  return elements.every((element) => {
    if (element.type === 'Quantifier') return element.min === 0 || isNullable([element.element]);
    if (element.type === 'Group' || element.type === 'CapturingGroup') {
      return element.alternatives.some((branch) => isNullable(branch.elements));
    }
    return element.type === 'Assertion';
  });
}

/** Whether an element may fail to match where it is tried. */
function canFail(element: AST.Element): boolean {
  return element.type === 'Assertion' || !isNullable([element]);
}
