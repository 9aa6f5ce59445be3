import type { KubernetesModel } from '@machineadm/document/model/index.ts';
import type { Host } from '../../host/seam/host.ts';
import {
  requireFreeNodeName,
  requireLivingCredentials,
  requirePinnedAuthority,
  tokenDiscoveryOf,
} from '../join-credentials.ts';
import { registeredName } from './configured.ts';

/** The node's credentials and role for a join. */
export interface Joiner {
  readonly kubernetes: KubernetesModel;
  /** kubeadm's default where its configuration names none. */
  readonly nodeName: string;
  readonly machineId: string;
  readonly systemUuid: string | undefined;
}

/**
 * Before a join: checks for problems that kubeadm would notice only after minutes, or not at all.
 *
 * @param attempt.configuration kubeadm's, from the disk
 * @param attempt.again an earlier attempt has begun: this machine's credentials may have expired since
 * @throws MachineadmError `StaleCertificates`, `BootstrapTokenExpired`, `CertificateKeySecretExpired` or
 * `NodeNameConflict`
 */
export async function requireJoinable(
  host: Host,
  { kubernetes, nodeName, machineId, systemUuid }: Joiner,
  { configuration = '', again }: { readonly configuration: string | undefined; readonly again: boolean },
  signal: AbortSignal,
): Promise<void> {
  const discovery = tokenDiscoveryOf(kubernetes);
  if (discovery === undefined) return;
  const authorityPath = `${kubernetes.cluster.certificatesDirectory}/ca.crt`;
  const authority = kubernetes.role === 'JoinControlPlane' ? await host.readText(authorityPath) : undefined;
  if (authority !== undefined) requirePinnedAuthority(discovery, authorityPath, authority);
  const token = await host.secret(discovery.token);
  const { certificateKey } = kubernetes.controlPlane;
  const fetchesCertificates = kubernetes.role === 'JoinControlPlane' && certificateKey !== undefined;
  if (again) await requireLivingCredentials(discovery, { token, fetchesCertificates }, signal);
  const name = (await registeredName(configuration)) ?? nodeName;
  const machine = { token, nodeName: name, machineId, ...(systemUuid === undefined ? {} : { systemUuid }) };
  await requireFreeNodeName(discovery, machine, signal);
}
