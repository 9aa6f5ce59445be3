import { withChecksum } from '../host/checksum.ts';
import type { Host } from '../host/host.ts';
import type { RunStatus } from './status.ts';

export interface StatusPaths {
  /** On a file system that a reboot empties: what is there is of this boot. */
  readonly current: string;
  /** On disk: what the last run said, after a reboot too. */
  readonly copy: string;
}

export const STATUS_PATHS: StatusPaths = {
  current: '/run/machineadm/status.json',
  copy: '/var/lib/machineadm/status.json',
};

export interface StatusWriterOptions {
  readonly host: Pick<Host, 'writeFile' | 'sync'>;
  readonly paths: StatusPaths;
  /** Told once for each path that cannot be written. */
  readonly onTrouble: (message: string) => void;
}

/**
 * Keeps the status file true. Writes follow one another, and while one runs only the newest status is kept for the
 * next, so that a slow disk delays nothing. A path that cannot be written is told of once, and tried again.
 */
export class StatusWriter {
  readonly #options: StatusWriterOptions;
  readonly #broken = new Set<string>();
  #next: RunStatus | undefined;
  #writing: Promise<void> | undefined;

  constructor(options: StatusWriterOptions) {
    this.#options = options;
  }

  /** The status to be found in the files from soon on. Returns at once. */
  write(status: RunStatus): void {
    this.#next = status;
    this.#writing ??= this.#drain();
  }

  /** Resolves when the files hold the newest status, or could not be written. Never rejects. */
  async settled(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
  }

  /** As `settled`, and the copy on disk survives a power cut. */
  async durable(): Promise<void> {
    await this.settled();
    const { copy } = this.#options.paths;
    if (this.#broken.has(copy)) return;
    // Best effort: a copy that may be lost with the power is a copy all the same.
    await this.#options.host.sync(copy).catch(() => undefined);
  }

  async #drain(): Promise<void> {
    // The caller must see this promise in `#writing` before it can end.
    await Promise.resolve();
    for (let status = this.#take(); status !== undefined; status = this.#take()) {
      const content = `${withChecksum(JSON.stringify(status, undefined, 2))}\n`;
      await this.#put(this.#options.paths.current, content);
      await this.#put(this.#options.paths.copy, content);
    }
    this.#writing = undefined;
  }

  #take(): RunStatus | undefined {
    const status = this.#next;
    this.#next = undefined;
    return status;
  }

  async #put(path: string, content: string): Promise<void> {
    try {
      await this.#options.host.writeFile({ path, content, mode: 0o644, directoryMode: 0o755 });
      this.#broken.delete(path);
    } catch (error) {
      if (this.#broken.has(path)) return;
      this.#broken.add(path);
      const why = error instanceof Error ? error.message : String(error);
      this.#options.onTrouble(`the status file ${path} could not be written: ${why}`);
    }
  }
}
