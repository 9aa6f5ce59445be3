import {
  formatPlace,
  formatReplacedPart,
  type Place,
  type ReplacedPart,
} from '@machineadm/document/diagnostics/index.ts';
import { stepTitle } from '@machineadm/document/ownership/step-ids.ts';
import { printable } from '@machineadm/document/text/printable.ts';
import { wrapped } from '../../cli/layout.ts';
import type { Paint } from '../../cli/terminal.ts';
import type { PlannedChange, PlanWithProblems } from '../../pipeline/plan.ts';

export interface PlanView {
  /** The command that the plan is of. Default: provision. */
  readonly command?: 'provision' | 'prepare' | 'upgrade';
  /** Whether diffs of files and the commands of hooks are shown. */
  readonly diff: boolean;
  readonly ids: boolean;
  /** Whether each change is shown with the place in the document that asks for it. */
  readonly positions: boolean;
  /** The columns to wrap at. undefined: no wrapping, for pipes. */
  readonly width: number | undefined;
  readonly paint: Paint;
  /** The ids of the steps in the order of a run. */
  readonly order: readonly string[];
}

type Action = PlannedChange['action'];

const MARKS: Readonly<Record<Action, string>> = { add: '+', change: '~', remove: '-', run: '>', restart: '↻' };
const COLORS = { add: 'green', change: 'yellow', remove: 'red', run: 'cyan', restart: 'magenta' } as const;

/**
 * A plan for people: what each step adds, changes, removes, runs and restarts; then what is missing; then the totals.
 */
export function formatPlan(plan: PlanWithProblems, replaced: readonly ReplacedPart[], view: PlanView): string {
  const { changes, remarks, problems } = plan;
  const steps = [...new Set([...changes, ...remarks].map(({ step }) => step))].toSorted(
    (a, b) => view.order.indexOf(a) - view.order.indexOf(b),
  );
  const lines = steps.flatMap((step) => [
    view.paint('bold', stepTitle(step)),
    ...changes.filter((change) => change.step === step).flatMap((change) => formatChange(change, view)),
    ...remarks
      .filter((remark) => remark.step === step)
      .flatMap(({ message }) => wrapped(`  ! ${message}`, view.width).map((line) => view.paint('yellow', line))),
  ]);
  const notes = replaced.flatMap((part) => wrapped(formatReplacedPart(part), view.width, 2));
  return [
    ...lines,
    ...(notes.length === 0 ? [] : ['', ...notes]),
    ...(problems.length === 0 ? [] : ['', ...inTheWay(plan, view)]),
    ...(lines.length + notes.length + problems.length === 0 ? [] : ['']),
    ...wrapped(summaryOf(plan), view.width, 2),
  ].join('\n');
}

function formatChange(change: PlannedChange, view: PlanView): readonly string[] {
  const { action, summary, knownAfter, reboots, id, field, position, diff, commands } = change;
  const later = knownAfter === undefined ? '' : ` (known after ${knownAfter})`;
  const reboot = reboots === true ? ', then reboot' : '';
  const named = view.ids ? `  [${id}]` : '';
  const head = wrapped(printable(`  ${MARKS[action]} ${summary}${reboot}${later}${named}`), view.width);
  const at = position === undefined ? '' : `${formatPlace(position)}  ${field}`;
  return [
    ...head.map((line, index) => (index === 0 ? `  ${view.paint(COLORS[action], line.slice(2))}` : line)),
    ...(view.positions && at !== '' ? [view.paint('dim', `      ${printable(at)}`)] : []),
    ...(view.diff ? [...commandLines(commands), ...diffLines(diff, view.paint)] : []),
  ];
}

function commandLines(commands: readonly string[] | undefined): readonly string[] {
  return (commands ?? []).flatMap((command) =>
    printable(command)
      .trimEnd()
      .split('\n')
      .map((line, index) => `      ${index === 0 ? '$' : ' '} ${line}`),
  );
}

/** A diff is never shortened or wrapped: it shows exactly what is written. */
function diffLines(diff: string | undefined, paint: Paint): readonly string[] {
  if (diff === undefined) return [];
  return printable(diff)
    .trimEnd()
    .split('\n')
    .map((line) => {
      const color = line.startsWith('@@')
        ? 'cyan'
        : line.startsWith('+')
          ? 'green'
          : line.startsWith('-')
            ? 'red'
            : undefined;
      return color === undefined ? `      ${line}` : `      ${paint(color, line)}`;
    });
}

function inTheWay({ problems, refusal }: PlanWithProblems, view: PlanView): readonly string[] {
  const code = refusal === undefined ? '' : ` (exit code ${refusal.exitCode})`;
  return [
    view.paint('bold', `${view.command ?? 'provision'} would refuse to start${code}`),
    ...problems.flatMap(({ message, hint, code, path, ...at }) => [
      ...wrapped(`  ! ${message} [${code}]`, view.width).map((line) => view.paint('red', line)),
      ...(isPlace(at) ? [view.paint('dim', `    ${printable(`${formatPlace(at)}  ${path}`)}`)] : []),
      ...wrapped(`    ${hint}`, view.width, 4),
    ]),
  ];
}

function isPlace(at: Partial<Place>): at is Place {
  return at.file !== undefined;
}

/** `Plan: 9 to add, 4 to change, 1 to remove; runs kubeadm; restarts containerd, ssh; reboots. Nothing was changed.` */
function summaryOf({ changes, problems }: PlanWithProblems): string {
  const counts = (['add', 'change', 'remove'] as const).map(
    (wanted) => `${changes.filter(({ action }) => action === wanted).length} to ${wanted}`,
  );
  const runs = new Set(
    changes.flatMap(({ action, step, id }) => {
      if (action !== 'run') return [];
      // A follow-up belongs to a step, but is not what the step runs.
      return [id.startsWith('follow-up/') ? id.slice('follow-up/'.length) : stepTitle(step)];
    }),
  );
  const restarts = restartsOf(changes);
  const inTheWay = problems.length === 0 ? [] : [`${problems.length} in the way`];
  if (changes.length + inTheWay.length === 0) return 'nothing to change';
  const parts = [
    counts.join(', '),
    ...(runs.size === 0 ? [] : [`runs ${[...runs].join(', ')}`]),
    ...(restarts.length === 0 ? [] : [`restarts ${restarts.join(', ')}`]),
    ...(changes.some(({ reboots }) => reboots === true) ? ['reboots'] : []),
    ...inTheWay,
  ];
  return `Plan: ${parts.join('; ')}. Nothing was changed.`;
}

/** The services that a run would restart. */
export function restartsOf(changes: readonly PlannedChange[]): readonly string[] {
  const names = changes.flatMap(({ action, id }) => (action === 'restart' ? [id.slice(id.lastIndexOf(':') + 1)] : []));
  return [...new Set(names)];
}
