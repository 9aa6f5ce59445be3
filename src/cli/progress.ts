import { stepTitle } from '@machineadm/document/ownership/step-ids.ts';
import { oneLine, oneLineDeep } from '@machineadm/document/text/printable.ts';
import { formatChecklist, SPIN_MS } from '@machineadm/status/checklist.ts';
import { formatEvent, type Style } from '@machineadm/status/progress.ts';
import type { RunEvent, RunStatus } from '@machineadm/status/status.ts';
import { widthOf } from './layout.ts';
import { isQuiet, isVerbose, usesColor } from './terminal.ts';

/** Shows the progress of a run on standard error. */
export interface Progress {
  onEvent(event: RunEvent): void;
  /** A line that a child process printed, redacted. */
  onOutput(source: string, line: string): void;
  close(): void;
}

export interface ProgressOptions {
  /** Prints a line for each event also on a terminal, in addition to the checklist. */
  readonly withEvents?: boolean;
  /** Something else also writes to the terminal during the run, so no line is rewritten. */
  readonly isShared?: boolean;
  /** The text at the end of the run says everything, so the checklist is removed then. */
  readonly isFollowed?: boolean;
  /** That text goes to the same pipe, file or journal as the lines of the progress: `sharesDestination`. */
  readonly isOneText?: boolean;
}

/** The rows of the checklist when lines for all events are printed as well. */
const FEW_ROWS = 4;

/**
 * On a terminal a checklist of the steps, rewritten in place; elsewhere, on a dumb terminal and in CI one line for each thing
 * that happens, and nothing is ever rewritten. The cursor stays visible, below the list: whatever ends the process leaves
 * the terminal as it should be.
 */
export function openProgress(stream: NodeJS.WriteStream, options: ProgressOptions): Progress {
  const style: Style = { color: usesColor(stream), titleOf: stepTitle, isOneText: options.isOneText ?? false };
  const print = (text: string) => {
    if (!isQuiet()) stream.write(`${text}\n`);
  };
  const isLive = rewrites(stream) && options.isShared !== true && !isQuiet();
  if (!isLive) {
    return {
      onEvent(event) {
        const text = formatEvent(event, style);
        if (text !== undefined) print(text);
      },
      onOutput: (source, text) => print(`  ${source}: ${oneLine(text)}`),
      close() {},
    };
  }
  return liveProgress(stream, style, options);
}

function liveProgress(stream: NodeJS.WriteStream, style: Style, { withEvents, isFollowed }: ProgressOptions): Progress {
  const unicode = isUnicode(process.env);
  let status: RunStatus | undefined;
  let output: string | undefined;
  let drawn: readonly string[] = [];
  /** The sequence that erases the list. A terminal that became narrower has wrapped its lines in the meantime. */
  const erasure = (): string => {
    const columns = Math.max(1, stream.columns ?? 80);
    const rows = drawn.reduce((sum, line) => sum + Math.max(1, Math.ceil(widthOf(line) / columns)), 0);
    return rows === 0 ? '' : `\r\x1b[${rows}A\x1b[J`;
  };
  const draw = (above = '') => {
    const lines =
      status === undefined
        ? []
        : formatChecklist(status, Date.now(), {
            ...style,
            // One column is left free: some terminals wrap a line that fills the last column.
            columns: Math.max(20, (stream.columns ?? 80) - 1),
            rows: withEvents === true ? FEW_ROWS : Math.max(FEW_ROWS, (stream.rows ?? 24) - 1),
            unicode,
            output,
          });
    if (above === '' && lines.join('\n') === drawn.join('\n')) return;
    stream.write(`${erasure()}${above}${lines.map((line) => `${line}\n`).join('')}`);
    drawn = lines;
  };
  const timer = setInterval(draw, SPIN_MS);
  timer.unref();
  let isOpen = true;
  return {
    onEvent(event) {
      if (event.status.step !== status?.step) output = undefined;
      status = oneLineDeep(event.status);
      // Warnings are also printed at the end of the run.
      const isPrinted = withEvents === true || (event.kind === 'warning' && isFollowed !== true);
      const text = isPrinted ? formatEvent(event, style) : undefined;
      draw(text === undefined ? '' : `${text}\n`);
    },
    onOutput(source, text) {
      output = `${source}: ${oneLine(text)}`;
      if (isVerbose()) draw(`  ${output}\n`);
    },
    close() {
      if (!isOpen) return;
      isOpen = false;
      clearInterval(timer);
      if (isFollowed !== true && withEvents !== true) return;
      stream.write(erasure());
      drawn = [];
    },
  };
}

/** Whether lines can be rewritten, and a person is there to see it. */
export function rewrites(stream: NodeJS.WriteStream): boolean {
  const { TERM, CI } = process.env;
  return stream.isTTY === true && TERM !== 'dumb' && (CI === undefined || CI === '' || CI === 'false');
}

/**
 * Whether the terminal can show more than ASCII: its locale says so, and it is not the Linux console, whose font
 * cannot.
 */
function isUnicode({ LC_ALL, LC_CTYPE, LANG, TERM }: NodeJS.ProcessEnv): boolean {
  if (process.platform === 'win32') return true;
  return (
    TERM !== 'linux' && /utf-?8/i.test([LC_ALL, LC_CTYPE, LANG].find((one) => one !== undefined && one !== '') ?? '')
  );
}
