import type { Failure, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { isExplainable } from '@machineadm/failures/explainable.ts';
import type { ObservedLine } from '@machineadm/failures/observed-line.ts';
import { failureOf, type Verdict, verdict } from '@machineadm/failures/verdict.ts';
import type { QueryHost } from '../host/seam/host.ts';
import { type CollectContext, collect, transcriptLines } from './collect.ts';

export type { CollectContext } from './collect.ts';

/** What is known about the failed run. */
export type DiagnosisContext = CollectContext;

/**
 * The verdict on a run that met an error, as the run reports it: collects what the machine says and judges it together
 * with the output that the error carries. An error that names its cause is not looked into. Never throws; takes at most
 * the collectors' deadline.
 */
export async function diagnose(host: QueryHost, error: MachineadmError, context: DiagnosisContext): Promise<Failure> {
  const lines = isExplainable({ reason: error.reason, summary: error.message }) ? await collect(host, context) : [];
  return failureOf(verdictOn(error, lines, context.endpoint));
}

/** The verdict on an error and what was observed of it. Pure. */
export function verdictOn(error: MachineadmError, observed: readonly ObservedLine[] = [], endpoint?: string): Verdict {
  const { reason, message, evidence, remedy, retryable, transcript } = error;
  const failure: Failure = { reason, summary: message, evidence, remedy, retryable };
  return verdict({ lines: [...transcriptLines(transcript), ...observed], run: { state: 'ended', failure }, endpoint });
}
