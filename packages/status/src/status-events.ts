import type { RunEvent, RunStatus } from './status.ts';

/** The events between two statuses of a run, reconstructed by a reader of the status file. */
export function eventsBetween(before: RunStatus | undefined, status: RunStatus): readonly RunEvent[] {
  const known = before?.runId === status.runId ? before : undefined;
  const events: RunEvent[] = known === undefined ? [{ kind: 'started', status }] : [];
  for (const step of status.steps) {
    const state = known?.steps.find(({ id }) => id === step.id)?.state ?? 'Pending';
    if (state !== step.state) events.push({ kind: 'step', step, status });
  }
  for (const message of status.warnings.slice(known?.warnings.length ?? 0)) {
    events.push({ kind: 'warning', message, status });
  }
  const { step, waitingFor } = status;
  if (step !== undefined && waitingFor !== undefined && waitingFor !== known?.waitingFor) {
    events.push({ kind: 'waiting', step, waitingFor, status });
  }
  if (status.phase === 'Concluded' && known?.phase !== 'Concluded') events.push({ kind: 'concluded', status });
  return events;
}
