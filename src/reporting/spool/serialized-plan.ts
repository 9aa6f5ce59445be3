import { createHash } from 'node:crypto';
import type { HostModel, LocalSinkModel, RemoteSinkModel } from '@machineadm/document/model/index.ts';
import { RUN_DIRECTORY } from '@machineadm/document/ownership/paths.ts';
import type { SecretValue } from '@machineadm/document/secrets/secret.ts';
import { isSecretValue } from '@machineadm/document/secrets/secret-values.ts';
import { isRecord } from '@machineadm/document/values/shape.ts';
import { isRemoteKind } from '../remote/registry.ts';

/** The document's settings for the agent's own requests. */
export type NetworkModel = Pick<HostModel, 'proxy' | 'certificateAuthorities'>;

/** A remote sink with everything for its deliveries, for a process that does not have the document. */
export interface SinkPlan {
  readonly model: RemoteSinkModel;
  readonly network: NetworkModel;
  /** The sinks that report when this sink does not take its events. */
  readonly local: readonly LocalSinkModel[];
}

/** A plan as text without secrets, and the secrets that were removed from it. */
export interface SerializedPlan {
  readonly text: string;
  /** By the file that the plan now refers to. */
  readonly carried: ReadonlyMap<string, SecretValue>;
}

/** The directory for values that only the run has: in memory, for root, lost at the next boot. */
export const STAGED_SECRETS = `${RUN_DIRECTORY}/reporting`;

/**
 * Sources that only this process can read: inline in the document, its environment, its unit's credentials. The
 * deliverer resolves all other references itself.
 */
const OF_THIS_PROCESS: readonly string[] = ['value', 'env', 'systemdCredential'];

/** A plan that can be written to disk: each secret of this process is replaced by a reference to a file. */
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

/**
 * Parses a serialized plan; undefined for a format that this version does not support (an older agent after a newer
 * one).
 */
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
 * Checks the fields of every plan, but not a sink's own fields: only root can have changed them since this program
 * wrote them.
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

/** A copy with every secret replaced, including secrets inside references; a reference that is returned unchanged is kept. */
export function withSecrets(node: unknown, replace: (secret: SecretValue) => unknown): unknown {
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
