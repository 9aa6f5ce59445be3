import { styleText } from 'node:util';
import { formatPlace } from '@machineadm/document/diagnostics/index.ts';
import type { Failure } from '@machineadm/document/outcomes/errors.ts';
import { REASONS, type Reason } from '@machineadm/document/outcomes/reasons.ts';
import { oneLine, oneLineDeep } from '@machineadm/document/text/printable.ts';
import { formatDuration } from '@machineadm/document/text/units.ts';
import type { Condition, ProbableCause, RunEvent, RunStatus, StepStatus } from './status.ts';
import type { RunSummary } from './summary.ts';
import { formatThisMachine } from './this-machine.ts';

/** How to display text: `color` is off with NO_COLOR or without a terminal. */
export interface Style {
  readonly color: boolean;
  /** The title of each step by its id. Default: the id. */
  readonly titleOf?: (step: string) => string;
  /** The report of the run follows its events in the same place, so what one of them says, the other does not repeat. */
  readonly isOneText?: boolean;
}

const PLAIN: Style = { color: false };

/**
 * Whether to use colours on a stream. FORCE_COLOR decides as in Node (`tty.WriteStream.getColorDepth`); otherwise a
 * terminal gets them unless NO_COLOR (no-color.org) is set to anything, or the terminal is dumb.
 */
export function colorWanted(isTerminal: boolean, environment: Readonly<Record<string, string | undefined>>): boolean {
  const { FORCE_COLOR, NO_COLOR, TERM } = environment;
  if (FORCE_COLOR !== undefined) return FORCE_COLOR !== '0' && FORCE_COLOR !== 'false';
  return isTerminal && (NO_COLOR === undefined || NO_COLOR === '') && TERM !== 'dumb';
}

/** One line about an event, for a log or a console; undefined for events that need none. */
export function formatEvent(from: RunEvent, style: Style = PLAIN): string | undefined {
  const event = oneLineDeep(from);
  switch (event.kind) {
    case 'started': {
      const { command, machine, attempt } = event.status;
      return `${command} of ${machine.name} started${attempt > 1 ? `, attempt ${attempt}` : ''}`;
    }
    case 'step':
      return formatStep(event.step, style);
    case 'waiting':
      return `${titleOf(event.step, style)}: waiting for ${oneLine(event.waitingFor)}`;
    case 'warning':
      return `${paint('warning', 'yellow', style)}: ${oneLine(event.message)}`;
    case 'concluded':
      return formatConclusion(event.status, style);
  }
}

function formatStep(step: StepStatus, style: Style): string | undefined {
  const title = titleOf(step.id, style);
  const took = step.durationMs === undefined ? '' : ` in ${formatDuration(step.durationMs)}`;
  switch (step.state) {
    case 'Pending':
    case 'Skipped':
      return undefined;
    case 'Running':
      return `${title}: started`;
    case 'Unchanged':
      return `${title}: already so`;
    case 'Succeeded':
      return `${title}: ${paint('done', 'green', style)}, ${count(step.changes.length, 'change')}${took}`;
    case 'Failed':
      return `${title}: ${paint('failed', 'red', style)}${took === '' ? '' : ` after${took.slice(3)}`}`;
  }
}

function formatConclusion(status: RunStatus, style: Style): string {
  const took = formatDuration(Math.max(0, Date.parse(status.updatedAt) - Date.parse(status.startedAt)));
  const head = `${status.command} of ${status.machine.name}`;
  const { outcome, failure } = status;
  if (outcome === 'Succeeded') {
    const hooks =
      failure === undefined ? '' : `, but: ${failure.reason}${style.isOneText ? '' : `: ${oneLine(failure.summary)}`}`;
    return `${head} ${paint('succeeded', 'green', style)} in ${took}${hooks}`;
  }
  const verb = { Failed: 'failed', Interrupted: 'was interrupted', RebootRequired: 'needs a reboot' }[
    outcome ?? 'Failed'
  ];
  const why = failure === undefined || style.isOneText ? '' : `: ${failure.reason}: ${oneLine(failure.summary)}`;
  return `${head} ${paint(verb, 'red', style)} after ${took}${why}`;
}

