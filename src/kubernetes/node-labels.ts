import type { Taint } from '@machineadm/document/model/index.ts';
import { ADMIN_KUBECONFIG, KUBELET_KUBECONFIG } from '@machineadm/document/ownership/kubernetes-paths.ts';
import { member, text } from '@machineadm/document/values/untyped.ts';
import { type ApiCredential, askApiServer, getObject } from '../host/cluster/api-server.ts';
import { KubeconfigUnusable, readKubeconfig } from '../host/cluster/kubeconfig.ts';
import type { QueryHost } from '../host/seam/host.ts';
import { ownNodeName } from './node-name.ts';

/** The labels and taints of the Node of this machine. */
export interface NodeMarks {
  readonly name: string;
  readonly labels: ReadonlyMap<string, string>;
  readonly taints: readonly Taint[];
  /** Of the Node when it was read. */
  readonly resourceVersion: string;
  /** When the Node was made, in milliseconds since the epoch by the clock of the API server. */
  readonly createdMs: number | undefined;
}

/** What only the management side may set on the Node of this machine. */
export interface NodeHandover {
  readonly node: string;
  /** `key=value` */
  readonly labels: readonly string[];
  /** `key=value:Effect` */
  readonly taints: readonly string[];
  /** What sets them, ready to run with an administrator's kubeconfig. */
  readonly commands: readonly string[];
}

export interface OwnName {
  readonly nodeName: string;
  readonly nodeNameGiven: boolean;
}

/** The Node with the kubelet's credential, which may read it on every machine; otherwise why it is not known. */
export async function readNodeMarks(
  host: QueryHost,
  self: OwnName,
  signal?: AbortSignal,
): Promise<NodeMarks | { readonly why: string }> {
  const credential = await usable(host, KUBELET_KUBECONFIG);
  if (!('server' in credential)) return credential;
  const name = ownNodeName(credential, self);
  const answer = await getObject(credential, nodePath(name), signal);
  if (answer.kind === 'absent') return { why: `the API server has no Node ${name} yet` };
  if (answer.kind !== 'found') return { why: answer.why };
  const metadata = member(answer.object, 'metadata');
  const labels = member(metadata, 'labels');
  const taints: unknown = member(member(answer.object, 'spec'), 'taints');
  return {
    name,
    labels: new Map(
      Object.entries(labels !== null && typeof labels === 'object' ? labels : {}).map(([key, value]) => [
        key,
        text(value) ?? '',
      ]),
    ),
    taints: Array.isArray(taints) ? taints.map(viewTaint) : [],
    resourceVersion: text(member(metadata, 'resourceVersion')) ?? '',
    createdMs: numberOrNothing(Date.parse(text(member(metadata, 'creationTimestamp')) ?? '')),
  };
}

function numberOrNothing(value: number): number | undefined {
  return Number.isNaN(value) ? undefined : value;
}

function viewTaint(taint: unknown): Taint {
  const effect = text(member(taint, 'effect'));
  return {
    key: text(member(taint, 'key')) ?? '',
    value: text(member(taint, 'value')),
    effect: effect === 'NoExecute' || effect === 'PreferNoSchedule' ? effect : 'NoSchedule',
  };
}

/** A credential that may label any Node: admin.conf, at the server that the kubelet of this machine reaches; or why there is none. */
export async function administrator(host: QueryHost): Promise<ApiCredential | { readonly why: string }> {
  const admin = await usable(host, ADMIN_KUBECONFIG);
  const kubelet = await usable(host, KUBELET_KUBECONFIG);
  if (!('server' in admin) || !('server' in kubelet)) return admin;
  return { ...admin, server: kubelet.server, serverName: kubelet.serverName };
}

async function usable(host: QueryHost, path: string) {
  try {
    return (await readKubeconfig(host, path)) ?? { why: `${path} does not exist` };
  } catch (error) {
    if (error instanceof KubeconfigUnusable) return { why: error.message };
    throw error;
  }
}

/** How a change of the Node ended. `again`: another try may succeed. */
export type Marked = { readonly kind: 'done' } | { readonly kind: 'refused' | 'again'; readonly why: string };

/** Sets or removes one label. */
export async function setLabel(
  credential: ApiCredential,
  node: string,
  key: string,
  value: string | null,
  signal: AbortSignal,
): Promise<Marked> {
  return await patchNode(credential, node, { metadata: { labels: { [key]: value } } }, signal);
}

/** Adds taints to those that the Node had when it was read: if it has changed since, another try is needed. */
export async function addTaints(
  credential: ApiCredential,
  { name, taints, resourceVersion }: NodeMarks,
  missing: readonly Taint[],
  signal: AbortSignal,
): Promise<Marked> {
  const all = [...taints.filter((one) => !missing.some((other) => isSamePlace(one, other))), ...missing];
  return await patchNode(credential, name, { metadata: { resourceVersion }, spec: { taints: all } }, signal);
}

/** JSON Merge Patch (RFC 7386): a label that is null is removed, a list is replaced. */
async function patchNode(credential: ApiCredential, node: string, body: object, signal: AbortSignal): Promise<Marked> {
  const patch = { contentType: 'application/merge-patch+json', body: JSON.stringify(body) };
  const answer = await askApiServer(credential, { path: nodePath(node), patch, signal });
  switch (answer.kind) {
    case 'found':
      return { kind: 'done' };
    case 'absent':
      return { kind: 'again', why: `the API server has no Node ${node}` };
    case 'refused':
      // 409: changed meanwhile; 429 and 5xx: busy, or not ready.
      return {
        kind: answer.status === 409 || answer.status === 429 || answer.status >= 500 ? 'again' : 'refused',
        why: answer.why,
      };
    case 'unreachable':
      return { kind: 'again', why: answer.why };
    case 'untrusted':
      return { kind: 'refused', why: answer.why };
  }
}

function nodePath(name: string): string {
  return `/api/v1/nodes/${encodeURIComponent(name)}`;
}

function isSamePlace(a: Taint, b: Taint): boolean {
  return a.key === b.key && a.effect === b.effect;
}

/** The taints that the Node does not have. */
export function missingTaints(wanted: readonly Taint[], { taints }: Pick<NodeMarks, 'taints'>): readonly Taint[] {
  return wanted.filter(
    (one) => !taints.some((has) => isSamePlace(one, has) && (has.value ?? '') === (one.value ?? '')),
  );
}

/** As kubectl writes it: `key=value:Effect`, or `key:Effect`. */
export function formatTaint({ key, value = '', effect }: Taint): string {
  return `${key}${value === '' ? '' : `=${value}`}:${effect}`;
}

/** What the management side must set, with the commands for it. `has`: the Node, where it is known. */
export function handoverOf(
  node: string,
  labels: readonly (readonly [string, string])[],
  taints: readonly Taint[],
  has: Pick<NodeMarks, 'labels' | 'taints'> | undefined,
): NodeHandover {
  const pairs = labels.map(([key, value]) => `${key}=${value}`);
  const written = taints.map(formatTaint);
  const overwrites = labels.some(([key]) => has?.labels.has(key) === true);
  const replaces = taints.some((one) => has?.taints.some((other) => isSamePlace(one, other)) === true);
  return {
    node,
    labels: pairs,
    taints: written,
    commands: [
      ...(pairs.length === 0
        ? []
        : [`kubectl label node ${node} ${pairs.join(' ')}${overwrites ? ' --overwrite' : ''}`]),
      ...(written.length === 0
        ? []
        : [`kubectl taint node ${node} ${written.join(' ')}${replaces ? ' --overwrite' : ''}`]),
    ],
  };
}
