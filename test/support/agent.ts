import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import type { RunStatus } from '@machineadm/status/status.ts';

/** What Node runs: the sources, or what `npm test` made of them (`scripts/test.ts`), which starts sooner. */
export const MAIN = process.env.AGENT_UNDER_TEST ?? resolve(import.meta.dirname, '../../src/main.ts');

export interface AgentOptions {
  /** Given to standard input, which is then closed; default: closed at once. */
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** What runs it, such as `setpriv …`. */
  readonly wrapper?: readonly string[];
  readonly cwd?: string;
  /** What Node runs in the place of `MAIN`. */
  readonly main?: string;
}

export interface AgentRun {
  /** The exit status; 128 + signal is not used: a signal that killed it is `signal`. */
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** machineadm, running with this Node. */
export interface Agent {
  readonly pid: number;
  readonly stdin: Writable;
  /** What it has printed on standard error so far. */
  messages(): string;
  kill(signal: NodeJS.Signals): void;
  /** Resolves when it has ended and everything it printed was read. */
  readonly ended: Promise<AgentRun>;
}

/** Starts machineadm with standard input left open. */
export function startAgent(args: readonly string[], options: AgentOptions = {}): Agent {
  const [program = process.execPath, ...rest] = [
    ...(options.wrapper ?? []),
    process.execPath,
    options.main ?? MAIN,
    ...args,
  ];
  const env = { PATH: process.env.PATH, HOME: '/root', LANG: 'C.UTF-8', ...options.env };
  const child = spawn(program, rest, { env, stdio: ['pipe', 'pipe', 'pipe'], cwd: options.cwd ?? '/' });
  // One that ends without reading its input.
  child.stdin.on('error', () => {});
  const [output, messages]: [Uint8Array[], Uint8Array[]] = [[], []];
  return {
    pid: child.pid ?? -1,
    stdin: child.stdin,
    messages: () => Buffer.concat(messages).toString(),
    kill: (signal) => void child.kill(signal),
    ended: endOf(child, output, messages),
  };
}

/** Runs machineadm to its end. */
export async function agent(args: readonly string[], options: AgentOptions = {}): Promise<AgentRun> {
  const started = startAgent(args, options);
  started.stdin.end(options.input ?? '');
  return started.ended;
}

/** The status document that a run printed with `-o json`. */
export function statusOf(run: AgentRun): RunStatus {
  try {
    return JSON.parse(run.stdout) as RunStatus;
  } catch (error) {
    throw new Error(`not a status: ${run.stdout}\n${run.stderr}`, { cause: error });
  }
}

async function endOf(
  child: ChildProcessByStdio<Writable, Readable, Readable>,
  output: Uint8Array[],
  messages: Uint8Array[],
): Promise<AgentRun> {
  const keep = async (stream: Readable, chunks: Uint8Array[]): Promise<void> => {
    for await (const chunk of stream) chunks.push(chunk);
  };
  const closed = once(child, 'close');
  await Promise.all([keep(child.stdout, output), keep(child.stderr, messages), closed]);
  const [stdout, stderr] = [output, messages].map((chunks) => Buffer.concat(chunks).toString());
  return { status: child.exitCode, signal: child.signalCode, stdout: stdout ?? '', stderr: stderr ?? '' };
}
