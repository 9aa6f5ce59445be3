import { oneLine } from '@machineadm/document/printable.ts';
import { formatEvent, formatLive, type Style } from '../reporting/progress.ts';
import type { RunEvent, RunStatus } from '../reporting/status.ts';
import { isQuiet, usesColor } from './terminal.ts';

/** The progress of a run on standard error. */
export interface Progress {
  onEvent(event: RunEvent): void;
  /** A line of a child's output, redacted. */
  onOutput(source: string, line: string): void;
  close(): void;
}

const REDRAW_MS = 200;

/**
 * One line for each thing that happens. On a terminal, below them one more line that says what runs now and since when,
 * rewritten in place; elsewhere nothing is ever rewritten.
 */
export function openProgress(stream: NodeJS.WriteStream, titles: ReadonlyMap<string, string>): Progress {
  const terminal = stream.isTTY === true;
  const style: Style = { color: usesColor(stream), titleOf: (step) => titles.get(step) ?? step };
  let status: RunStatus | undefined;
  let timer: NodeJS.Timeout | undefined;
  const draw = () => {
    if (isQuiet() || status === undefined || status.phase === 'Concluded') return;
    stream.write(`\r\x1b[2K${formatLive(status, Date.now(), Math.max(20, stream.columns ?? 80), style)}`);
  };
  const line = (text: string) => {
    if (isQuiet()) return;
    stream.write(terminal ? `\r\x1b[2K${text}\n` : `${text}\n`);
    if (terminal) draw();
  };
  if (terminal) {
    timer = setInterval(draw, REDRAW_MS);
    timer.unref();
  }
  return {
    onEvent(event) {
      status = event.status;
      const text = formatEvent(event, style);
      if (text !== undefined) line(text);
    },
    onOutput: (source, text) => line(`  ${source}: ${oneLine(text)}`),
    close() {
      if (timer === undefined) return;
      clearInterval(timer);
      timer = undefined;
      stream.write('\r\x1b[2K');
    },
  };
}
