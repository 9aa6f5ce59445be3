import { dirname, join } from 'node:path/posix';
import { REASONS, type Reason } from '@machineadm/document/outcomes/reasons.ts';
import type { Outcome, RunStatus } from './status.ts';

/**
 * The public part of a status, `summary.json` beside it, 0644: what every user of the machine may know about a run. It
 * contains only terms of fixed lists, times and numbers. Text, names and digests of the document stay in the status.
 */
export interface RunSummary extends Pick<RunStatus, 'command' | 'runId' | 'phase' | 'startedAt' | 'updatedAt'> {
  readonly apiVersion: 'machineadm.dev/summary/v1';
  readonly kind: 'BootstrapSummary';
  readonly host: Pick<RunStatus['host'], 'bootId'>;
  /** As in the status: it shows whether the run is still active. */
  readonly process: RunStatus['process'];
  /** Set when phase is `Concluded`, as in the status. */
  readonly outcome?: Outcome;
  readonly exitCode?: number;
  /** The failure's, if there is one. */
  readonly reason?: Reason;
}

/** A status or, for a user who may not read it, its public summary. */
export type Reported = RunStatus | RunSummary;

/** The summary of a status. Copied field by field: a new field of the status does not become public automatically. */
export function summaryOf(status: RunStatus): RunSummary {
  const { command, runId, phase, startedAt, updatedAt, process, outcome, exitCode, failure } = status;
  return {
    apiVersion: 'machineadm.dev/summary/v1',
    kind: 'BootstrapSummary',
    command,
    runId,
    phase,
    ...(outcome === undefined ? {} : { outcome }),
    ...(exitCode === undefined ? {} : { exitCode }),
    ...(failure !== undefined && Object.hasOwn(REASONS, failure.reason) ? { reason: failure.reason } : {}),
    startedAt,
    updatedAt,
    host: { bootId: status.host.bootId },
    process: { pid: process.pid, startTicks: process.startTicks },
  };
}

/** The path of a status file's summary. */
export function summaryPath(statusPath: string): string {
  return join(dirname(statusPath), 'summary.json');
}
