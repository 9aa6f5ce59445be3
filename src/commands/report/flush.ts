import type { LoadedDocument } from '@machineadm/document/loading/load.ts';
import type { LocalSinkModel } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { exitCode } from '@machineadm/document/outcomes/exit-codes.ts';
import { RUN_DIRECTORY } from '@machineadm/document/ownership/paths.ts';
import { oneLine } from '@machineadm/document/text/printable.ts';
import type { RunStatus, SinkReport } from '@machineadm/status/status.ts';
import { buildInfo } from '../../cli/build-info.ts';
import { durationOf } from '../../cli/duration.ts';
import { table } from '../../cli/layout.ts';
import { type OutputFormat, printData, printNotice, printText } from '../../cli/output.ts';
import { untilSignal } from '../../cli/until-signal.ts';
import { LOCK_PATH } from '../../host/files/paths.ts';
import { gatherFacts, openHost } from '../../host/index.ts';
import { acquireLock, type Lock } from '../../host/processes/lock.ts';
import type { Host } from '../../host/seam/host.ts';
import { openDocument } from '../../pipeline/load.ts';
import { refuseUnlessRoot } from '../../pipeline/preflight.ts';
import { deliverAll } from '../../reporting/delivery/deliver.ts';
import { sendToLocalSink } from '../../reporting/delivery/local.ts';
import { type RetryWindow, untilTaken } from '../../reporting/delivery/retry-window.ts';
import { parseStatus } from '../../reporting/parse-status.ts';
import { isLocal, isRemote } from '../../reporting/remote/registry.ts';
import { systemClock } from '../../reporting/reporter.ts';
import { type SinkPlan, STAGED_SECRETS } from '../../reporting/spool/serialized-plan.ts';
import { Spool } from '../../reporting/spool/spool.ts';
import { readStatus } from '../../reporting/status-file.ts';
import { STATUS_PATHS, writeStatus } from '../../reporting/status-writer.ts';

/** The lock of the delivering process: there is only one at a time. */
const DELIVERER_LOCK = `${RUN_DIRECTORY}/report.lock`;
/**
 * Additional time for reporting problems of a sink: a run's second deliverer waits for the first, and must not give up
 * just before that one ends.
 */
const DELIVERER_LOCK_GRACE_MS = 60_000;
/** How long to wait for a run's lock before the delivery state is left for that run's own deliverer to record. */
const RUN_LOCK_PATIENCE_MS = 3_000;
/**
 * The same for the deliverer that a concluding run started, which nobody records for: on a busy machine that run takes
 * some time to end. Less than the grace of another deliverer, which waits for this one.
 */
const CONCLUDING_RUN_PATIENCE_MS = 12_000;

export interface ReportFlushOptions {
  /** Documents whose sinks replace the plans in the spool; absent: the spool's own. */
  readonly document?: readonly string[];
  readonly output: OutputFormat;
  readonly timeout: string;
  /** How long to make retries that become due after that, while other deliverers may run in between. */
  readonly linger: string;
}

/** `machineadm report flush`: delivers the reports that are waiting. */
export async function reportFlush(options: ReportFlushOptions): Promise<number> {
  const withinMs = durationOf('--timeout', options.timeout);
  const lingerMs = durationOf('--linger', options.linger);
  const reports = await untilSignal((signal) => flush({ withinMs, lingerMs, signal }, options.document ?? []));
  if (options.output !== 'text') await printData(options.output, 'ReportFlush', { reports });
  else if (reports.length === 0) printText('nothing waits');
  else {
    const rows = reports.map(({ sink, target, state, pending, message }) => [
      sink,
      state,
      pending === 0 ? '' : `${pending} waiting`,
      target,
      oneLine(message ?? ''),
    ]);
    printText(table(['SINK', 'STATE', '', 'TARGET', ''], rows));
  }
  const isSettled = ({ pending, state }: SinkReport): boolean =>
    pending === 0 && state !== 'Lost' && state !== 'Unreadable';
  return exitCode(reports.every(isSettled) ? 'Success' : 'DifferencesFound');
}

/**
 * Delivers the events in the spool, records the progress in the status file, and removes sinks without pending events.
 * Throws `Locked` where another process delivers during all that time, and `NotPrivilegedUser`.
 */
async function flush(window: RetryWindow, sources: readonly string[]): Promise<readonly SinkReport[]> {
  const { lingerMs, signal } = window;
  const host = openHost({ runId: 'report' });
  const facts = await gatherFacts(host);
  refuseUnlessRoot(facts);
  const plans = await plansOfDocument(sources);
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
        hostFor: (network) => openHost({ runId: 'report', network: () => network, signal }),
        machine: { machineId: facts.machineId, bootId: facts.bootId },
        withinMs,
        only,
        signal,
        tellLocal: (sinks, message) => tellLocal(host, sinks, message),
        clock: systemClock,
      });
      const patienceMs = lingerMs > 0 ? CONCLUDING_RUN_PATIENCE_MS : RUN_LOCK_PATIENCE_MS;
      await noteReports(host, spool, delivered.reports, patienceMs);
      for (const report of delivered.reports) reports.set(report.sink, report);
      return delivered.due;
    } finally {
      lock.release();
    }
  }, window);
  return [...reports.values()];
}

/** Spooled events come from a valid document: an invalid or missing document must not hold them back. */
async function plansOfDocument(sources: readonly string[]): Promise<readonly SinkPlan[]> {
  if (sources.length === 0) return [];
  let document: LoadedDocument;
  try {
    document = await openDocument(sources, buildInfo().version, { forThisMachine: true, distrust: 'refuse' });
  } catch (error) {
    if (!(error instanceof MachineadmError)) throw error;
    printNotice(`the sinks are those of the runs themselves, as ${error.message}`);
    return [];
  }
  const { model } = document;
  const { proxy, certificateAuthorities } = model.host;
  const local = model.reporting.sinks.filter(isLocal);
  const network = { proxy, certificateAuthorities };
  return model.reporting.sinks.filter(isRemote).map((sink) => ({ model: sink, network, local }));
}

/** Updates the delivery state in the status file, and removes plans that no event needs any more. */
async function noteReports(
  host: Host,
  spool: Spool,
  reports: readonly SinkReport[],
  patienceMs: number,
): Promise<void> {
  if (reports.length === 0) return;
  const lock = await lockWithin(LOCK_PATH, patienceMs);
  // A run is active: its own deliverer updates the status at its end.
  if (lock === undefined) return;
  try {
    const current = await Promise.all(reports.map((report) => recounted(report, spool)));
    await patchStatus(host, current);
    for (const { sink, pending } of current) if (pending === 0) await spool.forget(sink);
    // Other sinks that were not tried now may have pending events.
    if ((await spool.plans()).size > 0) return;
    for (const name of (await host.list(STAGED_SECRETS)) ?? []) await host.removeFile(`${STAGED_SECRETS}/${name}`);
  } finally {
    lock.release();
  }
}

/**
 * Events that a run spooled during this delivery: without their plan they could not be delivered. The deliverer that
 * the run started waits for this one to end.
 */
async function recounted(report: SinkReport, spool: Spool): Promise<SinkReport> {
  const pending = (await spool.waiting(report.sink)).length;
  if (pending === 0 || report.pending > 0) return { ...report, pending };
  return { ...report, pending, state: 'Pending', message: report.message ?? 'it was not tried yet' };
}

/** undefined = another process held the lock all that time. */
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
