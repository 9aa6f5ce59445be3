import { oneLine } from '@machineadm/document/text/printable.ts';
import { formatDuration } from '@machineadm/document/text/units.ts';
import { count, paint, type Style, titleOf } from './progress.ts';
import type { RunStatus, StepStatus } from './status.ts';

/** What a checklist is drawn for. */
export interface ChecklistView extends Style {
  readonly columns: number;
  /** Most lines. */
  readonly rows: number;
  /** False where the terminal may have no more than ASCII. */
  readonly unicode: boolean;
  /** The last line that a child of the running step printed. */
  readonly output?: string | undefined;
}

type State = StepStatus['state'];

const MARKS: Readonly<Record<'unicode' | 'ascii', Readonly<Record<Exclude<State, 'Running'>, string>>>> = {
  unicode: { Pending: '·', Unchanged: '✓', Succeeded: '✓', Failed: '✗', Skipped: '-' },
  ascii: { Pending: '.', Unchanged: '*', Succeeded: '*', Failed: 'x', Skipped: '-' },
};
const SPINNERS = { unicode: [...'⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏'], ascii: [...'|/-\\'] } as const;
/** How long each picture of the spinner is shown. */
export const SPIN_MS = 200;
const COLORS: Readonly<Partial<Record<State, 'red' | 'green' | 'yellow'>>> = {
  Succeeded: 'green',
  Unchanged: 'green',
  Running: 'yellow',
  Failed: 'red',
};

/**
 * The steps of a run, for a terminal: what is done, what runs and what it waits for, what is left. Lines are cut to the columns,
 * and steps far from the one that runs are summed up where there are more than rows.
 */
export function formatChecklist(status: RunStatus, nowMs: number, view: ChecklistView): readonly string[] {
  const { steps, command, machine, phase } = status;
  const isOver = phase === 'Concluded';
  const untilMs = isOver ? Date.parse(status.updatedAt) : nowMs;
  const ended = steps.filter(({ state }) => state !== 'Pending' && state !== 'Running').length;
  const counter = steps.length === 0 ? '' : `  [${ended}/${steps.length}]`;
  const warnings = status.warnings.length === 0 ? '' : `  ${count(status.warnings.length, 'warning')}`;
  const elapsed = elapsedOf(untilMs - Date.parse(status.startedAt));
  const rows = Math.max(2, view.rows - 1);
  const running = steps.find(({ state }) => state === 'Running');
  const width = Math.max(0, ...steps.map((step) => titleOf(step.id, view).length));
  const line = (step: StepStatus): readonly string[] => linesOf(step, status, nowMs, width, view);
  const beside = running === undefined ? 0 : line(running).length - 1;
  const now =
    running === undefined && !isOver ? [cut(`  ${spinner(nowMs, view)} ${phase.toLowerCase()}`, view.columns)] : [];
  return [
    cut(`${command} of ${oneLine(machine.name)}${counter}  ${elapsed}${warnings}`, view.columns),
    ...shortened(steps, Math.max(1, rows - now.length - beside), view).flatMap((part) =>
      typeof part === 'string' ? [cut(part, view.columns)] : line(part),
    ),
    ...now,
  ];
}

/** The line of a step; below one that runs what it waits for, where there is no room beside it, and what its child printed last. */
function linesOf(
  step: StepStatus,
  { waitingFor }: RunStatus,
  nowMs: number,
  width: number,
  view: ChecklistView,
): readonly string[] {
  const title = titleOf(step.id, view).padEnd(width);
  const took = step.durationMs === undefined ? '' : formatDuration(step.durationMs);
  const says: Readonly<Record<State, () => readonly string[]>> = {
    Pending: () => [],
    Skipped: () => ['skipped'],
    Unchanged: () => ['already so'],
    Succeeded: () => [count(step.changes.length, 'change'), took],
    Failed: () => ['failed', took],
    Running: () => [step.startedAt === undefined ? '' : elapsedOf(nowMs - Date.parse(step.startedAt))],
  };
  // A newer version may have more states.
  const state: State | undefined = Object.hasOwn(says, step.state) ? step.state : undefined;
  const words = (state === undefined ? [step.state] : says[state]()).filter((word) => word !== '');
  const head = `  # ${title}  ${words.join('  ')}`.trimEnd();
  const below: string[] = [];
  let beside = '';
  if (state === 'Running') {
    const waits = waitingFor === undefined ? '' : `waiting for ${oneLine(waitingFor)}`;
    if (waits !== '' && head.length + 2 + waits.length <= view.columns) beside = `  ${waits}`;
    else if (waits !== '') below.push(waits);
    if (view.output !== undefined) below.push(view.output);
  }
  const mark = state === 'Running' ? spinner(nowMs, view) : state === undefined ? '?' : MARKS[alphabet(view)][state];
  const color = state === undefined ? undefined : COLORS[state];
  const painted = cut(head + beside, view.columns).replace('#', () =>
    color === undefined ? mark : paint(mark, color, view),
  );
  return [painted, ...below.slice(0, Math.max(0, view.rows - 2)).map((text) => cut(`      ${text}`, view.columns))];
}

/** At most so many lines for the steps: those that ended first and those that come last are counted only. */
function shortened(steps: readonly StepStatus[], rows: number, view: ChecklistView): readonly (StepStatus | string)[] {
  if (steps.length <= rows) return steps;
  const marks = MARKS[alphabet(view)];
  const at = steps.findLastIndex(({ state }) => state !== 'Pending' && state !== 'Skipped');
  const room = Math.max(1, rows - 2);
  const from = Math.max(0, Math.min(at - Math.floor(room / 2), steps.length - room));
  const [before, after] = [from, steps.length - from - room];
  return [
    ...(before === 0 || rows < 2 ? [] : [`  ${marks.Succeeded} ${count(before, 'step')} before`]),
    ...steps.slice(from, from + room),
    ...(after === 0 || rows < 3 ? [] : [`  ${marks.Pending} ${count(after, 'step')} more`]),
  ];
}

function spinner(nowMs: number, view: ChecklistView): string {
  const pictures = SPINNERS[alphabet(view)];
  return pictures[Math.floor(nowMs / SPIN_MS) % pictures.length] ?? '';
}

function alphabet({ unicode }: ChecklistView): 'unicode' | 'ascii' {
  return unicode ? 'unicode' : 'ascii';
}

/** Without fractions, in what is rewritten each moment. */
function elapsedOf(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  return seconds < 60 ? `${seconds} s` : formatDuration(seconds * 1000);
}

function cut(text: string, columns: number): string {
  return text.length <= columns ? text : `${text.slice(0, Math.max(0, columns - 1))}…`;
}
