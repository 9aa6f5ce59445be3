import type { Cursor } from './cursor.ts';
import { beginsPlain, isFlowPunctuation, plainEnd } from './scalars.ts';

/**
 * A key without `?` is on one line and has at most this many characters (YAML 1.2.2, 7.4.2), so the search is short.
 */
export const LONGEST_KEY = 1024;

/** Whether a key begins here: a node in one line followed by a colon. Does not move the cursor. */
export function isKey(cursor: Cursor): boolean {
  const { text } = cursor;
  const limit = Math.min(cursor.lineEnd(), cursor.pos + LONGEST_KEY + 1);
  let at = cursor.pos;
  const blanks = (): void => {
    while (at < limit && (text[at] === ' ' || text[at] === '\t')) at++;
  };
  const word = (): void => {
    while (at < limit && text[at] !== ' ' && text[at] !== '\t') at++;
  };
  while (text[at] === '&' || text[at] === '!') {
    word();
    blanks();
  }
  const char = text[at];
  if (char === '"' || char === "'") at = quotedEnd(text, at, limit);
  else if (char === '[' || char === '{') at = flowEnd(text, at, limit);
  else if (char === '*') word();
  else {
    const start = cursor.pos;
    cursor.pos = at;
    const begins = beginsPlain(cursor, false);
    cursor.pos = start;
    // An empty key: `: value`.
    if (!begins && char !== ':') return false;
    if (begins) at = plainEnd(cursor, at, false, limit);
  }
  blanks();
  return at < limit && text[at] === ':' && cursor.isBlankAt(at + 1);
}

function quotedEnd(text: string, from: number, limit: number): number {
  const quote = text[from];
  for (let at = from + 1; at < limit; at++) {
    if (text[at] === '\\' && quote === '"') at++;
    else if (text[at] === quote && quote === "'" && text[at + 1] === "'") at++;
    else if (text[at] === quote) return at + 1;
  }
  return limit;
}

function flowEnd(text: string, from: number, limit: number): number {
  let open = 0;
  for (let at = from; at < limit; at++) {
    const char = text[at];
    if ((char === '"' || char === "'") && !isInWord(text[at - 1])) at = quotedEnd(text, at, limit) - 1;
    else if (char === '[' || char === '{') open++;
    else if (char === ']' || char === '}') {
      open--;
      if (open === 0) return at + 1;
    }
  }
  return limit;
}

/** A quotation mark inside an unquoted text is literal. */
function isInWord(before: string | undefined): boolean {
  return before !== undefined && before !== ' ' && before !== '\t' && before !== ':' && !isFlowPunctuation(before);
}
