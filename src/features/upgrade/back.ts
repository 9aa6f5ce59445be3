import { setTimeout as pause } from 'node:timers/promises';
import type { Model } from '@machineadm/document/model/index.ts';
import { CONTAINERD_CONFIGURATION } from '@machineadm/document/ownership/paths.ts';
import { parseVersion } from '@machineadm/document/text/program-version.ts';
import type { Facts } from '../../host/seam/facts.ts';
import type { Host } from '../../host/seam/host.ts';
import { probeControlPlane } from '../../kubernetes/control-plane-health.ts';
import { kubeletHealth } from '../../kubernetes/kubelet-health.ts';
import { forgetRenewal } from '../../kubernetes/upgrade/certificate-renewal.ts';
import { forgetContainerd } from '../../kubernetes/upgrade/containerd-kept.ts';
import { forgetState, type KeptState, readState } from '../../kubernetes/upgrade/kept-state.ts';
import { forgetKubelet } from '../../kubernetes/upgrade/kubelet-kept.ts';
import { forgetPods } from '../../kubernetes/upgrade/pod-kept.ts';
import { goBack, hasReplacedAll } from '../../kubernetes/upgrade/way-back.ts';
import type { Execution, FollowUp, StepRecord } from '../../step/index.ts';
import { changes, type Upgrade } from '../../step/upgrade-order.ts';
import { endOfFailedRenewal } from './certificates-back.ts';
import { type ContainerdEnd, endOfFailedContainerd, restartContainerd } from './containerd-back.ts';
import { CONTROL_PLANE, endOfFailedControlPlane } from './control-plane-back.ts';
import { hasCordoned, release } from './cordon.ts';
import { hasVersion, plain, type UpgradeDesired, upgradeDesired } from './desired.ts';
import { KEPT_CHANGE } from './identity.ts';
import { KUBELET_CHANGE, kubeletIsBack } from './kubelet-back.ts';

const DEFAULT_TIMEOUT_MS = 4 * 60_000;
const PAUSE_MS = 1_000;

export interface FailedUpgrade {
  readonly model: Model;
  readonly facts: Facts;
  readonly upgrade: Upgrade;
  record(step: string): StepRecord;
  /** Whether steps of machineadm wrote this path. */
  isOurs(path: string): boolean;
}

/** What a failed upgrade left. */
export interface UpgradeEnd {
  /** Whether the node has its version of before, and the upgrade counts as not begun. */
  readonly isBack: boolean;
  /** What is true of the node now, for the failure. */
  readonly sentences: readonly string[];
  /** Follow-ups of its steps that are not pending any longer. */
  readonly settled?: readonly FollowUp[];
}

/**
 * Restores certificates whose renewal is not proven, and the previous version, as long as kubeadm has not replaced the last static pod; a worker has none. From then
 * on the cluster may have stored objects that only the new version knows, and the upgrade goes forward only.
 */
export async function endOfFailedUpgrade(
  host: Host,
  failed: FailedUpgrade,
  watch: Pick<Execution, 'signal' | 'waitingFor' | 'warn'>,
): Promise<UpgradeEnd> {
  const desired = upgradeDesired(failed.model, failed.facts);
  // Before the rest: the pods of the control plane need it.
  const containerd = desired === undefined ? undefined : await endOfFailedContainerd(host, failed, desired, watch);
  const end = await endOfFailedKubernetes(host, failed, watch);
  return containerd === undefined ? end : withContainerd(containerd, end);
}

function withContainerd(containerd: ContainerdEnd, end: UpgradeEnd): UpgradeEnd {
  const sentences = end === UNTOUCHED ? [] : end.sentences;
  return {
    ...end,
    isBack: containerd.isBack && end.isBack,
    sentences: [...containerd.sentences, ...sentences],
    ...(containerd.isSettled === true ? { settled: ['restart:containerd'] as const } : {}),
  };
}

async function endOfFailedKubernetes(
  host: Host,
  failed: FailedUpgrade,
  watch: Pick<Execution, 'signal' | 'waitingFor' | 'warn'>,
): Promise<UpgradeEnd> {
  const { model, facts, upgrade } = failed;
  const desired = upgradeDesired(model, facts);
  const renewal = desired === undefined ? undefined : await endOfFailedRenewal(host, failed, desired, watch);
  const controlPlane = desired === undefined ? undefined : await endOfFailedControlPlane(host, failed, desired, watch);
  if (desired !== undefined && !changes(upgrade, 'version')) {
    // Before, it has not had its turn.
    const hadTurn = ['upgrade-certificates', CONTROL_PLANE].some((step) => {
      const { interrupted, done } = failed.record(step);
      return interrupted.size + done.size > 0;
    });
    const kubelet = await endOfFailedKubelet(host, failed, desired, watch);
    const end = together(controlPlane, kubelet, renewal);
    if (end.isBack && hadTurn) await release(host, { desired, upgrade, cordoned: false }, watch);
    return end;
  }
  const end = await endOfFailedVersion(host, failed, desired, watch);
  return {
    ...end,
    sentences: [...(renewal?.sentences ?? []), ...(controlPlane?.sentences ?? []), ...end.sentences],
  };
}

/** What is true of the kubelet after a change of its settings failed; undefined: they were not touched. */
async function endOfFailedKubelet(
  host: Host,
  failed: FailedUpgrade,
  desired: UpgradeDesired,
  watch: Pick<Execution, 'signal' | 'waitingFor'>,
): Promise<UpgradeEnd | undefined> {
  if (failed.record('upgrade-kubelet-settings').done.has(KUBELET_CHANGE)) {
    return {
      isBack: false,
      sentences: ['The kubelet works with its new settings: run machineadm upgrade again, which continues.'],
    };
  }
  if (!(await kubeletIsBack(host, failed))) return undefined;
  const trouble = await untilWell(host, desired, watch);
  return trouble === undefined
    ? { isBack: true, sentences: ['The previous settings of the kubelet are restored, and the node works with them.'] }
    : {
        isBack: false,
        sentences: [
          `The previous settings of the kubelet are restored, but the node does not work with them: ${trouble}.`,
        ],
      };
}

