import { constants } from 'node:os';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { type Evidence, errorMessage, MachineadmError } from '@machineadm/document/errors.ts';
import { redact } from '@machineadm/document/redaction.ts';
import { commandAborted, moreDescriptors } from '../processes/commands.ts';
import { commandKilled } from '../processes/killed.ts';
import { keyBlockHider, LineSplitter, Tail } from '../processes/output.ts';
import type { Command, CommandResult } from '../seam/host.ts';
import { anonymousFile } from './anonymous-file.ts';
import { dropKeptDirectories } from './directories.ts';
import { cleanEnvironment, RUN_MARK } from './environment.ts';
import { outOfMemoryKills, outOfMemorySince } from './out-of-memory.ts';
import { groupEnded, signalGroup } from './processes.ts';
import { which } from './read.ts';

const KEPT_OUTPUT_BYTES = 1024 * 1024;
/** Time between SIGTERM and SIGKILL for a group, and then for its end. */
const END_GRACE_MS = 5_000;
/**
 * When the command has ended but a background child keeps its pipes open, reading stops after a second without output,
 * or after five seconds with output.
 */
const SILENCE_MS = 1_000;
const SILENCES_AT_MOST = 5;
/** The status of timeout(1), for a command that reacted to SIGTERM with success. */
const TIMED_OUT_STATUS = 124;
/**
 * A service manager that stops a unit may send SIGTERM to the agent and its children at once (systemd.kill(5),
 * KillMode=control-group). The end of the child may be noticed first; the agent receives its own signal within this
 * time.
 */
const OWN_SIGNAL_MS = 250;
const STOP_SIGNALS: ReadonlySet<string> = new Set(['SIGTERM', 'SIGINT', 'SIGHUP']);

/** Process groups of the supervised commands that are still running. */
export const runningSupervised = new Set<number>();

/**
 * Runs a command to its end in its own process group, with a clean environment. A timeout or an abort ends the whole
 * group: SIGTERM, after 5 s SIGKILL. Background processes of the command do not delay the result. With `runId` a
 * supervised command is marked for `endOrphans`.
 * Throws `HostStepFailed` when it could not be started, was aborted (or the abort's own reason, when that is a
 * `MachineadmError`), or its input could not be read; `CommandKilled` for a supervised command that was killed by
 * another sender's signal.
 */
export async function runCommand(command: Command, runId?: string): Promise<CommandResult> {
  if (command.signal?.aborted) throw commandAborted(command, command.signal);
  const program = await which(command.program);
  if (program === undefined) throw notStarted(command.program, 'it is not installed');

  // Loaded with the first command: saves 18 ms in `validate` and `version`.
  const { execa } = await import('execa');
  await using input = typeof command.input === 'string' ? await anonymousFile(command.input) : undefined;
  const memory = command.supervised === true ? outOfMemoryKills() : undefined;
  // The command may mount, unmount or rename: cached directories become invalid, and our descriptors must not keep a
  // file system busy.
  dropKeptDirectories();
  const child = execa(program, [...command.args], {
    argv0: command.program,
    ...(command.cwd === undefined ? {} : { cwd: command.cwd }),
    env: cleanEnvironment({
      ...command.env,
      ...(command.supervised && runId !== undefined ? { [RUN_MARK]: runId } : {}),
    }),
    extendEnv: false,
    detached: true,
    cleanup: false,
    reject: false,
    // Output is buffered and split into lines here, because execa's limit would kill the child.
    buffer: false,
    encoding: 'buffer',
    // execa's types cover the descriptors 3 to 9 only; its code accepts any (lib/stdio/handle.js).
    stdio: [
      (input?.fd as 3 | undefined) ?? (command.input === undefined ? 'ignore' : 'pipe'),
      'pipe',
      'pipe',
      ...moreDescriptors(command),
    ],
  });
  const run = new Supervision(command, child.pid);
  const stdout = run.collect(child.stdout, 'stdout');
  const stderr = run.collect(child.stderr, 'stderr');
  run.readDescriptor(child.stdio);
  if (child.stdin !== null && typeof command.input === 'object') void run.feed(child.stdin, command.input);
  run.watch();

  child.nodeChildProcess.once('exit', () => {
    run.exited();
    void run.stopReading(child.stdio.slice(1));
  });
  const result = await child;
  await run.end();

  if (child.pid === undefined) throw notStarted(command.program, result.code ?? 'unknown cause', result.cause);
  const outOfMemory = outOfMemorySince(memory);
  if (command.supervised === true && result.signal !== undefined && !run.timedOut) {
    if (STOP_SIGNALS.has(result.signal))
      await sleep(OWN_SIGNAL_MS, undefined, { signal: command.signal }).catch(() => {});
    if (command.signal?.aborted) throw commandAborted(command, command.signal);
    throw commandKilled(command.program, { signal: result.signal, outOfMemory });
  }
  const exitStatus = result.exitCode ?? 128 + (result.signal === undefined ? 0 : constants.signals[result.signal]);
  return {
    status: run.timedOut && exitStatus === 0 ? TIMED_OUT_STATUS : exitStatus,
    stdout: stdout.text(),
    stderr: stderr.text(),
    timedOut: run.timedOut,
    ...(outOfMemory === undefined ? {} : { outOfMemory }),
  };
}

/** The state of one running command. */
class Supervision {
  timedOut = false;
  readonly #command: Command;
  readonly #group: number | undefined;
  readonly #splitters: LineSplitter[] = [];
  #timer: NodeJS.Timeout | undefined;
  #ended = false;
  #bytesRead = 0;
  #failure: { readonly error: unknown } | undefined;
  #ending: Promise<void> | undefined;

