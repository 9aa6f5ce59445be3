import { formatDiagnostic } from '@machineadm/document/diagnostics/index.ts';
import type { LoadedDocument } from '@machineadm/document/loading/load.ts';
import type { ReportingModel } from '@machineadm/document/model/index.ts';
import { machineOf } from '@machineadm/status/run-state.ts';
import { startInBackground } from '../host/processes/background.ts';
import { selfCommand } from '../host/processes/identity.ts';
import type { Host } from '../host/seam/host.ts';
import type { OwnOutput } from '../host/services/own-output.ts';
import { RETRY_WINDOW_MS } from '../reporting/delivery/retry-window.ts';
import { Outbox } from '../reporting/outbox.ts';
import { isLocal, isRemote } from '../reporting/remote/registry.ts';
import type { Reporter } from '../reporting/reporter.ts';
import { withoutTrouble } from '../reporting/sink.ts';
import { consoleSink } from '../reporting/sinks/console.ts';
import { sinksOf } from '../reporting/sinks/index.ts';
import { Spool } from '../reporting/spool/spool.ts';
import { isBootstrapped, type JournalState } from './journal.ts';

/** Time limit of the first deliverer: the one at the end waits for it. */
const DURING_RUN_MS = 10_000;
/** The longest time that a deliverer may exceed its limit: it starts what sends, and a resolver that does not answer delays its end. */
const DELIVERER_GRACE_MS = 180_000;

/** Where systemd prints the output of a unit with `journal+console`. */
const CONSOLE = '/dev/console';

/** Attaches the reporter to a run once its document is loaded: the identity and the sinks. */
export function attachReporting(
  reporter: Reporter,
  host: Host,
  document: LoadedDocument,
  known: JournalState,
  since: string | undefined,
  output: OwnOutput,
): void {
  const { model, digest } = document;
  reporter.identify({
    machine: machineOf(model.metadata),
    documentSha256: digest,
    ...(reporter.status.command === 'prepare' ? {} : { apply: model.apply }),
    attempt: known.attempts + 1,
    bootstrapped: isBootstrapped(known, document),
    bootstrappedSince: since,
  });
  const { sinks, deadlineMs } = model.reporting;
  const local = sinks.filter(isLocal);
  const opened = sinksOf(local, host);
  // Events in the journal are not printed: the console of such a unit would otherwise be silent.
  const isSilent =
    local.some(({ kind }) => kind === 'Journal') &&
    !local.some((sink) => sink.kind === 'Console' && sink.device === CONSOLE);
  const console = output === 'journal and console' && isSilent ? [withoutTrouble(consoleSink(CONSOLE))] : [];
  reporter.useSinks([...opened, ...console], deadlineMs);
  // No sink waits for reports of an image build, and a spool in an image would be copied to every machine.
  if (reporter.status.command !== 'prepare' && sinks.some(isRemote))
    reporter.useOutbox(outboxOf(model.reporting, document, host, reporter));
  for (const warning of document.warnings) reporter.warn(formatDiagnostic(warning));
}

function outboxOf(
  { sinks, deadlineMs }: ReportingModel,
  { model }: LoadedDocument,
  host: Host,
  reporter: Reporter,
): Outbox {
  const { proxy, certificateAuthorities } = model.host;
  const local = sinks.filter(isLocal);
  return new Outbox({
    plans: sinks.filter(isRemote).map((sink) => ({ model: sink, network: { proxy, certificateAuthorities }, local })),
    spool: new Spool(host),
    host,
    startDeliverer: (last) => startDeliverer(reporter.status.runId, deadlineMs, last),
    onTrouble: (message) => reporter.warn(message),
  });
}

let started = 0;

async function startDeliverer(runId: string, deadlineMs: number, last: boolean): Promise<void> {
  started += 1;
  const withinMs = last ? deadlineMs : Math.min(deadlineMs, DURING_RUN_MS);
  const lingerMs = last ? RETRY_WINDOW_MS : 0;
  await startInBackground({
    name: `machineadm-report-${runId}-${started}`,
    description: 'Deliver the reports of machineadm',
    command: [...selfCommand(), 'report', 'flush', '--within', `${withinMs}ms`, '--linger', `${lingerMs}ms`],
    longestMs: withinMs + lingerMs + DELIVERER_GRACE_MS,
  });
}
