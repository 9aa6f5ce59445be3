import type { NodeSinkModel } from '@machineadm/document/model/index.ts';
import { KUBELET_KUBECONFIG } from '@machineadm/document/ownership/kubernetes-paths.ts';
import { loadYaml } from '@machineadm/document/yaml/foreign-yaml.ts';
import { SIZE_CLASSES } from '@machineadm/status/event.ts';
import { askApiServer } from '../../host/cluster/api-server.ts';
import { KubeconfigUnusable, readKubeconfig } from '../../host/cluster/kubeconfig.ts';
import { nodeNameOfCertificate } from '../../host/cluster/kubelet.ts';
import { openQueryHost } from '../../host/index.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import { nodePatch } from './apply-patch.ts';
import { applyResult } from './apply-result.ts';
import type { RemoteSink } from './remote-sink.ts';

/**
 * Writes the conditions of this machine, and their source in an annotation, to its own Node. The kubelet's credential
 * suffices: a node may patch the status of its own Node, with any conditions and annotations, and of no other (k/k
 * plugin/pkg/admission/noderestriction).
 */
export function nodeSink(model: NodeSinkModel, host: Pick<QueryHost, 'readText'> = openQueryHost()): RemoteSink {
  const path = model.kubeconfig ?? KUBELET_KUBECONFIG;
  return {
    kind: 'Node',
    target: 'its own Node',
    capacity: SIZE_CLASSES.small,
    prepare: loadYaml,
    async deliver(event, { signal }) {
      if (event.phase === 'Concluded' && !['concluded', 'readinessChanged'].includes(event.type)) {
        return { kind: 'delivered' };
      }
      const credential = await readCredential(host, path);
      if ('why' in credential) return { kind: 'retry', why: credential.why };
      const name = nodeNameOfCertificate(credential.certificate);
      if (name === undefined) return { kind: 'retry', why: `the certificate of ${path} names no node` };
      const { path: where, ...patch } = nodePatch(event, name);
      const answer = await askApiServer(credential, { path: where, patch, signal, timeoutMs: model.timeoutMs });
      return applyResult(
        answer.kind === 'absent' ? { kind: 'refused', status: 404, why: `there is no Node ${name}` } : answer,
      );
    },
  };
}

async function readCredential(host: Pick<QueryHost, 'readText'>, path: string) {
  try {
    return (
      (await readKubeconfig(host, path)) ?? { why: `${path} does not exist: this machine has joined no cluster yet` }
    );
  } catch (error) {
    if (error instanceof KubeconfigUnusable) return { why: error.message };
    throw error;
  }
}
