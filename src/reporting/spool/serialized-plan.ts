import { createHash } from 'node:crypto';
import type { HostModel, LocalSinkModel, RemoteSinkModel } from '@machineadm/document/model.ts';
import type { SecretValue } from '@machineadm/document/secret.ts';
import { isSecretValue } from '@machineadm/document/secret-values.ts';
import { isRecord } from '@machineadm/document/shape.ts';
import { isRemoteKind } from '../remote/registry.ts';

/** What the agent's own requests need of the document. */
export type NetworkModel = Pick<HostModel, 'proxy' | 'certificateAuthorities'>;

/** A remote sink with all that its deliveries need, so that a process that never saw the document can make them. */
export interface SinkPlan {
  readonly model: RemoteSinkModel;
  readonly network: NetworkModel;
  /** Who is told when this sink does not take its events. */
  readonly local: readonly LocalSinkModel[];
}

/** A plan as text that holds no secret, and the secrets that were taken out of it. */
export interface SerializedPlan {
  readonly text: string;
  /** By the file that the plan now refers to. */
  readonly carried: ReadonlyMap<string, SecretValue>;
}

/** Where values are that only the run had: in memory, for root, gone with the next boot. */
export const STAGED_SECRETS = '/run/machineadm/reporting';

/**
 * Sources that only this process can read: written in the document, in its environment, among the credentials of its
 * unit. The others are references that the deliverer follows itself.
 */
const OF_THIS_PROCESS: readonly string[] = ['value', 'env', 'systemdCredential'];

/** A plan that can be written to disk: each secret that must be carried is replaced by a reference to a file. */
export function serializePlan(plan: SinkPlan, directory: string = STAGED_SECRETS): SerializedPlan {
  const carried = new Map<string, SecretValue>();
  const frozen = withSecrets(plan, (secret) => {
    if (!OF_THIS_PROCESS.includes(secret.source.kind)) return secret;
    const path = `${directory}/${createHash('sha256').update(`${plan.model.name}\0${secret.name}`).digest('hex').slice(0, 24)}`;
    carried.set(path, secret);
    return { name: secret.name, source: { kind: 'file', path } };
  });
  return { text: `${JSON.stringify({ version: 1, plan: frozen })}\n`, carried };
}

/** Reads a frozen plan; undefined for what this version does not understand (an older agent after a newer one). */
export function deserializePlan(text: string): SinkPlan | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isRecord(value) || value.version !== 1 || !isPlan(value.plan)) return undefined;
  return value.plan;
}

/**
 * What every plan has is checked. That a sink's own fields are what they were when this program wrote them is not: only
 * root can have changed them.
 */
function isPlan(value: unknown): value is SinkPlan {
  if (!isRecord(value) || !isRecord(value.model) || !isRecord(value.network) || !Array.isArray(value.local))
    return false;
  const { kind, name, events, timeoutMs } = value.model;
  return (
    typeof kind === 'string' &&
    isRemoteKind(kind) &&
    typeof name === 'string' &&
    Array.isArray(events) &&
    typeof timeoutMs === 'number' &&
    Array.isArray(value.network.certificateAuthorities)
  );
}

/** A copy with every secret replaced, the secrets inside of references included. */
function withSecrets(node: unknown, replace: (secret: SecretValue) => unknown): unknown {
  if (node === null || typeof node !== 'object') return node;
  if (isSecretValue(node)) {
    const replaced = replace(node);
    return replaced === node ? mapped(node, replace) : replaced;
  }
  return Array.isArray(node) ? node.map((item: unknown) => withSecrets(item, replace)) : mapped(node, replace);
}

function mapped(node: object, replace: (secret: SecretValue) => unknown): unknown {
  return Object.fromEntries(Object.entries(node).map(([key, item]) => [key, withSecrets(item, replace)]));
}
