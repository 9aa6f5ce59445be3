/** The lines between which a block of ours stands in a file that others write, too. */
export interface BlockMarks {
  readonly begin: string;
  readonly end: string;
}

/**
 * The text with our block holding exactly these lines: where it stands already, else at the end; no lines = no block.
 * Every other line stays. A beginning without an end is a line like any other: what stands behind it may be another's.
 */
export function withManagedBlock(text: string, marks: BlockMarks, content: readonly string[]): string {
  const block = content.length === 0 ? [] : [marks.begin, ...content, marks.end];
  const lines = text === '' ? [] : text.replace(/\n$/, '').split('\n');
  const begin = lines.indexOf(marks.begin);
  const end = begin < 0 ? -1 : lines.indexOf(marks.end, begin);
  if (end < 0 && block.length === 0) return text;
  const result = end < 0 ? [...lines, ...block] : [...lines.slice(0, begin), ...block, ...lines.slice(end + 1)];
  return result.map((line) => `${line}\n`).join('');
}
