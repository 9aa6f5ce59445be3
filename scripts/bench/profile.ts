/**
 * Where the processor time of machineadm goes: `npm run bench -- --profile [--generate]`, by samples of perf(1). The program has no
 * symbols, but lies in memory where the Node of the build lies, whose symbols name the functions. What an empty script
 * takes is one row, and taken off the others.
 */
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { EXIT_CODES } from '@machineadm/document/outcomes/exit-codes.ts';
import { exampleDocument } from '@machineadm/document/versions/example.ts';
import { inputsOf, PEER_WORKS } from './peers-work.ts';

const OVERLAY = resolve(import.meta.dirname, '../quickstart/overlay.sh');
/** Samples in a second. */
const FREQUENCY = 5000;
const LEAST_SAMPLES = 4000;

const NODE = 'Node starts and ends, as for an empty script';
const REST = 'everything else';
const OTHER_PROGRAMS = 'other programs, and starting them';
const KINDS = [
  'JavaScript, and what it calls in Node and V8',
  'V8 compiles on the main thread',
  'V8 loads code that was compiled at build time',
  'V8 compiles on other threads',
  'garbage collection, on all threads',
  'kernel: system calls and memory pages',
  OTHER_PROGRAMS,
  REST,
] as const;
type Kind = (typeof KINDS)[number];

/** Words in the names of V8's functions (its directories heap, snapshot, and parsing to codegen). */
const COLLECTS =
  /\b(?:Heap|cppgc)::|Scaveng|MarkCompact|Marking|Sweep|Evacuat|GCTracer|SlotSet|FreeList|PagedSpace|Compactor|MemoryChunk/;
const LOADS = /Deserializ|CodeSerializer|SerializedCodeData/;
const COMPILES =
  /Parser|Scanner|PreParse|::Scope|::Ast|::Zone|interpreter::|compiler::|maglev::|turboshaft::|baseline::|Compiler|Compilation|Assembler|RegExp(?:Macro|Compil|Node|Parser)|FunctionLiteral|BytecodeArray/;

/** A sample of perf: of which process and thread, where. */
interface Sample {
  readonly pid: string;
  readonly tid: string;
  readonly address: number;
  readonly file: string;
}

/** The functions of Node by where they begin, sorted. */
function symbolsOf(program: string): (address: number) => string {
  const { stdout } = spawnSync('nm', ['-C', '--defined-only', program], { encoding: 'utf8', maxBuffer: 2 ** 28 });
  const known = [...stdout.matchAll(/^([0-9a-f]+) [tTwW] (.*)$/gm)]
    .map(([, start = '', name = '']) => ({ start: Number.parseInt(start, 16), name }))
    .sort((a, b) => a.start - b.start);
  return (address) => known[known.findLastIndex(({ start }) => start <= address)]?.name ?? '';
}

