import { randomUUID } from 'node:crypto';
import { diagnose, failureOf } from '../diagnosis/index.ts';
import { type Failure, MachineadmError } from '../document/errors.ts';
import { type ExitName, exitCode } from '../document/exit-codes.ts';
import type { LoadedDocument } from '../document/load.ts';
import { REASONS } from '../document/reasons.ts';
import { formatDuration } from '../document/units.ts';
import type { Facts } from '../host/facts.ts';
import type { Host } from '../host/host.ts';
import { ownProcess } from '../host/identity.ts';
import { endOrphans, gatherFacts, openHost, openQueryHost } from '../host/index.ts';
import { acquireLock } from '../host/lock.ts';
import { openReporter, type Reporter } from '../reporting/reporter.ts';
import { sinksOf } from '../reporting/sinks/index.ts';
import type { Outcome, RunEvent, RunStatus } from '../reporting/status.ts';
import { bootTimeline, processStartMs } from '../reporting/timeline.ts';
import { wipeKubeadmConfig } from '../steps/kubeadm-config.ts';
import type { Step } from '../steps/step.ts';
import { instanceIdentity, type JournalState } from './journal.ts';
import { openDocument } from './load.ts';
import { ALL_STEPS, PIPELINE } from './pipeline.ts';
import { refuseIfChanged } from './plan.ts';
import { preflight, refuseUnlessRoot } from './preflight.ts';
import { asSeenBy, openJournal, peekJournal, type RunJournal } from './run-journal.ts';
import { runSteps, StepFailure, type StepObserver } from './runner.ts';

export interface RunRequest {
  /** `prepare` makes only the changes that belong into an image. */
  readonly command: 'provision' | 'prepare';
  readonly sources: readonly string[];
  readonly agentVersion: string;
  /** Aborted by a signal to the process, with a `MachineadmError` as its reason. */
  readonly signal: AbortSignal;
  /** Told each event as it happens: the progress on the terminal. */
  readonly onEvent: (event: RunEvent) => void;
  /** A line of a child's output, redacted. */
  readonly onOutput: (source: string, line: string) => void;
}

const LOCK_PATH = '/run/machineadm/lock';

/**
 * The story of a run: lock, load, report, preflight, host, Kubernetes, conclude. Never throws for what can go wrong on a
 * machine; the status says how it ended. Throws what is refused without touching what was reported before:
 * `NotPrivilegedUser`, `Locked`, and any refusal on a machine that is bootstrapped already.
 */
export async function run(request: RunRequest): Promise<RunStatus> {
  const runId = randomUUID();
  const facts = await gatherFacts(openQueryHost());
  refuseUnlessRoot(facts);
  const lock = await acquireLock(LOCK_PATH);
  try {
    return await runLocked(request, runId, facts);
  } finally {
    lock.release();
  }
}

async function runLocked(request: RunRequest, runId: string, facts: Facts): Promise<RunStatus> {
  const host = openHost({ runId });
  const startedMs = Date.now();
  const before = await peekJournal(host);
  const judged = await judge(request, host, facts, before);
  // A refusal changes nothing, and what is reported of a machine that works stays true.
  if (!judged.ok && before?.bootstrappedFrom !== undefined) throw judged.error;
  const reporter = await openReporter({
    identity: {
      command: request.command,
      runId,
      agentVersion: request.agentVersion,
      host: { machineId: facts.machineId, bootId: facts.bootId, hostname: facts.hostname },
      process: ownProcess(),
    },
    host,
    onEvent: request.onEvent,
  });
  reporter.timeline(await bootTimeline(host, processStartMs()));
  if (judged.document !== undefined) introduce(reporter, host, judged.document, judged.known);
  let journal: RunJournal | undefined;
  let conclusion: Conclusion;
  try {
    if (!judged.ok) throw judged.error;
    await endOrphans(runId);
    journal = await openJournal(host, judged.known.identity, judged.document.lastingDigest);
    if (judged.known.interruptedRun !== undefined) reporter.warn('the run before this one was killed; it is resumed');
    journal.append({
      is: 'run',
      run: runId,
      command: request.command,
      agent: request.agentVersion,
      document: judged.document.digest,
      lasting: judged.document.lastingDigest,
      bootId: facts.bootId,
      at: new Date().toISOString(),
    });
    reporter.planned(plannedSteps(request, judged.document, facts));
    conclusion = await runPipeline(request, host, facts, judged.document, journal, reporter);
  } catch (error) {
    conclusion = await conclude(host, error, judged.document, startedMs);
  }
  if (conclusion.outcome === 'Succeeded' && request.command === 'provision')
    await wipeKubeadmConfig(host, (message) => reporter.warn(message));
  if (journal !== undefined) recordConclusion(journal, runId, conclusion, reporter);
  await reporter.conclude({
    outcome: conclusion.outcome,
    exitCode: exitCode(conclusion.exit),
    ...(conclusion.failure === undefined ? {} : { failure: conclusion.failure }),
    ...(conclusion.afterHooks === undefined ? {} : { afterHooks: conclusion.afterHooks }),
  });
  await reporter.close();
  return reporter.status;
}

