import { Script } from 'node:vm';
import type { FailurePattern } from '../../document/model.ts';

/** Only the beginning of a line is searched. */
const LONGEST_LINE = 4_096;
/** What all patterns together may cost. Those of a document that is not hostile need a few milliseconds. */
const LIMIT_MS = 2_000;

export interface Explanation {
  readonly pattern: FailurePattern;
  /** The last line that the pattern fits. */
  readonly line: string;
}

/** What the patterns of a document say about the output of a program that failed. */
export interface Explained {
  /** The first pattern that a line fits. */
  readonly found: Explanation | undefined;
  /** A pattern that was given up, with all after it: it backtracks. */
  readonly givenUp: FailurePattern | undefined;
}

/**
 * Tries the patterns in order. A pattern may backtrack for ever on a line that somebody else wrote; the engine is
 * interrupted then, which JavaScript permits nowhere but in a script with a time limit.
 *
 * @param limitMs what all patterns together may cost
 */
export function explain(
  patterns: readonly FailurePattern[],
  lines: readonly string[],
  limitMs: number = LIMIT_MS,
): Explained {
  const until = performance.now() + limitMs;
  const searched = lines.map((line) => line.slice(0, LONGEST_LINE));
  for (const pattern of patterns) {
    const index = lastMatch(pattern.pattern, searched, Math.max(1, Math.ceil(until - performance.now())));
    if (index === undefined) return { found: undefined, givenUp: pattern };
    const line = index < 0 ? undefined : lines[index];
    if (line !== undefined) return { found: { pattern, line }, givenUp: undefined };
  }
  return { found: undefined, givenUp: undefined };
}

const SEARCH = new Script('lines.findLastIndex((line) => expression.test(line))');

/** -1 = no line fits; undefined = it was not known in time. */
function lastMatch(pattern: string, lines: readonly string[], timeout: number): number | undefined {
  try {
    const index: unknown = SEARCH.runInNewContext({ lines, expression: new RegExp(pattern) }, { timeout });
    return typeof index === 'number' ? index : -1;
  } catch (error) {
    if (isTimeout(error)) return undefined;
    throw error;
  }
}

/** The error belongs to the script's own context, so it is an instance of no class of ours. */
function isTimeout(error: unknown): boolean {
  return (
    typeof error === 'object' && error !== null && 'code' in error && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT'
  );
}
