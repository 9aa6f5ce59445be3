import type { FailurePattern } from '@machineadm/document/model/index.ts';

/** Only the beginning of a line is searched. */
const LONGEST_LINE = 4_096;
/** How much output is searched, from its end: the time of a pattern is proportional to it. */
const MOST_CHARACTERS = 256 * 1024;

export interface Explanation {
  readonly pattern: FailurePattern;
  /** The last line that matches the pattern. */
  readonly line: string;
}

/**
 * The document's first failure pattern that matches a line of a failed program. The lines are untrusted, so the
 * patterns run in RE2, whose time is linear in the text for every pattern (https://swtch.com/~rsc/regexp/regexp3.html).
 */
export async function explain(
  patterns: readonly FailurePattern[],
  lines: readonly string[],
): Promise<Explanation | undefined> {
  if (patterns.length === 0) return undefined;
  const { RE2JS } = await import('re2js');
  const searched = lastLines(lines);
  for (const pattern of patterns) {
    const expression = RE2JS.compile(pattern.pattern);
    const line = searched.find((text) => expression.test(text.slice(0, LONGEST_LINE)));
    if (line !== undefined) return { pattern, line };
  }
  return undefined;
}

/** The last lines, as many as may be searched, the last one first. */
function lastLines(lines: readonly string[]): readonly string[] {
  let characters = 0;
  return lines.toReversed().filter(({ length }) => {
    characters += Math.min(length, LONGEST_LINE);
    return characters <= MOST_CHARACTERS;
  });
}