function kindOf(sample: Sample, own: string, nameOf: (address: number) => string): Kind {
  if (sample.pid !== own) return OTHER_PROGRAMS;
  if (sample.file.startsWith('[kernel') || sample.file.startsWith('[guest'))
    return 'kernel: system calls and memory pages';
  const isProgram = /\/(?:machineadm|node)$/.test(sample.file);
  // What V8 compiled lies in memory of no file.
  if (!isProgram) return /\.so|\[v/.test(sample.file) ? REST : KINDS[0];
  const name = nameOf(sample.address);
  if (COLLECTS.test(name)) return 'garbage collection, on all threads';
  if (LOADS.test(name)) return 'V8 loads code that was compiled at build time';
  if (COMPILES.test(name))
    return sample.pid === sample.tid ? 'V8 compiles on the main thread' : 'V8 compiles on other threads';
  return sample.pid === sample.tid ? KINDS[0] : REST;
}

function samplesOf(
  directory: string,
  prefix: readonly string[],
  command: readonly string[],
  data: string,
): readonly Sample[] {
  const [program = '', ...args] = [
    ...prefix,
    'perf',
    'record',
    '-q',
    '-F',
    `${FREQUENCY}`,
    '-e',
    'cpu-clock',
    '-o',
    data,
    '--',
    ...command,
  ];
  const { status, stderr } = spawnSync(program, args, {
    stdio: ['ignore', 'ignore', 'pipe'],
    encoding: 'utf8',
    env: { PATH: process.env.PATH ?? '' },
  });
  // `status` ends with 4 on a machine without a run.
  if (status !== 0 && status !== EXIT_CODES.Refused.code)
    throw new Error(`perf record of ${command.join(' ')} ended with ${status}: ${stderr.trim()}`);
  const script = ['script', '-F', 'pid,tid,ip,dso', '-i', join(directory, 'perf.data')];
  const { stdout } = spawnSync('perf', script, {
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return [...stdout.matchAll(/^ *(\d+)\/(\d+) +([0-9a-f]+) +\((.*)\)$/gm)].map(
    ([, pid = '', tid = '', address = '', file = '']) => ({ pid, tid, address: Number.parseInt(address, 16), file }),
  );
}

/** Samples of one run of each command, by kind; the first is an empty script. Needs root, perf and nm. */
export function profiles(binary: string, directory: string): ReadonlyMap<string, ReadonlyMap<Kind, number>> {
  const [empty, document] = [join(directory, 'empty.cjs'), join(directory, 'init.yaml')];
  writeFileSync(empty, '');
  writeFileSync(document, exampleDocument('InitControlPlane'), { mode: 0o600 });
  copyFileSync(binary, join(directory, 'machineadm'));
  const program = join(directory, 'machineadm');
  const commands: Record<
    string,
    { readonly prefix: readonly string[]; readonly directory: string; readonly command: readonly string[] }
  > = {
    'empty script': { prefix: [], directory, command: [process.execPath, empty] },
    version: { prefix: [], directory, command: [program, 'version'] },
    status: { prefix: [], directory, command: [program, 'status'] },
    validate: { prefix: [], directory, command: [program, 'validate', '-f', document] },
    render: { prefix: [], directory, command: [program, 'render', 'kubeadm', '-f', document] },
  };
  for (const work of PEER_WORKS.filter(({ name }) => name !== 'w100')) {
    const input = join(directory, work.name);
    mkdirSync(input);
    copyFileSync(binary, join(input, 'machineadm'));
    writeFileSync(join(input, 'bootstrap.yaml'), inputsOf(work)['bootstrap.yaml'] ?? '', { mode: 0o600 });
    const command = ['/quickstart/machineadm', 'provision', '-f', '/quickstart/bootstrap.yaml'];
    commands[work.name] = { prefix: ['sh', OVERLAY, input], directory: input, command };
  }
  const nameOf = symbolsOf(process.execPath);
  return new Map(
    Object.entries(commands).map(([name, { prefix, directory: at, command }]) => {
      const data = prefix.length === 0 ? join(at, 'perf.data') : '/quickstart/perf.data';
      const counts = new Map<Kind, number>(KINDS.map((kind) => [kind, 0]));
      let [runs, all] = [0, 0];
      for (; all < LEAST_SAMPLES; runs += 1) {
        const samples = samplesOf(at, prefix, command, data);
        all += samples.length;
        const own = samples[0]?.pid ?? '';
        for (const sample of samples) {
          const kind = kindOf(sample, own, nameOf);
          counts.set(kind, (counts.get(kind) ?? 0) + 1);
        }
      }
      return [name, new Map([...counts].map(([kind, count]) => [kind, count / runs]))];
    }),
  );
}

/** A table of Markdown, in percent of each command. */
export function profileTable(figures: ReadonlyMap<string, ReadonlyMap<Kind, number>>): string {
  const empty = figures.get('empty script') ?? new Map<Kind, number>();
  const columns = [...figures].filter(([name]) => name !== 'empty script');
  const shares = columns.map(([, counts]) => {
    const whole = [...counts.values()].reduce((sum, count) => sum + count, 0);
    const beyond = KINDS.map((kind) => Math.max(0, (counts.get(kind) ?? 0) - (empty.get(kind) ?? 0)));
    const node = whole - beyond.reduce((sum, count) => sum + count, 0);
    return [node, ...beyond].map((count) => Math.round((count / whole) * 100));
  });
  const row = (cells: readonly (string | number)[]): string => `| ${cells.join(' | ')} |`;
  return [
    row(['', ...columns.map(([name]) => name)]),
    row(['---', ...columns.map(() => '---:')]),
    ...[NODE, ...KINDS].map((name, index) => row([name, ...shares.map((share) => share[index] ?? 0)])),
  ].join('\n');
}
