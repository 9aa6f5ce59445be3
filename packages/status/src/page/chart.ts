import { formatDuration } from '@machineadm/document/text/units.ts';
import type { RunStatus } from '../status.ts';
import { axisOf, BOOT_SPANS } from '../timeline-chart.ts';
import { type Html, html } from './html.ts';

const WIDTH = 1000;
const HEIGHT = 10;
/** A span of zero length must be visible. */
const NARROWEST = 3;

/**
 * The timeline from the kernel's boot: a bar for each span, all on one scale. Names and times are text beside the bars,
 * which can be read aloud, searched and copied; only the bars are SVG, and scale with the page.
 */
export function chart(
  { timeline, failure }: Pick<RunStatus, 'timeline' | 'failure'>,
  titleOf: (name: string) => string,
): Html {
  const axis = axisOf(timeline, WIDTH);
  const { cut } = axis;
  const rows = timeline.map(({ name, sinceBootMs, durationMs }) => {
    const from = Math.min(WIDTH - NARROWEST, Math.max(0, axis.column(sinceBootMs)));
    const to = Math.min(WIDTH, Math.max(from + NARROWEST, axis.column(sinceBootMs + durationMs)));
    const kind = BOOT_SPANS.has(name) ? 'boot' : name === failure?.step ? 'bad' : 'span';
    const isCut = cut !== undefined && sinceBootMs < cut.toMs && sinceBootMs + durationMs > cut.fromMs;
    const took = durationMs === 0 ? '' : `, took ${formatDuration(durationMs)}`;
    return html`<li><span>${titleOf(name)}</span><svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" aria-hidden="true" focusable="false"><rect class="${kind}" x="${rounded(from)}" y="0" width="${rounded(to - from)}" height="${HEIGHT}"/>${
      isCut ? html`<rect class="cut" x="${rounded(cut.column)}" y="0" width="6" height="${HEIGHT}"/>` : undefined
    }</svg><span class="time quiet">${`at ${formatDuration(sinceBootMs)}${took}`}</span></li>
`;
  });
  const note =
    cut === undefined
      ? undefined
      : html`<p class="quiet">The gap in the bar leaves out ${formatDuration(cut.toMs - cut.fromMs)}, when the machine was up and nothing ran.</p>`;
  return html`<p class="quiet">Times since the kernel started.</p><ol class="chart">${rows}</ol>${note}`;
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10;
}
