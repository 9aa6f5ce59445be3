import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { type LoadedDocument, loadDocument } from '@machineadm/document/loading/load.ts';
import type { ReadyModel, RemoteSinkModel } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { exitCode } from '@machineadm/document/outcomes/exit-codes.ts';
import { redact } from '@machineadm/document/redaction/process-redactor.ts';
import { oneLine } from '@machineadm/document/text/printable.ts';
import type { ReportCondition } from '@machineadm/status/event.ts';
import { machineOf } from '@machineadm/status/run-state.ts';
import { buildInfo } from '../../cli/build-info.ts';
import { durationOf } from '../../cli/duration.ts';
import { printNotice, printText } from '../../cli/output.ts';
import { untilSignal } from '../../cli/until-signal.ts';
import { openHost, openQueryHost, requireLinux } from '../../host/index.ts';
import { bootId, machineId } from '../../host/machine/identity.ts';
import { mayReadAllFiles } from '../../host/processes/read-right.ts';
import { probeNode } from '../../kubernetes/node-health.ts';
import type { NodeReadiness } from '../../kubernetes/readiness.ts';
import { DocumentError, openDocument } from '../../pipeline/load.ts';
import { refuseUnlessRoot } from '../../pipeline/preflight.ts';
import { sinkContext } from '../../reporting/delivery/context.ts';
import { isRemote, remoteSinkOf } from '../../reporting/remote/registry.ts';
import { systemClock } from '../../reporting/reporter.ts';
import { LatestDelivery } from '../../reporting/watch/latest-delivery.ts';
import { NOTHING_SEEN, type Observation, observed } from '../../reporting/watch/node-health.ts';
import { type WatchIdentity, watchEvent } from '../../reporting/watch/watch-event.ts';

export interface WatchOptions {
  /** Documents with the sinks to report to; absent: the machine's own Node. */
  readonly document?: readonly string[];
  /** The pause between two checks. */
  readonly interval: string;
  /** After this time an unchanged state is reported again: a recreated Node has lost it. */
  readonly repeat: string;
  /** The definition of healthy. */
  readonly require: ReadyModel['require'];
  /** The path of the boot id: in a container that runs in a machine that is one, /proc shows another. */
  readonly bootIdFile: string;
}

interface Watch extends WatchOptions {
  readonly intervalMs: number;
  readonly repeatMs: number;
  /** Ends the watch. */
  readonly signal: AbortSignal;
}

/** With a shorter interval, watching would itself be load on the node. */
const SHORTEST_INTERVAL_MS = 1_000;

/** `machineadm report watch`: prints a line for each change until SIGTERM or Ctrl-C. */
export async function reportWatch(options: WatchOptions): Promise<number> {
  const intervalMs = durationOf('--interval', options.interval, SHORTEST_INTERVAL_MS);
  const repeatMs = durationOf('--repeat', options.repeat, SHORTEST_INTERVAL_MS);
  await untilSignal((signal) => watchNode({ ...options, intervalMs, repeatMs, signal }));
  return exitCode('Success');
}

function printChange({ lastTransitionTime, status, reason, message }: ReportCondition): void {
  const why = message === '' ? '' : `: ${oneLine(message)}`;
  printText(redact(`${lastTransitionTime} NodeHealthy=${status} (${reason})${why}`));
}

type OwnIdentity = WatchIdentity['host'];

/** The random part of a pause, so that machines that started together do not stay synchronised. */
const JITTER = 0.2;

/**
 * Checks repeatedly whether this machine's node works, and reports changes to its sinks, until `signal` is aborted.
 * Independent of the bootstrap: needs neither its document nor its journal. Throws the errors of loading the document,
 * `NotPrivilegedUser`, and `DocumentInvalid` where no sink takes these events.
 */
