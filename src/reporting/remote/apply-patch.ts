import type { ReportCondition, ReportEvent } from '@machineadm/status/event.ts';

/** A patch of server-side apply; JSON is YAML. */
export interface ApplyPatch {
  readonly path: string;
  readonly contentType: 'application/apply-patch+yaml';
  readonly body: string;
}

/**
 * The field manager. Fields that a manager applied before and now leaves out are removed (KEP-555), so a run and a
 * watch, which are independent, are two managers.
 */
export type FieldManager = 'machineadm' | 'machineadm-watch';

/** Size limit of the event in a ConfigMap with its conditions: one etcd may store ten thousand of them. */
export const REPORT_BYTES = 6 * 1024;
const LONGEST_ANNOTATION = 2 * 1024;

function fieldManagerOf(event: ReportEvent): FieldManager {
  return event.type === 'readinessChanged' ? 'machineadm-watch' : 'machineadm';
}

/**
 * The patch that writes an event to a ConfigMap: conditions in Cluster API's form, which a controller copies to a
 * Machine; a word each for `kubectl get`; the event itself.
 */
export function configMapPatch(
  event: ReportEvent,
  { namespace, name }: { namespace: string; name: string },
): ApplyPatch {
  const prefix = event.type === 'readinessChanged' ? 'watch-' : '';
  const words = { outcome: event.outcome ?? 'Running', reason: event.failure?.reason ?? '' };
  return applyPatch(event, `/api/v1/namespaces/${namespace}/configmaps/${name}`, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { namespace, name },
    data: {
      [`${prefix}conditions.json`]: JSON.stringify(event.conditions.map(inSeconds)),
      [`${prefix}report.json`]: JSON.stringify(event),
      ...(prefix === '' ? words : {}),
    },
  });
}

/**
 * The patch that writes the conditions of an event to a Node. Its status and not the Node itself: applying would create
 * a missing Node before the kubelet could do so completely.
 */
export function nodePatch(event: ReportEvent, name: string): ApplyPatch {
  const annotation = event.type === 'readinessChanged' ? 'machineadm.dev/watch' : 'machineadm.dev/report';
  return applyPatch(event, `/api/v1/nodes/${encodeURIComponent(name)}/status`, {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, annotations: { [annotation]: JSON.stringify(summaryOf(event)) } },
    status: {
      conditions: event.conditions.map((condition) => ({
        ...inSeconds(condition),
        lastHeartbeatTime: seconds(event.time),
      })),
    },
  });
}

/** metav1.Time holds whole seconds. */
function seconds(time: string): string {
  return time.replace(/\.\d+Z$/, 'Z');
}

function inSeconds(condition: ReportCondition): ReportCondition {
  return { ...condition, lastTransitionTime: seconds(condition.lastTransitionTime) };
}

/** A summary of an event for limited space: who reported it about what, when, and the outcome. */
function summaryOf(event: ReportEvent): object {
  const { id, time, agent, machine, document, attempt, outcome, failure } = event;
  const summary = {
    id,
    time,
    agent: agent.version,
    machine: machine.name,
    document: document.sha256,
    attempt,
    outcome,
  };
  const told = { ...summary, ...(failure === undefined ? {} : { reason: failure.reason, message: failure.summary }) };
  return JSON.stringify(told).length > LONGEST_ANNOTATION ? summary : told;
}

/**
 * `force`: this machine's own report overrides other writers of these fields. A test event is validated like a real
 * one, and not stored (`dryRun`).
 */
function applyPatch(event: ReportEvent, path: string, object: object): ApplyPatch {
  const query = `fieldManager=${fieldManagerOf(event)}&force=true${event.test === true ? '&dryRun=All' : ''}`;
  return { path: `${path}?${query}`, contentType: 'application/apply-patch+yaml', body: JSON.stringify(object) };
}
