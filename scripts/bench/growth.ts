/**
 * How the cost of machineadm grows with its work: `npm run bench -- --growth [--runs N] [--generate]`. The processor time of a
 * size is the least of its runs, for what else the machine does only adds to it. The exponent is the slope of the line, with
 * logarithms on both axes, through what the sizes cost more than the smallest: 1 is linear, 2 is quadratic.
 */
import { appendFileSync, copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildPeers } from '../lab/artefacts.ts';
import { cpuSecondsIn } from './cpu.ts';

/** One kind of work in several sizes. */
interface Growth {
  readonly what: string;
  readonly sizes: readonly number[];
  readonly unit: string;
  /** Makes the input of one size in a new directory, and returns the arguments of machineadm, with that directory as `/in`. */
  readonly prepare: (directory: string, size: number) => readonly string[];
}

/** What each size of a kind of work costs, in seconds of a processor. */
export interface GrowthFigures {
  readonly what: string;
  readonly points: readonly { readonly size: number; readonly name: string; readonly seconds: number }[];
}

const HEAD =
  'apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\nmetadata: {name: growth}\nreporting: {sinks: []}\n';
const KIB = 1024;
const MIB = 1024 * KIB;

function fileEntry(index: number, bytes: number): string {
  const path = `/opt/growth/d${index % 5}/file${index}.conf`;
  const text = `${index} `.repeat(Math.ceil(bytes / `${index} `.length)).slice(0, bytes);
  return `  - {path: ${path}, mode: "${index % 2 === 0 ? '0644' : '0600'}", content: "${text}"}\n`;
}

function documentOf(files: number, bytes: number): string {
  const entries = Array.from({ length: files }, (_, index) => fileEntry(index, bytes));
  return `${HEAD}host:\n  swap: Unmanaged\n${files === 0 ? '' : `  files:\n${entries.join('')}`}`;
}

const LOG_LINES = [
  'cp1 kubelet[812]: I1123 10:00:00.000000     812 status_manager.go:550] "Failed to get status for pod" pod="kube-system/etcd-cp1"',
  'cp1 containerd[700]: time="2026-11-23T10:00:00Z" level=info msg="RunPodSandbox for &PodSandboxMetadata{Name:etcd-cp1}"',
  'cp1 kernel: IPVS: rr: TCP 10.96.0.1:443 - no destination available',
];

/** A journal of so many bytes, in pieces: a line is never the same twice. */
function writeLog(path: string, bytes: number): void {
  for (let [written, second] = [0, 0]; written < bytes; ) {
    const lines: string[] = [];
    for (let line = 0; line < 5000; line += 1) {
      second += 1;
      const time = new Date(Date.UTC(2026, 10, 23) + second * 100).toISOString().slice(11, 19);
      lines.push(`Nov 23 ${time} ${LOG_LINES[line % LOG_LINES.length]} #${second}`);
    }
    const piece = `${lines.join('\n')}\n`;
    appendFileSync(path, piece);
    written += piece.length;
  }
}

const GROWTHS: readonly Growth[] = [
  {
    what: 'provision, by files of 64 bytes',
    sizes: [10, 100, 1000, 10_000],
    unit: '',
    prepare(directory, size) {
      writeFileSync(join(directory, 'bootstrap.yaml'), documentOf(size, 64), { mode: 0o600 });
      return ['provision', '-f', '/in/bootstrap.yaml'];
    },
  },
  {
    what: 'validate, by the size of the document',
    sizes: [1, 16, 256, 4095],
    unit: ' KiB',
    prepare(directory, size) {
      const each = fileEntry(1000, 1000).length + 2;
      const files = Math.floor((size * KIB - HEAD.length) / each);
      writeFileSync(join(directory, 'bootstrap.yaml'), documentOf(files, 1000), { mode: 0o600 });
      return ['validate', '-f', '/in/bootstrap.yaml'];
    },
  },
  {
    what: 'validate, by drop-ins',
    sizes: [1, 10, 50, 200],
    unit: '',
    prepare(directory, size) {
      const dropIns = join(directory, 'bootstrap.d');
      mkdirSync(dropIns, { mode: 0o700 });
      writeFileSync(join(dropIns, '00-head.yaml'), documentOf(0, 0), { mode: 0o600 });
      for (let index = 1; index < size; index += 1) {
        const name = `${String(index).padStart(3, '0')}.yaml`;
        writeFileSync(join(dropIns, name), `host:\n  files:\n${fileEntry(index, 64)}`, { mode: 0o600 });
      }
      return ['validate', '-f', '/in/bootstrap.d'];
    },
  },
  {
    what: 'diagnose, by the size of the log',
    sizes: [1, 10, 100],
    unit: ' MiB',
    prepare(directory, size) {
      writeLog(join(directory, 'journal.log'), size * MIB);
      return ['diagnose', '-f', '/in/journal.log'];
    },
  },
];

/** Measures all kinds of work, each run in a fresh throw-away root. Needs root. */
export async function measureGrowth(
  binary: string,
  directory: string,
  runs: number,
): Promise<readonly GrowthFigures[]> {
  const peers = await buildPeers((line) => console.log(line));
  return GROWTHS.map(({ what, sizes, unit, prepare }, index) => ({
    what,
    points: sizes.map((size) => {
      const input = join(directory, `growth-${index}-${size}`);
      mkdirSync(input);
      copyFileSync(binary, join(input, 'machineadm'));
      const command = ['/in/machineadm', ...prepare(input, size)].join(' ');
      const seconds = Array.from({ length: runs }, () => cpuSecondsIn(peers, input, command));
      return { size, name: `${size.toLocaleString('en')}${unit}`, seconds: Math.min(...seconds) };
    }),
  }));
}

/**
 * The exponent of the growth; undefined where nothing costs more than the smallest. Each point counts as much as it costs more
 * than the smallest: the small ones say little but noise.
 */
function exponentOf({ points }: GrowthFigures): number | undefined {
  const [first, ...rest] = points;
  const grown = rest
    .map(({ size, seconds }) => ({ size: size - (first?.size ?? 0), seconds: seconds - (first?.seconds ?? 0) }))
    .filter(({ seconds }) => seconds > 0)
    .map(({ size, seconds }) => ({ x: Math.log(size), y: Math.log(seconds), weight: seconds }));
  if (grown.length < 2) return undefined;
  const sum = (of: (point: (typeof grown)[number]) => number): number =>
    grown.reduce((total, point) => total + point.weight * of(point), 0);
  const total = sum(() => 1);
  const [x, y] = [sum((point) => point.x) / total, sum((point) => point.y) / total];
  return sum((point) => (point.x - x) * (point.y - y)) / sum((point) => (point.x - x) ** 2);
}

/** A table of Markdown: seconds by size, and the exponent. */
export function growthTable(figures: readonly GrowthFigures[]): string {
  const most = Math.max(...figures.map(({ points }) => points.length));
  const rows = figures.map((one) => {
    const cells = one.points.map(({ name, seconds }) => `${name}: ${seconds.toFixed(2)}`);
    const empty = Array.from({ length: most - cells.length }, () => '');
    return `| ${[one.what, ...cells, ...empty, exponentOf(one)?.toFixed(2) ?? 'none'].join(' | ')} |`;
  });
  const sizes = Array.from({ length: most }, (_, index) => (index === 0 ? 'size: seconds' : ''));
  return [`| | ${sizes.join(' | ')} | exponent |`, `|---${'|---:'.repeat(most + 1)}|`, ...rows].join('\n');
}
