import type { ApiServerFilesModel, KubernetesModel, Role } from '@machineadm/document/model/index.ts';
import { kubernetesModel, PLAIN_API_SERVER } from './kubernetes-model.ts';

/** A control plane whose document asks this of its API server, and nothing else. */
export function apiServerModel(
  files: Partial<ApiServerFilesModel>,
  { version = 'v1.35.2', role = 'InitControlPlane' }: { readonly version?: string; readonly role?: Role } = {},
): KubernetesModel {
  const { controlPlane } = kubernetesModel();
  const apiServer = { ...PLAIN_API_SERVER, ...files };
  return kubernetesModel({ version, role, controlPlane: { ...controlPlane, apiServer } });
}

/** A server of one's own that is asked without any proof. */
export const WEBHOOK = {
  server: 'https://10.0.0.9:8443/authenticate',
  tlsServerName: undefined,
  certificateAuthority: undefined,
  clientCertificate: undefined,
  token: undefined,
};
