const NONE: readonly RegExpExecArray[] = [];

/** As `matchAll`, which would construct a regular expression for every text. The pattern is global, and never matches nothing. */
export function allMatches(text: string, pattern: RegExp): readonly RegExpExecArray[] {
  pattern.lastIndex = 0;
  let match = pattern.exec(text);
  if (match === null) return NONE;
  const found: RegExpExecArray[] = [];
  for (; match !== null; match = pattern.exec(text)) found.push(match);
  return found;
}

/**
 * A pattern, and what every text has that it can match: looked for first, because that takes almost no time. Where the pattern
 * ignores the case of letters, so does the search.
 */
export type Form = readonly [sign: string, pattern: RegExp];

/** Calls `found` with the first group of each match, which ends the match, and with where it ends. */
export function eachValue(text: string, forms: readonly Form[], found: (value: string, end: number) => void): void {
  let lower: string | undefined;
  for (const [sign, pattern] of forms) {
    if (pattern.ignoreCase) lower ??= text.toLowerCase();
    if (!(pattern.ignoreCase ? (lower ?? '').includes(sign.toLowerCase()) : text.includes(sign))) continue;
    for (const { index, 0: whole, 1: value = '' } of allMatches(text, pattern)) found(value, index + whole.length);
  }
}
