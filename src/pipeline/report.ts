import { MachineadmError } from '@machineadm/document/errors.ts';
import type { LoadedDocument } from '@machineadm/document/load.ts';
import type { LocalSinkModel } from '@machineadm/document/model.ts';
import { acquireLock, type Lock } from '../host/files/lock.ts';
import { LOCK_PATH } from '../host/files/paths.ts';
import { gatherFacts, openHost } from '../host/index.ts';
import type { Host } from '../host/seam/host.ts';
import { deliverAll } from '../reporting/delivery/deliver.ts';
import { sendToLocalSink } from '../reporting/delivery/local.ts';
import { untilTaken } from '../reporting/delivery/retry-window.ts';
import { parseStatus } from '../reporting/parse-status.ts';
import { isLocal, isRemote } from '../reporting/remote/registry.ts';
import { systemClock } from '../reporting/reporter.ts';
import { type SinkPlan, STAGED_SECRETS } from '../reporting/spool/serialized-plan.ts';
import { Spool } from '../reporting/spool/spool.ts';
import type { RunStatus, SinkReport } from '../reporting/status.ts';
import { readStatus } from '../reporting/status-file.ts';
import { STATUS_PATHS, writeStatus } from '../reporting/status-writer.ts';
import { openDocument } from './load.ts';
import { refuseUnlessRoot } from './preflight.ts';

/** Of the process that delivers: there is one at a time. */
const DELIVERER_LOCK = '/run/machineadm/report.lock';
/**
 * What a deliverer may take beyond its time, to tell others of a sink in trouble: the one that a run starts at its end waits for
 * the one of its beginning, and must not give up just before that ends.
 */
const DELIVERER_LOCK_GRACE_MS = 15_000;
/** How long a run that just concluded may still hold its lock. */
const RUN_LOCK_PATIENCE_MS = 3_000;

export interface FlushRequest {
  /** How long to go on trying. */
  readonly withinMs: number;
  /** How long after that to make the tries that fall due, in between letting others deliver. */
  readonly lingerMs: number;
  /** Told in words for people what is not as it was asked for. */
  readonly onNotice: (message: string) => void;
  /** Documents whose sinks take the place of what the spool knows of them; none: the spool's own. */
  readonly sources: readonly string[];
  readonly agentVersion: string;
  readonly signal: AbortSignal;
}

/**
 * Sends what waits in the spool, notes in the status file how far it came, and forgets sinks that have all. Throws
 * `Locked` where another process delivers all that time, and `NotPrivilegedUser`.
 */
export async function flush(request: FlushRequest): Promise<readonly SinkReport[]> {
  const host = openHost({ runId: 'report' });
  const facts = await gatherFacts(host);
  refuseUnlessRoot(facts);
  const plans = await plansOfDocument(request);
  const spool = new Spool(host);
  const reports = new Map<string, SinkReport>();
  await untilTaken(async (withinMs, only) => {
    const lock =
      only === undefined
        ? await acquireLock(DELIVERER_LOCK, withinMs + DELIVERER_LOCK_GRACE_MS)
        : await lockWithin(DELIVERER_LOCK, 0);
    if (lock === undefined) return undefined;
    try {
      const delivered = await deliverAll({
        spool,
        plans,
        hostFor: (network) => openHost({ runId: 'report', network: () => network, signal: request.signal }),
        machine: { machineId: facts.machineId, bootId: facts.bootId },
        withinMs,
        only,
        signal: request.signal,
        tellLocal: (sinks, message) => tellLocal(host, sinks, message),
        clock: systemClock,
      });
      await noteReports(host, spool, delivered.reports);
      for (const report of delivered.reports) reports.set(report.sink, report);
      return delivered.due;
    } finally {
      lock.release();
    }
  }, request);
  return [...reports.values()];
}

/** What waits was said by a document that was right: one that is wrong now, or gone, must not hold it back. */
async function plansOfDocument({ sources, agentVersion, onNotice }: FlushRequest): Promise<readonly SinkPlan[]> {
  if (sources.length === 0) return [];
  let document: LoadedDocument;
  try {
    document = await openDocument(sources, agentVersion, { forThisMachine: true, isTrusted: true });
  } catch (error) {
    if (!(error instanceof MachineadmError)) throw error;
    onNotice(`the sinks are those of the runs themselves, as ${error.message}`);
    return [];
  }
  const { model } = document;
  const { proxy, certificateAuthorities } = model.host;
  const local = model.reporting.sinks.filter(isLocal);
  const network = { proxy, certificateAuthorities };
  return model.reporting.sinks.filter(isRemote).map((sink) => ({ model: sink, network, local }));
}

/** Says in the status file what became of the reports, and lets go of what no event needs any more. */
async function noteReports(host: Host, spool: Spool, reports: readonly SinkReport[]): Promise<void> {
  if (reports.length === 0) return;
  const lock = await lockWithin(LOCK_PATH, RUN_LOCK_PATIENCE_MS);
  // A run goes on: its own deliverer will say it at its end.
  if (lock === undefined) return;
  try {
    const current = await Promise.all(reports.map((report) => recounted(report, spool)));
    await patchStatus(host, current);
    for (const { sink, pending } of current) if (pending === 0) await spool.forget(sink);
    // Others may wait that were not tried now.
    if ((await spool.plans()).size > 0) return;
    for (const name of (await host.list(STAGED_SECRETS)) ?? []) await host.removeFile(`${STAGED_SECRETS}/${name}`);
  } finally {
    lock.release();
  }
}

/**
 * What a run spooled while other sinks were tried still: without its plan nobody would deliver it. The deliverer that the
 * run started for it waits for this one to end.
 */
async function recounted(report: SinkReport, spool: Spool): Promise<SinkReport> {
  const pending = (await spool.waiting(report.sink)).length;
  if (pending === 0 || report.pending > 0) return { ...report, pending };
  return { ...report, pending, state: 'Pending', message: report.message ?? 'it was not tried yet' };
}

/** undefined = somebody else has it all that time. */
async function lockWithin(path: string, patienceMs: number): Promise<Lock | undefined> {
  try {
    return await acquireLock(path, patienceMs);
  } catch (error) {
    if (error instanceof MachineadmError && error.reason === 'Locked') return undefined;
    throw error;
  }
}

async function patchStatus(host: Host, reports: readonly SinkReport[]): Promise<void> {
  for (const path of [STATUS_PATHS.current, STATUS_PATHS.copy]) {
    const text = await host.readText(path);
    const status = statusIn(text);
    if (status === undefined) continue;
    const named = new Set(reports.map(({ sink }) => sink));
    const others = (status.reports ?? []).filter(({ sink }) => !named.has(sink));
    // A status that cannot be written is no reason to send the events again.
    await writeStatus(host, path, { ...status, reports: [...others, ...reports] }).catch(() => undefined);
  }
}

function statusIn(text: string | undefined): RunStatus | undefined {
  try {
    return text === undefined ? undefined : parseStatus(text, 'the status file');
  } catch {
    return undefined;
  }
}

async function tellLocal(host: Host, models: readonly LocalSinkModel[], message: string): Promise<void> {
  const status = await readStatus().catch(() => undefined);
  if (status === undefined) return;
  await Promise.all(models.map((model) => sendToLocalSink(host, model, { kind: 'warning', message, status })));
}