async function watchNode(watch: Watch): Promise<void> {
  const { signal, intervalMs, repeatMs, require } = watch;
  requireLinux('machineadm report watch');
  const host = openQueryHost();
  // The unit runs it as a user of its own, who reads the kubelet's credential by this right.
  refuseUnlessRoot({ isRoot: mayReadAllFiles() });
  const own = { hostname: hostname(), machineId: await machineId(), bootId: await bootId(watch.bootIdFile) };
  const document = await documentOf(watch.document, own);
  const identity = identityOf(document, own);
  const open = await openDeliveries(document, signal);
  let health = NOTHING_SEEN;
  let sequence = 0;
  let toldMs = Number.NEGATIVE_INFINITY;
  try {
    while (!signal.aborted) {
      const before = health.condition;
      health = observed(health, observationOf(await probeNode(host, own, require, signal)), systemClock());
      const { condition } = health;
      const isNews = condition !== before;
      if (condition !== undefined && (isNews || performance.now() - toldMs >= repeatMs)) {
        if (isNews) printChange(condition);
        sequence += 1;
        toldMs = performance.now();
        const event = watchEvent(identity, condition, sequence, systemClock());
        for (const { delivery } of open) delivery.offer(event);
      }
      await sleep(intervalMs * (1 - JITTER / 2 + JITTER * Math.random()), undefined, { signal });
    }
  } catch (error) {
    // Errors of work that an abort interrupted are ignored.
    if (!signal.aborted) throw error;
  } finally {
    await Promise.all(open.map(async ({ delivery }) => await delivery.idle()));
    await Promise.all(open.map(async ({ close }) => await close()));
  }
}

async function documentOf(sources: WatchOptions['document'], { hostname }: OwnIdentity): Promise<LoadedDocument> {
  const { version: agentVersion } = buildInfo();
  if (sources !== undefined)
    return await openDocument(sources, agentVersion, { forThisMachine: true, distrust: 'refuse' });
  const text = JSON.stringify({
    apiVersion: 'machineadm.dev/v1alpha1',
    kind: 'MachineBootstrap',
    metadata: { name: hostname },
    reporting: { sinks: [{ type: 'Node' }] },
  });
  const result = await loadDocument([{ name: 'no document', bytes: Buffer.from(text) }], { agentVersion });
  if (!result.ok) throw new DocumentError(result.reason, result.problems);
  return result.document;
}

function identityOf({ model, digest }: LoadedDocument, own: OwnIdentity): WatchIdentity {
  return {
    runId: randomUUID(),
    agent: { version: buildInfo().version },
    machine: machineOf(model.metadata),
    host: own,
    document: { sha256: digest },
  };
}

async function openDeliveries({ model }: LoadedDocument, signal: AbortSignal) {
  const told = model.reporting.sinks.filter(isRemote).filter(({ events }) => events.includes('readinessChanged'));
  if (told.length === 0) throw noSinkForWatch();
  const host = openHost({ runId: 'watch', network: () => model.host, signal });
  return await Promise.all(
    told.map(async (sinkModel: RemoteSinkModel) => {
      const { context, close } = sinkContext(model.host, host);
      const sink = await remoteSinkOf(sinkModel);
      const { name, timeoutMs } = sinkModel;
      const delivery = new LatestDelivery({ name, sink, timeoutMs, context, signal, onNews: printNotice });
      return {
        delivery,
        close: async (): Promise<void> => {
          await sink.close?.().catch(() => undefined);
          await close();
        },
      };
    }),
  );
}

function observationOf(finding: NodeReadiness): Observation {
  if (finding.ready) return { healthy: true, reason: 'NodeWorks', why: '', unknown: false };
  return { healthy: false, reason: finding.reason, why: finding.why, unknown: finding.reason === 'NodeStateUnknown' };
}

function noSinkForWatch(): MachineadmError {
  return new MachineadmError({
    reason: 'DocumentInvalid',
    summary: 'no sink of the document takes the events of a watch',
    remedy: 'Add a remote sink, such as {type: Node}, to reporting.sinks; its "events" must include readinessChanged.',
  });
}