/** Tells the reporter whose run it is and where to tell of it. */
function introduce(reporter: Reporter, host: Host, { model, digest }: LoadedDocument, known: JournalState): void {
  const { name, namespace, cluster, uid } = model.metadata;
  reporter.identify({
    machine: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      ...(cluster === undefined ? {} : { cluster }),
      ...(uid === undefined ? {} : { uid }),
    },
    documentSha256: digest,
    attempt: known.attempts + 1,
  });
  reporter.useSinks(sinksOf(model.reporting.sinks, host), model.reporting.deadlineMs);
}

function plannedSteps(request: RunRequest, { model }: LoadedDocument, facts: Facts): string[] {
  const steps = request.command === 'prepare' ? PIPELINE.host : ALL_STEPS;
  return steps.filter((step) => step.desired(model, facts) !== undefined).map((step) => step.id);
}

/** What is known before anything is changed. */
type Judged =
  | { readonly ok: true; readonly document: LoadedDocument; readonly known: JournalState }
  | {
      readonly ok: false;
      readonly document: LoadedDocument | undefined;
      readonly known: JournalState;
      readonly error: unknown;
    };

/** Loads the document and refuses what can be refused, with questions only. */
async function judge(request: RunRequest, host: Host, facts: Facts, before: JournalState | undefined): Promise<Judged> {
  let known = asSeenBy(before, instanceIdentity(facts, undefined));
  let document: LoadedDocument | undefined;
  try {
    document = await openDocument(request.sources, request.agentVersion);
    known = asSeenBy(before, instanceIdentity(facts, document.model.metadata.uid));
    refuseIfChanged(known, document);
    const base = request.command === 'prepare';
    await preflight(base ? PIPELINE.host : ALL_STEPS, host, document.model, facts, base ? 'base' : 'all');
    return { ok: true, document, known };
  } catch (error) {
    return { ok: false, document, known, error };
  }
}

function recordConclusion(journal: RunJournal, runId: string, conclusion: Conclusion, reporter: Reporter): void {
  try {
    journal.append({
      is: 'concluded',
      run: runId,
      outcome: conclusion.outcome,
      exitCode: exitCode(conclusion.exit),
      reason: conclusion.failure?.reason,
      at: new Date().toISOString(),
    });
  } catch (error) {
    reporter.warn(`the conclusion could not be journalled: ${error instanceof Error ? error.message : String(error)}`);
  }
  journal.close();
}

interface Conclusion {
  readonly outcome: Outcome;
  readonly exit: ExitName;
  readonly failure?: Failure;
  /** Set when the document has hooks after the bootstrap and they ran. */
  readonly afterHooks?: 'Succeeded' | 'Failed';
}

