/**
 * The same work done by cloud-init, Ignition, sh and machineadm: `npm run bench -- --peers [--runs N] [--generate]`. Each run
 * has a fresh throw-away root, and the tools take turns, so that what else the machine does is the same for all. Processor
 * time is compared, of each tool with all that it starts: medians, and the half of the runs that lie nearest to it.
 */
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { buildPeers } from '../lab/artefacts.ts';
import { inputsOf, PEER_WORKS, TOOLS } from './peers-work.ts';

const root = resolve(import.meta.dirname, '../..');

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
      for (const [tool, command] of Object.entries(TOOLS)) all.get(tool)?.push(cpuSeconds(peers, input, command));
    }
    for (const seconds of all.values()) seconds.sort((a, b) => a - b);
    figures.set(work.name, all);
  }
  return figures;
}

/** User and system seconds of one command. Throws where it fails. */
function cpuSeconds(peers: string, input: string, command: string): number {
  const args = [join(root, 'scripts/bench/peers-run.sh'), peers, input, 'sh', '-c', command];
  const { status, stdout, stderr } = spawnSync('sh', args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} ended with ${status}: ${stderr.trim()}; see ${input}/output`);
  const children = stdout.trimEnd().split('\n').at(-1) ?? '';
  const parts = [...children.matchAll(/(\d+)m([\d.]+)s/g)];
  return parts.reduce((sum, [, minutes, seconds]) => sum + Number(minutes) * 60 + Number(seconds), 0);
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
