import { createTwoFilesPatch, OMIT_HEADERS } from 'diff';

/** The search for the shortest diff costs the square of the edits: 0.1 s for these, and each attempt plans again. */
const MOST_EDITS = 1000;

/**
 * How a text changes, in the unified format of diff(1) without its file headers; empty where nothing changes. It is never
 * cut: of texts that have too little in common, all lines go and all come. Callers see to it that neither holds a secret.
 */
export function textDiff(before: string, after: string): string {
  if (before === after) return '';
  if (before.includes('\0') || after.includes('\0')) return 'Binary contents differ';
  return patch(before, after, MOST_EDITS) ?? `${patch(before, '')}\n${patch('', after)}`;
}

function patch(before: string, after: string, maxEditLength = Number.POSITIVE_INFINITY): string | undefined {
  const options = { context: 3, headerOptions: OMIT_HEADERS, maxEditLength };
  return createTwoFilesPatch('', '', before, after, undefined, undefined, options)?.trimEnd();
}
