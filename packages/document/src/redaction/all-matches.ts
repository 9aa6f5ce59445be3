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
