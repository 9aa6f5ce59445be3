import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand } from '../../src/host/linux/commands.ts';
import type { Host } from '../../src/host/seam/host.ts';
import { type MemoryMachine, memoryHost } from './memory-host.ts';

/** What one logger(1) was given. */
export interface Logged {
  readonly args: string;
  readonly input: string;
}

/** Sockets in memory, this machine's shell, and a logger(1) that keeps what it gets. */
export interface LoggerMachine extends Pick<Host, 'run' | 'stat'>, Disposable {
  /** Where the logger is. */
  readonly directory: string;
  /** What loggers got, in order. */
  logged(): readonly Logged[];
  /** The processes that started a logger, each once. */
  shells(): readonly number[];
  /** The shell command with which loggers go on when they have read their input. */
  behave(command: string): void;
}

export function loggerMachine(files: NonNullable<MemoryMachine['files']>): LoggerMachine {
  const directory = mkdtempSync(join(tmpdir(), 'machineadm-logger-'));
  const calls = join(directory, 'calls');
  const behaviour = join(directory, 'behaviour');
  mkdirSync(calls);
  writeFileSync(behaviour, 'exit 0');
  writeFileSync(
    join(directory, 'logger'),
    `#!/bin/sh\nulimit -S -f unlimited\ncall=${calls}/$$\necho "$PPID" > "$call.shell"\necho "$*" > "$call.args"\ncat > "$call.input"\ndate +%s%N > "$call.time"\n. ${behaviour}\n`,
  );
  chmodSync(join(directory, 'logger'), 0o755);
  const ended = (kind: string): string[] =>
    readdirSync(calls)
      .filter((name) => name.endsWith('.time'))
      .map((name) => name.slice(0, -'.time'.length))
      .sort((a, b) => Number(part(a, 'time')) - Number(part(b, 'time')))
      .map((call) => part(call, kind));
  const part = (call: string, kind: string): string => readFileSync(join(calls, `${call}.${kind}`), 'utf8');
  return {
    directory,
    stat: memoryHost({ files }).stat,
    run: (command) => runCommand({ ...command, env: { PATH: `${directory}:${process.env.PATH}` } }),
    logged: () => {
      const inputs = ended('input');
      return ended('args').map((args, index) => ({ args: args.trimEnd(), input: inputs[index] ?? '' }));
    },
    shells: () => [...new Set(ended('shell').map(Number))],
    behave: (command) => writeFileSync(behaviour, command),
    [Symbol.dispose]: () => rmSync(directory, { recursive: true }),
  };
}
