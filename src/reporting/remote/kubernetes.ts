import type { ClusterAccess, KubernetesSinkModel } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { loadYaml } from '@machineadm/document/yaml/foreign-yaml.ts';
import { type ApiCredential, askApiServer } from '../../host/cluster/api-server.ts';
import { KubeconfigUnusable, parseKubeconfig } from '../../host/cluster/kubeconfig.ts';
import { configMapPatch, REPORT_BYTES } from './apply-patch.ts';
import { applyResult } from './apply-result.ts';
import type { DeliveryContext, RemoteSink } from './remote-sink.ts';

/**
 * Writes to a ConfigMap of the management cluster that was created for this machine: its credential may only patch that
 * one object. It reads nothing first, and the same event twice changes nothing (server-side apply).
 * It does not write to the Machine itself, because RBAC cannot restrict fields of a status: a stolen credential could
 * claim anything.
 */
export function kubernetesSink(model: KubernetesSinkModel): RemoteSink {
  const { namespace, name } = model.configMap;
  return {
    kind: 'Kubernetes',
    target: `ConfigMap ${namespace}/${name}`,
    capacity: REPORT_BYTES,
    prepare: loadYaml,
    async deliver(event, context) {
      // Events after a run's conclusion are no news about the machine, and would hide the outcome.
      if (event.phase === 'Concluded' && !['concluded', 'readinessChanged'].includes(event.type)) {
        return { kind: 'delivered' };
      }
      const { path, ...patch } = configMapPatch(event, model.configMap);
      const credential = await credentialOf(model.access, model.name, context);
      const answer = await askApiServer(credential, {
        path,
        patch,
        signal: context.signal,
        timeoutMs: model.timeoutMs,
      });
      // RBAC answers an apply that would create the object with a bare 403 (k/k apiserver handlers/create).
      const hint = `does the ConfigMap ${namespace}/${name} exist, and may this credential patch it?`;
      return applyResult(answer, { 403: hint });
    },
  };
}

async function credentialOf(
  access: ClusterAccess,
  sink: string,
  { secret }: Pick<DeliveryContext, 'secret'>,
): Promise<ApiCredential> {
  if ('kubeconfig' in access) {
    try {
      return await parseKubeconfig((await secret(access.kubeconfig)).reveal(), 'the kubeconfig');
    } catch (error) {
      throw error instanceof KubeconfigUnusable ? unusable(sink, error) : error;
    }
  }
  const { server, serverName, certificateAuthority, credential } = access;
  const reached = { server: new URL(server), serverName, certificateAuthority };
  if ('token' in credential) return { ...reached, token: await secret(credential.token) };
  return { ...reached, certificate: credential.certificate, key: await secret(credential.key) };
}

function unusable(sink: string, cause: KubeconfigUnusable): MachineadmError {
  return new MachineadmError({
    reason: 'SecretUnavailable',
    summary: `the sink ${sink} cannot be used: ${cause.message}`,
    remedy: 'Use a kubeconfig with the server, its authority, and an embedded token or client certificate.',
    cause,
  });
}
