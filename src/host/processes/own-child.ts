import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { lastLine } from '@machineadm/document/text/printable.ts';
import { LineSplitter, Tail } from '../commands/output.ts';
import { cleanEnvironment } from '../linux/environment.ts';
import { which } from '../linux/read.ts';
import { selfCommand } from './identity.ts';

/** The longest line that is read from a child, and how much of its errors is kept: what it says is not trusted. */
const LONGEST_LINE = 64 * 1024;
const KEPT_ERRORS = 2 * 1024;

/** This program in a process of its own, which answers each line with a line. */
export class OwnChild {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #errors = new Tail(KEPT_ERRORS);
  #waiting: { readonly answer: (line: string) => void; readonly fail: (error: Error) => void } | undefined;
  #ended: Error | undefined;
  #unread = 0;

  private constructor(child: ChildProcessWithoutNullStreams) {
    this.#child = child;
    const lines = new LineSplitter((line) => {
      this.#unread = 0;
      this.#waiting?.answer(line);
    });
    child.stdout.on('data', (bytes: Uint8Array) => {
      this.#unread += bytes.length;
      if (this.#unread > LONGEST_LINE) this.#end(new Error('it answered too much'));
      else lines.write(bytes);
    });
    child.stderr.on('data', (bytes: Uint8Array) => this.#errors.write(bytes));
    // A child that ended reads nothing more.
    child.stdin.on('error', () => undefined);
    child.on('error', (error) => this.#end(error));
    child.on('close', (status, signal) => {
      const said = lastLine(this.#errors.text());
      this.#end(new Error(`it ended with ${signal ?? `status ${status}`}${said === '' ? '' : `: ${said}`}`));
    });
  }

  /**
   * Starts this program with other arguments, and waits for its first line. Where the machine has setpriv(1), no program that
   * the child starts can gain rights by its file (no_new_privs).
   */
  static async start(args: readonly string[], signal: AbortSignal): Promise<OwnChild> {
    const setpriv = await which('setpriv');
    const [program = '', ...rest] = [
      ...(setpriv === undefined ? [] : [setpriv, '--nnp', '--']),
      ...selfCommand(),
      ...args,
    ];
    const started = new OwnChild(spawn(program, rest, { cwd: '/', env: cleanEnvironment({ HOME: '/' }) }));
    await started.#answer(signal);
    return started;
  }

  /** The line that answers this one. Without an answer, or with an aborted signal, the child is ended and this throws. */
  async ask(line: string, signal: AbortSignal): Promise<string> {
    const answer = this.#answer(signal);
    this.#child.stdin.write(`${line}\n`);
    return await answer;
  }

  /** Ends the child. */
  close(): void {
    this.#end(new Error('it was ended'));
  }

  async #answer(signal: AbortSignal): Promise<string> {
    const abort = (): void => this.#end(new Error('it was ended before it answered'));
    signal.addEventListener('abort', abort, { once: true });
    try {
      return await new Promise((answer, fail) => {
        this.#waiting = { answer, fail };
        if (signal.aborted) abort();
        else if (this.#ended !== undefined) fail(this.#ended);
      });
    } finally {
      this.#waiting = undefined;
      signal.removeEventListener('abort', abort);
    }
  }

  #end(error: Error): void {
    // Killing can fail and report that here again.
    if (this.#ended !== undefined) return;
    this.#ended = error;
    // The end of its input ends it where killing a process of another user is not permitted.
    this.#child.stdin.end();
    this.#child.kill('SIGKILL');
    this.#waiting?.fail(error);
  }
}
