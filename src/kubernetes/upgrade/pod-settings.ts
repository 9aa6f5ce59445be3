import { isDeepStrictEqual } from 'node:util';
import type { KubernetesModel } from '@machineadm/document/model/index.ts';
import { KUBEADM_PODS, type KubeadmPod, staticPodPath } from '@machineadm/document/ownership/kubernetes-paths.ts';
import { member, strings, text } from '@machineadm/document/values/untyped.ts';
import { foreignYaml } from '@machineadm/document/yaml/foreign-yaml.ts';
import { sectionOf } from '@machineadm/kubeadm/api-server/cluster-configuration.ts';
import { componentModel, type RequestedNames } from '@machineadm/kubeadm/components.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import type { UpgradeObstacle } from './obstacle.ts';

/** A setting of a static pod that differs from the document. */
export interface PodChange {
  readonly kind: 'argument' | 'variable' | 'volume';
  readonly name: string;
  /** One line; undefined: kubeadm's default, or none. Of a variable it is empty: the value may be secret. */
  readonly from: string | undefined;
  readonly to: string | undefined;
}

/** What a static pod has, or what a configuration asks for. */
interface Settings {
  /** Values by name, which may repeat. */
  readonly args: ReadonlyMap<string, readonly string[]>;
  readonly env: ReadonlyMap<string, unknown>;
  readonly volumes: ReadonlyMap<string, string>;
}

/** Whether kubeadm patches a static pod: then only kubeadm knows what its manifest has. */
export function isPatched({ kubeadm }: Pick<KubernetesModel, 'kubeadm'>, pod: KubeadmPod): boolean {
  return kubeadm.patchesDirectory !== undefined || kubeadm.patches.some(({ target }) => target === pod);
}

/**
 * What of the document the manifest of a static pod of this machine does not have, and what it has of an earlier document.
 * Empty without a manifest: then the component runs elsewhere.
 *
 * @param before names that an earlier document asked for
 * @param cluster ClusterConfiguration; it is compared in the place of a manifest that kubeadm patches
 */
export async function podChanges(
  host: QueryHost,
  kubernetes: KubernetesModel,
  pod: KubeadmPod,
  before: RequestedNames | undefined,
  cluster: unknown,
): Promise<readonly PodChange[]> {
  const source = await host.readText(staticPodPath(pod));
  if (source === undefined) return [];
  const now = isPatched(kubernetes, pod)
    ? settingsOfSection(sectionOf(cluster, pod))
    : settingsOfPod(await foreignYaml(source));
  const wanted = wantedSettings(kubernetes, pod);
  return [
    ...argumentChanges(now.args, wanted.args, before?.args ?? []),
    ...variableChanges(now.env, wanted.env, before?.env ?? []),
    ...volumeChanges(now.volumes, wanted.volumes, before?.volumes ?? []),
  ];
}

/**
 * Settings of the document that the cluster's configuration (kubeadm-config) does not have: `kubeadm upgrade` writes the
 * manifests from it, and would undo them. Names and values of arguments only: variables may be secret.
 */
export function recordObstacles(kubernetes: KubernetesModel, cluster: unknown): readonly UpgradeObstacle[] {
  // Those of the API server are recorded by every run that changes it.
  const lacking = KUBEADM_PODS.filter((pod) => pod !== 'kube-apiserver').flatMap((pod) => {
    const { args, env, volumes } = settingsOfSection(sectionOf(cluster, pod));
    const wanted = wantedSettings(kubernetes, pod);
    return [
      ...argumentChanges(args, wanted.args, []),
      ...variableChanges(env, wanted.env, []),
      ...volumeChanges(volumes, wanted.volumes, []),
    ].map((change) => `${pod} ${describePodChange(change)}`);
  });
  if (lacking.length === 0) return [];
  return [
    {
      reason: 'ControlPlaneEdited',
      what: `the ConfigMap kubeadm-config does not have these settings of the document, and kubeadm upgrade writes the static pods from it: ${lacking.join('; ')}`,
      remedy:
        'Record the settings of the document there (kubectl -n kube-system edit configmap kubeadm-config), or write into the document what is there.',
      severity: 'warning',
    },
  ];
}

function wantedSettings({ controlPlane }: KubernetesModel, pod: KubeadmPod): Settings {
  const { args, env, volumes } = componentModel(controlPlane, pod);
  return {
    args: grouped(args.map(({ name, value }) => [name, value] as const)),
    env: new Map(env.map(({ name, ...value }) => [name, value] as const)),
    volumes: new Map(volumes.map((volume) => [volume.name, volumeLine(volume)] as const)),
  };
}

function argumentChanges(now: Settings['args'], wanted: Settings['args'], before: readonly string[]): PodChange[] {
  return namesOf(now, wanted, before).flatMap((name): PodChange[] => {
    const [from, to] = [now.get(name), wanted.get(name)];
    // kubeadm sorts them.
    if (isDeepStrictEqual(from?.toSorted(), to?.toSorted())) return [];
    return [{ kind: 'argument', name, from: from?.join(' '), to: to?.join(' ') }];
  });
}

