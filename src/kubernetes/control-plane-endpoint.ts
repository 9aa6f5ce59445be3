import {
  ADMIN_KUBECONFIG,
  KUBELET_KUBECONFIG,
  staticPodPath,
} from '@machineadm/document/ownership/kubernetes-paths.ts';
import { readManifest } from '@machineadm/kubeadm/api-server/manifest.ts';
import type { Answer } from '../host/cluster/api-server.ts';
import { type EndpointTrouble, requestTrouble } from '../host/cluster/endpoint-trouble.ts';
import { type ClusterCredential, KubeconfigUnusable, readKubeconfig } from '../host/cluster/kubeconfig.ts';
import type { QueryHost } from '../host/seam/host.ts';
import { getNode, type NodeView } from './node-client.ts';

/** How the endpoint of the cluster counts for a control plane. */
export interface EndpointDemand {
  readonly need: 'Required' | 'Later';
  /** The document's `controlPlaneEndpoint`, for a machine without an admin.conf: `api.example:6443`. */
  readonly written: string | undefined;
}

/**
 * Whether the control-plane endpoint leads to this cluster, as admin.conf and the machines that join will use it: its name
 * resolves, it accepts connections, its certificate is of the cluster's CA, and behind it is this cluster. From 1.33
 * on, neither `kubeadm init` (cmd/init.go, PointKubeConfigToLocalAPIEndpoint) nor the kubelet of a control plane (its gate
 * ControlPlaneKubeletLocalMode) uses the endpoint, so their success says nothing about it.
 *
 * The request is for the own Node with the kubelet's credential, which may always read it. Its UID tells clusters apart
 * even where they share a CA.
 *
 * @param nodeName the name of this machine's Node by its kubelet's credential
 * @returns undefined: it does, or there is no endpoint other than this machine's own API server
 */
export async function probeControlPlaneEndpoint(
  host: QueryHost,
  { written }: Pick<EndpointDemand, 'written'>,
  nodeName: (credential: ClusterCredential) => string,
  signal?: AbortSignal,
): Promise<EndpointTrouble | undefined> {
  const kubelet = await usable(host, KUBELET_KUBECONFIG);
  // Without it nothing can be asked, and the caller's own checks say so.
  if (kubelet === undefined) return undefined;
  const admin = await usable(host, ADMIN_KUBECONFIG);
  const server = admin?.server ?? URL.parse(`https://${written ?? ''}`);
  if (server === null) return undefined;
  const own = await ownEndpoint(host);
  if (server.host === own?.host) return undefined;

  const credential = {
    ...kubelet,
    server,
    serverName: admin === undefined ? kubelet.serverName : admin.serverName,
    certificateAuthority: admin?.certificateAuthority ?? kubelet.certificateAuthority,
  };
  const name = nodeName(kubelet);
  const here =
    own === undefined ? undefined : await getNode({ ...kubelet, server: own, serverName: undefined }, name, signal);
  const there = await getNode(credential, name, signal, TIMEOUT_MS);
  return troubleOf(there, here, server.host, admin === undefined ? KUBELET_KUBECONFIG : ADMIN_KUBECONFIG);
}

/** A load balancer that is asked every few seconds does not need long for an answer. */
const TIMEOUT_MS = 5_000;

/** @param authority the file whose CA the server's certificate was compared with */
function troubleOf(
  there: Answer<NodeView>,
  here: Answer<NodeView> | undefined,
  shown: string,
  authority: string,
): EndpointTrouble | undefined {
  if (there.kind === 'unreachable') return requestTrouble(shown, there.code ?? there.why, `the CA of ${authority}`);
  if (there.kind === 'untrusted') {
    return there.code === undefined
      ? otherCluster(shown, 'it refuses the certificate of the kubelet of this machine')
      : requestTrouble(shown, there.code, `the CA of ${authority}`);
  }
  if (there.kind === 'refused' && there.status >= 500) {
    return {
      reason: 'APIServerUnavailable',
      text: `the API endpoint ${shown} cannot serve requests: ${there.why}`,
      remedy: 'Check the load balancer and the API servers behind it.',
    };
  }
  // Without an answer from here there is nothing to compare with.
  if (here === undefined || here.kind === 'unreachable' || here.kind === 'untrusted') return undefined;
  if (there.kind === 'found' && here.kind === 'found') {
    return there.object.uid === here.object.uid
      ? undefined
      : otherCluster(shown, `its Node ${there.object.name} is not the one that this machine's API server has`);
  }
  if (there.kind === here.kind || there.kind === 'refused') return undefined;
  return otherCluster(
    shown,
    there.kind === 'absent'
      ? 'it does not have the Node of this machine'
      : 'it has a Node that this cluster does not have',
  );
}

function otherCluster(shown: string, why: string): EndpointTrouble {
  return {
    reason: 'APIEndpointOtherCluster',
    text: `another cluster answers at the API endpoint ${shown}: ${why}`,
    remedy:
      'Correct the backends of the load balancer or the address of the name, so that the endpoint leads to this control plane.',
  };
}

/** This machine's API server: kubeadm annotates its pod with the address (k/k cmd/kubeadm/app/phases/controlplane). */
async function ownEndpoint(host: QueryHost): Promise<URL | undefined> {
  const source = await host.readText(staticPodPath('kube-apiserver'));
  const manifest = source === undefined ? undefined : await readManifest(source);
  return (manifest?.endpoint === undefined ? undefined : URL.parse(`https://${manifest.endpoint}`)) ?? undefined;
}

async function usable(host: QueryHost, path: string): Promise<ClusterCredential | undefined> {
  try {
    return await readKubeconfig(host, path);
  } catch (error) {
    if (error instanceof KubeconfigUnusable) return undefined;
    throw error;
  }
}
