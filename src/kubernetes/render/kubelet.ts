import type { KubernetesModel } from '../../document/model.ts';
import { KUBEADM_PATCHES_DIRECTORY } from '../paths.ts';
import { asked, type Fields } from './fields.ts';
import type { Problems } from './problems.ts';
import type { KubeadmTarget } from './version.ts';
import { writeDocument } from './yaml.ts';

/** A file that must be in place before kubeadm runs. */
export interface RenderedFile {
  readonly path: string;
  readonly content: string;
  /** Permission bits; owner and group are root. */
  readonly mode: number;
}

/** Where patches are read from, and those that we put there. */
export interface Patches {
  readonly directory: string | undefined;
  readonly files: readonly RenderedFile[];
}

/** Sorts before the patches that people write, so that theirs win; says whose it is in a directory of theirs. */
const KUBELET_PATCH = 'kubeletconfiguration0machineadm+merge.yaml';

const KUBELET_CONFIGURATION = { apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration' };

/**
 * The KubeletConfiguration that `kubeadm init` takes beside its own kinds and uploads for the whole cluster; undefined
 * when nothing is asked of the kubelet. kubeadm itself assumes the systemd driver from 1.22 on, whatever containerd uses.
 */
export function kubeletConfiguration(
  kubernetes: KubernetesModel,
  cgroupDriver: 'systemd' | 'cgroupfs' | undefined,
): Fields | undefined {
  const fields = asked({ cgroupDriver, ...kubernetes.node.kubelet.config });
  return Object.keys(fields).length === 0 ? undefined : { ...KUBELET_CONFIGURATION, ...fields };
}

/**
 * The patches of this run. `kubeadm join` ignores a KubeletConfiguration in its file (kubernetes/kubeadm#2008); from 1.25
 * on the kubelet's configuration of one machine is a patch of the target `kubeletconfiguration`.
 */
export function patches(
  kubernetes: KubernetesModel,
  command: 'init' | 'join',
  target: KubeadmTarget,
  problems: Problems,
): Patches {
  const given = kubernetes.kubeadm.patchesDirectory;
  const config = kubernetes.node.kubelet.config;
  if (command === 'init' || Object.keys(config).length === 0) return { directory: given, files: [] };
  if (target.minor < 25) {
    problems.add({
      field: 'kubernetes.node.kubelet.config',
      problem: `kubeadm join before 1.25 cannot configure the kubelet of one machine (${Object.keys(config).join(', ')})`,
      remedy:
        'Use kubernetes.node.kubelet.args, or the configuration of the machine that runs kubeadm init, or kubeadm 1.25 or newer.',
    });
  }
  const directory = given ?? KUBEADM_PATCHES_DIRECTORY;
  const content = writeDocument({ ...KUBELET_CONFIGURATION, ...config });
  return { directory, files: [{ path: `${directory}/${KUBELET_PATCH}`, content, mode: 0o640 }] };
}
