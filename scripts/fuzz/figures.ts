import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { FuzzTarget } from './target.ts';

const FIGURES = new URL('figures.json', import.meta.url);
const PAGE = new URL('../../docs/fuzzing.md', import.meta.url);
const FIXTURES = new URL('../../test/fixtures/fuzz/', import.meta.url);
const [BEGIN, END] = ['<!-- begin: npm run fuzz -- --generate -->\n', '<!-- end -->'];

/** The totals of all recorded runs of a target. */
interface Figures {
  readonly cases: number;
  /** Of processor time. */
  readonly seconds: number;
}

/** Adds the figures of a run to the totals. */
export function addFigures(target: string, { cases, seconds }: Figures): void {
  const figures = readFigures();
  const before = figures.get(target) ?? { cases: 0, seconds: 0 };
  figures.set(target, { cases: before.cases + cases, seconds: Math.round(before.seconds + seconds) });
  const sorted = [...figures].sort(([one], [other]) => (one < other ? -1 : 1));
  writeFileSync(FIGURES, `${JSON.stringify(Object.fromEntries(sorted), undefined, 2)}\n`);
}

/** Writes the table of docs/fuzzing.md. */
export function generate(targets: readonly FuzzTarget[]): void {
  writeFileSync(PAGE, withTable(readFileSync(PAGE, 'utf8'), targets));
}

/** The page with the table of the recorded figures. */
export function withTable(page: string, targets: readonly FuzzTarget[]): string {
  const [head, rest] = [page.indexOf(BEGIN) + BEGIN.length, page.indexOf(END)];
  if (head < BEGIN.length || rest < head) throw new RangeError('docs/fuzzing.md has no place for the table');
  return page.slice(0, head) + tableOf(targets) + page.slice(rest);
}

function tableOf(targets: readonly FuzzTarget[]): string {
  const figures = readFigures();
  const rows = targets.map(({ name, reads }) => {
    const { cases, seconds } = figures.get(name) ?? { cases: 0, seconds: 0 };
    return { name, reads, cases, seconds, found: fixturesOf(name) };
  });
  const sum = (of: (row: (typeof rows)[number]) => number) => rows.reduce((total, row) => total + of(row), 0);
  const total = { name: '**Sum**', reads: '', cases: sum((row) => row.cases), seconds: sum((row) => row.seconds) };
  const lines = [
    ...rows.map((row) => ({ ...row, name: `\`${row.name}\`` })),
    { ...total, found: sum((row) => row.found) },
  ].map(({ name, reads, cases, seconds, found }) => {
    const rate = seconds === 0 ? '' : number(Math.round(cases / seconds));
    return `| ${name} | ${reads} | ${number(cases)} | ${number(seconds)} | ${rate} | ${found} |\n`;
  });
  return `| Target | Input | Cases | CPU seconds | Cases/s | Inputs kept |\n|---|---|---:|---:|---:|---:|\n${lines.join('')}`;
}

function fixturesOf(target: string): number {
  const directory = new URL(`${target}/`, FIXTURES);
  return existsSync(directory) ? readdirSync(directory).length : 0;
}

function number(value: number): string {
  return value.toLocaleString('en-US');
}

function readFigures(): Map<string, Figures> {
  if (!existsSync(FIGURES)) return new Map();
  const parsed: Record<string, Figures> = JSON.parse(readFileSync(FIGURES, 'utf8'));
  return new Map(Object.entries(parsed));
}
