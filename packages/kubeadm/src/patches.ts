import { PATCH_TARGETS } from '@machineadm/document/kubernetes-releases/kubeadm.ts';
import { includes } from '@machineadm/document/kubernetes-releases/minor.ts';
import type { KubernetesModel } from '@machineadm/document/model/index.ts';
import { KUBEADM_PATCHES_DIRECTORY } from '@machineadm/document/ownership/kubernetes-paths.ts';
import { KUBELET_CONFIGURATION } from './kubelet.ts';
import { needsKubeadm, type Problems } from './problems.ts';
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
const PATCH_MODE = 0o640;

/**
 * The patches of this run: those of the document, and the kubelet's configuration of a machine that joins. `kubeadm join`
 * ignores a KubeletConfiguration in its file (kubernetes/kubeadm#2008); newer ones take it as a patch of the target
 * `kubeletconfiguration`.
 */
export function patches(
  kubernetes: KubernetesModel,
  command: 'init' | 'join',
  target: KubeadmTarget,
  problems: Problems,
): Patches {
  const files = [
    ...kubeletPatch(kubernetes, command, target, problems),
    ...documentPatches(kubernetes, target, problems),
  ];
  const given = kubernetes.kubeadm.patchesDirectory;
  const directory = given ?? (files.length === 0 ? undefined : KUBEADM_PATCHES_DIRECTORY);
  return {
    directory,
    files: files.map(({ name, content }) => ({
      path: `${directory ?? KUBEADM_PATCHES_DIRECTORY}/${name}`,
      content: writeDocument(content),
      mode: PATCH_MODE,
    })),
  };
}

interface NamedPatch {
  readonly name: string;
  readonly content: object;
}

function kubeletPatch(
  { node }: KubernetesModel,
  command: 'init' | 'join',
  target: KubeadmTarget,
  problems: Problems,
): readonly NamedPatch[] {
  const { config } = node.kubelet;
  if (command === 'init' || Object.keys(config).length === 0) return [];
  const window = PATCH_TARGETS.kubeletconfiguration;
  if (!includes(window, target.minor)) {
    problems.add({
      field: 'kubernetes.node.kubelet.config',
      problem: `kubeadm join before 1.${window.since} cannot configure the kubelet of one machine (${Object.keys(config).join(', ')})`,
      remedy: `Use kubernetes.node.kubelet.args, or the configuration of the machine that runs kubeadm init, or kubeadm 1.${window.since} or newer.`,
    });
  }
  return [{ name: KUBELET_PATCH, content: { ...KUBELET_CONFIGURATION, ...config } }];
}

/** Named so that kubeadm applies them in the document's order: it sorts by the part after the target. */
function documentPatches(
  { kubeadm }: KubernetesModel,
  target: KubeadmTarget,
  problems: Problems,
): readonly NamedPatch[] {
  return kubeadm.patches.map((patch, index) => {
    const window = PATCH_TARGETS[patch.target];
    const field = `kubernetes.bootstrapper.kubeadm.patches[${index}].target`;
    if (!includes(window, target.minor)) {
      const problem = `kubeadm has had the patch target ${patch.target} since 1.${window.since}`;
      problems.add({ field, problem, remedy: needsKubeadm(window.since, field) });
    }
    const number = String(index + 1).padStart(3, '0');
    return { name: `${patch.target}${number}+${patch.type}.yaml`, content: patch.patch };
  });
}
