import type { RE2JSSyntaxException } from 're2js';
import type { Finding } from '../../diagnostics.ts';
import type { Sections } from './sections.ts';

/** Instructions of a compiled pattern; each may cost a step for each character. A sensible pattern has fewer than 100. */
const LARGEST_PROGRAM = 500;

/** Failure patterns run in RE2, so that no output can make them slow: what RE2 cannot express is refused. */
export async function checkFailurePatterns({ kubernetes }: Sections): Promise<Finding[]> {
  const patterns = kubernetes?.bootstrapper?.exec?.failurePatterns ?? [];
  if (patterns.length === 0) return [];
  const { RE2JS, RE2JSSyntaxException } = await import('re2js');
  return patterns.flatMap(({ pattern }, index): Finding[] => {
    const path = ['kubernetes', 'bootstrapper', 'exec', 'failurePatterns', index, 'pattern'];
    try {
      if (RE2JS.compile(pattern).programSize() <= LARGEST_PROGRAM) return [];
      return [{ path, message: 'too large a pattern', hint: 'repeat less: x{1,400} counts as 800 characters' }];
    } catch (error) {
      if (error instanceof RE2JSSyntaxException) return [{ path, ...refusal(pattern, error) }];
      throw error;
    }
  });
}

interface Refusal {
  /** How the part begins that the engine names. */
  readonly part: RegExp;
  readonly message: string;
  readonly hint: string;
}

const REFUSALS: readonly Refusal[] = [
  {
    part: /^\(\?<?[=!]/,
    message: 'RE2 has no lookahead and no lookbehind',
    hint: 'describe the line itself; an earlier entry of the list can take what must not count',
  },
  { part: /^\\[1-9k]/, message: 'RE2 has no backreferences', hint: 'repeat the expression in place of \\1' },
  { part: /^\\u/, message: 'RE2 has no escape \\u', hint: 'write the character itself, or \\x{20AC} for \\u20AC' },
  { part: /^\\./, message: 'not an escape of RE2', hint: 'write the character without the backslash' },
  { part: /^\{/, message: 'a repetition of more than 1000', hint: 'write * or +, or a smaller number' },
];

function refusal(pattern: string, { error, input }: RE2JSSyntaxException): Omit<Finding, 'path'> {
  const part = input ?? '';
  const known = REFUSALS.find((candidate) => candidate.part.test(part));
  // Of an error that it cannot place, the engine names the whole pattern.
  const at = known === undefined && part === pattern ? -1 : offsetOf(part, pattern);
  const where = at < 0 ? '' : ` (at character ${at + 1})`;
  if (known !== undefined) return { message: `${known.message}${where}`, hint: known.hint };
  return { message: `not a regular expression of RE2: ${error}${where}`, hint: 'correct the pattern' };
}

/** Where a part begins; an escaped character begins none. */
function offsetOf(part: string, pattern: string): number {
  for (let at = 0; at < pattern.length; at += pattern[at] === '\\' ? 2 : 1) {
    if (pattern.startsWith(part, at)) return at;
  }
  return -1;
}
