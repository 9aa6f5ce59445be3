/** Larger texts are compared by digest only: the table of the comparison grows with the product of the lines. */
const MOST_LINES = 400;
const CONTEXT = 2;

/**
 * How a text changes, in the manner of `diff -u` without its file headers: lines that go carry `-`, lines that come
 * `+`, two lines of context a blank, and `…` stands for what was left out. undefined for a text that is too long or
 * not text. Callers see to it that neither text holds a secret.
 */
export function textDiff(before: string, after: string): string | undefined {
  const [old, next] = [linesOf(before), linesOf(after)];
  if (old.length > MOST_LINES || next.length > MOST_LINES) return undefined;
  if (before.includes('\0') || after.includes('\0')) return undefined;
  return abridged(edits(old, next)).join('\n');
}

function linesOf(text: string): string[] {
  if (text === '') return [];
  return text.endsWith('\n') ? text.slice(0, -1).split('\n') : `${text}\n\\ no newline at the end`.split('\n');
}

/** The longest common subsequence, walked from the front. */
function edits(old: readonly string[], next: readonly string[]): string[] {
  const common = Array.from({ length: old.length + 1 }, () => new Uint16Array(next.length + 1));
  const at = (i: number, j: number): number => common[i]?.[j] ?? 0;
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = next.length - 1; j >= 0; j -= 1) {
      const row = common[i];
      if (row !== undefined) row[j] = old[i] === next[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const lines: string[] = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < next.length) {
    if (i < old.length && j < next.length && old[i] === next[j]) {
      lines.push(` ${old[i]}`);
      i += 1;
      j += 1;
    } else if (i < old.length && (j === next.length || at(i + 1, j) >= at(i, j + 1))) {
      lines.push(`-${old[i]}`);
      i += 1;
    } else {
      lines.push(`+${next[j]}`);
      j += 1;
    }
  }
  return lines;
}

function abridged(lines: readonly string[]): string[] {
  const changed = lines.map((line) => !line.startsWith(' '));
  const result: string[] = [];
  let omitted = false;
  lines.forEach((line, index) => {
    if (changed.slice(Math.max(0, index - CONTEXT), index + CONTEXT + 1).includes(true)) {
      if (omitted) result.push('…');
      omitted = false;
      result.push(line);
    } else {
      omitted = true;
    }
  });
  return omitted && result.length > 0 ? [...result, '…'] : result;
}
