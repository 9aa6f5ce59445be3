import type { LoadedDocument } from '@machineadm/document/loading/load.ts';
import type { Model } from '@machineadm/document/model/index.ts';
import { errorMessage, type Failure, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { ExitName } from '@machineadm/document/outcomes/exit-codes.ts';
import { REASONS } from '@machineadm/document/outcomes/reasons.ts';
import { formatDuration } from '@machineadm/document/text/units.ts';
import { leaves } from '@machineadm/document/trees/tree.ts';
import { failureOf } from '@machineadm/failures/verdict.ts';
import type { Conclusion as ReportedConclusion } from '@machineadm/status/run-state.ts';
import type { Outcome } from '@machineadm/status/status.ts';
import { type DiagnosisContext, diagnose, verdictOn } from '../diagnosis/index.ts';
import type { Host } from '../host/seam/host.ts';
import { type ChangeSource, sourcesOf } from './change-source.ts';
import { endsForReboot } from './reboot.ts';
import { StepFailure } from './runner.ts';

/** How a run ended. */
export interface Conclusion {
  readonly outcome: Outcome;
  readonly exit: ExitName;
  readonly failure?: Failure;
  /** Set when the document has hooks after the bootstrap and they ran. */
  readonly afterHooks?: NonNullable<ReportedConclusion['afterHooks']>;
}

/** How a run ended after an error: what failed, why, and what to do. */
export async function conclude(
  host: Host,
  thrown: unknown,
  document: LoadedDocument | undefined,
  startedMs: number,
): Promise<Conclusion> {
  const step = thrown instanceof StepFailure ? thrown.step : undefined;
  const cause = thrown instanceof StepFailure ? thrown.error : thrown;
  const error = cause instanceof MachineadmError ? cause : defect(cause);
  const failure =
    step === undefined || endsForReboot(error)
      ? failureOf(verdictOn(error))
      : await diagnose(host, error, diagnosisContext(document?.model, startedMs));
  const outcome =
    error.exit === 'Interrupted' ? 'Interrupted' : error.exit === 'RebootRequired' ? 'RebootRequired' : 'Failed';
  // "Refused" promises that nothing was changed. After steps have run that is not true, whatever the reason.
  const exit = step !== undefined && error.exit === 'Refused' ? 'HostStepFailed' : error.exit;
  if (step === undefined) return { outcome, exit, failure };
  const source =
    document === undefined || outcome !== 'Failed' || !(thrown instanceof StepFailure)
      ? undefined
      : sourceOfFailure(document, thrown, failure.remedy);
  return { outcome, exit, failure: { ...failure, step, ...source } };
}

/** What a diagnosis of this machine needs to know about the run that began then. */
export function diagnosisContext(model: Model | undefined, startedMs: number): DiagnosisContext {
  const kubernetes = model?.kubernetes;
  const endpoint = kubernetes?.join?.discovery.endpoint ?? kubernetes?.cluster.controlPlaneEndpoint;
  const platform = process.platform === 'win32' ? 'windows' : 'linux';
  return {
    platform,
    since: { realTimeMs: startedMs },
    role: kubernetes?.role,
    criSocket: kubernetes?.node.criSocket,
    ...(endpoint === undefined ? {} : { endpoint }),
  };
}

/** A path of the document in a sentence: `Set host.swap to Disabled.` */
const FIELD = /\b(?:host|kubernetes|containerRuntime|images|hardening|reporting)(?:\.[a-z][A-Za-z]*)+/;

/**
 * The place of a failure in the document: where it asks for the change that failed, else the field that the remedy names, else
 * the section of the step. undefined: nothing of the document led to it.
 */
function sourceOfFailure(
  document: LoadedDocument,
  { step, change }: StepFailure,
  remedy: string,
): ChangeSource | undefined {
  const source = sourcesOf(document);
  const [named] = FIELD.exec(remedy) ?? [];
  const field = leaves(document.tree).find(({ path }) => named !== undefined && path.startsWith(named));
  const found =
    (change === undefined ? undefined : source(step, change)) ??
    (field === undefined || named === undefined ? undefined : { field: named, position: field.at }) ??
    source(step, '');
  // The whole section says nothing that the step does not.
  return found?.field === 'kubernetes' ? undefined : found;
}

/** An unexpected error is a defect of machineadm, and reported as such with its stack as evidence. */
function defect(cause: unknown): MachineadmError {
  const stack = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
  return new MachineadmError({
    reason: 'InternalError',
    summary: `${REASONS.InternalError.meaning} ${errorMessage(cause)}`,
    remedy: 'Please report it with the evidence below. Running again is safe.',
    evidence: stack
      .split('\n')
      .slice(0, 8)
      .map((text) => ({ source: 'machineadm', text: text.trim() })),
    cause,
  });
}

/** Why a run was stopped at the document's time limit. */
export function overallDeadline(limitMs: number): MachineadmError {
  return new MachineadmError({
    reason: 'DeadlinePassed',
    summary: `the run did not end within ${formatDuration(limitMs)}`,
    remedy: 'Check what it waited for. kubernetes.timeouts.overall sets the limit.',
    retryable: true,
  });
}
