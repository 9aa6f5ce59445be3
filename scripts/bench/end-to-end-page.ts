/** What `npm run bench -- --end-to-end` writes into the page about performance: a table, and the source of a picture. */
import { type EndToEnd, WAYS, type Way } from './end-to-end.ts';

/** Of the picture: the longest bar, and the shortest part that has room for its figure. */
const BAR_POINTS = 380;
const LEAST_POINTS = 26;

function medianOf(figures: readonly EndToEnd[], way: Way, point: (one: EndToEnd) => number): number {
  const sorted = figures
    .filter((one) => one.way === way)
    .map(point)
    .toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** The medians of each way: seconds until each point, and what machineadm itself took. */
export function endToEndTable(figures: readonly EndToEnd[]): string {
  const median = (point: (one: EndToEnd) => number, way: Way): number => medianOf(figures, way, point);
  const rows = WAYS.filter((way) => figures.some((one) => one.way === way)).map((way) => {
    const points = (['started', 'kubeadm', 'registered', 'done'] as const).map((point) =>
      median((one) => one[point], way).toFixed(1),
    );
    const isOurs = way !== 'the provider';
    const share = isOurs
      ? `${median(({ ownCpu }) => ownCpu, way).toFixed(2)} (${(median(({ ownCpu, cpu }) => (ownCpu / cpu) * 100, way)).toFixed(1)} %)`
      : '';
    const ratio = median(({ registered }) => registered, way) / median(({ registered }) => registered, 'the provider');
    return `| ${[way, ...points, ratio.toFixed(2), median(({ cpu }) => cpu, way).toFixed(1), share].join(' | ')} |`;
  });
  return [
    '| | begins | kubeadm begins | node registered | done | of the provider | CPU of the machine | own CPU |',
    `|---${'|---:'.repeat(7)}|`,
    ...rows,
  ].join('\n');
}

/** The source of the picture (`npm run pictures`): a bar for each way, its parts as long as they take. */
export function endToEndPicture(figures: Readonly<Record<'init' | 'join', readonly EndToEnd[]>>): string {
  const all = [...figures.init, ...figures.join];
  const scale = BAR_POINTS / Math.max(...all.map(({ done }) => done));
  const bar = (of: readonly EndToEnd[], way: Way): string => {
    const ends = [
      0,
      ...(['started', 'kubeadm', 'registered', 'done'] as const).map((end) => medianOf(of, way, (one) => one[end])),
    ];
    const parts = ends.slice(1).map((end, index) => end - (ends[index] ?? 0));
    const widths = parts.map((seconds) => Math.max(2, Math.round(seconds * scale)));
    // What is left of the column: a table would spread its cells over all of it.
    const rest = BAR_POINTS + 10 - widths.reduce((sum, width) => sum + width, 0);
    const cell = (width: number, text: string, border = '') =>
      `<TD${border} FIXEDSIZE="TRUE" WIDTH="${width}" HEIGHT="22">${text}</TD>`;
    const cells = widths.map((width, index) => cell(width, width < LEAST_POINTS ? '' : (parts[index] ?? 0).toFixed(1)));
    const row = `<TR>${cells.join('')}${cell(rest, '', ' BORDER="0"')}</TR>`;
    return `<TABLE BORDER="0" CELLBORDER="1" CELLSPACING="0" CELLPADDING="0">${row}</TABLE>`;
  };
  const rows = (['init', 'join'] as const).flatMap((role) => [
    `<TR><TD COLSPAN="2" ALIGN="LEFT">kubeadm ${role}</TD></TR>`,
    ...WAYS.map((way) => `<TR><TD ALIGN="LEFT">${way}</TD><TD ALIGN="LEFT">${bar(figures[role], way)}</TD></TR>`),
  ]);
  return `// Written by npm run bench -- --end-to-end --generate.
// title: From the start of a machine to its node, in seconds
// description: A bar for each way of starting: the kubeadm bootstrap provider, and machineadm by cloud-init, by a unit and by Ignition. The parts of a bar are the boot until the way begins, the preparation of the host until kubeadm begins, kubeadm until the node is registered, and the rest until the sentinel is there. docs/performance.md has the same figures as a table.
digraph end_to_end {
  bars [shape=plain, label=<<TABLE BORDER="0" CELLSPACING="4">${rows.join('')}</TABLE>>]
}
`;
}
