import { constants } from 'node:os';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { ChildStreams } from '../commands/child-streams.ts';
import { commandKilled } from '../commands/killed.ts';
import { commandAborted } from '../commands/results.ts';

import type { Command, CommandResult } from '../seam/host.ts';
import { anonymousFile } from './anonymous-file.ts';
import { dropKeptDirectories } from './directories.ts';
import { cleanEnvironment, RUN_MARK } from './environment.ts';
import { outOfMemoryKills, outOfMemorySince } from './out-of-memory.ts';
import { groupEnded, signalGroup } from './processes.ts';
import { which } from './read.ts';

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
  const { input } = command;
  await using text = typeof input === 'string' ? await anonymousFile(input) : undefined;
  const file = typeof input === 'object' && 'descriptor' in input ? input.descriptor : text?.fd;
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
      (file as 3 | undefined) ?? (input === undefined ? 'ignore' : 'pipe'),
      'pipe',
      'pipe',
      ...(command.onDescriptorLine === undefined ? [] : ['pipe' as const]),
    ],
  });
  const run = new Supervision(command, child.pid);
  const { streams } = run;
  const stdout = streams.collect(child.stdout, 'stdout');
  const stderr = streams.collect(child.stderr, 'stderr');
  streams.readDescriptor(child.stdio);
  if (child.stdin !== null && typeof input === 'object') void streams.feed(child.stdin, input);
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
  readonly streams: ChildStreams;
  #timer: NodeJS.Timeout | undefined;
  #ended = false;
  #ending: Promise<void> | undefined;

  constructor(command: Command, group: number | undefined) {
    this.#command = command;
    this.#group = group;
    this.streams = new ChildStreams(command, () => this.#endGroup());
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
      const before = this.streams.bytesRead;
      await sleep(SILENCE_MS, undefined, { ref: false });
      // An event loop that was blocked for so long has not polled the pipes yet; one turn later it has.
      await nextTurn();
      if (this.streams.bytesRead === before) break;
    }
    for (const stream of streams) stream?.destroy();
  }

  /** After the last output: passes on unfinished lines, and waits for the end of a group that is being ended. */
  async end(): Promise<void> {
    this.exited();
    const failure = this.streams.end();
    await this.#ending;
    if (failure !== undefined) throw failure;
  }

  readonly #abort = (): void => {
    const { signal } = this.#command;
    if (signal !== undefined) this.streams.fail(commandAborted(this.#command, signal));
  };

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
