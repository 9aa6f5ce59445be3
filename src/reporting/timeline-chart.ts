import { formatDuration } from '../document/units.ts';
import type { RunStatus, TimelineEntry } from './status.ts';

const COLUMNS = 100;
const LONGEST_NAME = 24;
const SMALLEST_BAR = 10;

/**
 * The timeline as bars from the kernel's boot to the conclusion: one line a span, aligned, at most 100 columns.
 * Without the last newline; '' for a status without a timeline.
 */
export function formatTimeline(
  status: Pick<RunStatus, 'timeline'>,
  style: { readonly titleOf?: (name: string) => string } = {},
): string {
  const entries = status.timeline.map((entry) => ({ ...entry, name: style.titleOf?.(entry.name) ?? entry.name }));
  if (entries.length === 0) return '';
  const end = Math.max(1, ...entries.map((entry) => entry.sinceBootMs + entry.durationMs));
  const nameWidth = Math.min(LONGEST_NAME, Math.max(...entries.map((entry) => entry.name.length)));
  const starts = entries.map((entry) => formatDuration(entry.sinceBootMs));
  const durations = entries.map((entry) => (entry.durationMs === 0 ? '' : formatDuration(entry.durationMs)));
  const startWidth = Math.max(...starts.map((text) => text.length));
  const durationWidth = Math.max(...durations.map((text) => text.length));
  // name, start, |bar|, duration, two blanks between them.
  const barWidth = Math.max(SMALLEST_BAR, COLUMNS - nameWidth - startWidth - durationWidth - 8);
  return entries
    .map((entry, index) => {
      const name = clipped(entry.name, nameWidth).padEnd(nameWidth);
      const start = (starts[index] ?? '').padStart(startWidth);
      const duration = (durations[index] ?? '').padStart(durationWidth);
      return `${name}  ${start}  |${bar(entry, end, barWidth)}|  ${duration}`.trimEnd();
    })
    .join('\n');
}

/** A span on a line of `width`: at least one mark wide, and never outside. */
function bar(entry: TimelineEntry, end: number, width: number): string {
  const from = Math.min(width - 1, Math.floor((entry.sinceBootMs / end) * width));
  const to = Math.min(width, Math.max(from + 1, Math.round(((entry.sinceBootMs + entry.durationMs) / end) * width)));
  const mark = entry.durationMs === 0 ? '*' : '=';
  return ' '.repeat(Math.max(0, from)) + mark.repeat(to - Math.max(0, from)) + ' '.repeat(width - to);
}

function clipped(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, width - 1)}…`;
}
