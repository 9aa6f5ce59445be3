import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorMessage, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { redact } from '@machineadm/document/redaction/process-redactor.ts';
import { ChildStreams } from '../commands/child-streams.ts';
import { commandAborted } from '../commands/results.ts';
import type { Command, CommandResult } from '../seam/host.ts';
import { cleanEnvironment, DRIVE, SYSTEM32, windowsPath } from './paths.ts';
import type { WindowsSystem } from './system.ts';

/** As on Linux: for a command that was ended because of its timeout and exited with success. */
const TIMED_OUT_STATUS = 124;
/** How long background children may keep our pipes open after the command has ended. */
const DRAIN_MS = 1_000;

/** Notified of a supervised command while it runs, so that the next run can end it after a kill. */
export interface ProcessRecorder {
  started(pid: number): void;
  ended(pid: number): void;
}

export function thisSystem(recorder?: ProcessRecorder): WindowsSystem {
  return { run: (command) => runCommand(command, recorder), native: (path) => path };
}

/**
 * Runs a program to its end, without a window and with a clean environment, from the root of the system drive: paths
 * without a drive, as Go's programs use them, are on it. A timeout or an abort ends it with all its children (taskkill
 * /T).
 */
async function runCommand(command: Command, recorder?: ProcessRecorder): Promise<CommandResult> {
  if (command.signal?.aborted) throw commandAborted(command, command.signal);
  const child = spawn(command.program, [...command.args], {
    cwd: command.cwd === undefined ? `${DRIVE}\\` : windowsPath(command.cwd),
    env: cleanEnvironment(command.env),
    windowsHide: true,
    stdio: ['pipe', 'pipe', 'pipe', ...(command.onDescriptorLine === undefined ? [] : ['pipe' as const])],
  });
  const streams = new ChildStreams(command, () => void endTree(child.pid));
  const stdout = streams.collect(child.stdout, 'stdout');
  const stderr = streams.collect(child.stderr, 'stderr');
  streams.readDescriptor(child.stdio);
  let timedOut = false;
  const timer =
    command.timeoutMs === undefined
      ? undefined
      : setTimeout(() => {
          timedOut = true;
          void endTree(child.pid);
        }, command.timeoutMs);
  const onAbort = (): void => {
    if (command.signal !== undefined) streams.fail(commandAborted(command, command.signal));
  };
  command.signal?.addEventListener('abort', onAbort, { once: true });
  if (command.supervised === true && child.pid !== undefined) recorder?.started(child.pid);
  // A child may stop reading early.
  child.stdin?.on('error', () => {});
  if (typeof command.input === 'object' && child.stdin !== null) void streams.feed(child.stdin, command.input);
  else child.stdin?.end(command.input ?? '');
  try {
    const status = await ended(child);
    const failure = streams.end();
    if (failure !== undefined) throw failure;
    return {
      status: timedOut && status === 0 ? TIMED_OUT_STATUS : status,
      stdout: stdout.text(),
      stderr: stderr.text(),
      timedOut,
    };
  } catch (error) {
    throw failed(command, error);
  } finally {
    clearTimeout(timer);
    command.signal?.removeEventListener('abort', onAbort);
    if (command.supervised === true && child.pid !== undefined) recorder?.ended(child.pid);
  }
}

/** Ends a process with all its children, by its id. */
async function endTree(pid: number | undefined): Promise<void> {
  if (pid === undefined) return;
  await new Promise<void>((resolve) => {
    const child = spawn(`${SYSTEM32}\\taskkill.exe`, ['/T', '/F', '/PID', `${pid}`], {
      env: cleanEnvironment(),
      windowsHide: true,
      stdio: 'ignore',
    });
    child.once('error', () => resolve());
    child.once('exit', () => resolve());
  });
}

/** The exit status, once the streams have ended or only a background child holds them. */
function ended(child: ReturnType<typeof spawn>): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve(code ?? 1));
    child.once('exit', async () => {
      await sleep(DRAIN_MS, undefined, { ref: false });
      for (const stream of child.stdio) stream?.destroy();
    });
  });
}

function failed(command: Command, error: unknown): MachineadmError {
  if (error instanceof MachineadmError) return error;
  const text = redact(errorMessage(error));
  return new MachineadmError({
    reason: 'HostStepFailed',
    summary: `${command.program} could not be run`,
    remedy: `Check that ${command.program} is there and can be executed by the system.`,
    evidence: [{ source: command.program, text }],
    cause: error,
  });
}