/**
 * A failure in one paragraph with its proof: what failed, the stable reason, the evidence, what to do. Providers show
 * the last lines of stderr to the user (Cluster API's CAPD puts them into its condition), so this must suffice.
 */
export function formatFailure(from: Failure, style: Style = PLAIN, next?: string): string {
  const failure = oneLineDeep(from);
  const { field, position } = failure;
  const step = failure.step === undefined ? '' : ` (step ${titleOf(failure.step, style)})`;
  const lines = [
    `${paint(failure.reason, 'red', style)}${step}: ${oneLine(failure.summary)}`,
    ...(position === undefined || field === undefined
      ? []
      : [`  ${oneLine(formatPlace(position))}  ${oneLine(field)}`]),
    ...failure.evidence.map((item) => `  ${oneLine(item.source)}: ${oneLine(item.text)}`),
    ...formatCauses(failure),
    `${paint('What to do', 'bold', style)}: ${oneLine(failure.remedy)}${failure.retryable ? ' The same command may succeed later.' : ''}`,
    ...(next === undefined ? [] : [`${paint('Try next', 'bold', style)}: ${oneLine(next)}`]),
  ];
  return lines.join('\n');
}

/** The command to run after a failure, ready to be copied. */
export function nextCommand(
  { reason, retryable }: { readonly reason: Reason | 'Unknown' | ''; readonly retryable: boolean },
  sources: readonly string[] = ['FILE'],
  command: RunStatus['command'] = 'provision',
): string {
  if (reason === '' || reason === 'Unknown' || reason === 'InternalError') return 'machineadm bundle';
  const input = sources.map((source) => ` -f ${shellWord(source)}`).join('');
  if (REASONS[reason]?.exit === 'DocumentInvalid') return `machineadm validate${input}`;
  if (retryable) return `machineadm ${command}${input}`;
  return command === 'prepare' ? `machineadm plan --prepare${input}` : `machineadm doctor${input}`;
}

