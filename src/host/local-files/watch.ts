import { type BigIntStats, lstatSync, watch } from 'node:fs';
import { basename } from 'node:path';
import { localPath } from './local-path.ts';

/** Group and times of a file, in nanoseconds; undefined where it does not exist. Requires no permission to read it. */
export function statNow(path: string): BigIntStats | undefined {
  try {
    return lstatSync(localPath(path), { bigint: true });
  } catch {
    return undefined;
  }
}

/**
 * Signals that one of some names in a directory has changed since it was armed. Falls back to a timer while the
 * directory does not exist.
 */
export class DirectoryWatcher {
  readonly #directory: string;
  readonly #names: readonly string[];
  #watcher: ReturnType<typeof watch> | undefined;
  #changed = Promise.withResolvers<void>();

  constructor(directory: string, names: readonly string[]) {
    this.#directory = directory;
    this.#names = names;
  }

  /** Starts watching. Called before the file is read, so that no change is missed in between. */
  arm(): void {
    this.#changed = Promise.withResolvers();
    if (this.#watcher !== undefined) return;
    try {
      this.#watcher = watch(this.#directory, { persistent: true }, (event, name) => {
        if (name === null || this.#names.includes(name)) this.#changed.resolve();
        // The directory itself was removed: a new one may replace it.
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
