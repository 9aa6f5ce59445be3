import type { KubernetesModel, Model } from '@machineadm/document/model/index.ts';
import { whyFixed } from '@machineadm/document/sections/kubernetes/fixed-kubelet-settings.ts';
import { compareVersions, parseVersion } from '@machineadm/document/text/program-version.ts';
import { type MergeOptions, mergedDocument } from '../conversions/translate.ts';
import { sampleDocument } from '../provider/check.ts';
import type { Config } from '../provider/objects.ts';
import { documentProblems } from '../provider/render.ts';
import { isSame } from './objects.ts';

/** A MachineadmConfig at one time, with the version of its Machine. */
export interface Dated {
  readonly config: Config;
  readonly version: string;
}

/**
 * Why `machineadm upgrade` could not make one document of the other on a node, by the documents alone; undefined: nothing is
 * against it. It is the comparison that the node makes, with the same code.
 */
export async function configUpdateProblem(
  current: Dated,
  desired: Dated,
  merge: MergeOptions,
): Promise<string | undefined> {
  const [problem] = documentProblems(desired.config);
  if (problem !== undefined) return problem;
  const before = await loaded(current, merge);
  const after = await loaded(desired, merge);
  if (after.model.kubernetes?.exec !== undefined) return 'only nodes that kubeadm made are updated in place';
  if (after.model.host.platform !== 'linux') return 'machines with Windows are not updated in place';
  const lastsSame = async (...without: 'kubelet'[]) =>
    (await before.lastingDigestWith(desired.version, without)) ===
    (await after.lastingDigestWith(desired.version, without));
  if (!(await lastsSame('kubelet'))) return 'spec.document.kubernetes changes in a field that a node cannot change';
  const kubelet = (await lastsSame()) ? undefined : kubeletProblem(before.model.kubernetes, after.model.kubernetes);
  if (kubelet !== undefined) return `spec.document.kubernetes.node.kubelet: ${kubelet}`;
  const containerd = containerdProblem(before.model, after.model);
  if (containerd !== undefined) return `spec.document.containerRuntime.containerd.version: ${containerd}`;
  if (current.version === desired.version || brings(after.model, ['kubeadm', 'kubelet'])) return undefined;
  return 'nothing in spec.document and the profile brings kubeadm and the kubelet of another version: host.files (also with unpack) or host.hooks';
}

/** Why the kubelet of a running node cannot get these settings; undefined: it can (src/features/upgrade/kubelet-settings.ts). */
function kubeletProblem(before: KubernetesModel | undefined, after: KubernetesModel | undefined): string | undefined {
  const settings = (one: KubernetesModel | undefined) =>
    new Map([
      ...Object.entries(one?.node.kubelet.config ?? {}).map(([name, value]) => [`field ${name}`, value] as const),
      ...Object.entries(Object.groupBy(one?.node.kubelet.args ?? [], ({ name }) => name)).map(
        ([name, values]) => [`argument ${name}`, values] as const,
      ),
    ]);
  const [old, wanted] = [settings(before), settings(after)];
  for (const key of new Set([...old.keys(), ...wanted.keys()])) {
    const [kind, name = ''] = key.split(' ');
    if (isSame(old.get(key), wanted.get(key))) continue;
    if (!wanted.has(key)) return `${name} is left out: what the kubelet would have without it is not known`;
    const why = whyFixed({ kind: kind === 'field' ? 'field' : 'argument', name });
    if (why !== undefined) return `${name} cannot change on a running node: ${why}`;
  }
  const { patches = [], patchesDirectory } = after?.kubeadm ?? {};
  const isPatched = patchesDirectory !== undefined || patches.some(({ target }) => target === 'kubeletconfiguration');
  return isPatched ? 'kubeadm patches the configuration of the kubelet, too' : undefined;
}

/** Why the containerd of a running node cannot be replaced (src/features/upgrade/containerd.ts); undefined: it can. */
function containerdProblem(before: Model, after: Model): string | undefined {
  const [old, wanted] = [before.containerd?.version, after.containerd?.version];
  if (wanted === undefined || wanted === old) return undefined;
  const [from, to] = [parseVersion(old ?? ''), parseVersion(wanted)];
  if (from !== undefined && to !== undefined && compareVersions(to, from) < 0)
    return `containerd cannot be downgraded from ${old} to ${wanted}`;
  if (brings(after, ['containerd'])) return undefined;
  return `nothing in spec.document and the profile brings containerd ${wanted}: host.files (also with unpack) or host.hooks`;
}

/** What an archive or a hook brings is known on the node, which looks before it begins. */
function brings({ host: { files, archives, hooks } }: Model, programs: readonly string[]): boolean {
  const names = files.map(({ path }) => path.slice(path.lastIndexOf('/') + 1));
  const hasHooks = [hooks.early, hooks.beforeBootstrap, hooks.afterBootstrap].some((group) => group !== undefined);
  return archives.length > 0 || hasHooks || programs.every((program) => names.includes(program));
}

async function loaded({ config, version }: Dated, merge: MergeOptions) {
  return (await mergedDocument({ yaml: sampleDocument(config, version) }, merge)).document;
}
