import { setTimeout as pause } from 'node:timers/promises';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { KUBEADM_PODS } from '@machineadm/document/ownership/kubernetes-paths.ts';
import type { Host, QueryHost } from '../../host/seam/host.ts';
import { probeControlPlane } from '../../kubernetes/control-plane-health.ts';
import { quorumOf } from '../../kubernetes/upgrade/check-machine.ts';
import { ClusterUnanswered, clusterConfiguration, ownCredential } from '../../kubernetes/upgrade/cluster.ts';
import { readState } from '../../kubernetes/upgrade/kept-state.ts';
import { takeLease } from '../../kubernetes/upgrade/lease.ts';
import { restoreMissing } from '../../kubernetes/upgrade/way-back.ts';
import type { Execution } from '../../step/index.ts';
import { nodeNameOf, type UpgradeDesired } from './desired.ts';

const DEFAULT_CONTROL_PLANE_MS = 4 * 60_000;
const PAUSE_MS = 1_000;

/** The manifest that a killed kubeadm was just replacing is missing, and with it the pod. */
export async function continueAfterKill(host: Host, desired: UpgradeDesired, execution: Execution): Promise<void> {
  const restored = await restoreMissing(host, await readState(host));
  for (const path of restored)
    execution.warn(`${path} was missing after the run before this one: it is as before the upgrade again`);
  if (!desired.isControlPlane) return;
  const why = await untilAnswered(host, desired, execution);
  if (why !== undefined) throw unanswered(why);
}

/** Waits until the control plane of this machine works, and answers its administrator. Returns why it does not. */
export async function untilAnswered(
  host: QueryHost,
  desired: UpgradeDesired,
  execution: Pick<Execution, 'signal' | 'waitingFor'>,
): Promise<string | undefined> {
  const end = endOf(desired);
  for (;;) {
    const trouble = await probeControlPlane(
      host,
      KUBEADM_PODS.slice(0, desired.hasLocalEtcd ? 2 : 0),
      execution.signal,
    );
    const why = trouble?.why ?? (await whyUnanswered(host));
    if (why === undefined) {
      execution.waitingFor(undefined);
      return undefined;
    }
    execution.waitingFor(`the control plane of this machine to work: ${why}`);
    if (performance.now() > end) return why;
    await pause(PAUSE_MS, undefined, { signal: execution.signal });
  }
}

/** Why the API server does not answer the administrator; undefined: it does. */
async function whyUnanswered(host: QueryHost): Promise<string | undefined> {
  try {
    await clusterConfiguration(await ownCredential(host, true));
    return undefined;
  } catch (error) {
    if (error instanceof ClusterUnanswered) return error.why;
    throw error;
  }
}

/**
 * Waits for the turn of this control plane: no other one is being upgraded, and etcd can do without the member of this
 * machine. Checked again here, because another control plane may have had its turn since the checks of this run.
 *
 * @param notBegun what was not done, if it does not come
 * @throws MachineadmError `UpgradeLocked`, `EtcdQuorumAtRisk`
 */
export async function takeTurn(
  host: Host,
  desired: UpgradeDesired,
  execution: Execution,
  notBegun = 'This run did not start kubeadm upgrade',
): Promise<void> {
  const { signal } = execution;
  await takeLease(await ownCredential(host, true), await nodeNameOf(host, desired), signal);
  if (!desired.hasLocalEtcd) return;
  const end = endOf(desired);
  for (;;) {
    const { obstacle } = await quorumOf(host, signal);
    if (obstacle === undefined) return execution.waitingFor(undefined);
    const { reason, what, remedy } = obstacle;
    execution.waitingFor(`the other members of etcd: ${what}`);
    if (performance.now() > end) {
      throw new MachineadmError({
        reason,
        exit: 'HostStepFailed',
        summary: `${notBegun}: ${what}.`,
        remedy,
        evidence: [{ source: 'etcd', text: what }],
        retryable: true,
      });
    }
    await pause(PAUSE_MS, undefined, { signal });
  }
}

function endOf({ kubernetes }: UpgradeDesired): number {
  return performance.now() + (kubernetes.timeouts.controlPlaneMs ?? DEFAULT_CONTROL_PLANE_MS);
}

/** The failure before kubeadm was started. */
export function unanswered(why: string): MachineadmError {
  return new MachineadmError({
    reason: 'KubeadmUpgradeFailed',
    summary: `This run did not start kubeadm upgrade: ${why}.`,
    remedy: 'Make sure that the API server answers, then run machineadm upgrade again.',
    evidence: [{ source: 'API server', text: why }],
    retryable: true,
  });
}
