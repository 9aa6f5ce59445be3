import { basename, dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorMessage, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { exitCode } from '@machineadm/document/outcomes/exit-codes.ts';
import { STATUS_GROUP } from '@machineadm/document/ownership/paths.ts';
import { concludingCondition, setCondition } from '@machineadm/status/conditions.ts';
import type { RunStatus } from '@machineadm/status/status.ts';
import { type Reported, type RunSummary, summaryPath } from '@machineadm/status/summary.ts';
import { FileError } from '../host/files/file-error.ts';
import { readText } from '../host/linux/read.ts';
import { localPath } from '../host/local-files/local-path.ts';
import { DirectoryWatcher, statNow } from '../host/local-files/watch.ts';
import { bootId } from '../host/machine/identity.ts';
import { isProcessAlive } from '../host/processes/identity.ts';
import { parseStatus, parseSummary, unreadable } from './parse-status.ts';
import { STATUS_PATHS, type StatusPaths } from './status-writer.ts';

/** Queries that tell an active run from a killed one. */
export interface Liveness {
  /** The kernel's boot id, which is different for each boot. */
  bootId(): Promise<string>;
  /** True while exactly this process runs: its pid may have been reused. */
  isRunning(process: RunStatus['process']): Promise<boolean>;
  /** The text of a file; undefined if it does not exist. Default: by the file layer. */
  readText?(path: string): Promise<string | undefined>;
}

/**
 * The actual status of the last run: one that did not conclude and whose process or boot is gone is `Interrupted`.
 * After a reboot, and when the file is damaged, the copy on disk shows the previous run. undefined = no run was ever
 * reported here. Throws `StatusUnreadable` where every existing file is damaged or not ours, and `NotPrivilegedUser`
 * where this user may not read the summary either, or it does not show how the run ended.
 */
export async function readReported(
  paths: StatusPaths = STATUS_PATHS,
  liveness: Liveness = systemLiveness,
): Promise<Reported | undefined> {
  let damage: unknown;
  for (const path of [paths.current, paths.copy]) {
    try {
      const found = await readAt(path, liveness);
      if (found !== undefined) return found;
    } catch (error) {
      // A status that exists and may not be read is newer than the copy.
      if (error instanceof MachineadmError && error.reason === 'NotPrivilegedUser') throw error;
      damage ??= error;
    }
  }
  if (damage !== undefined) throw damage;
  return undefined;
}

/** The same for commands that need the whole status. Throws `NotPrivilegedUser` where this user may not read it. */
export async function readStatus(
  paths: StatusPaths = STATUS_PATHS,
  liveness: Liveness = systemLiveness,
): Promise<RunStatus | undefined> {
  const found = await readReported(paths, liveness);
  if (found?.kind === 'BootstrapSummary') throw forbidden(paths.current, 'only its summary is public');
  return found;
}

/** How to see what the summary omits. */
export function remedyForDetails({ current }: StatusPaths = STATUS_PATHS): string {
  if (process.platform === 'win32') return 'Run the command as an administrator.';
  const isForGroup = (statNow(current)?.gid ?? 0n) !== 0n;
  return isForGroup
    ? `Run the command as root, or as a member of the group ${STATUS_GROUP} ("usermod -aG ${STATUS_GROUP} USER").`
    : 'Run the command as root.';
}

/** When this machine was bootstrapped, from the last run's status; undefined if it was not. */
export async function bootstrappedSince(paths: StatusPaths = STATUS_PATHS): Promise<string | undefined> {
  try {
    const status = await readStatus(paths);
    const condition = status?.conditions.find(({ type }) => type === 'machineadm.dev/BootstrapSucceeded');
    return condition?.status === 'True' ? condition.lastTransitionTime : undefined;
  } catch {
    // This run replaces a damaged status; only the time is lost.
    return undefined;
  }
}

export interface WaitOptions {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
  readonly paths?: StatusPaths;
  readonly liveness?: Liveness;
  /** Called with each new status, including the first and the last. */
  readonly onChange?: (status: Reported) => void;
}

/**
 * The polling interval in addition to notifications: a killed run changes no file, and a directory may not exist yet.
 */
const LOOK_EVERY_MS = 2_000;

/** How long after its status a summary may be written: by a busy machine, and with a slow disk. */
const MOST_PAUSES = 250;
const PAUSE_MS = 20;

/**
 * Waits until a run of this boot concluded, or was found interrupted. Uses inotify on the directory, because the file
 * is replaced. Resolves with the last status seen; undefined when none appeared in time. Rejects with the signal's
 * reason when aborted, and as `readReported` does.
 */
export async function waitForStatus(options: WaitOptions): Promise<Reported | undefined> {
  const { current } = options.paths ?? STATUS_PATHS;
  const liveness = options.liveness ?? systemLiveness;
  const until = performance.now() + options.timeoutMs;
  const [file, summary] = [localPath(current), localPath(summaryPath(current))];
  const watcher = new DirectoryWatcher(dirname(file), [basename(file), basename(summary)]);
  let last: Reported | undefined;
  try {
    for (;;) {
      options.signal?.throwIfAborted();
      watcher.arm();
      const status = await readAt(current, liveness);
      if (status !== undefined && JSON.stringify(status) !== JSON.stringify(last)) {
        last = status;
        options.onChange?.(status);
      }
      const left = until - performance.now();
      if (last?.phase === 'Concluded' || left <= 0) return last;
      await watcher.changed(Math.min(left, LOOK_EVERY_MS), options.signal);
    }
  } finally {
    watcher.close();
  }
}

/** The actual status at a path. */
async function readAt(path: string, liveness: Liveness): Promise<Reported | undefined> {
  let before: string | undefined;
  for (let pauses = 0; ; ) {
    const found = await readEither(path, liveness.readText ?? readFromDisk);
    if (found === undefined) return undefined;
    if (found === NO_SUMMARY) {
      // The status of the first run is there a moment before its summary.
      if (pauses === MOST_PAUSES) throw forbidden(path, 'and it has no summary');
      pauses += 1;
      await sleep(PAUSE_MS);
      continue;
    }
    const gone = found.phase === 'Concluded' ? '' : await whyGone(found, liveness);
    if (gone === undefined) return found;
    if (found.kind === 'BootstrapSummary' && isBehind(path)) {
      // The status was replaced a moment ago, or the run was killed before it wrote the summary.
      if (pauses === MOST_PAUSES) throw forbidden(path, 'its summary is older, so it does not say how the run ended');
      pauses += 1;
      await sleep(PAUSE_MS);
      continue;
    }
    if (gone === '') return found;
    // The run may have concluded between the two checks. Without a process nothing changes any more.
    const text = JSON.stringify(found);
    if (text === before)
      return found.kind === 'BootstrapSummary' ? interruptedSummary(found) : interrupted(found, gone);
    before = text;
  }
}

/** Why a run that did not conclude is not active; undefined while it is. */
async function whyGone({ host, process }: Reported, liveness: Liveness): Promise<string | undefined> {
  if (host.bootId !== (await liveness.bootId())) return 'the machine was started again';
  return (await liveness.isRunning(process)) ? undefined : 'its process is gone';
}

/** The status at a path, or its summary if only that may be read. */
async function readEither(path: string, read: Read): Promise<Reported | typeof NO_SUMMARY | undefined> {
  const text = await readUnlessDenied(path, read);
  if (text !== DENIED) return text === undefined ? undefined : parseStatus(text, path);
  const beside = summaryPath(path);
  const summary = await readUnlessDenied(beside, read);
  if (summary === DENIED) throw forbidden(path, `and neither ${beside}`);
  if (summary === undefined) return NO_SUMMARY;
  return parseSummary(summary, beside);
}

type Read = (path: string) => Promise<string | undefined>;

const DENIED = Symbol('denied');
const NO_SUMMARY = Symbol('no summary');

async function readUnlessDenied(path: string, read: Read): Promise<string | undefined | typeof DENIED> {
  try {
    return await read(path);
  } catch (error) {
    // Windows reports EPERM where Linux has EACCES.
    if (error instanceof FileError && ['EACCES', 'EPERM'].includes(error.code)) return DENIED;
    throw unreadable(path, errorMessage(error), error);
  }
}

async function readFromDisk(path: string): Promise<string | undefined> {
  return await readText(localPath(path));
}

function forbidden(path: string, why: string): MachineadmError {
  return new MachineadmError({
    reason: 'NotPrivilegedUser',
    summary: `This user may not read the status ${path}: ${why}`,
    remedy: remedyForDetails({ current: path, copy: path }),
  });
}

/** The status of a killed run, which it could not write itself. */
function interrupted(status: RunStatus, why: string): RunStatus {
  const { waitingFor: _, probableCause: _cause, ...rest } = status;
  const at = status.step === undefined ? 'before its first step' : `in the step ${status.step}`;
  const failure = {
    reason: 'Interrupted' as const,
    summary: `The run ended ${at} without a conclusion: ${why}.`,
    evidence: [{ source: 'status file', text: `last written ${status.updatedAt} by process ${status.process.pid}` }],
    remedy: `Run "machineadm ${status.command}" again: it resumes where this run ended.`,
    retryable: true,
    ...(status.step === undefined ? {} : { step: status.step }),
  };
  const condition = concludingCondition(status, { outcome: 'Interrupted', failure });
  return {
    ...rest,
    phase: 'Concluded',
    outcome: 'Interrupted',
    exitCode: exitCode('Interrupted'),
    failure,
    conditions: setCondition(status.conditions, condition, status.updatedAt),
  };
}

function interruptedSummary(summary: RunSummary): RunSummary {
  const ended = { phase: 'Concluded', outcome: 'Interrupted', reason: 'Interrupted' } as const;
  return { ...summary, ...ended, exitCode: exitCode('Interrupted') };
}

/** Whether a status is newer than its summary, which is written after it. Requires no read permission for either. */
function isBehind(path: string): boolean {
  const [status, summary] = [statNow(path), statNow(summaryPath(path))];
  return status !== undefined && summary !== undefined && status.mtimeNs > summary.mtimeNs;
}

const systemLiveness: Liveness = {
  async bootId() {
    return await bootId();
  },
  async isRunning(process) {
    return await isProcessAlive(process);
  },
};
