import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export interface TerminalOptions {
  readonly command: readonly string[];
  readonly columns: number;
  readonly rows: number;
  readonly cwd: string;
  /** All of the environment. */
  readonly env: Readonly<Record<string, string>>;
}

/** Generous: a busy machine starts a shell slowly. */
const LIMIT_MS = 120_000;

/** A terminal of tmux, on a server of its own: keys go in, the screen is read. */
export class Terminal implements AsyncDisposable {
  readonly #directory = mkdtempSync(join(tmpdir(), 'machineadm-terminal-'));
  readonly #env: Readonly<Record<string, string>>;

  constructor({ command, columns, rows, cwd, env }: TerminalOptions) {
    this.#env = { PATH: process.env.PATH ?? '', LANG: 'C.UTF-8', HOME: this.#directory, ...env };
    const size = ['-x', String(columns), '-y', String(rows)];
    const variables = Object.entries(this.#env).flatMap(([name, value]) => ['-e', `${name}=${value}`]);
    this.#tmux(['-f', '/dev/null', 'new-session', '-d', ...size, '-c', cwd, ...variables, '--', ...command]);
  }

  /** Types text as it is. */
  type(text: string): void {
    this.#tmux(['send-keys', '-l', text]);
  }

  /** Presses keys by tmux's names: `Tab`, `Enter`, `C-u`. */
  press(...keys: readonly string[]): void {
    this.#tmux(['send-keys', ...keys]);
  }

  /** As a window that is dragged: what is on the screen is wrapped anew. */
  resize(columns: number, rows: number): void {
    this.#tmux(['resize-window', '-x', String(columns), '-y', String(rows)]);
  }

  isCursorVisible(): boolean {
    return this.#tmux(['display-message', '-p', '#{cursor_flag}']).trim() === '1';
  }

  /** What is on the screen; with the sequences of colours and weight, or with lines whole that the terminal wrapped. */
  screen({ isStyled = false, isJoined = false } = {}): string {
    return this.#tmux(['capture-pane', '-p', ...(isStyled ? ['-e'] : []), ...(isJoined ? ['-J'] : [])]);
  }

  /** Waits until the screen is as wished. Throws with the last screen where it never is. */
  async until(isThere: (screen: string) => boolean, limitMs = LIMIT_MS): Promise<string> {
    const end = performance.now() + limitMs;
    for (;;) {
      const screen = this.screen();
      if (isThere(screen)) return screen;
      if (performance.now() > end) throw new Error(`the screen never came to what was waited for:\n${screen}`);
      await sleep(50);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    spawnSync('tmux', ['-S', this.#socket(), 'kill-server'], { env: this.#env });
    rmSync(this.#directory, { recursive: true, force: true });
  }

  #socket(): string {
    return join(this.#directory, 'socket');
  }

  #tmux(args: readonly string[]): string {
    const { status, stdout, stderr } = spawnSync('tmux', ['-S', this.#socket(), ...args], {
      env: this.#env,
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(`tmux ${args.join(' ')}: ${stderr}`);
    return stdout;
  }
}
