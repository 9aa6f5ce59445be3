import { styleText } from 'node:util';
import { colorWanted } from '@machineadm/status/progress.ts';

export const COLOR_MODES = ['auto', 'always', 'never'] as const;
export type ColorMode = (typeof COLOR_MODES)[number];

/** How this process prints, from the options that every command has. */
interface Terminal {
  readonly verbose: boolean;
  readonly quiet: boolean;
  readonly color: ColorMode;
}

const terminal: { current: Terminal } = { current: { verbose: false, quiet: false, color: 'auto' } };

export function setTerminal(wanted: Terminal): void {
  terminal.current = wanted;
}

export function isVerbose(): boolean {
  return terminal.current.verbose;
}

export function isQuiet(): boolean {
  return terminal.current.quiet;
}

/** Whether to colour what goes to a stream: `--color` first, then FORCE_COLOR, NO_COLOR and what the stream is. */
export function usesColor(stream: NodeJS.WriteStream): boolean {
  const { color } = terminal.current;
  return color === 'auto' ? colorWanted(stream.isTTY === true, process.env) : color === 'always';
}

/** The columns to lay lines out in; `COLUMNS` counts where the stream is no terminal. undefined: a pipe, nothing is wrapped. */
export function wrapWidthOf(stream: NodeJS.WriteStream): number | undefined {
  const asked = stream.columns ?? Number.parseInt(process.env.COLUMNS ?? '', 10);
  return Number.isNaN(asked) || asked <= 0 ? undefined : Math.min(200, Math.max(60, asked));
}

export type Paint = (format: Parameters<typeof styleText>[0], text: string) => string;

/** Paints text for a stream, or leaves it as it is. */
export function painter(stream: NodeJS.WriteStream): Paint {
  return usesColor(stream) ? (format, text) => styleText(format, text, { validateStream: false }) : (_, text) => text;
}
