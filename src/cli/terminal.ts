import { styleText } from 'node:util';
import { colorWanted } from '@machineadm/status/progress.ts';

export const COLOR_MODES = ['auto', 'always', 'never'] as const;
export type ColorMode = (typeof COLOR_MODES)[number];

/** How this process prints, by the options that all commands have. */
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

/**
 * Whether to use colours on a stream: `--color` decides first, then FORCE_COLOR, NO_COLOR, and whether it is a
 * terminal.
 */
export function usesColor(stream: NodeJS.WriteStream): boolean {
  const { color } = terminal.current;
  return color === 'auto' ? colorWanted(stream.isTTY === true, process.env) : color === 'always';
}

/** The columns to wrap at; `COLUMNS` decides where the stream is no terminal. undefined: a pipe, nothing is wrapped. */
export function wrapWidthOf(stream: NodeJS.WriteStream): number | undefined {
  const asked = stream.columns ?? Number.parseInt(process.env.COLUMNS ?? '', 10);
  return Number.isNaN(asked) || asked <= 0 ? undefined : Math.min(200, Math.max(60, asked));
}

export type Paint = (format: Parameters<typeof styleText>[0], text: string) => string;

/** Adds colours to text for a stream, or leaves it as it is. */
export function painter(stream: NodeJS.WriteStream): Paint {
  return usesColor(stream) ? (format, text) => styleText(format, text, { validateStream: false }) : (_, text) => text;
}
