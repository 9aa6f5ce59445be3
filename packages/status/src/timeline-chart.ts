import { formatDuration } from '@machineadm/document/text/units.ts';
import type { RunStatus, TimelineEntry } from './status.ts';

/** The names of the spans before a run. */
export const BOOT_SPANS: ReadonlySet<string> = new Set(['boot', 'kernel', 'initrd', 'userspace']);

const WIDEST = 100;
const LONGEST_NAME = 24;
const SMALLEST_BAR = 10;
const BREAK = '//';

/**
 * The timeline as bars from the kernel's boot to the conclusion: one line per span, aligned, at most `columns` (100)
 * wide. On a machine with a long uptime the time before the run is cut, which `//` shows; the numbers stay true.
 * Without the last newline; '' for a status without a timeline.
 */
export function formatTimeline(
  status: Pick<RunStatus, 'timeline'>,
  style: { readonly titleOf?: (name: string) => string; readonly columns?: number } = {},
): string {
  const entries = status.timeline.map((entry) => ({ ...entry, name: style.titleOf?.(entry.name) ?? entry.name }));
  if (entries.length === 0) return '';
  const nameWidth = Math.min(LONGEST_NAME, Math.max(...entries.map((entry) => entry.name.length)));
  const starts = entries.map((entry) => formatDuration(entry.sinceBootMs));
  const durations = entries.map((entry) => (entry.durationMs === 0 ? '' : formatDuration(entry.durationMs)));
  const startWidth = Math.max(...starts.map((text) => text.length));
  const durationWidth = Math.max(...durations.map((text) => text.length));
  // name, start, |bar|, duration, two blanks between them.
  const barWidth = Math.max(
    SMALLEST_BAR,
    Math.min(WIDEST, style.columns ?? WIDEST) - nameWidth - startWidth - durationWidth - 8,
  );
  const axis = axisOf(status.timeline, barWidth);
  return entries
    .map((entry, index) => {
      const name = clipped(entry.name, nameWidth).padEnd(nameWidth);
      const start = (starts[index] ?? '').padStart(startWidth);
      const duration = (durations[index] ?? '').padStart(durationWidth);
      return `${name}  ${start}  |${bar(entry, axis, barWidth)}|  ${duration}`.trimEnd();
    })
    .join('\n');
}

/** The mapping of the bars' columns to time. */
export interface Axis {
  /** The column of a time, not rounded; a time that was cut out has the first column of the break. */
  column(sinceBootMs: number): number;
  /** The time that was cut out, and the first column of the break. */
  readonly cut?: { readonly fromMs: number; readonly toMs: number; readonly column: number };
}

/** The whole time in one scale or, where the run is less than a third of it, the run in two thirds of the columns. */
export function axisOf(timeline: readonly TimelineEntry[], width: number): Axis {
  const ends = (entries: readonly TimelineEntry[]) => entries.map((entry) => entry.sinceBootMs + entry.durationMs);
  const endMs = Math.max(1, ...ends(timeline));
  const runFromMs = Math.max(0, ...ends(timeline.filter(({ name }) => BOOT_SPANS.has(name))));
  const runMs = endMs - runFromMs;
  if (runMs <= 0 || runMs > endMs / 3) return { column: (ms) => (ms / endMs) * width };
  const column = Math.floor((width - BREAK.length) / 3);
  const columnsPerMs = (width - BREAK.length - column) / runMs;
  const fromMs = column / columnsPerMs;
  return {
    cut: { fromMs, toMs: runFromMs, column },
    column(ms) {
      if (ms >= runFromMs) return column + BREAK.length + (ms - runFromMs) * columnsPerMs;
      return Math.min(column, ms * columnsPerMs);
    },
  };
}

/** A span on a line of `width`: at least one mark wide, and never outside. */
function bar({ sinceBootMs, durationMs }: TimelineEntry, axis: Axis, width: number): string {
  const endMs = sinceBootMs + durationMs;
  const from = Math.max(0, Math.min(width - 1, Math.floor(axis.column(sinceBootMs))));
  const to = Math.min(width, Math.max(from + 1, Math.round(axis.column(endMs))));
  const drawn = ' '.repeat(from) + (durationMs === 0 ? '*' : '=').repeat(to - from) + ' '.repeat(width - to);
  const { cut } = axis;
  if (cut === undefined || sinceBootMs >= cut.toMs || endMs <= cut.fromMs) return drawn;
  return drawn.slice(0, cut.column) + BREAK + drawn.slice(cut.column + BREAK.length);
}

function clipped(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, width - 1)}…`;
}
