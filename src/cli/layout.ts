import { stripVTControlCharacters } from 'node:util';

/** The beginning of a line: its indentation, the lines of a tree, and a mark such as `+` or `FAIL`. */
const LEAD = /^[ │├└─]*(?:(?:[-+~>↻!·]|ok {2}|warn|FAIL|[?-] {3}) )?/;
/** The indentation of continued lines. */
const HANG = 2;

/** Text wrapped to at most `width` columns. undefined, as for a pipe: the text is not changed. */
export function fitted(text: string, width: number | undefined): string {
  return width === undefined
    ? text
    : text
        .split('\n')
        .flatMap((line) => wrapped(line, width))
        .join('\n');
}

/**
 * One line wrapped to at most `width` columns at its blanks. A longer word, such as a path or an address, stays whole
 * so that it can be copied.
 * @param hang how far the later ones stand in; default: under the text behind a mark, else a little more than the first
 */
export function wrapped(line: string, width: number | undefined, hang?: number): readonly string[] {
  if (width === undefined || widthOf(line) <= width) return [line];
  const lead = LEAD.exec(line)?.[0] ?? '';
  const later = hang === undefined ? railsOf(lead) : ' '.repeat(hang);
  const lines: string[] = [];
  let [current, isBegun] = [lead, false];
  for (const word of line.slice(lead.length).split(' ')) {
    if (!isBegun) [current, isBegun] = [current + word, word !== ''];
    else if (widthOf(current) + 1 + widthOf(word) <= width) current += ` ${word}`;
    else {
      lines.push(current.trimEnd());
      [current, isBegun] = [later + word, word !== ''];
    }
  }
  return isBegun ? [...lines, current.trimEnd()] : lines;
}

/**
 * Help wrapped to at most `width` columns. Commands are continued with a backslash, so they can be copied; an
 * explanation behind a command moves below it where there is no room.
 */
export function fittedHelp(text: string, width: number | undefined): string {
  if (width === undefined) return text;
  return text
    .split('\n')
    .flatMap((line) => {
      const [program] = /^ {2}(?:machineadm|kubectl) /.exec(line) ?? [];
      if (program === undefined || line.length <= width) return wrapped(line, width);
      const gap = line.indexOf('  ', program.length);
      const command = gap < 0 ? line : line.slice(0, gap);
      const explanation = gap < 0 ? undefined : line.slice(gap).replace(/^ +/, '');
      const folded = wrapped(command, width - ' \\'.length, 6);
      return [
        ...folded.map((part, index) => (index < folded.length - 1 ? `${part} \\` : part)),
        ...(explanation === undefined ? [] : wrapped(`      ${explanation}`, width, 6)),
      ];
    })
    .join('\n');
}

/** Rows below their headings, in columns. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  return all
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** The columns that a text takes on a terminal, without its colour sequences. */
export function widthOf(text: string): number {
  return stripVTControlCharacters(text).length;
}

/** The beginning of continued lines: the lines of the tree go on, the mark does not. */
function railsOf(lead: string): string {
  const rails = lead.replace(/[├│]/g, '|').replace(/[^|]/g, ' ').replaceAll('|', '│');
  return lead.trim() === '' ? rails + ' '.repeat(HANG) : rails;
}
