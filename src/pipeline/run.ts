import { randomUUID } from 'node:crypto';
import { resolve } from 'node:path';
import { type ExitConvention, exitCode } from '@machineadm/document/exit-codes.ts';
import type { LoadedDocument } from '@machineadm/document/load.ts';
import type { RunEvent, RunStatus } from '@machineadm/status/status.ts';
import { acquireLock } from '../host/files/lock.ts';
import { LOCK_PATH } from '../host/files/paths.ts';
import { endOrphans, gatherFacts, type NetworkSettings, openHost, openQueryHost, requireLinux } from '../host/index.ts';
import { ownProcess } from '../host/processes/identity.ts';
import { abortable } from '../host/processes/timeout.ts';
import type { Facts } from '../host/seam/facts.ts';
import type { Host } from '../host/seam/host.ts';
import { ownOutput } from '../host/services/own-output.ts';
import { openReporter, type Reporter } from '../reporting/reporter.ts';
import { bootstrappedSince } from '../reporting/status-file.ts';
import { STATUS_PATHS } from '../reporting/status-writer.ts';
import { bootTimeline, processStartMs } from '../reporting/timeline.ts';
import { withHooks } from './after-hooks.ts';
import { performAttempts } from './attempts.ts';
import { sourcesOf } from './change-source.ts';
import { type Conclusion, conclude, overallDeadline } from './conclusion.ts';
import { desiredOf } from './desired.ts';
import { requireLasting } from './durable-changes.ts';
import { bakingHost, imagePart } from './image.ts';
import {
  instanceIdentity,
  isBootstrapped,
  type JournalState,
  type PreparedNote,
  stepRecord,
  withNotes,
} from './journal.ts';
import { absoluteSource, openDocument } from './load.ts';
import { pipelineFor, stepsFor } from './pipeline.ts';
import { refuseIfChanged } from './plan.ts';
import { preflight, refuseUnlessRoot } from './preflight.ts';
import { preparedBy, readPrepared, removeBakeState, usableNotes, writePrepared } from './prepared.ts';
import { arrangeResume, canGoOn, type RebootResume, rebootIfOurs } from './reboot-resume.ts';
import { asRefusal } from './refusal.ts';
import { journalForInstance, peekJournal, type RunJournal } from './run-journal.ts';
import { beginJournal, recordConclusion } from './run-record.ts';
import { attachReporting } from './run-reporting.ts';
import { RunTrace } from './run-trace.ts';
import { runSteps, type StepObserver } from './runner.ts';
import { wipeAfterRun } from './wipe.ts';

export interface RunRequest {
  /** `prepare` makes only the changes that belong in an image. */
  readonly command: 'provision' | 'prepare';
  readonly sources: readonly string[];
  /** Sinks of the command line, in addition to the document's; see `withSinks`. */
  readonly sinks?: readonly string[];
  /** The caller, which interprets the exit code; default: machineadm's own convention. */
  readonly invoker?: ExitConvention;
  readonly agentVersion: string;
  /** Aborted by a signal to the process, with a `MachineadmError` as its reason. */
  readonly signal: AbortSignal;
  /** Called for each event as it happens. */
  readonly onEvent?: (event: RunEvent) => void;
  /**
   * The same, except for events that the journal gets anyway where this process prints to it: the progress on stderr.
   */
  readonly onShown?: (event: RunEvent) => void;
  /** A line of a child's output, redacted. */
  readonly onOutput: (source: string, line: string) => void;
}

/** The longest timer of Node: about 24 days. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;
/** The deliverer of an earlier run's reports holds the lock briefly while it records its progress. */
const LOCK_PATIENCE_MS = 500;

/**
 * The story of a run: lock, load, report, preflight, host, Kubernetes, conclude. Never throws for what can go wrong on
 * a machine; the status says how it ended. Throws refusals that must not change what was reported before:
 * `NotPrivilegedUser`, `Locked`, `JournalUnreadable`, and any refusal on a machine that is already bootstrapped.
 */
export async function run(request: RunRequest): Promise<RunStatus> {
  if (request.command === 'prepare') requireLinux('machineadm prepare');
  const runId = randomUUID();
  const facts = await gatherFacts(openQueryHost());
  refuseUnlessRoot(facts);
  const lock = await acquireLock(LOCK_PATH, LOCK_PATIENCE_MS).catch(refuse);
  try {
    return await runLocked(request, runId, facts);
  } finally {
    lock.release();
  }
}

/** Nothing was changed yet. */
function refuse(error: unknown): never {
  throw asRefusal(error);
}

