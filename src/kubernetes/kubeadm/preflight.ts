import { containerdRefusal } from '@machineadm/document/kubernetes-releases/containerd.ts';
import { isKubeletPatch } from '@machineadm/document/kubernetes-releases/kubeadm.ts';
import { kubeadmSkew } from '@machineadm/document/kubernetes-releases/version-skew.ts';
import type { KubernetesModel } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { Reason } from '@machineadm/document/outcomes/reasons.ts';
import { parseVersion, type Version } from '@machineadm/document/text/program-version.ts';
import { foreignYamlDocuments } from '@machineadm/document/yaml/foreign-yaml.ts';
import { allowsCgroupV1, kubeletSkew } from '@machineadm/kubeadm/version-skew.ts';
import { cgroupRefusal } from '../../host/linux/cgroups.ts';
import { runtimeService } from '../../host/linux/runtime-sockets.ts';
import { programTrouble } from '../../host/processes/executable.ts';
import type { Facts } from '../../host/seam/facts.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import type { LocatedKubernetes } from '../runtime-socket.ts';
import { renderRedacted } from './config.ts';

/** A requirement of kubeadm that the machine does not meet; the same type as a step's finding. */
export interface KubeadmObstacle {
  readonly reason: Reason;
  readonly what: string;
  readonly remedy: string;
}

/**
 * Checks before any change: the programs, and whether they support the document.
 *
 * @param host distinguishes a missing program from one that cannot be executed
 * @param isProvided whether an earlier step of the document writes something at a path
 */
export async function kubeadmObstacles(
  host: Pick<QueryHost, 'stat' | 'readLink' | 'realPath' | 'readRange' | 'which' | 'list' | 'readText'>,
  kubernetes: LocatedKubernetes,
  cgroupDriver: 'systemd' | 'cgroupfs' | undefined,
  programs: Pick<Facts, 'kubeadm' | 'kubelet' | 'containerd'>,
  isProvided: (path: string) => boolean,
): Promise<readonly KubeadmObstacle[]> {
  const { kubeadm, kubelet, containerd } = programs;
  const minor = /^v\d+\.\d+/.exec(kubernetes.version)?.[0] ?? kubernetes.version;
  const obstacles: KubeadmObstacle[] = [];
  if (kubelet === undefined) {
    obstacles.push(
      (await notExecutable(host, 'kubelet', minor)) ?? {
        reason: 'KubeletNotInstalled',
        what: 'the kubelet is not installed',
        remedy: `Install the kubelet ${minor} with its systemd unit.`,
      },
    );
  }
  if (kubeadm === undefined) {
    obstacles.push(
      (await notExecutable(host, 'kubeadm', minor)) ?? {
        reason: 'KubeadmNotInstalled',
        what: 'kubeadm is not installed',
        remedy: `Install kubeadm ${minor}.`,
      },
    );
    return obstacles;
  }
  const wanted = parseVersion(kubernetes.version);
  const skew = wanted && kubeadmSkew(wanted, kubeadm);
  if (skew !== undefined) {
    obstacles.push({
      reason: 'KubeadmUnsupported',
      what: skew,
      remedy: `Install kubeadm ${minor}, or correct kubernetes.version.`,
    });
  }
  if (kubelet !== undefined && skew === undefined) {
    const patched = await kubeletPatches(host, kubernetes, isProvided);
    const old = allowsCgroupV1(kubernetes, patched) ? undefined : await cgroupRefusal(host, kubelet);
    const runtime = runtimeObstacle(kubernetes, containerd, kubelet);
    obstacles.push(...[kubeletSkew(kubernetes, kubelet, kubeadm), old, runtime].filter((one) => one !== undefined));
  }
  const inexpressible = notExpressible({ kubernetes, kubeadm, cgroupDriver });
  if (inexpressible !== undefined) obstacles.push(inexpressible);
  return obstacles;
}

/** The patches of the kubelet's configuration that kubeadm will find in the document's own directory. */
async function kubeletPatches(
  host: Pick<QueryHost, 'list' | 'readText'>,
  { kubeadm: { patchesDirectory } }: KubernetesModel,
  isProvided: (path: string) => boolean,
): Promise<readonly unknown[] | 'unknown'> {
  if (patchesDirectory === undefined) return [];
  const names = ((await host.list(patchesDirectory)) ?? []).filter(isKubeletPatch).sort();
  if (names.length === 0 && isProvided(patchesDirectory)) return 'unknown';
  const files = await Promise.all(names.map((name) => host.readText(`${patchesDirectory}/${name}`)));
  return (await Promise.all(files.map((file) => foreignYamlDocuments(file ?? '')))).flat();
}

/** A containerd that the kubelet cannot speak with, where it is the runtime. */
function runtimeObstacle(
  { node }: LocatedKubernetes,
  containerd: Version | undefined,
  kubelet: Version,
): KubeadmObstacle | undefined {
  if (containerd === undefined || runtimeService(node.criSocket) !== 'containerd') return undefined;
  const what = containerdRefusal(containerd, kubelet);
  const remedy = 'Install containerd 1.7, or a newer Kubernetes.';
  return what === undefined ? undefined : { reason: 'ContainerRuntimeUnsupported', what, remedy };
}

/** An installed program that did not print its version: why the kernel cannot run it. */
async function notExecutable(
  host: Pick<QueryHost, 'stat' | 'readLink' | 'realPath' | 'readRange' | 'which'>,
  program: 'kubeadm' | 'kubelet',
  minor: string,
): Promise<KubeadmObstacle | undefined> {
  const path = await host.which(program);
  const unclear = path === undefined ? undefined : `${path} does not print its version`;
  const why = (await programTrouble(host, program)) ?? unclear;
  if (why === undefined) return undefined;
  const remedy = `Install ${program} ${minor} again, for the architecture of this machine.`;
  return { reason: 'ProgramNotExecutable', what: `${program} cannot be executed: ${why}`, remedy };
}

function notExpressible(input: Parameters<typeof renderRedacted>[0]): KubeadmObstacle | undefined {
  try {
    renderRedacted(input);
    return undefined;
  } catch (error) {
    if (!(error instanceof MachineadmError)) throw error;
    return { reason: error.reason, what: error.message, remedy: error.remedy };
  }
}
