import { errorMessage } from '@machineadm/document/outcomes/errors.ts';
import { RUN_DIRECTORY, STATE_DIRECTORY, STATUS_GROUP } from '@machineadm/document/ownership/paths.ts';
import type { RunStatus } from '@machineadm/status/status.ts';
import { summaryOf, summaryPath } from '@machineadm/status/summary.ts';
import { withChecksum } from '../host/files/checksum.ts';
import { localGroupId } from '../host/linux/accounts.ts';
import type { Host } from '../host/seam/host.ts';

export interface StatusPaths {
  /** On a file system that a reboot empties: it is always of this boot. */
  readonly current: string;
  /** On disk: the last run's status survives a reboot. */
  readonly copy: string;
}

export const STATUS_PATHS: StatusPaths = {
  current: `${RUN_DIRECTORY}/status.json`,
  copy: `${STATE_DIRECTORY}/status.json`,
};

type Writing = Pick<Host, 'writeFile' | 'readText'>;

/**
 * Writes a status and then its summary, each by rename: a summary is never newer than its status. Throws `FileError`.
 */
export async function writeStatus(host: Writing, path: string, status: RunStatus): Promise<void> {
  await writeWhole(host, path, contentOf(status), await statusGroup(host));
  await writeSummary(host, path, contentOf(summaryOf(status)));
}

async function statusGroup(host: Writing): Promise<number> {
  return (await localGroupId(host, STATUS_GROUP).catch(() => undefined)) ?? 0;
}

/** Readable by root and the members of a group. */
async function writeWhole(host: Writing, path: string, content: string, gid: number): Promise<void> {
  const file = { path, content, mode: 0o640, directoryMode: 0o755 };
  try {
    await host.writeFile({ ...file, gid });
  } catch (error) {
    // A user namespace may lack the group: then its members cannot read the status, and the run continues.
    if (gid === 0) throw error;
    await host.writeFile(file);
  }
}

/** Readable by all users. */
async function writeSummary(host: Writing, path: string, content: string): Promise<void> {
  await host.writeFile({ path: summaryPath(path), content, mode: 0o644, directoryMode: 0o755 });
}

/** Removes a status and its summary. The summary goes first: without the status it would look like a run. */
export async function removeStatus(host: Pick<Host, 'removeFile'>, path: string): Promise<void> {
  await host.removeFile(summaryPath(path));
  await host.removeFile(path);
}

function contentOf(value: object): string {
  return `${withChecksum(JSON.stringify(value, undefined, 2))}\n`;
}

export interface StatusWriterOptions {
  readonly host: Writing & Pick<Host, 'sync'>;
  readonly paths: StatusPaths;
  /** Called once for each path that cannot be written. */
  readonly onTrouble: (message: string) => void;
}

function provenBy({ phase, outcome, conditions }: RunStatus): string {
  return [phase, outcome, ...conditions.map(({ type, status }) => `${type}=${status}`)].join(' ');
}

/**
 * The shortest time between two writes of steps, in milliseconds: readers look every second, and a quick step is not
 * worth four files.
 */
const PACE_MS = 100;

/**
 * Keeps the status and its summary up to date. Writes are sequential, and until the next only the newest status is kept,
 * so that neither a slow disk nor many steps delay anything. A path that cannot be written is reported once, and retried.
 */
export class StatusWriter {
  readonly #options: StatusWriterOptions;
  readonly #broken = new Set<string>();
  #next: RunStatus | undefined;
  /** What the last written status proves. */
  #proven = '';
  #writing: Promise<void> | undefined;
  /** How many wait for the newest status to be written. */
  #waiting = 0;
  /** Ends the pause between two writes. */
  #goOn: () => void = () => {};

  constructor(options: StatusWriterOptions) {
    this.#options = options;
  }

  /** Sets the status to write. Returns at once. */
  write(status: RunStatus): void {
    this.#next = status;
    this.#writing ??= this.#drain();
    if (this.#isUrgent()) this.#goOn();
  }

  /** Resolves when the files contain the newest status, or could not be written. Never rejects. */
  async settled(): Promise<void> {
    this.#waiting += 1;
    this.#goOn();
    while (this.#writing !== undefined) await this.#writing;
    this.#waiting -= 1;
  }

  /** Like `settled`, and the copy on disk survives a power cut. */
  async durable(): Promise<void> {
    await this.settled();
    const { copy } = this.#options.paths;
    if (this.#broken.has(copy)) return;
    // Best effort: a copy that might be lost in a power cut is still useful.
    for (const path of [copy, summaryPath(copy)]) await this.#options.host.sync(path).catch(() => undefined);
  }

  async #drain(): Promise<void> {
    // The caller must see this promise in `#writing` before it can end.
    await Promise.resolve();
    for (let status = this.#take(); status !== undefined; status = this.#take()) {
      const { host, paths } = this.#options;
      const [whole, summary] = [contentOf(status), contentOf(summaryOf(status))];
      const gid = await statusGroup(host);
      for (const path of [paths.current, paths.copy]) {
        await this.#put(path, () => writeWhole(host, path, whole, gid));
        if (!this.#broken.has(path)) await this.#put(summaryPath(path), () => writeSummary(host, path, summary));
      }
      await this.#pause();
    }
    this.#writing = undefined;
  }

  async #pause(): Promise<void> {
    if (this.#waiting > 0 || this.#isUrgent()) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, PACE_MS).unref();
      this.#goOn = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #take(): RunStatus | undefined {
    const status = this.#next;
    this.#next = undefined;
    if (status !== undefined) this.#proven = provenBy(status);
    return status;
  }

  /** A status that proves something else than the last is not kept back: the run may be killed at any moment. */
  #isUrgent(): boolean {
    return this.#next !== undefined && provenBy(this.#next) !== this.#proven;
  }

  async #put(path: string, write: () => Promise<void>): Promise<void> {
    try {
      await write();
      this.#broken.delete(path);
    } catch (error) {
      if (this.#broken.has(path)) return;
      this.#broken.add(path);
      const why = errorMessage(error);
      this.#options.onTrouble(`the status file ${path} could not be written: ${why}`);
    }
  }
}