function shellWord(text: string): string {
  return /^[\w./:@%+,=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** The causes of a reason and its consequences. Empty for a reason without either. */
export function formatCauses({
  reason,
  causes = [],
}: {
  reason: string;
  causes?: readonly string[];
}): readonly string[] {
  const position = causes.indexOf(reason);
  const [before, after] = [causes.slice(0, Math.max(0, position)), causes.slice(position + 1)];
  return [
    ...(before.length === 0 ? [] : [`caused by: ${before.join(', then ')}`]),
    ...(after.length === 0 ? [] : [`led to: ${after.join(', then ')}`]),
  ];
}

/** The cause of a wait, with its proof and what to do. */
function formatCause({ reason, summary, remedy, evidence, since }: ProbableCause): readonly string[] {
  return [
    `  probable cause (${reason}, since ${since}): ${oneLine(summary)}`,
    ...evidence.slice(0, 1).map(({ source, text }) => `    ${source}: ${oneLine(text)}`),
    `    ${oneLine(remedy)}`,
  ];
}

/** The status of a run for `machineadm status`: several lines, without the last newline. */
export function formatStatus(from: RunStatus, style: Style = PLAIN): string {
  const status = oneLineDeep(from);
  const identity = [status.machine.namespace, status.machine.name].filter((part) => part !== undefined).join('/');
  const cluster = status.machine.cluster === undefined ? '' : ` of cluster ${status.machine.cluster}`;
  const lines = [
    `${identity}${cluster}: ${formatState(status, style)}`,
    `  run ${status.runId}, attempt ${status.attempt}, machineadm ${status.agent.version}`,
    `  started ${status.startedAt}, last change ${status.updatedAt}`,
  ];
  const { apply, appliedAt } = status.document;
  if (appliedAt !== undefined) lines.push(`  applied ${appliedAt}${apply === undefined ? '' : `, ${APPLY[apply]}`}`);
  const { nodeAddresses = [] } = status.host;
  if (nodeAddresses.length > 0) lines.push(`  node addresses ${nodeAddresses.join(', ')}`);
  if (status.waitingFor !== undefined) lines.push(`  waiting for ${oneLine(status.waitingFor)}`);
  if (status.probableCause !== undefined) lines.push(...formatCause(status.probableCause));
  const width = Math.max(0, ...status.steps.map((step) => titleOf(step.id, style).length));
  for (const step of style.isOneText ? [] : status.steps) {
    const isTimed = step.durationMs !== undefined && step.state !== 'Skipped';
    const took = isTimed ? `  ${formatDuration(step.durationMs)}` : '';
    const changes = step.changes.length === 0 ? '' : `  ${count(step.changes.length, 'change')}`;
    lines.push(`  ${titleOf(step.id, style).padEnd(width)}  ${step.state.padEnd(9)}${took}${changes}`.trimEnd());
  }
  for (const condition of status.conditions) {
    // The reason of the failure is printed once, with its details.
    const why = condition.reason === status.failure?.reason ? '' : ` (${condition.reason})`;
    lines.push(`  ${condition.type}: ${condition.status}${why} since ${condition.lastTransitionTime}`);
  }
  if (status.failure !== undefined && status.conditions.some(isBootstrapped)) {
    lines.push('  this machine is bootstrapped: what failed came after that, and does not undo it');
  }
  for (const warning of style.isOneText ? [] : status.warnings)
    lines.push(`  ${paint('warning', 'yellow', style)}: ${oneLine(warning)}`);
  for (const { sink, target, state, pending, message } of status.reports ?? []) {
    const why = message === undefined ? '' : `: ${oneLine(message)}`;
    const waiting = pending === 0 ? '' : `, ${count(pending, 'event')} waiting`;
    lines.push(`  reported to ${sink} (${target}): ${state.toLowerCase()}${waiting}${why}`);
  }
  if (status.thisMachine !== undefined) lines.push(...formatThisMachine(status.thisMachine));
  if (status.failure !== undefined) {
    const next = nextCommand(status.failure, status.document.sources, status.command);
    lines.push('', formatFailure(status.failure, style, next));
  }
  return lines.join('\n');
}

function isBootstrapped({ type, status }: Condition): boolean {
  return type === 'machineadm.dev/BootstrapSucceeded' && status === 'True';
}

/**
 * The summary of a run for users who may not read its status: the meaning of its fixed terms, without details of the
 * run.
 */
export function formatSummary(from: RunSummary, style: Style = PLAIN): string {
  const summary = oneLineDeep(from);
  const { reason } = summary;
  const meaning = reason === undefined ? undefined : REASONS[reason]?.meaning;
  return [
    formatState(summary, style),
    `  run ${summary.runId}`,
    `  started ${summary.startedAt}, last change ${summary.updatedAt}`,
    ...(reason === undefined ? [] : [`  ${paint(reason, 'red', style)}${meaning === undefined ? '' : `: ${meaning}`}`]),
  ].join('\n');
}

function formatState({ command, phase, outcome, exitCode }: RunStatus | RunSummary, style: Style): string {
  const color = outcome === undefined ? 'yellow' : outcome === 'Succeeded' ? 'green' : 'red';
  const state = outcome === undefined ? `Running (${phase})` : `${outcome} (exit ${exitCode ?? '?'})`;
  return `${command} ${paint(state, color, style)}`;
}

/** What units do at later boots. */
const APPLY = {
  Once: 'once: units do nothing until the document changes',
  EveryBoot: 'again at every boot',
} as const;

type Paint = 'red' | 'green' | 'yellow' | 'bold';

/** Text in a colour, where colours are wanted. */
export function paint(text: string, color: Paint, style: Style): string {
  return style.color ? styleText(color, text, { validateStream: false }) : text;
}

/** What people call a step. */
export function titleOf(step: string, style: Style): string {
  return style.titleOf?.(step) ?? step;
}

/** `1 change`, `2 changes`. */
export function count(amount: number, noun: string): string {
  return `${amount} ${noun}${amount === 1 ? '' : 's'}`;
}
