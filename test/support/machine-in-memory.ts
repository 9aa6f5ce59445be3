import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { runProgram } from '../../src/commands/index.ts';
import type { Facts } from '../../src/host/seam/facts.ts';
import { facts } from './facts.ts';
import { type MachineInMemory, useMachine } from './machine-in-memory/current.ts';
import { type MemoryMachine, memoryHost } from './memory-host.ts';
import { copyOf } from './stand-ins.ts';
import { type Told, toldBy } from './told.ts';

/** The modules that touch the machine, and what stands in for them. */
const STAND_INS = new Map(
  [
    ['src/cli/lingering.ts', 'lingering'],
    ['src/host/index.ts', 'host'],
    ['src/host/processes/lock.ts', 'lock'],
    ['src/host/local-files/append-log.ts', 'append-log'],
    ['src/host/linux/read.ts', 'read'],
    ['src/host/processes/background.ts', 'background'],
    ['src/host/services/own-output.ts', 'own-output'],
  ].map(([module = '', name]) => [module, `test/support/machine-in-memory/${name}.ts`]),
);

/** The same module of `src` as its tests import, except that all it imports sees the machine in memory. */
const program: { readonly runProgram: typeof runProgram } = await import(
  copyOf('src/commands/index.ts', 'in-memory', STAND_INS)
);

/** Makes a machine in memory for whole commands. */
export function machineInMemory(machine: MemoryMachine = {}, different: Partial<Facts> = {}): MachineInMemory {
  // Other tests of this process make secrets known, and parts of their tokens would be redacted here.
  const own = { machineId: '5c1a9d0e7b3f4268b6e2d8f1c7a30e94' };
  return {
    host: memoryHost(machine),
    facts: facts({ ...own, ...different }),
    locks: new Set(),
    started: [],
    orphansOf: [],
  };
}

/** Runs a command of machineadm in this process, as `commandLine` does, on a machine in memory. One at a time. */
export async function commandOn(machine: MachineInMemory, ...args: readonly string[]): Promise<Told> {
  const { geteuid, getuid, execPath, argv } = process;
  useMachine(machine);
  // As installed: a checkout below /tmp would get warnings.
  Object.assign(process, { execPath: '/usr/local/bin/machineadm', argv: ['machineadm', '/usr/local/bin/machineadm'] });
  // Some commands ask for the user before they look at the machine.
  process.geteuid = () => (machine.facts.isRoot ? 0 : 1000);
  // The program that a process of root would start to send reports does not exist: this process sends them.
  process.getuid = () => 1000;
  try {
    return await toldBy(program.runProgram, args);
  } finally {
    useMachine(undefined);
    Object.assign(process, { geteuid, getuid, execPath, argv });
  }
}

/** What was printed, without what differs from run to run: ids of runs, points in time, and durations. */
export function withoutTimes(text: string): readonly string[] {
  return (
    text
      // Of a checkout below /tmp.
      .replace(/^.*machineadm itself is in a directory that a reboot deletes.*\n/gm, '')
      .replace(/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f-]{21}/g, 'RUN')
      .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
      .replace(/ *\b(?:\d+(?:\.\d+)? (?:ms|s|m|h|d)\b *)+/g, ' DURATION ')
      .replace(/TOOK +/g, 'TOOK ')
      .replace(/"mark":"[0-9a-f]{32}/g, '"mark":"MARK')
      .replace(/"value":"[0-9a-f]{32}/g, '"value":"MARK')
      .replace(/<section><h2>Timeline.*?<\/section>/s, '')
      .replace(/<style>.*<\/style>/s, '')
      .replace(/style-src '[^']*'/, '')
      .replace(/\|[ =*/]+\|(?: DURATION)?/g, '|BAR|')
      .replace(/"?(pid|startTicks|durationMs|sinceBootMs|bytes)"?: ?\d+/g, '$1: 0')
      .replace(/"?(sha256|digest|lasting|written|crc32)"?: ?"?[0-9a-f]{8,64}"?/g, '$1: DIGEST')
      .replace(/127\.0\.0\.1:\d{2,}/g, '127.0.0.1:PORT')
      .replace(/((?:machineadm |version\W+))\d+\.\d+\.\d+\b/g, '$1VERSION')
      .split('\n')
      .map((line) => line.trimEnd())
  );
}

/** Commands of machineadm one after the other on one machine, written down as a terminal shows them. */
export class Transcript implements Disposable {
  readonly machine: MachineInMemory;
  /** Real, for documents and results. In the transcript it is `DIR`. */
  readonly directory = mkdtempSync(join(tmpdir(), 'machineadm-transcript-'));
  readonly #lines: string[] = [];
  #logged = 0;

  constructor(machine: MemoryMachine = {}, different: Partial<Facts> = {}) {
    this.machine = machineInMemory(machine, different);
  }

  /** Writes a file, as an editor would. */
  file(name: string, content: string): string {
    const path = join(this.directory, name);
    writeFileSync(path, content);
    return path;
  }

  /** Runs a command line, in which `DIR` is the directory. */
  async run(line: string): Promise<Told> {
    const told = await commandOn(this.machine, ...line.split(' ').map((word) => word.replace('DIR', this.directory)));
    this.note(`$ machineadm ${line}`);
    for (const one of this.#linesOf(told.stdout)) this.#lines.push(one);
    for (const one of this.#linesOf(told.stderr)) this.#lines.push(`2> ${one}`);
    this.#lines.push(`exit ${told.status}`);
    const changes = this.machine.host.log.slice(this.#logged);
    this.#logged = this.machine.host.log.length;
    // The status is written at each step, in four files.
    for (const change of changes) if (!/ \S+\/(?:status|summary)\.json/.test(change)) this.note(`changed: ${change}`);
    return told;
  }

  note(text: string): void {
    this.#lines.push(...this.#linesOf(text));
  }

  #linesOf(text: string): readonly string[] {
    return text === '' ? [] : withoutTimes(text.replace(/\n$/, '').replaceAll(this.directory, 'DIR'));
  }

  get text(): string {
    return `${this.#lines.join('\n')}\n`;
  }

  [Symbol.dispose](): void {
    rmSync(this.directory, { recursive: true });
  }
}

const FIXTURES = join(import.meta.dirname, '../fixtures/commands');

/** Compares with the saved transcript; `MACHINEADM_WRITE_TRANSCRIPTS=1` saves it, for a person to read. */
export function compareTranscript(name: string, story: Transcript, normalised = (text: string) => text): void {
  const path = join(FIXTURES, `${name}.txt`);
  const text = normalised(story.text);
  if (process.env.MACHINEADM_WRITE_TRANSCRIPTS === '1') writeFileSync(path, text);
  assert.deepEqual(text.split('\n'), readFileSync(path, 'utf8').split('\n'));
}
