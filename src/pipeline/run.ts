import { randomUUID } from 'node:crypto';
import { resolve } from 'node:path';
import type { LoadedDocument } from '@machineadm/document/loading/load.ts';
import { exitCode } from '@machineadm/document/outcomes/exit-codes.ts';
import type { RunStatus } from '@machineadm/status/status.ts';
import { wipeKubeadmConfig } from '../features/kubeadm/wipe.ts';
import { LOCK_PATH } from '../host/files/paths.ts';
import { endOrphans, gatherFacts, type NetworkSettings, openHost, openQueryHost, requireLinux } from '../host/index.ts';
import { ownProcess } from '../host/processes/identity.ts';
import { acquireLock } from '../host/processes/lock.ts';
import type { Facts } from '../host/seam/facts.ts';
import type { Host } from '../host/seam/host.ts';
import { forgetUnusedKeys } from '../host/secrets/sealed-files.ts';
import { ownOutput } from '../host/services/own-output.ts';
import { openReporter, type Reporter } from '../reporting/reporter.ts';
import { bootstrappedSince } from '../reporting/status-file.ts';
import { STATUS_PATHS } from '../reporting/status-writer.ts';
import { bootTimeline, processStartMs } from '../reporting/timeline.ts';
import { wipeScript } from '../shell/single-script.ts';
import { type Conclusion, conclude } from './conclusion.ts';
import { bakingHost } from './image.ts';
import { isBootstrapped, type JournalState } from './journal.ts';
import { stepsFor } from './pipeline.ts';
import { desiredOf } from './plan-step.ts';
import { refuseUnlessRoot } from './preflight.ts';
import { removeBakeState } from './prepared.ts';
import { arrangeResume, type RebootResume, rebootIfOurs } from './reboot-resume.ts';
import { asRefusal } from './refusal.ts';
import { type CheckedRun, checkRun, type RunRequest, scopeOf } from './run-check.ts';
import { peekJournal, type RunJournal } from './run-journal.ts';
import { type OpenRun, perform } from './run-perform.ts';
import { beginJournal, recordConclusion } from './run-record.ts';
import { attachReporting } from './run-reporting.ts';

/** The deliverer of an earlier run's reports holds the lock briefly while it records its progress. */
const LOCK_PATIENCE_MS = 500;

/**
 * The story of a run: lock, check, open, perform, conclude. Never throws for what can go wrong on a machine; the status
 * says how it ended. Throws refusals that must not change what was reported before: `NotPrivilegedUser`, `Locked`,
 * `JournalUnreadable`, and any refusal on a machine that is already bootstrapped.
 */
export async function run(request: RunRequest): Promise<RunStatus> {
  if (request.command !== 'provision') requireLinux(`machineadm ${request.command}`);
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
  const checked = await checkRun(request, host, facts, before);
  network = checked.network;
  // A refusal changes nothing, and what was reported about a working machine stays true.
  if (!checked.ok && (checked.known.bootstrappedFrom !== undefined || isBootstrapped(checked.known, checked.document)))
    throw checked.error;
  const reporter = await openReporting(request, runId, facts, host, checked);
  const open: OpenRun = { request, runId, facts, host, reporter };
  const performed = await performChecked(open, checked, before, startedMs);
  // A step that did not stop in time may still wait for a service, and keep this process alive.
  ended.abort();
  await concludeRun(open, performed);
  return reporter.status;
}

/** Opens the status file and the log, and the sinks of the document where it could be loaded. */
async function openReporting(
  request: RunRequest,
  runId: string,
  facts: Facts,
  host: Host,
  { document, known }: CheckedRun,
): Promise<Reporter> {
  const since = await bootstrappedSince();
  const output = await ownOutput(host);
  const { command, agentVersion, sources, onEvent, onShown } = request;
  const reporter = await openReporter({
    identity: {
      command,
      runId,
      agentVersion,
      host: { machineId: facts.machineId, bootId: facts.bootId, hostname: facts.hostname },
      process: ownProcess(),
      sources: sources.map((source) => (source === '-' ? source : resolve(source))),
    },
    host,
    shownInJournal: output !== 'elsewhere',
    ...(onEvent === undefined ? {} : { onEvent }),
    ...(onShown === undefined ? {} : { onShown }),
  });
  reporter.timeline(await bootTimeline(host, processStartMs()));
  if (document !== undefined) attachReporting(reporter, host, document, known, since, output);
  return reporter;
}

/** How a run ended, with its journal and what resumes it after a reboot, as far as it came to these. */
interface Performed {
  readonly conclusion: Conclusion;
  readonly journal: RunJournal | undefined;
  readonly resume: RebootResume | undefined;
}

async function performChecked(
  open: OpenRun,
  checked: CheckedRun,
  before: JournalState | undefined,
  startedMs: number,
): Promise<Performed> {
  const { request, facts, host, reporter } = open;
  let journal: RunJournal | undefined;
  let resume: RebootResume | undefined;
  try {
    if (!checked.ok) throw checked.error;
    const { document, known, warnings } = checked;
    await endOrphans(host, before?.unfinishedRuns ?? new Set());
    journal = await beginJournal(open, checked);
    for (const warning of warnings) reporter.warn(warning);
    if (known.open !== undefined) reporter.warn('the run before this one was killed; it is resumed');
    if (request.command === 'prepare') warnOfLeft(document, reporter);
    reporter.planned(plannedSteps(request, document, journal, facts));
    resume = await arrangeResume(host, facts, request);
    return { conclusion: await perform(open, document, journal), journal, resume };
  } catch (error) {
    return { conclusion: await conclude(host, error, checked.document, startedMs), journal, resume };
  }
}

function warnOfLeft({ unresolved }: LoadedDocument, reporter: Reporter): void {
  for (const path of unresolved) reporter.warn(`${path} depends on a variable of the machine: left to provision`);
}

function plannedSteps(
  request: RunRequest,
  { model }: LoadedDocument,
  { record }: Pick<RunJournal, 'record'>,
  facts: Facts,
): string[] {
  return stepsFor(scopeOf(request), model.host.platform)
    .filter((step) => desiredOf(step, model, facts, record) !== undefined)
    .map((step) => step.id);
}

async function concludeRun(
  { request, runId, facts, host, reporter }: OpenRun,
  { conclusion, journal, resume }: Performed,
): Promise<void> {
  const warn = (message: string): void => reporter.warn(message);
  const { outcome, exit, failure, afterHooks } = conclusion;
  if (outcome === 'Succeeded' && request.command !== 'prepare') {
    // No use is left for these, and they may hold secrets.
    await wipeKubeadmConfig(host, warn);
    // A hook that failed after the bootstrap runs again, in the shell of its script.
    if (exit === 'Success') await wipeScript(host);
  }
  if (request.command !== 'prepare') await forgetUnusedKeys(host).catch(() => {});
  await resume?.concluded(outcome, warn);
  if (journal !== undefined) recordConclusion(journal, runId, conclusion, warn);
  await reporter.conclude({
    outcome,
    exitCode: exitCode(exit),
    ...(failure === undefined ? {} : { failure }),
    ...(afterHooks === undefined ? {} : { afterHooks }),
  });
  await reporter.close();
  if (journal !== undefined && outcome === 'Succeeded' && request.command === 'prepare')
    await removeBakeState(host, journal.state(), STATUS_PATHS.copy);
  await rebootIfOurs(host, facts, request, conclusion);
}
