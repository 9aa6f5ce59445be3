/**
 * The same work done by cloud-init, Ignition, sh and machineadm: `npm run bench -- --peers [--runs N] [--generate]`. Each run
 * has a fresh throw-away root, and the tools take turns, so that what else the machine does is the same for all. Processor
 * time is compared, of each tool with all that it starts: medians, and the half of the runs that lie nearest to it.
 */
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { exampleDocument } from '@machineadm/document/versions/example.ts';
import { buildPeers } from '../lab/artefacts.ts';
import { cpuSecondsIn, cpuSecondsOf } from './cpu.ts';
import { inputsOf, PEER_WORKS, TOOLS } from './peers-work.ts';

/** Processor seconds of each run, sorted; by work and tool. */
export type PeerFigures = ReadonlyMap<string, ReadonlyMap<string, readonly number[]>>;

/** Measures all tools with all works. Needs root, Debian's apt and, the first time, a minute. */
export async function measurePeers(binary: string, directory: string, runs: number): Promise<PeerFigures> {
  const peers = await buildPeers((line) => console.log(line));
  const figures = new Map<string, ReadonlyMap<string, readonly number[]>>();
  for (const work of PEER_WORKS) {
    const input = join(directory, work.name);
    mkdirSync(input);
    copyFileSync(binary, join(input, 'machineadm'));
    for (const [name, text] of Object.entries(inputsOf(work))) writeFileSync(join(input, name), text, { mode: 0o600 });
    const all = new Map<string, number[]>(Object.keys(TOOLS).map((tool) => [tool, []]));
    for (let run = 0; run < runs; run += 1) {
      for (const [tool, command] of Object.entries(TOOLS)) all.get(tool)?.push(cpuSecondsIn(peers, input, command));
    }
    for (const seconds of all.values()) seconds.sort((a, b) => a - b);
    figures.set(work.name, all);
  }
  return figures;
}

/** Processor seconds of commands that change nothing, sorted; the first is an empty script on the same Node. */
export function startUps(binary: string, directory: string, runs: number): ReadonlyMap<string, readonly number[]> {
  const [empty, document] = [join(directory, 'empty.cjs'), join(directory, 'init.yaml')];
  writeFileSync(empty, '');
  writeFileSync(document, exampleDocument('InitControlPlane'), { mode: 0o600 });
  const commands: Readonly<Record<string, readonly string[]>> = {
    'an empty script': [process.execPath, empty],
    version: [binary, 'version'],
    status: [binary, 'status'],
    validate: [binary, 'validate', '-f', document],
    'render kubeadm': [binary, 'render', 'kubeadm', '-f', document],
  };
  const all = new Map<string, number[]>(Object.keys(commands).map((name) => [name, []]));
  for (let run = 0; run < runs; run += 1) {
    for (const [name, command] of Object.entries(commands)) all.get(name)?.push(cpuSecondsOf(command));
  }
  for (const seconds of all.values()) seconds.sort((a, b) => a - b);
  return all;
}

/** A table of Markdown: milliseconds, and how many times an empty script. */
export function startTable(figures: ReadonlyMap<string, readonly number[]>): string {
  const median = (values: readonly number[]): number => values[Math.floor(values.length / 2)] ?? Number.NaN;
  const empty = median(figures.get('an empty script') ?? []);
  const rows = [...figures].map(
    ([name, values]) => `| ${name} | ${Math.round(median(values) * 1000)} | ${(median(values) / empty).toFixed(1)} |`,
  );
  return ['| | ms of a processor | of an empty script |', '|---|---:|---:|', ...rows].join('\n');
}

/** The page that holds the figures. */
export const PERFORMANCE = 'docs/performance.md';

/** The page with these tables, by number, in the place of those before, each between its marks. */
export function withFigures(page: string, tables: Readonly<Record<number, string>>): string {
  return Object.entries(tables).reduce(
    (text, [number, table]) =>
      text.replace(
        new RegExp(`(<!-- figures ${number} -->\\n)[\\s\\S]*?(<!-- end -->)`),
        (_, before: string, after: string) => `${before}${table}\n${after}`,
      ),
    page,
  );
}

/** A table of Markdown: a row for each tool with its median and spread, and machineadm's share of each. */
export function peerTable(figures: PeerFigures): string {
  const works = [...figures.keys()];
  const of = (work: string, tool: string): readonly number[] => figures.get(work)?.get(tool) ?? [];
  const quantile = (values: readonly number[], share: number): number =>
    values[Math.round((values.length - 1) * share)] ?? Number.NaN;
  const cell = (values: readonly number[]): string =>
    `${quantile(values, 0.5).toFixed(2)} (${quantile(values, 0.25).toFixed(2)} to ${quantile(values, 0.75).toFixed(2)})`;
  const share = (work: string, tool: string): string =>
    `${((quantile(of(work, 'machineadm'), 0.5) / quantile(of(work, tool), 0.5)) * 100).toFixed(1)} %`;
  const row = (name: string, cells: readonly string[]): string => `| ${[name, ...cells].join(' | ')} |`;
  return [
    row('', works),
    row(
      '---',
      works.map(() => '---:'),
    ),
    ...Object.keys(TOOLS).map((tool) =>
      row(
        tool,
        works.map((work) => cell(of(work, tool))),
      ),
    ),
    ...Object.keys(TOOLS)
      .filter((tool) => tool !== 'machineadm')
      .map((tool) =>
        row(
          `machineadm, of ${tool}`,
          works.map((work) => share(work, tool)),
        ),
      ),
  ].join('\n');
}
