import type { ImageArchive, KubernetesModel, Model } from '@machineadm/document/model/index.ts';
import type { StepId } from '@machineadm/document/ownership/step-ids.ts';
import { compareVersions, parseVersion, type Version } from '@machineadm/document/text/program-version.ts';
import { isAirGapped } from '@machineadm/kubeadm/images/needed.ts';
import { imagesDirectory } from '../../container-runtime/image-space.ts';
import { type Facts, reportedIdentity } from '../../host/seam/facts.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import { requiredComponents } from '../../kubernetes/control-plane-health.ts';
import { expectedNodeName, ownNodeName } from '../../kubernetes/node-name.ts';
import type { ReadinessDemand } from '../../kubernetes/readiness.ts';
import { runtimeSocket } from '../../kubernetes/runtime-socket.ts';
import { ClusterUnanswered, nodeNamed, ownCredential } from '../../kubernetes/upgrade/cluster.ts';
import type { UpgradeOrder } from '../../kubernetes/upgrade/obstacle.ts';
import { bringerOf } from '../../step/brought-programs.ts';
import type { NodeProgram, UnmetRequirement } from '../../step/index.ts';
import type { Upgrade } from '../../step/upgrade-order.ts';

/** What the steps of an upgrade know of the document and the machine. */
export interface UpgradeDesired {
  readonly kubernetes: KubernetesModel;
  readonly nodeName: string;
  readonly nodeNameGiven: boolean;
  readonly isControlPlane: boolean;
  readonly hasLocalEtcd: boolean;
  readonly isAirGapped: boolean;
  readonly images: {
    readonly archives: readonly ImageArchive[];
    readonly architecture: string;
    readonly directory: string;
  };
  /** The image of sandboxes, where the document configures containerd; without one it is that of the installed kubeadm. */
  readonly sandbox: { readonly isManaged: boolean; readonly image: string | undefined };
  /** Of CRI. */
  readonly socket: string;
  readonly programs: Pick<Facts, 'kubeadm' | 'kubelet'>;
  /** The step of files or archives of the document that may bring a program, by its name. */
  readonly broughtBy: Readonly<Record<'kubeadm' | 'kubelet', StepId | undefined>>;
  readonly readiness: ReadinessDemand;
}

/** Of a document whose node kubeadm made, on Linux. */
export function upgradeDesired(model: Model, facts: Facts): UpgradeDesired | undefined {
  const { kubernetes, host } = model;
  if (kubernetes === undefined || kubernetes.exec !== undefined || host.platform !== 'linux') return undefined;
  const { node, role } = kubernetes;
  const required = requiredComponents(kubernetes);
  const nodeName = expectedNodeName(kubernetes, model, facts);
  const nodeNameGiven = node.name !== undefined;
  return {
    ...{ kubernetes, nodeName, nodeNameGiven },
    isControlPlane: role !== 'Worker',
    hasLocalEtcd: required.includes('etcd'),
    isAirGapped: isAirGapped(model),
    images: {
      ...{ archives: model.images.archives, architecture: facts.architecture },
      directory: imagesDirectory(model),
    },
    sandbox: { isManaged: model.containerd !== undefined, image: model.containerd?.sandboxImage },
    socket: runtimeSocket(model, facts),
    programs: { kubeadm: facts.kubeadm, kubelet: facts.kubelet },
    broughtBy: { kubeadm: bringerOf('kubeadm', host), kubelet: bringerOf('kubelet', host) },
    readiness: {
      require: 'KubeletHealthy',
      ...{ nodeName, nodeNameGiven, providerId: undefined },
      ...reportedIdentity(facts),
    },
  };
}

/** The name of this machine's Node, by its credential. */
export async function nodeNameOf(host: QueryHost, desired: UpgradeDesired): Promise<string> {
  return ownNodeName(await ownCredential(host, false), desired);
}

/** Whether the Node is Ready now. One that was not Ready before a change, for another reason, need not become so. */
export async function isNodeReady(host: QueryHost, desired: UpgradeDesired, signal: AbortSignal): Promise<boolean> {
  try {
    const node = await nodeNamed(await ownCredential(host, false), await nodeNameOf(host, desired), signal);
    return node?.ready?.status === 'True';
  } catch (error) {
    if (error instanceof ClusterUnanswered) return false;
    throw error;
  }
}

/** The order for the checks of the room kubernetes. */
export function orderOf(upgrade: Upgrade, nodeName: string, desired: UpgradeDesired): UpgradeOrder {
  const { from, to, ignorePreflightErrors = [] } = upgrade;
  const { isControlPlane, hasLocalEtcd, kubernetes } = desired;
  const ignored = [...kubernetes.kubeadm.ignorePreflightErrors, ...ignorePreflightErrors];
  return { from, to, nodeName, isControlPlane, hasLocalEtcd, ignored };
}

/** Without the `v` that documents write. */
export function plain(version: string): string {
  return version.replace(/^v/, '');
}

/**
 * A program that does not have the version of the document: kubeadm may be a later patch release, the kubelet must be the
 * one that is asked for.
 */
export function wrongProgram(
  program: Extract<NodeProgram, 'kubeadm' | 'kubelet'>,
  { programs, broughtBy }: Pick<UpgradeDesired, 'programs' | 'broughtBy'>,
  { to }: Pick<Upgrade, 'to'>,
): UnmetRequirement | undefined {
  const installed = programs[program];
  if (hasVersion(program, installed, parseVersion(to))) return undefined;
  return {
    reason: 'UpgradeProgramMissing',
    what: `${program} ${plain(to)} is not installed: ${installed === undefined ? 'no version' : `${plain(installed.text)} is`}`,
    remedy: `Let host.files (also with unpack) or a hook of the document install ${program} ${plain(to)}, or install its package.`,
    change: `upgrade-${program}/run`,
    scope: 'node',
    // The step checks it again.
    ...(broughtBy[program] === undefined ? {} : { broughtBy: broughtBy[program] }),
  };
}

/** Whether an installed program is right for a version. */
export function hasVersion(
  program: 'kubeadm' | 'kubelet',
  installed: Version | undefined,
  wanted: Version | undefined,
): boolean {
  if (installed === undefined || wanted === undefined) return false;
  if (program === 'kubelet') return compareVersions(installed, wanted) === 0;
  const isOfMinor = installed.major === wanted.major && installed.minor === wanted.minor;
  return isOfMinor && compareVersions(installed, wanted) >= 0;
}
