import { errorMessage } from '@machineadm/document/outcomes/errors.ts';
import { KUBELET_KUBECONFIG } from '@machineadm/document/ownership/kubernetes-paths.ts';
import type { SecretSource, SecretValue } from '@machineadm/document/secrets/secret.ts';
import { secretsIn } from '@machineadm/document/secrets/secret-values.ts';
import { isRecord } from '@machineadm/document/values/shape.ts';
import type { ReportEvent } from '@machineadm/status/event.ts';
import { KubeconfigUnusable, readKubeconfig } from '../../host/cluster/kubeconfig.ts';
import { openQueryHost } from '../../host/index.ts';
import { OwnChild } from '../../host/processes/own-child.ts';
import { remoteSinkOf } from '../remote/registry.ts';
import type { DeliveryContext, DeliveryResult, RemoteSink } from '../remote/remote-sink.ts';
import { type SinkPlan, withSecrets } from '../spool/serialized-plan.ts';

/** What the process that sends gets for one event, as a line of JSON. */
export interface SendOrder {
  /** A `SinkPlan` whose local secrets are values: `source.secret` is text. */
  readonly plan: unknown;
  /** Absent: only make ready for the events that follow. */
  readonly event?: ReportEvent;
  /** Why a secret cannot be had, by its name. */
  readonly missing: Readonly<Record<string, string>>;
  /** The content of the files that the sink reads. */
  readonly files: Readonly<Record<string, string>>;
}

/** Sources that are read with the rights of root; a process without them reads the others itself, by network. */
const LOCAL: readonly SecretSource['kind'][] = ['value', 'file', 'env', 'systemdCredential', 'exec'];

/**
 * The sink of a plan. Where this process is root's, its connections are made by a process of their own, whose user has no
 * right at all: a receiver that exploits a defect of a client gets the events and the credentials of its own sink, and
 * nothing else. That process has one sink and its secrets, gets one event at a time, and returns one line, which is
 * checked. A sink that starts a program needs no such process, because it connects to nothing.
 */
export async function separateSink(plan: SinkPlan): Promise<RemoteSink> {
  const sink = await remoteSinkOf(plan.model);
  if (sink.isProgram || process.getuid?.() !== 0) return sink;
  let child: OwnChild | undefined;
  const close = (): void => {
    child?.close();
    child = undefined;
  };
  const asked = async (order: SendOrder, signal: AbortSignal): Promise<DeliveryResult> => {
    try {
      if (child === undefined) throw new Error('it was not started');
      return resultIn(await child.ask(JSON.stringify(order), signal));
    } catch (error) {
      close();
      throw new Error(`the process that sends: ${errorMessage(error)}`);
    }
  };
  const ready = async (signal: AbortSignal): Promise<void> => {
    if (child !== undefined) return;
    await inTurn(async () => {
      signal.throwIfAborted();
      child = await OwnChild.start(['send'], signal);
      // It loads the sink and leaves root. What it has no values of yet shows as references.
      await asked({ plan: { ...plan, local: [] }, missing: {}, files: {} }, signal);
    });
  };
  return {
    kind: sink.kind,
    target: sink.target,
    capacity: sink.capacity,
    prepare: ready,
    async deliver(event, { secret, signal }) {
      const order = { ...(await orderOf(plan, secret)), event };
      await ready(signal);
      return await asked(order, signal);
    },
    close: async () => close(),
  };
}

let turn: Promise<unknown> = Promise.resolve();

/** One start after the other: many at once would only slow each other down. */
async function inTurn(start: () => Promise<void>): Promise<void> {
  const mine = turn.then(start);
  turn = mine.catch(() => undefined);
  await mine;
}

async function orderOf(plan: SinkPlan, resolve: DeliveryContext['secret']): Promise<Omit<SendOrder, 'event'>> {
  const values = new Map<SecretValue, string>();
  const missing: Record<string, string> = {};
  for (const secret of secretsIn([plan.model, plan.network])) {
    if (!LOCAL.includes(secret.source.kind)) continue;
    try {
      values.set(secret, (await resolve(secret)).reveal());
    } catch (error) {
      // It may be one that this delivery does not need.
      missing[secret.name] = errorMessage(error);
    }
  }
  const inlined = withSecrets({ model: plan.model, network: plan.network, local: [] }, (secret) => {
    const value = values.get(secret);
    return value === undefined ? secret : { name: secret.name, source: { kind: 'value', secret: value } };
  });
  return { plan: inlined, missing, files: await filesOf(plan) };
}

/** The kubeconfig of the sink Node and the files that it names. */
async function filesOf({ model }: SinkPlan): Promise<Readonly<Record<string, string>>> {
  const files: Record<string, string> = {};
  if (model.kind !== 'Node') return files;
  const host = openQueryHost();
  const readText = async (path: string): Promise<string | undefined> => {
    const text = await host.readText(path);
    if (text !== undefined) files[path] = text;
    return text;
  };
  try {
    await readKubeconfig({ readText }, model.kubeconfig ?? KUBELET_KUBECONFIG);
  } catch (error) {
    // The process that sends finds the same.
    if (!(error instanceof KubeconfigUnusable)) throw error;
  }
  return files;
}

/** What the process answered, which a receiver may have taken over. */
export function resultIn(line: string): DeliveryResult {
  const value: unknown = JSON.parse(line);
  if (isRecord(value)) {
    const { kind, why, afterMs } = value;
    if (kind === 'delivered') return { kind };
    if (kind === 'refused' && typeof why === 'string') return { kind, why };
    if (kind === 'retry' && typeof why === 'string') {
      return { kind, why, ...(typeof afterMs === 'number' && afterMs >= 0 ? { afterMs } : {}) };
    }
  }
  throw new Error('its answer is not the result of a delivery');
}