function together(...ends: readonly (UpgradeEnd | undefined)[]): UpgradeEnd {
  const found = ends.filter((end) => end !== undefined);
  if (found.length === 0) return UNTOUCHED;
  return { isBack: found.every(({ isBack }) => isBack), sentences: found.flatMap(({ sentences }) => sentences) };
}

const UNTOUCHED: UpgradeEnd = { isBack: true, sentences: ['Nothing of the node was changed before that.'] };

async function endOfFailedVersion(
  host: Host,
  failed: FailedUpgrade,
  desired: UpgradeDesired | undefined,
  watch: Pick<Execution, 'signal' | 'waitingFor' | 'warn'>,
): Promise<UpgradeEnd> {
  const { upgrade } = failed;
  const { from, to } = upgrade;
  if (desired === undefined || !failed.record('upgrade-state').done.has(KEPT_CHANGE)) {
    return UNTOUCHED;
  }
  const isForward =
    failed.record('upgrade-kubeadm').done.has('upgrade-kubeadm/run') || (await hasReplacedAll(host, to));
  if (desired.isControlPlane && isForward) return await onlyForward(host, upgrade);
  const back = await goBack(host, await keptWithoutContainerd(host, upgrade), failed.isOurs);
  const { restored, left: kept, restartsKubelet, restartsContainerd } = back;
  if (restored.length > 0) watch.warn(`restored: ${restored.join(', ')}`);
  const illness = restartsContainerd ? await restartContainerd(host, desired.socket, watch) : undefined;
  if (restartsKubelet) {
    await host.services.reload();
    await host.services.restart('kubelet');
  }
  const left = [...kept, ...(await otherPrograms(host, from))];
  const trouble = illness ?? (await untilWell(host, desired, watch));
  if (trouble !== undefined) {
    return {
      isBack: false,
      sentences: [
        `The state of Kubernetes ${plain(from)} was restored, but the node does not work with it: ${trouble}.`,
        ...left.map(asSentence),
      ],
    };
  }
  await release(host, { desired, upgrade, cordoned: hasCordoned(failed.record('upgrade-drain')) }, watch);
  return {
    isBack: true,
    sentences: [`This node works as before, with Kubernetes ${plain(from)}.`, ...left.map(asSentence)],
    ...(restartsContainerd ? { settled: ['restart:containerd'] as const } : {}),
  };
}

/** An upgrade of containerd has its own way back, and once proven it reads another configuration. */
async function keptWithoutContainerd(host: Host, upgrade: Upgrade): Promise<KeptState> {
  const kept = await readState(host);
  if (!changes(upgrade, 'containerd')) return kept;
  return { ...kept, files: kept.files.filter(({ path }) => path !== CONTAINERD_CONFIGURATION) };
}

/** The programs that would run after the next restart, where they are not the previous ones: whoever brought them did so earlier. */
async function otherPrograms(host: Host, from: string): Promise<readonly string[]> {
  const { status, stdout } = await host.query({ program: 'kubelet', args: ['--version'] });
  const installed = status === 0 ? parseVersion(stdout) : undefined;
  if (installed === undefined || hasVersion('kubelet', installed, parseVersion(from))) return [];
  return [
    `the installed kubelet is ${plain(installed.text)}, which its next restart starts: install ${plain(from)} again, or run machineadm upgrade once the cause is corrected`,
  ];
}

/** After the end of an upgrade, only the snapshot of etcd is kept. */
export async function forgetPrevious(host: Host): Promise<void> {
  await forgetState(host);
  await forgetRenewal(host);
  await forgetKubelet(host);
  await forgetContainerd(host);
  await forgetPods(host);
}

/** What runs, and what does not: the next run continues with what is left. */
async function onlyForward(host: Host, { from, to }: Upgrade): Promise<UpgradeEnd> {
  const trouble = await probeControlPlane(host, []);
  const health = await kubeletHealth(host);
  return {
    isBack: false,
    sentences: [
      `The control plane of this node is Kubernetes ${plain(to)} already, so that there is no way back to ${plain(from)}: correct the cause, and run machineadm upgrade again, which continues.`,
      trouble === undefined ? 'Its static pods work.' : `Of its static pods, ${trouble.why}.`,
      health.healthy ? 'Its kubelet works.' : `Its kubelet does not work: ${health.why}.`,
    ],
  };
}

/** Waits until the node works; returns why it does not. */
async function untilWell(
  host: Host,
  { isControlPlane, hasLocalEtcd, kubernetes }: UpgradeDesired,
  { signal, waitingFor }: Pick<Execution, 'signal' | 'waitingFor'>,
): Promise<string | undefined> {
  const end = performance.now() + (kubernetes.timeouts.controlPlaneMs ?? DEFAULT_TIMEOUT_MS);
  const required = isControlPlane ? (['etcd', 'kube-apiserver'] as const).slice(hasLocalEtcd ? 0 : 1) : [];
  for (;;) {
    const health = await kubeletHealth(host, signal);
    const trouble = isControlPlane ? await probeControlPlane(host, required, signal) : undefined;
    const why = health.healthy ? trouble?.why : health.why;
    if (why === undefined) return undefined;
    waitingFor(`the node to work as before: ${why}`);
    if (performance.now() > end) return why;
    await pause(PAUSE_MS, undefined, { signal });
  }
}

function asSentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
