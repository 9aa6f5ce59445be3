import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const PAGE = join(import.meta.dirname, '../../docs/storage.md');

/** The reader's page on storage. */
export const STORAGE_PAGE = readFileSync(PAGE, 'utf8');

/** A row of a decision table: what is there, the conditions in their order, and what happens. */
export interface DecisionRow {
  readonly finding: string;
  readonly conditions: readonly boolean[];
  readonly outcome: string;
}

/** The rows of a decision table of the reader's page; the tests of the decisions have no other list. */
export function decisionRows(table: 'disks' | 'filesystems' | 'growth'): readonly DecisionRow[] {
  const text = STORAGE_PAGE.split(`<!-- decision table: ${table} -->\n`)[1] ?? '';
  const lines = text.slice(0, text.indexOf('\n\n')).split('\n').slice(2);
  return lines.map((line) => {
    const cells = line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim());
    return {
      finding: cells[0] ?? '',
      conditions: cells.slice(1, -1).map((cell) => yesOrNo(cell)),
      outcome: cells.at(-1) ?? '',
    };
  });
}

function yesOrNo(cell: string): boolean {
  if (cell !== 'yes' && cell !== 'no') throw new Error(`neither yes nor no: "${cell}"`);
  return cell === 'yes';
}