async function runPipeline(
  request: RunRequest,
  host: Host,
  facts: Facts,
  document: LoadedDocument,
  journal: RunJournal,
  reporter: Reporter,
): Promise<Conclusion> {
  const { model } = document;
  const deadline = new AbortController();
  const limitMs = model.kubernetes?.timeouts.overallMs;
  const timer = setTimeout(() => deadline.abort(overallDeadline(limitMs)), limitMs ?? 2 ** 31 - 1);
  const scope = request.command === 'prepare' ? 'base' : 'all';
  const observer: StepObserver = {
    stepStarted: (step) => reporter.stepStarted(step),
    stepDone: (step, result) => reporter.stepDone(step, result),
    waitingFor: (step, what) => reporter.waitingFor(step, what),
    warn: (message) => reporter.warn(message),
    output: (_step, source, line) => request.onOutput(source, line),
  };
  const signal = AbortSignal.any([request.signal, deadline.signal]);
  const perform = (steps: readonly Step[]) => runSteps(steps, { model, facts, host, journal, observer, scope, signal });
  const startedMs = Date.now();
  try {
    reporter.phase('Host');
    await perform(PIPELINE.host);
    if (request.command === 'prepare') return { outcome: 'Succeeded', exit: 'Success' };
    reporter.phase('Kubernetes');
    await perform(PIPELINE.kubernetes);
  } catch (error) {
    return await conclude(host, error, document, startedMs);
  } finally {
    clearTimeout(timer);
  }
  try {
    await perform(PIPELINE.afterBootstrap);
  } catch (error) {
    const failed = await conclude(host, error, document, startedMs);
    // The node works: what comes after cannot unmake that, and says so with a code of its own.
    return { ...failed, outcome: 'Succeeded', exit: 'AfterHookFailed', afterHooks: 'Failed' };
  }
  reporter.phase('Concluding');
  const hasHooks = model.host.hooks.afterBootstrap !== undefined;
  return { outcome: 'Succeeded', exit: 'Success', ...(hasHooks ? { afterHooks: 'Succeeded' as const } : {}) };
}

/** How a run that met an error ended: what failed, why, and what to do. */
async function conclude(
  host: Host,
  thrown: unknown,
  document: LoadedDocument | undefined,
  startedMs: number,
): Promise<Conclusion> {
  const step = thrown instanceof StepFailure ? thrown.step : undefined;
  const cause = thrown instanceof StepFailure ? thrown.error : thrown;
  const error = cause instanceof MachineadmError ? cause : defect(cause);
  const kubernetes = document?.model.kubernetes;
  const endpoint = kubernetes?.join?.discovery.endpoint ?? kubernetes?.cluster.controlPlaneEndpoint;
  const failure =
    step === undefined
      ? failureOf(error)
      : await diagnose(host, error, {
          since: { realTimeMs: startedMs },
          role: kubernetes?.role,
          criSocket: kubernetes?.node.criSocket ?? 'unix:///run/containerd/containerd.sock',
          ...(endpoint === undefined ? {} : { endpoint }),
        });
  const outcome =
    error.exit === 'Interrupted' ? 'Interrupted' : error.exit === 'RebootRequired' ? 'RebootRequired' : 'Failed';
  return { outcome, exit: error.exit, failure: step === undefined ? failure : { ...failure, step } };
}

/** An error that no room foresaw is a defect of ours and says so; its stack is the evidence. */
function defect(cause: unknown): MachineadmError {
  const stack = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
  return new MachineadmError({
    reason: 'InternalError',
    summary: `${REASONS.InternalError.meaning} ${cause instanceof Error ? cause.message : String(cause)}`,
    remedy: 'Please report it with the evidence below. Running again is safe.',
    evidence: stack
      .split('\n')
      .slice(0, 8)
      .map((text) => ({ source: 'machineadm', text: text.trim() })),
    cause,
  });
}

function overallDeadline(limitMs: number | undefined): MachineadmError {
  return new MachineadmError({
    reason: 'DeadlinePassed',
    summary: `the run did not end within ${formatDuration(limitMs ?? 0)}`,
    remedy: 'Look at what it waited for; kubernetes.timeouts.overall sets the limit.',
    retryable: true,
  });
}
