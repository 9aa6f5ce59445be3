/**
 * Measures the binary on this machine: `npm run bench [-- --runs N]`. Nothing is asserted: figures of a shared machine
 * are for reading. CPU time is the one to compare; wall time shows what else the machine did.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parse } from 'yaml';
import { readOptions } from '../options.ts';
import { hostDocument, hostScript, LIGHT_WORK, longDocument, MANY_FILES } from './documents.ts';
import { measureEndToEnd } from './end-to-end.ts';
import { endToEndPicture, endToEndTable } from './end-to-end-page.ts';
import { measureExits } from './exit.ts';
import { growthTable, measureGrowth } from './growth.ts';
import { type Figures, measure, peakMemory } from './measure.ts';
import { measurePeers, PERFORMANCE, peerTable, startTable, startUps, withFigures } from './peers.ts';
import { profiles, profileTable } from './profile.ts';

const root = resolve(import.meta.dirname, '../..');

/** Programs that are measured for comparison where they are installed: the start-up of a like agent. */
const PEERS: readonly (readonly string[])[] = [
  ['cloud-init', '--version'],
  ['ignition', '--version'],
  ['kubeadm', 'version', '-o', 'short'],
];

function isInstalled(program: string): boolean {
  return spawnSync('sh', ['-c', 'command -v "$1"', 'sh', program], { stdio: 'ignore' }).status === 0;
}

function row(name: string, figures: Figures, against: Figures): void {
  const ratio = against.cpuMs === 0 ? '' : (figures.cpuMs / against.cpuMs).toFixed(1);
  const cells = [figures.minMs.toFixed(1), figures.medianMs.toFixed(1), figures.cpuMs.toFixed(1), ratio];
  console.log(`${name.padEnd(44)}${cells.map((cell) => cell.padStart(10)).join('')}`);
}

/** Start-up, and the time to check a document, against the cheapest process there is. */
async function startUp(binary: string, directory: string, runs: number): Promise<void> {
  const document = join(directory, 'long.yaml');
  writeFileSync(document, longDocument());
  const lines = longDocument().split('\n').length - 1;
  const floor = await measure(['sh', '-c', ':'], runs);
  row('sh -c :', floor, floor);
  row('machineadm version', await measure([binary, 'version'], runs), floor);
  row(`machineadm validate (${lines} lines)`, await measure([binary, 'validate', '-d', document], runs), floor);
  for (const peer of PEERS.filter(([program = '']) => isInstalled(program))) {
    row(peer.join(' '), await measure(peer, runs), floor);
  }
}

/** The same host work done by machineadm and by a shell script, each time in a fresh throw-away copy of this machine. */
async function hostWork(binary: string, directory: string, runs: number): Promise<void> {
  const overlay = ['sh', join(root, 'scripts/quickstart/overlay.sh'), directory];
  spawnSync('cp', [binary, join(directory, 'machineadm')]);
  writeFileSync(join(directory, 'host.yaml'), hostDocument(LIGHT_WORK));
  writeFileSync(join(directory, 'host.sh'), hostScript(LIGHT_WORK));
  const provision = ['/quickstart/machineadm', 'provision', '-d', '/quickstart/host.yaml'];
  const empty = await measure([...overlay, 'true'], runs);
  const work = `${LIGHT_WORK.files} files, ${LIGHT_WORK.sysctls} sysctls`;
  row('the copy alone', empty, empty);
  row(`sh: ${work}`, await measure([...overlay, 'sh', '/quickstart/host.sh'], runs), empty);
  row(`machineadm provision: ${work}`, await measure([...overlay, ...provision], runs), empty);
  writeFileSync(join(directory, 'many.yaml'), hostDocument(MANY_FILES));
  writeFileSync(join(directory, 'many.json'), JSON.stringify(parse(hostDocument(MANY_FILES))));
  writeFileSync(join(directory, 'many.sh'), hostScript(MANY_FILES));
  const many = ['/quickstart/machineadm', 'provision', '-d', '/quickstart/many.yaml'];
  const parsing = ['/quickstart/machineadm', 'validate', '-d', '/quickstart/many.yaml'];
  row(`sh: ${MANY_FILES.files} files`, await measure([...overlay, 'sh', '/quickstart/many.sh'], runs), empty);
  row(`machineadm validate: ${MANY_FILES.files} files`, await measure([...overlay, ...parsing], runs), empty);
  row(`machineadm provision: ${MANY_FILES.files} files`, await measure([...overlay, ...many], runs), empty);
  const manyJson = ['/quickstart/machineadm', 'provision', '-d', '/quickstart/many.json'];
  row(`the same, document in JSON`, await measure([...overlay, ...manyJson], runs), empty);
  const peak = await peakMemory([...overlay, ...provision], '/quickstart/machineadm');
  console.log(`machineadm provision: ${peak.toFixed(0)} MB resident at its peak`);
}