async function runLocked(request: RunRequest, runId: string, facts: Facts): Promise<RunStatus> {
  let network: NetworkSettings | undefined;
  const ended = new AbortController();
  const opened = openHost({ runId, network: () => network, signal: AbortSignal.any([request.signal, ended.signal]) });
  const host = request.command === 'prepare' ? bakingHost(opened) : opened;
  const startedMs = Date.now();
  const before = await peekJournal(host).catch(refuse);
  const judged = await judge(request, host, facts, before);
  network = judged.network;
  // A refusal changes nothing, and what was reported about a working machine stays true.
  if (!judged.ok && (judged.known.bootstrappedFrom !== undefined || isBootstrapped(judged.known, judged.document)))
    throw judged.error;
  const since = await bootstrappedSince();
  const output = await ownOutput(opened);
  const reporter = await openReporter({
    identity: {
      command: request.command,
      runId,
      agentVersion: request.agentVersion,
      host: { machineId: facts.machineId, bootId: facts.bootId, hostname: facts.hostname },
      process: ownProcess(),
      sources: request.sources.map((source) => (source === '-' ? source : resolve(source))),
    },
    host,
    shownInJournal: output !== 'elsewhere',
    ...(request.onEvent === undefined ? {} : { onEvent: request.onEvent }),
    ...(request.onShown === undefined ? {} : { onShown: request.onShown }),
  });
  reporter.timeline(await bootTimeline(host, processStartMs()));
  if (judged.document !== undefined) attachReporting(reporter, host, judged.document, judged.known, since, output);
  let journal: RunJournal | undefined;
  let goingOn: RebootResume | undefined;
  let conclusion: Conclusion;
  try {
    if (!judged.ok) throw judged.error;
    await endOrphans(host, before?.unfinishedRuns ?? new Set());
    const { command, agentVersion } = request;
    const begun = { runId, command, agentVersion, document: judged.document, sources: request.sources };
    journal = await beginJournal(host, facts, judged.known, judged.notes, begun);
    for (const warning of judged.warnings) reporter.warn(warning);
    if (judged.known.open !== undefined) reporter.warn('the run before this one was killed; it is resumed');
    if (request.command === 'prepare') warnOfLeft(judged.document, reporter);
    reporter.planned(plannedSteps(request, judged, facts));
    goingOn = await arrangeResume(host, facts, request);
    conclusion = await runPipeline(request, host, facts, judged.document, journal, reporter);
  } catch (error) {
    conclusion = await conclude(host, error, judged.document, startedMs);
  }
  // A step that did not stop in time may still wait for a service, and keep this process alive.
  ended.abort();
  await wipeAfterRun(host, request.command, conclusion, (message) => reporter.warn(message));
  await goingOn?.concluded(conclusion.outcome, (message) => reporter.warn(message));
  if (journal !== undefined) recordConclusion(journal, runId, conclusion, (message) => reporter.warn(message));
  await reporter.conclude({
    outcome: conclusion.outcome,
    exitCode: exitCode(conclusion.exit),
    ...(conclusion.failure === undefined ? {} : { failure: conclusion.failure }),
    ...(conclusion.afterHooks === undefined ? {} : { afterHooks: conclusion.afterHooks }),
  });
  await reporter.close();
  if (journal !== undefined && conclusion.outcome === 'Succeeded' && request.command === 'prepare')
    await removeBakeState(host, journal.state(), STATUS_PATHS.copy);
  await rebootIfOurs(host, facts, request, conclusion);
  return reporter.status;
}

function scopeOf({ command }: RunRequest): 'base' | 'all' {
  return command === 'prepare' ? 'base' : 'all';
}

function plannedSteps(
  request: RunRequest,
  { document: { model }, known }: Judged & { ok: true },
  facts: Facts,
): string[] {
  const record = (step: string) => stepRecord(known, step, request.sources.map(absoluteSource));
  return stepsFor(scopeOf(request), model.host.platform)
    .filter((step) => desiredOf(step, model, facts, record) !== undefined)
    .map((step) => step.id);
}

/** What is known before any change. */
type Judged =
  | {
      readonly ok: true;
      readonly document: LoadedDocument;
      readonly known: JournalState;
      readonly network: NetworkSettings;
      /** The notes of this machine's image. */
      readonly notes: readonly PreparedNote[];
      /** Of the preflight: they refuse nothing. */
      readonly warnings: readonly string[];
    }
  | {
      readonly ok: false;
      readonly document: LoadedDocument | undefined;
      readonly known: JournalState;
      readonly network: NetworkSettings | undefined;
      readonly error: unknown;
    };

