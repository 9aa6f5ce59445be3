import { PassThrough } from 'node:stream';
import { oneLine } from '@machineadm/document/text/printable.ts';
import type { Host } from '../../host/seam/host.ts';

/**
 * Reads the options of logger(1) in a line, and the lines of an entry until an empty one. Prints the status of that
 * logger behind a "=". Ends with its input, and so also when the agent is killed. A pipe and no here-document: for that,
 * some shells write a file, which a full disk does not take.
 */
const SCRIPT = `while IFS= read -r options && IFS= read -r entry; do
  while IFS= read -r line && [ -n "$line" ]; do
    entry="$entry
$line"
  done
  printf '%s\\n' "$entry" | logger $options 2>&1
  echo "=$?"
done`;

interface Shell {
  readonly input: PassThrough;
  readonly stop: AbortController;
  readonly ended: Promise<void>;
  /** Called when a logger ends, with why it failed or nothing, and with undefined when the shell ends. */
  onEnd: (failure: string | undefined) => void;
}

/**
 * Runs logger(1) for one entry after the other. A shell starts it: a new process costs the agent several times as much
 * processor time as a shell, because the kernel copies more page tables.
 */
export class LoggerShell {
  readonly #host: Pick<Host, 'run'>;
  #shell: Shell | undefined;
  #isClosed = false;

  constructor(host: Pick<Host, 'run'>) {
    this.#host = host;
  }

  /** `entry`: whole lines, none of them empty. Throws where logger does not end with 0. An abort ends it. */
  async log(options: string, entry: string, signal: AbortSignal): Promise<void> {
    const isNew = this.#shell === undefined;
    const failure = await this.#send(`${options}\n${entry}\n`, signal);
    signal.throwIfAborted();
    if (failure === '') return;
    // A waiting shell may have been killed, for example by systemd with all processes of a unit.
    if (failure === undefined && !isNew) return await this.log(options, entry, signal);
    throw new Error(`logger ${options}: ${failure ?? 'its shell was killed'}`);
  }

  /** Waits for the end of the shell. */
  async close(signal: AbortSignal): Promise<void> {
    this.#isClosed = true;
    const shell = this.#shell;
    signal.addEventListener('abort', () => shell?.stop.abort());
    shell?.input.end();
    await shell?.ended;
  }

  async #send(lines: string, signal: AbortSignal): Promise<string | undefined> {
    this.#shell ??= this.#start();
    const shell = this.#shell;
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    shell.onEnd = resolve;
    const stop = (): void => {
      this.#shell = undefined;
      shell.stop.abort();
    };
    signal.addEventListener('abort', stop, { once: true });
    shell.input.write(lines);
    if (this.#isClosed) shell.input.end();
    const failure = await promise;
    signal.removeEventListener('abort', stop);
    return failure;
  }

  #start(): Shell {
    const [input, stop] = [new PassThrough(), new AbortController()];
    let printed = '';
    const onLine = (_stream: string, line: string): void => {
      if (!line.startsWith('=')) printed += `${line}\n`;
      else {
        shell.onEnd(line === '=0' ? '' : oneLine(printed.trimEnd()) || `status ${line.slice(1)}`);
        printed = '';
      }
    };
    const end = (): void => {
      input.destroy();
      if (this.#shell === shell) this.#shell = undefined;
      shell.onEnd(undefined);
    };
    // Of the root directory: it would keep the file system of another one busy.
    const run = this.#host.run({ program: 'sh', args: ['-c', SCRIPT], cwd: '/', input, signal: stop.signal, onLine });
    const shell: Shell = { input, stop, ended: run.then(end, end), onEnd: () => {} };
    return shell;
  }
}