/** Puts tables of figures into the page about performance. */
function write(tables: Parameters<typeof withFigures>[1]): void {
  const page = join(root, PERFORMANCE);
  writeFileSync(page, withFigures(readFileSync(page, 'utf8'), tables));
}

/** What the conclusion and the exit are apart, whatever the network does. */
function exits(directory: string, runs: number): void {
  const overlay = ['sh', join(root, 'scripts/quickstart/overlay.sh'), directory];
  console.log(`\nfrom the conclusion to the exit of provision; ${runs} runs each; ms`);
  console.log(`${''.padEnd(44)}${['min', 'median', 'max'].map((head) => head.padStart(10)).join('')}`);
  for (const { what, ms } of measureExits(overlay, directory, runs)) {
    const cells = [ms[0], ms[Math.floor(ms.length / 2)], ms.at(-1)];
    console.log(`${what.padEnd(44)}${cells.map((cell) => `${cell}`.padStart(10)).join('')}`);
  }
}

async function main(): Promise<void> {
  const { values } = readOptions(import.meta.filename, {
    options: {
      runs: { type: 'string' },
      peers: { type: 'boolean', default: false },
      'end-to-end': { type: 'boolean', default: false },
      growth: { type: 'boolean', default: false },
      profile: { type: 'boolean', default: false },
      generate: { type: 'boolean', default: false },
    },
  });
  const runs = Math.max(3, Number.parseInt(values.runs ?? '', 10) || 20);
  const built = spawnSync(process.execPath, [join(root, 'scripts/build.ts')], {
    stdio: ['ignore', 'inherit', 'ignore'],
  });
  if (built.status !== 0) throw new Error('the build failed; see npm run build');
  const binary = join(root, 'dist/machineadm');
  console.log(`dist/machineadm: ${(statSync(binary).size / 1e6).toFixed(0)} MB; ${runs} runs each; ms; ratio of cpu\n`);
  console.log(`${''.padEnd(44)}${['min', 'median', 'cpu', 'ratio'].map((head) => head.padStart(10)).join('')}`);
  const directory = mkdtempSync(join(tmpdir(), 'machineadm-bench-'));
  try {
    if (values.peers) {
      const start = startUps(binary, directory, runs);
      const table = peerTable(await measurePeers(binary, directory, runs));
      console.log(`\n${startTable(start)}\n\n${table}`);
      if (values.generate) write({ 1: startTable(start), 2: table });
      return;
    }
    if (values.profile) {
      const table = profileTable(profiles(binary, directory));
      console.log(`\n${table}`);
      if (values.generate) write({ 6: table });
      return;
    }
    if (values['end-to-end']) {
      const told = (role: string, one: object) => console.log(role, JSON.stringify(one));
      const figures = await measureEndToEnd(binary, directory, Number.parseInt(values.runs ?? '', 10) || 5, told);
      const tables = [endToEndTable(figures.init), endToEndTable(figures.join)] as const;
      console.log(`\n${tables.join('\n\n')}`);
      if (!values.generate) return;
      write({ 4: tables[0], 5: tables[1] });
      writeFileSync(join(root, 'docs/pictures/end-to-end.dot'), endToEndPicture(figures));
      return;
    }
    if (values.growth) {
      const table = growthTable(await measureGrowth(binary, directory, Math.min(runs, 3)));
      console.log(`\n${table}`);
      if (values.generate) write({ 3: table });
      return;
    }
    await startUp(binary, directory, runs);
    if (process.getuid?.() === 0) {
      await hostWork(binary, directory, Math.max(3, Math.floor(runs / 4)));
      exits(directory, Math.max(3, Math.floor(runs / 2)));
    } else console.log('provision is not measured: the throw-away copy of this machine needs root');
  } finally {
    rmSync(directory, { recursive: true });
  }
}

await main();
