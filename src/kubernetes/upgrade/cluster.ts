import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { ADMIN_KUBECONFIG, KUBELET_KUBECONFIG } from '@machineadm/document/ownership/kubernetes-paths.ts';
import { member, text } from '@machineadm/document/values/untyped.ts';
import { foreignYaml } from '@machineadm/document/yaml/foreign-yaml.ts';
import type { Answer, ApiCredential } from '../../host/cluster/api-server.ts';
import { type ClusterCredential, KubeconfigUnusable, readKubeconfig } from '../../host/cluster/kubeconfig.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import { type NodeView, viewNode } from '../node-client.ts';
import { askSettled } from './settled.ts';

/** The API server did not answer a question of the upgrade. */
export class ClusterUnanswered extends MachineadmError {
  /** The cause, as part of a sentence. */
  readonly why: string;

  constructor(why: string) {
    super({
      reason: 'APIServerUnavailable',
      summary: `The upgrade could not get an answer from the API server: ${why}.`,
      remedy: 'Make sure that the API server answers, then run machineadm upgrade again: it continues.',
      evidence: [{ source: 'API server', text: why }],
      retryable: true,
    });
    this.why = why;
  }
}

/** The credential of this machine: that of an administrator on a control plane, else that of its kubelet. */
export async function ownCredential(host: QueryHost, isControlPlane: boolean): Promise<ClusterCredential> {
  const path = isControlPlane ? ADMIN_KUBECONFIG : KUBELET_KUBECONFIG;
  try {
    const credential = await readKubeconfig(host, path);
    if (credential !== undefined) return credential;
  } catch (error) {
    if (error instanceof KubeconfigUnusable) throw new ClusterUnanswered(error.message);
    throw error;
  }
  throw new ClusterUnanswered(`${path} does not exist`);
}

/** kubeadm's configuration of the cluster, which nodes may read, too. Throws `ClusterUnanswered`. */
export async function clusterConfiguration(credential: ApiCredential, signal?: AbortSignal): Promise<unknown> {
  const path = '/api/v1/namespaces/kube-system/configmaps/kubeadm-config';
  const object = found(await askSettled(credential, { path, signal }), 'the ConfigMap kubeadm-config');
  const source = text(member(member(object, 'data'), 'ClusterConfiguration'));
  const configuration = source === undefined ? undefined : await foreignYaml(source);
  if (configuration === undefined) throw new ClusterUnanswered('the ConfigMap kubeadm-config is not readable');
  return configuration;
}

/** The version of the API server that answers: `v1.35.4`. Throws `ClusterUnanswered`. */
export async function serverVersion(credential: ApiCredential, signal?: AbortSignal): Promise<string> {
  const version = text(
    member(found(await askSettled(credential, { path: '/version', signal }), '/version'), 'gitVersion'),
  );
  if (version === undefined) throw new ClusterUnanswered('the API server did not tell its version');
  return version;
}

/**
 * The versions of all API servers by the name of their node, from their static pods; undefined for a credential that may
 * not list them. Throws `ClusterUnanswered`.
 */
export async function apiServers(
  credential: ApiCredential,
  signal?: AbortSignal,
): Promise<ReadonlyMap<string, string> | undefined> {
  const path = '/api/v1/namespaces/kube-system/pods?labelSelector=component%3Dkube-apiserver';
  const items = itemsOf(await askSettled(credential, { path, signal }), 'the API servers');
  if (items === undefined) return undefined;
  return new Map(
    items.map((pod) => {
      const containers = member(member(pod, 'spec'), 'containers');
      const image = Array.isArray(containers) ? text(member(containers[0], 'image')) : undefined;
      return [text(member(member(pod, 'spec'), 'nodeName')) ?? '', image ?? ''] as const;
    }),
  );
}

/** All Nodes; undefined for a credential that may not list them. Throws `ClusterUnanswered`. */
export async function allNodes(
  credential: ApiCredential,
  signal?: AbortSignal,
): Promise<readonly NodeView[] | undefined> {
  return itemsOf(await askSettled(credential, { path: '/api/v1/nodes', signal }), 'the Nodes')?.map(viewNode);
}

/** A Node; undefined: there is none of this name. Throws `ClusterUnanswered`. */
export async function nodeNamed(
  credential: ApiCredential,
  name: string,
  signal?: AbortSignal,
): Promise<NodeView | undefined> {
  const answer = await askSettled(credential, { path: `/api/v1/nodes/${encodeURIComponent(name)}`, signal });
  return answer.kind === 'absent' ? undefined : viewNode(found(answer, `the Node ${name}`));
}

function itemsOf(answer: Answer<unknown>, what: string): readonly unknown[] | undefined {
  if (answer.kind === 'refused' && answer.status === 403) return undefined;
  const items = member(found(answer, what), 'items');
  return Array.isArray(items) ? items : [];
}

function found(answer: Answer<unknown>, what: string): unknown {
  if (answer.kind === 'found') return answer.object;
  throw new ClusterUnanswered(answer.kind === 'absent' ? `the cluster does not have ${what}` : answer.why);
}
