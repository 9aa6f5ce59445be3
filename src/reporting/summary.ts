import { dirname, join } from 'node:path/posix';
import { REASONS, type Reason } from '@machineadm/document/reasons.ts';
import type { Outcome, RunStatus } from './status.ts';

/**
 * The public part of a status, `summary.json` beside it, 0644: what any user of the machine may know of a run. It holds
 * words of fixed lists, times and numbers only. Text, names and digests of the document stay in the status.
 */
export interface RunSummary extends Pick<RunStatus, 'command' | 'runId' | 'phase' | 'startedAt' | 'updatedAt'> {
  readonly apiVersion: 'machineadm.dev/summary/v1';
  readonly kind: 'BootstrapSummary';
  readonly host: Pick<RunStatus['host'], 'bootId'>;
  /** As in the status: a reader tells a running run from a killed one by it. */
  readonly process: RunStatus['process'];
  /** Set when phase is `Concluded`, as in the status. */
  readonly outcome?: Outcome;
  readonly exitCode?: number;
  /** Of the failure, where there is one. */
  readonly reason?: Reason;
}

/** The summary of a status. Field by field: what is added to the status does not become public by itself. */
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

/** Where the summary of a status file is. */
export function summaryPath(statusPath: string): string {
  return join(dirname(statusPath), 'summary.json');
}