/** Loads the document and makes all checks that can refuse the run, with queries only. */
async function judge(request: RunRequest, host: Host, facts: Facts, before: JournalState | undefined): Promise<Judged> {
  let known = journalForInstance(before, instanceIdentity(facts, undefined));
  let document: LoadedDocument | undefined;
  let network: NetworkSettings | undefined;
  try {
    document = await abortable(openRequested(request), request.signal);
    network = document.model.host;
    const identity = instanceIdentity(facts, document.model.metadata.uid);
    const notes = usableNotes(await readPrepared(host), before, identity);
    known = withNotes(journalForInstance(before, identity), notes);
    if (request.command === 'prepare') document = { ...document, ...imagePart(document) };
    refuseIfChanged(known, document);
    const [scope, seen] = [scopeOf(request), known];
    const found = await abortable(
      preflight(stepsFor(scope, document.model.host.platform), {
        host,
        model: document.model,
        facts,
        scope,
        record: (step) => stepRecord(seen, step, request.sources.map(absoluteSource)),
        source: sourcesOf(document),
      }),
      request.signal,
    );
    // Checks that could not be made are only reported by commands that check before a run.
    const warnings = found.told.flatMap(({ missing: { severity, what, remedy } }) =>
      severity === 'warning' ? [`${what}. ${remedy}`] : [],
    );
    return { ok: true, document, known, network, notes, warnings };
  } catch (error) {
    return { ok: false, document, known, network, error };
  }
}

/** An image is the same for all machines: this machine's variables must not be resolved. */
async function openRequested({ command, sources, agentVersion, sinks }: RunRequest): Promise<LoadedDocument> {
  return await openDocument(sources, agentVersion, {
    forThisMachine: command === 'provision',
    isTrusted: true,
    ...(sinks === undefined ? {} : { sinks }),
  });
}

function warnOfLeft({ unresolved }: LoadedDocument, reporter: Reporter): void {
  for (const path of unresolved) reporter.warn(`${path} depends on a variable of the machine: left to provision`);
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
  const limitMs = model.kubernetes?.timeouts.overallMs ?? LONGEST_TIMER_MS;
  const timer = setTimeout(() => deadline.abort(overallDeadline(limitMs)), Math.min(limitMs, LONGEST_TIMER_MS));
  const scope = scopeOf(request);
  const made = new Map<string, readonly string[]>();
  const observer: StepObserver = {
    stepStarted: (step) => reporter.stepStarted(step),
    stepDone(step, result) {
      reporter.stepDone(step, result);
      made.set(step, [...(made.get(step) ?? []), ...result.changes]);
    },
    waitingFor: (step, what) => reporter.waitingFor(step, what),
    warn: (message) => reporter.warn(message),
    output: (_step, source, line) => request.onOutput(source, line),
  };
  const signal = AbortSignal.any([request.signal, deadline.signal]);
  const mayReboot = canGoOn(request) && model.host.rebootPolicy === 'IfRequired';
  const options = withHooks({ model, facts, host, journal, observer, scope, signal, mayReboot, trace: new RunTrace() });
  const startedMs = Date.now();
  const { kubernetes } = model;
  const pipeline = pipelineFor(model.host.platform);
  const bootstrap = async () => {
    reporter.phase('Host');
    await runSteps(pipeline.host, options);
    // Before Kubernetes: a document that contradicts itself must not become a node.
    await requireLasting(pipeline.host, options);
    if (request.command === 'prepare') return;
    reporter.phase('Kubernetes');
    await runSteps(options.withPostponed(pipeline.kubernetes), options);
    await requireLasting([...pipeline.host, ...pipeline.kubernetes], options);
    await runSteps(pipeline.conclusion, options);
  };
  try {
    const failed = await performAttempts(bootstrap, {
      retry: (kubernetes?.exec ?? kubernetes?.kubeadm)?.retry,
      signal,
      deadlineMs: startedMs + limitMs,
      bootstraps: (id) => pipeline.kubernetes.some((step) => step.id === id && step.bootstraps === true),
      conclude: (error, attemptStartedMs) => conclude(host, error, document, attemptStartedMs),
      reporter,
    });
    if (failed !== undefined) return failed;
    if (request.command === 'prepare') {
      const before = await readPrepared(host);
      await writePrepared(
        host,
        preparedBy({ document, facts, agentVersion: request.agentVersion }, made, journal.state(), before),
      );
      return { outcome: 'Succeeded', exit: 'Success' };
    }
  } finally {
    clearTimeout(timer);
  }
  // The node works: later failures do not change that.
  reporter.bootstrapped();
  try {
    await runSteps(pipeline.afterBootstrap, { ...options, signal: request.signal });
  } catch (error) {
    const ended = await conclude(host, error, document, startedMs);
    if (ended.outcome !== 'Failed') return { ...ended, afterHooks: 'Interrupted' };
    return { ...ended, outcome: 'Succeeded', exit: 'AfterHookFailed', afterHooks: 'Failed' };
  }
  reporter.phase('Concluding');
  const hasHooks = model.host.hooks.afterBootstrap !== undefined;
  return { outcome: 'Succeeded', exit: 'Success', ...(hasHooks ? { afterHooks: 'Succeeded' as const } : {}) };
}
