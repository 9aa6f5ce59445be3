import { sentence } from '@machineadm/document/text/sentence.ts';
import type { Condition, Failure, NodeHandover, Outcome, RunStatus } from './status.ts';

/** metav1.Condition allows 32 KiB; a message in a table should stay below one (Cluster API's conventions). */
const LONGEST_MESSAGE = 1024;

export type NewCondition = Omit<Condition, 'lastTransitionTime'>;

const BOOTSTRAP_CONDITION = 'machineadm.dev/BootstrapSucceeded';

/**
 * BootstrapSucceeded after a run: a prepared image is not a node, and a working node stays one whatever happened to a
 * later run or a hook.
 */
export function concludingCondition(
  status: Pick<RunStatus, 'command' | 'conditions'>,
  { outcome, failure }: { readonly outcome: Outcome; readonly failure?: Failure | undefined },
): NewCondition {
  if (outcome === 'Succeeded' && status.command !== 'prepare') return bootstrapCondition(outcome, undefined);
  const before = status.conditions.find(({ type }) => type === BOOTSTRAP_CONDITION);
  if (before?.status === 'True') {
    // Without a message it was this run that proved it.
    return before.message === '' ? before : alreadyBootstrapped(conditionMessage(status.command, outcome, failure));
  }
  if (outcome !== 'Succeeded') return bootstrapCondition(outcome, failure);
  const message = 'The machine was prepared; it is bootstrapped by machineadm provision.';
  return { type: BOOTSTRAP_CONDITION, status: 'Unknown', reason: 'Prepared', message };
}

function conditionMessage(command: RunStatus['command'], outcome: Outcome, failure: Failure | undefined): string {
  const how = {
    Succeeded: `(${command}) succeeded.`,
    Failed: 'failed',
    Interrupted: 'was interrupted',
    RebootRequired: 'needs a reboot',
  }[outcome];
  return failure === undefined ? how : `${how}: ${failure.reason}: ${messageOf(failure)}`;
}

export function alreadyBootstrapped(laterRun: string): NewCondition {
  const message = shortened(`An earlier run bootstrapped this machine. A later run ${laterRun}`);
  return { type: BOOTSTRAP_CONDITION, status: 'True', reason: 'Succeeded', message };
}

/**
 * False ends a machine's life where a MachineHealthCheck watches the condition (cluster-api
 * api/core/v1beta2/machinehealthcheck_types.go unhealthyMachineConditions): only for permanent failures.
 */
export function bootstrapCondition(outcome: Outcome, failure: Failure | undefined): NewCondition {
  const type = BOOTSTRAP_CONDITION;
  switch (outcome) {
    case 'Succeeded':
      return { type, status: 'True', reason: 'Succeeded', message: '' };
    case 'Failed': {
      const status = failure?.retryable === false ? 'False' : 'Unknown';
      return { type, status, reason: failure?.reason ?? 'InternalError', message: messageOf(failure) };
    }
    case 'Interrupted':
    case 'RebootRequired':
      return { type, status: 'Unknown', reason: failure?.reason ?? outcome, message: messageOf(failure) };
  }
}

export function afterHooksCondition(
  result: 'Succeeded' | 'Failed' | 'Interrupted',
  failure: Failure | undefined,
): NewCondition {
  const type = 'machineadm.dev/AfterBootstrapHooksSucceeded';
  if (result === 'Succeeded') return { type, status: 'True', reason: 'Succeeded', message: '' };
  // The next run continues with them.
  const status = result === 'Failed' ? 'False' : 'Unknown';
  const reason = result === 'Failed' ? 'AfterBootstrapHookFailed' : 'Interrupted';
  return { type, status, reason: failure?.reason ?? reason, message: messageOf(failure) };
}

/** Whether the Node has the labels and taints that only the management side may set. */
export function labelsCondition(handover: NodeHandover): NewCondition {
  const type = 'machineadm.dev/NodeLabelsSet';
  const message = formatHandover(handover).join(' ');
  if (message === '') return { type, status: 'True', reason: 'Succeeded', message };
  return { type, status: 'Unknown', reason: 'ManagementMustSet', message: shortened(message) };
}

/** A sentence for each command that the management side must run. */
export function formatHandover({ node, labels, taints, commands }: NodeHandover): readonly string[] {
  if (commands.length === 0) return [];
  const what = [
    ...(labels.length === 0 ? [] : [`labels ${labels.join(', ')}`]),
    ...(taints.length === 0 ? [] : [`taints ${taints.join(', ')}`]),
  ];
  return [`The management side must set the ${what.join(' and the ')} of the Node ${node}: ${commands.join('; ')}`];
}

/** Adds or replaces a condition; its transition time changes only with its status (metav1.Condition). */
export function setCondition(
  conditions: readonly Condition[],
  condition: NewCondition,
  time: string,
): readonly Condition[] {
  const before = conditions.find((other) => other.type === condition.type);
  const lastTransitionTime = before?.status === condition.status ? before.lastTransitionTime : time;
  const changed: Condition = { ...condition, lastTransitionTime };
  return before === undefined
    ? [...conditions, changed]
    : conditions.map((other) => (other.type === condition.type ? changed : other));
}

function messageOf(failure: Failure | undefined): string {
  return failure === undefined ? '' : shortened(`${sentence(failure.summary)} ${failure.remedy}`);
}

function shortened(message: string): string {
  return message.length > LONGEST_MESSAGE ? `${message.slice(0, LONGEST_MESSAGE - 1)}…` : message;
}
