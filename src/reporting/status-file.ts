import { watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import { MachineadmError } from '../document/errors.ts';
import { exitCode } from '../document/exit-codes.ts';
import { withoutChecksum } from '../host/checksum.ts';
import { bootId, isProcessAlive } from '../host/identity.ts';
import { readText } from '../host/linux/read.ts';
import { localPath } from '../host/local-path.ts';
import { concludingCondition, setCondition } from './conditions.ts';
import { isRecord, isStatus } from './shapes.ts';
import type { RunStatus } from './status.ts';
import { STATUS_PATHS, type StatusPaths } from './status-writer.ts';

/** What a reader must know of the machine to tell a running run from a killed one. */
export interface Liveness {
  /** The kernel's boot id, which changes with each start of the machine. */
  bootId(): Promise<string>;
  /** True while this very process runs: the pid may have been given to another one since. */
  isRunning(process: RunStatus['process']): Promise<boolean>;
}

/**
 * The status of the last run, as it really is: one that did not conclude and whose process or boot is gone is
 * `Interrupted`. After a reboot the copy on disk tells of the run before, and so it does where the file is damaged.
 * undefined = no run was ever reported here. Throws `StatusUnreadable` where every file there is is damaged or not ours.
 */
export async function readStatus(
  paths: StatusPaths = STATUS_PATHS,
  liveness: Liveness = systemLiveness,
): Promise<RunStatus | undefined> {
  let damage: unknown;
  for (const path of [paths.current, paths.copy]) {
    try {
      const text = await readIfThere(path);
      if (text !== undefined) return await asItIs(parseStatus(text, path), liveness);
    } catch (error) {
      damage ??= error;
    }
  }
  if (damage !== undefined) throw damage;
  return undefined;
}

/** Since when this machine counts as bootstrapped, as the last run's status told it; undefined when it did not. */
export async function bootstrappedSince(paths: StatusPaths = STATUS_PATHS): Promise<string | undefined> {
  try {
    const status = await readStatus(paths);
    const condition = status?.conditions.find(({ type }) => type === 'machineadm.dev/BootstrapSucceeded');
    return condition?.status === 'True' ? condition.lastTransitionTime : undefined;
  } catch {
    // A damaged status is replaced by this run's; all it costs is a time.
    return undefined;
  }
}

export interface WaitOptions {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
  readonly paths?: StatusPaths;
  readonly liveness?: Liveness;
  /** Called with each new status, the first and the last included. */
  readonly onChange?: (status: RunStatus) => void;
}

/** How often a wait looks without being told: a killed run changes no file, and a directory may not exist yet. */
const LOOK_EVERY_MS = 2_000;

/**
 * Waits until a run of this boot concluded, or turned out to be interrupted. The kernel tells of changes (inotify on
 * the directory, as the file is replaced). Resolves with the last status seen; undefined when none appeared in time.
 * Rejects with the signal's reason when aborted, and with `StatusUnreadable`.
 */
export async function waitForStatus(options: WaitOptions): Promise<RunStatus | undefined> {
  const { current } = options.paths ?? STATUS_PATHS;
  const liveness = options.liveness ?? systemLiveness;
  const until = performance.now() + options.timeoutMs;
  const watcher = new DirectoryWatcher(dirname(localPath(current)), basename(localPath(current)));
  let last: RunStatus | undefined;
  try {
    for (;;) {
      options.signal?.throwIfAborted();
      watcher.arm();
      const text = await readIfThere(current);
      const status = text === undefined ? undefined : await asItIs(parseStatus(text, current), liveness);
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

/** Parses a status document. Newer fields are let through; what every reader needs is checked. */
export function parseStatus(text: string, path: string): RunStatus {
  const json = withoutChecksum(text);
  if (json === undefined) throw unreadable(path, 'its checksum is wrong');
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (error) {
    throw unreadable(path, 'it is not JSON', error);
  }
  if (!isRecord(value) || value.kind !== 'BootstrapStatus') throw unreadable(path, 'it is not a bootstrap status');
  if (value.apiVersion !== 'machineadm.dev/status/v1') {
    throw unreadable(path, `its version is ${JSON.stringify(value.apiVersion)}, this machineadm reads v1`);
  }
  if (!isStatus(value)) throw unreadable(path, 'fields are missing, or hold something else');
  return value;
}

async function asItIs(status: RunStatus, liveness: Liveness): Promise<RunStatus> {
  if (status.phase === 'Concluded') return status;
  const sameBoot = status.host.bootId === (await liveness.bootId());
  if (sameBoot && (await liveness.isRunning(status.process))) return status;
  return interrupted(status, sameBoot ? 'its process is gone' : 'the machine was started again');
}

/** The status of a run that was killed, which it could not write itself. */
function interrupted(status: RunStatus, why: string): RunStatus {
  const { waitingFor: _, ...rest } = status;
  const at = status.step === undefined ? 'before its first step' : `in the step ${status.step}`;
  const failure = {
    reason: 'Interrupted' as const,
    summary: `The run ended ${at} without a conclusion: ${why}.`,
    evidence: [{ source: 'status file', text: `last written ${status.updatedAt} by process ${status.process.pid}` }],
    remedy: `Run "machineadm ${status.command}" again: it goes on where this run ended.`,
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

const systemLiveness: Liveness = {
  async bootId() {
    return await bootId();
  },
  async isRunning(process) {
    return await isProcessAlive(process);
  },
};

/** Tells that a name in a directory changed since it was armed. Works as a mere timer while there is no directory. */
class DirectoryWatcher {
  readonly #directory: string;
  readonly #name: string;
  #watcher: ReturnType<typeof watch> | undefined;
  #changed = Promise.withResolvers<void>();

  constructor(directory: string, name: string) {
    this.#directory = directory;
    this.#name = name;
  }

  /** From now on changes count. Called before the file is read, so that none is missed in between. */
  arm(): void {
    this.#changed = Promise.withResolvers();
    if (this.#watcher !== undefined) return;
    try {
      this.#watcher = watch(this.#directory, { persistent: true }, (event, name) => {
        if (name === this.#name || name === null) this.#changed.resolve();
        // The directory itself was removed: another may come in its place.
        if (event === 'rename' && name === basename(this.#directory)) this.close();
      });
      this.#watcher.on('error', () => this.close());
    } catch {
      // No directory yet, or no inotify watches left: the timer is enough.
      this.#watcher = undefined;
    }
  }

  async changed(ms: number, signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms);
    const abort = (): void => resolve();
    signal?.addEventListener('abort', abort, { once: true });
    await Promise.race([promise, this.#changed.promise]);
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }

  close(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
  }
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readText(localPath(path));
  } catch (error) {
    throw unreadable(path, error instanceof Error ? error.message : String(error), error);
  }
}

function unreadable(path: string, why: string, cause?: unknown): MachineadmError {
  return new MachineadmError({
    reason: 'StatusUnreadable',
    summary: `The status file ${path} cannot be read: ${why}.`,
    remedy: 'Look at the file; remove it if it is damaged. The next run writes a new one.',
    evidence: [{ source: path, text: why }],
    cause,
  });
}