  constructor(command: Command, group: number | undefined) {
    this.#command = command;
    this.#group = group;
  }

  /** Keeps the tail of a stream and passes on its lines, redacted. */
  collect(stream: Readable | null, name: 'stdout' | 'stderr'): Tail {
    const tail = new Tail(KEPT_OUTPUT_BYTES);
    const { onLine } = this.#command;
    const hide = keyBlockHider();
    const lines = onLine === undefined ? undefined : this.#splitter((line) => onLine(name, redact(hide(line))));
    stream?.on('data', (bytes: Uint8Array) => {
      this.#bytesRead += bytes.length;
      tail.write(bytes);
      if (lines !== undefined) this.#guard(() => lines.write(bytes));
    });
    return tail;
  }

  /** The lines of the extra descriptor are an internal protocol, so they are passed on unchanged. */
  readDescriptor(stdio: readonly unknown[]): void {
    const extra = this.#command.onDescriptorLine;
    if (extra === undefined) return;
    const stream = stdio[extra.descriptor];
    const lines = this.#splitter(extra.line);
    if (stream instanceof Readable) stream.on('data', (bytes: Uint8Array) => this.#guard(() => lines.write(bytes)));
  }

  /** Passes the child its input. A child may stop reading early; a failing source is an error. */
  async feed(stdin: NodeJS.WritableStream, source: AsyncIterable<Uint8Array>): Promise<void> {
    const fail = (error: unknown): void => this.#fail(error);
    // Only errors of the source itself count: the end of the child throws EPIPE into a generator, too.
    async function* guarded(): AsyncGenerator<Uint8Array> {
      const iterator = source[Symbol.asyncIterator]();
      try {
        for (;;) {
          const next = await iterator.next().catch(fail);
          if (next === undefined || next.done) return;
          yield next.value;
        }
      } finally {
        await iterator.return?.();
      }
    }
    await pipeline(Readable.from(guarded(), { objectMode: false }), stdin).catch(() => undefined);
  }

  watch(): void {
    const { timeoutMs, signal, supervised } = this.#command;
    if (supervised === true && this.#group !== undefined) runningSupervised.add(this.#group);
    signal?.addEventListener('abort', this.#abort, { once: true });
    // The signal may have been aborted while the program was looked up and started.
    if (signal?.aborted === true) this.#abort();
    if (timeoutMs === undefined) return;
    this.#timer = setTimeout(() => {
      this.timedOut = true;
      this.#endGroup();
    }, timeoutMs);
  }

  exited(): void {
    this.#ended = true;
    if (this.#group !== undefined) runningSupervised.delete(this.#group);
    clearTimeout(this.#timer);
    this.#command.signal?.removeEventListener('abort', this.#abort);
  }

  /** Releases pipes that another process still holds; ended ones have closed already. */
  async stopReading(streams: readonly ({ destroy(): unknown } | null | undefined)[]): Promise<void> {
    for (let round = 0; round < SILENCES_AT_MOST; round += 1) {
      const before = this.#bytesRead;
      await sleep(SILENCE_MS, undefined, { ref: false });
      // An event loop that was blocked for so long has not polled the pipes yet; one turn later it has.
      await nextTurn();
      if (this.#bytesRead === before) break;
    }
    for (const stream of streams) stream?.destroy();
  }

  /** After the last output: passes on unfinished lines, and waits for the end of a group that is being ended. */
  async end(): Promise<void> {
    this.exited();
    for (const splitter of this.#splitters) this.#guard(() => splitter.end());
    await this.#ending;
    if (this.#failure === undefined) return;
    const { error } = this.#failure;
    throw error instanceof MachineadmError ? error : failed(this.#command, error);
  }

  #splitter(line: (line: string) => void): LineSplitter {
    const splitter = new LineSplitter(line);
    this.#splitters.push(splitter);
    return splitter;
  }

  readonly #abort = (): void => {
    const { signal } = this.#command;
    if (signal !== undefined) this.#fail(commandAborted(this.#command, signal));
  };

  /** A listener that throws must not become an uncaught exception of the event loop. */
  #guard(action: () => void): void {
    try {
      action();
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    this.#failure ??= { error };
    this.#endGroup();
  }

  #endGroup(): void {
    if (this.#group === undefined || this.#ended) return;
    this.#ending ??= endGroup(this.#group);
  }
}

async function endGroup(group: number): Promise<void> {
  if (!signalGroup(group, 'SIGTERM')) return;
  if (await groupEnded(group, END_GRACE_MS)) return;
  signalGroup(group, 'SIGKILL');
  await groupEnded(group, END_GRACE_MS);
}

function notStarted(program: string, why: string, cause?: unknown): MachineadmError {
  return new MachineadmError({
    reason: 'HostStepFailed',
    summary: `${program} could not be started: ${why}`,
    remedy: `Install ${program}, or check that it can be executed ("${program}" in a root shell).`,
    cause,
  });
}

function failed(command: Command, error: unknown): MachineadmError {
  const text = redact(errorMessage(error));
  const evidence: Evidence[] = [{ source: command.program, text }];
  return new MachineadmError({
    reason: 'HostStepFailed',
    summary: `${command.program} was killed: its input or output could not be handled`,
    remedy: 'Look at the evidence; if it names a file, check that it can be read.',
    evidence,
    cause: error,
  });
}
