/** What `\s` stands for in ECMAScript; RE2 knows fewer characters by it, and Python more. */
const WHITE_SPACE = '\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff';

const CLASSES: Readonly<Record<string, { readonly alone: string; readonly within: string }>> = {
  '\\d': { alone: '[0-9]', within: '0-9' },
  '\\w': { alone: '[A-Za-z0-9_]', within: 'A-Za-z0-9_' },
  '\\s': { alone: `[${WHITE_SPACE}]`, within: WHITE_SPACE },
  '\\S': { alone: `[^${WHITE_SPACE}]`, within: '' },
  '\\0': { alone: '\\x00', within: '\\x00' },
  '\\/': { alone: '/', within: '/' },
};

/**
 * A pattern as ECMAScript, RE2 (Go) and Python read it alike. Throws for one that they do not: lookaround, backreferences
 * and flags, and `.`, which each takes for other characters.
 */
export function portablePattern(pattern: RegExp): {
  readonly pattern: string;
  readonly not?: { readonly pattern: string };
} {
  if (pattern.flags.replace('u', '') !== '') throw new TypeError(`a pattern of the schema has flags: ${pattern}`);
  let text = '';
  let isWithin = false;
  for (const [token] of pattern.source.matchAll(/\\x[0-9a-fA-F]{2}|\\[^x]|\(\?[^:]|[\s\S]/g)) {
    const portable = CLASSES[token];
    if (portable !== undefined) text += isWithin ? portable.within : portable.alone;
    else if (/^\\[1-9BbDWkpPu]$|^\(\?/.test(token) || (token === '.' && !isWithin)) {
      throw new TypeError(`${token} in a pattern of the schema is not read alike by all: ${pattern}`);
    } else text += token;
    if (token === '[') isWithin = true;
    if (token === ']') isWithin = false;
  }
  // In Python `$` matches before a line break at the end, too. Most patterns do not.
  const mayRefuse = (text.endsWith('$') || text.endsWith('$)')) && !endsInAnything(pattern.source);
  return mayRefuse ? { pattern: text, not: { pattern: '\\n$' } } : { pattern: text };
}

/** Whether a pattern ends with any number of characters of a class that excludes few, and no line break. */
function endsInAnything(source: string): boolean {
  const end = source.slice(source.lastIndexOf('['));
  return /^\[\^[^\]]*\][*+]\$\)?$/.test(end) && !/\\[ns]/.test(end);
}
