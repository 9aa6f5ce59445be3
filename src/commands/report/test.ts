import { randomUUID } from 'node:crypto';
import type { LoadedDocument } from '@machineadm/document/loading/load.ts';
import type { LocalSinkModel, RemoteSinkModel } from '@machineadm/document/model/index.ts';
import { exitCode } from '@machineadm/document/outcomes/exit-codes.ts';
import { redact } from '@machineadm/document/redaction/process-redactor.ts';
import { oneLine } from '@machineadm/document/text/printable.ts';
import { formatDuration } from '@machineadm/document/text/units.ts';
import { reportEvent } from '@machineadm/status/event.ts';
import { advance, begin, machineOf } from '@machineadm/status/run-state.ts';
import type { RunEvent } from '@machineadm/status/status.ts';
import { buildInfo } from '../../cli/build-info.ts';
import { table } from '../../cli/layout.ts';
import type { DocumentOptions } from '../../cli/options.ts';
import { printData, printText } from '../../cli/output.ts';
import { untilSignal } from '../../cli/until-signal.ts';
import { gatherFacts, openHost } from '../../host/index.ts';
import { ownProcess } from '../../host/processes/identity.ts';
import type { Facts } from '../../host/seam/facts.ts';
import type { Host } from '../../host/seam/host.ts';
import { openDocument } from '../../pipeline/load.ts';
import { refuseUnlessRoot } from '../../pipeline/preflight.ts';
import { sinkContext } from '../../reporting/delivery/context.ts';
import { sendToLocalSink } from '../../reporting/delivery/local.ts';
import { separateSink } from '../../reporting/delivery/separate-sink.ts';
import { attempt } from '../../reporting/delivery/sink-delivery.ts';
import { isRemote } from '../../reporting/remote/registry.ts';
import { systemClock } from '../../reporting/reporter.ts';

/** `machineadm report test`: sends a test report to each sink. */
export async function reportTest(options: DocumentOptions & { readonly sink?: readonly string[] }): Promise<number> {
  const { document: sources, sink: sinks = [] } = options;
  const tests = await untilSignal((signal) => testSinks(sources, sinks, signal));
  if (options.output !== 'text') await printData(options.output, 'ReportTest', { sinks: tests });
  else if (tests.length === 0) printText('the document has no sinks');
  else {
    const rows = tests.map(({ sink, result, durationMs, target, message }) => [
      sink,
      result,
      formatDuration(durationMs),
      target,
      oneLine(message ?? ''),
    ]);
    printText(table(['SINK', 'RESULT', 'TOOK', 'TARGET', ''], rows));
  }
  return exitCode(tests.every(({ result }) => result === 'Taken') ? 'Success' : 'DifferencesFound');
}

/** The result of a test event for one sink. */
interface SinkTest {
  readonly sink: string;
  readonly type: string;
  readonly target: string;
  readonly result: 'Taken' | 'Refused' | 'Failed';
  readonly durationMs: number;
  readonly message?: string;
}

/**
 * Sends one event marked as a test to every sink of a document, without the spool. Read-only on this machine. Throws
 * the errors of loading the document, and `NotPrivilegedUser`.
 */
async function testSinks(
  sources: readonly string[],
  sinks: readonly string[],
  signal: AbortSignal,
): Promise<readonly SinkTest[]> {
  const { version: agentVersion } = buildInfo();
  const facts = await gatherFacts(openHost({ runId: 'report' }));
  refuseUnlessRoot(facts);
  const document = await openDocument(sources, agentVersion, { forThisMachine: true, distrust: 'refuse', sinks });
  const { model } = document;
  const host = openHost({ runId: 'report', network: () => model.host, signal });
  const event = testEvent(document, facts, agentVersion);
  return await Promise.all(
    model.reporting.sinks.map((sink) =>
      isRemote(sink) ? testRemote(sink, document, host, event, signal) : testLocal(sink, host, event),
    ),
  );
}

function testEvent({ model, digest }: LoadedDocument, facts: Facts, agentVersion: string): RunEvent {
  const { machineId, bootId, hostname } = facts;
  const identity = { machineId, bootId, hostname };
  const at = systemClock();
  const began = begin(
    { command: 'provision', runId: `test-${randomUUID()}`, agentVersion, host: identity, process: ownProcess() },
    at,
  );
  const subject = { machine: machineOf(model.metadata), documentSha256: digest, attempt: 1, bootstrapped: false };
  const status = advance(began, { kind: 'identified', subject }, at);
  return { kind: 'warning', message: 'a test of this sink: nothing happened', status };
}

async function testRemote(
  model: RemoteSinkModel,
  { model: { host: network } }: LoadedDocument,
  host: Host,
  event: RunEvent,
  signal: AbortSignal,
): Promise<SinkTest> {
  const sink = await separateSink({ model, network, local: [] });
  const { context, close } = sinkContext(network, host);
  const began = performance.now();
  const report = { ...reportEvent(event, 1, systemClock()), test: true as const };
  const result = await attempt(report, { sink, timeoutMs: model.timeoutMs, context, signal }, model.timeoutMs);
  const durationMs = Math.round(performance.now() - began);
  await sink.close?.().catch(() => undefined);
  await close();
  const told = { sink: model.name, type: model.kind, target: sink.target, durationMs };
  if (result.kind === 'delivered') return { ...told, result: 'Taken' };
  return { ...told, result: result.kind === 'refused' ? 'Refused' : 'Failed', message: redact(result.why) };
}

async function testLocal(model: LocalSinkModel, host: Host, event: RunEvent): Promise<SinkTest> {
  const began = performance.now();
  const message = await sendToLocalSink(host, model, event);
  const durationMs = Math.round(performance.now() - began);
  const target = model.kind === 'Console' ? model.device : 'this machine';
  const told = { sink: model.kind, type: model.kind, target, durationMs };
  return message === undefined ? { ...told, result: 'Taken' } : { ...told, result: 'Failed', message: redact(message) };
}