function variableChanges(now: Settings['env'], wanted: Settings['env'], before: readonly string[]): PodChange[] {
  return namesOf(now, wanted, before).flatMap((name): PodChange[] => {
    const [from, to] = [now.get(name), wanted.get(name)];
    if (isDeepStrictEqual(from, to)) return [];
    const hidden = (value: unknown) => (value === undefined ? undefined : '');
    return [{ kind: 'variable', name, from: hidden(from), to: hidden(to) }];
  });
}

function volumeChanges(now: Settings['volumes'], wanted: Settings['volumes'], before: readonly string[]): PodChange[] {
  return namesOf(now, wanted, before).flatMap((name): PodChange[] => {
    const [from, to] = [now.get(name), wanted.get(name)];
    return from === to ? [] : [{ kind: 'volume', name, from, to }];
  });
}

/** A change for one line of a message. */
export function describePodChange({ kind, name, from, to }: PodChange): string {
  const what = { argument: `--${name}`, variable: `the variable ${name}`, volume: `the volume ${name}` }[kind];
  if (kind === 'variable') return `${what} ${from === undefined ? 'is new' : to === undefined ? 'goes' : 'changes'}`;
  const none = kind === 'argument' ? '(default)' : '(none)';
  return `${what}: ${from ?? none} -> ${to ?? none}`;
}

/** All names that are wanted, and those that were and still are there. */
function namesOf(
  now: ReadonlyMap<string, unknown>,
  wanted: ReadonlyMap<string, unknown>,
  before: readonly string[],
): readonly string[] {
  return [...new Set([...wanted.keys(), ...before.filter((name) => now.has(name))])];
}

function settingsOfPod(pod: unknown): Settings {
  const spec = member(pod, 'spec');
  const container = list(member(spec, 'containers'))[0];
  const words = [...strings(member(container, 'command')), ...strings(member(container, 'args'))];
  const mounts = new Map(list(member(container, 'volumeMounts')).map((mount) => [text(member(mount, 'name')), mount]));
  return {
    args: grouped(
      words.flatMap((word) => {
        if (!word.startsWith('--')) return [];
        const [name = '', ...value] = word.slice(2).split('=');
        return [[name, value.join('=')] as const];
      }),
    ),
    env: variablesIn(list(member(container, 'env'))),
    volumes: new Map(
      list(member(spec, 'volumes')).flatMap((volume) => {
        const name = text(member(volume, 'name'));
        const [hostPath, mount] = [text(member(member(volume, 'hostPath'), 'path')), mounts.get(name)];
        const mountPath = text(member(mount, 'mountPath'));
        if (name === undefined || hostPath === undefined || mountPath === undefined) return [];
        const readOnly = member(mount, 'readOnly') === true;
        const pathType = text(member(member(volume, 'hostPath'), 'type'));
        return [[name, volumeLine({ hostPath, mountPath, readOnly, pathType })] as const];
      }),
    ),
  };
}

/** A map of arguments up to v1beta3, a list from v1beta4 on. */
function settingsOfSection(section: unknown): Settings {
  const given = member(section, 'extraArgs');
  const args = Array.isArray(given)
    ? given.map((one) => [text(member(one, 'name')) ?? '', text(member(one, 'value')) ?? ''] as const)
    : Object.entries(typeof given === 'object' && given !== null ? given : {}).map(
        ([name, value]) => [name, String(value)] as const,
      );
  return {
    args: grouped(args),
    env: variablesIn(list(member(section, 'extraEnvs'))),
    volumes: new Map(
      list(member(section, 'extraVolumes')).map((volume) => [
        text(member(volume, 'name')) ?? '',
        volumeLine({
          hostPath: text(member(volume, 'hostPath')) ?? '',
          mountPath: text(member(volume, 'mountPath')) ?? '',
          readOnly: member(volume, 'readOnly') === true,
          pathType: text(member(volume, 'pathType')),
        }),
      ]),
    ),
  };
}

function variablesIn(env: readonly unknown[]): ReadonlyMap<string, unknown> {
  return new Map(
    env.flatMap((variable) => {
      const name = text(member(variable, 'name'));
      const { name: _name, ...value } = { ...(typeof variable === 'object' ? variable : {}), name: '' };
      return name === undefined ? [] : [[name, value] as const];
    }),
  );
}

function volumeLine(volume: {
  readonly hostPath: string;
  readonly mountPath: string;
  readonly readOnly: boolean;
  readonly pathType: string | undefined;
}): string {
  const { hostPath, mountPath, readOnly, pathType } = volume;
  const more = [readOnly ? 'read only' : '', pathType ?? ''].filter((one) => one !== '');
  return `${hostPath} at ${mountPath}${more.length === 0 ? '' : ` (${more.join(', ')})`}`;
}

function grouped(pairs: readonly (readonly [string, string])[]): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const [name, value] of pairs) found.set(name, [...(found.get(name) ?? []), value]);
  return found;
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
