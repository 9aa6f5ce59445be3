/** A part of a pattern: a character that it accepts, once or any number of times. */
interface Token {
  readonly accepts: (character: string) => boolean;
  readonly isRepeated: boolean;
}

/** A compiled pattern. */
export interface Glob {
  matches(text: string): boolean;
}

/** A pattern of paths: `*` is any text without a slash, `**` any text. Nothing else is special. */
export function pathGlob(pattern: string): Glob {
  const tokens = pattern.split(/(\*\*?)/).flatMap((part): readonly Token[] => {
    if (part === '**') return [{ accepts: () => true, isRepeated: true }];
    if (part === '*') return [{ accepts: (character) => character !== '/', isRepeated: true }];
    return [...part].map(literal);
  });
  return globOf(tokens);
}

/** A pattern of names as `fnmatch(3)` with `FNM_NOESCAPE` reads it: `*`, `?` and `[…]`. */
export function nameGlob(pattern: string): Glob {
  const characters = [...pattern];
  const tokens: Token[] = [];
  for (let at = 0; at < characters.length; at += 1) {
    const character = characters[at] ?? '';
    const end = character === '[' ? endOfClass(characters, at) : -1;
    if (character === '*') tokens.push({ accepts: () => true, isRepeated: true });
    else if (character === '?') tokens.push({ accepts: () => true, isRepeated: false });
    else if (end < 0) tokens.push(literal(character));
    else {
      tokens.push({ accepts: classOf(characters.slice(at + 1, end)), isRepeated: false });
      at = end;
    }
  }
  return globOf(tokens);
}

/** A `]` that comes first is a member of the class. */
function endOfClass(characters: readonly string[], start: number): number {
  const first = start + (/[!^]/.test(characters[start + 1] ?? '') ? 2 : 1);
  return characters.indexOf(']', first + 1);
}

function classOf(members: readonly string[]): Token['accepts'] {
  const isNegated = members[0] === '!' || members[0] === '^';
  const ranges: (readonly [string, string])[] = [];
  for (let at = isNegated ? 1 : 0; at < members.length; at += 1) {
    const from = members[at] ?? '';
    const to = members[at + 1] === '-' ? members[at + 2] : undefined;
    ranges.push([from, to ?? from]);
    if (to !== undefined) at += 2;
  }
  return (character) => ranges.some(([from, to]) => from <= character && character <= to) !== isNegated;
}

function literal(expected: string): Token {
  return { accepts: (character) => character === expected, isRepeated: false };
}

/**
 * Follows all ways to match at the same time, so the work is the length of the text times that of the pattern, whatever both
 * are. A regular expression with several `.*` would try one way after another.
 */
function globOf(tokens: readonly Token[]): Glob {
  /** A repeated token may also match nothing. */
  const add = (reached: Uint8Array, token: number): void => {
    for (let at = token; ; at += 1) {
      if (reached[at] === 1) return;
      reached[at] = 1;
      if (tokens[at]?.isRepeated !== true) return;
    }
  };
  return {
    matches(text) {
      let reached = new Uint8Array(tokens.length + 1);
      add(reached, 0);
      for (const character of text) {
        const next = new Uint8Array(tokens.length + 1);
        for (const [index, token] of tokens.entries()) {
          if (reached[index] === 1 && token.accepts(character)) add(next, token.isRepeated ? index : index + 1);
        }
        reached = next;
      }
      return reached[tokens.length] === 1;
    },
  };
}
