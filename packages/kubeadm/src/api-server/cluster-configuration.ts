import type { KubernetesModel } from '@machineadm/document/model/index.ts';
import type { KubeadmPod } from '@machineadm/document/ownership/kubernetes-paths.ts';
import type { Version } from '@machineadm/document/text/program-version.ts';
import { omitEmpty, omitUndefined } from '@machineadm/document/values/defined.ts';
import { member, text } from '@machineadm/document/values/untyped.ts';
import { componentFields } from '../cluster.ts';
import type { RequestedNames } from '../components.ts';
import type { Fields } from '../fields.ts';
import { timeouts } from '../node.ts';
import { Problems } from '../problems.ts';
import { type KubeadmConfigVersion, kubeadmTarget } from '../version.ts';
import { writeYaml } from '../yaml.ts';

/** What kubeadm needs to render static pods of this machine again. */
export interface ReconfigurationInput {
  readonly kubernetes: KubernetesModel;
  readonly kubeadm: Version;
  /** The cluster's ClusterConfiguration from its ConfigMap: other nodes and upgrades have changed it since. */
  readonly cluster: unknown;
  readonly pods: readonly { readonly pod: KubeadmPod; readonly before: RequestedNames }[];
  readonly nodeName: string;
  /** Of this machine's API server: `10.0.0.3:6443`. */
  readonly endpoint: string | undefined;
  /** Where kubeadm finds patches; undefined = none. */
  readonly patchesDirectory: string | undefined;
}

/** Where ClusterConfiguration has the settings of a static pod. */
const SECTIONS: Readonly<Record<KubeadmPod, readonly [string, ...string[]]>> = {
  etcd: ['etcd', 'local'],
  'kube-apiserver': ['apiServer'],
  'kube-controller-manager': ['controllerManager'],
  'kube-scheduler': ['scheduler'],
};

/** The section of a ClusterConfiguration with the settings of a static pod. */
export function sectionOf(cluster: unknown, pod: KubeadmPod): Fields {
  return fieldsOf(SECTIONS[pod].reduce(member, cluster));
}

/**
 * The configuration file for `kubeadm init phase`: the cluster's own configuration with these static pods as the document
 * describes them. Settings that neither this document nor the previous one named are kept.
 *
 * @throws MachineadmError `NotExpressible`
 */
export function reconfiguration(input: ReconfigurationInput): string {
  const { kubernetes, kubeadm, cluster, pods, nodeName, endpoint, patchesDirectory } = input;
  const apiVersion = text(member(cluster, 'apiVersion')) ?? '';
  const target = { ...kubeadmTarget(kubeadm), configVersion: configVersionOf(apiVersion) };
  const problems = new Problems();
  const changed: Record<string, unknown> = { ...fieldsOf(cluster) };
  for (const { pod, before } of pods) {
    const wanted = componentFields(kubernetes.controlPlane, pod, target, problems);
    const [section, inner] = SECTIONS[pod];
    const merged = withSettings(sectionOf(cluster, pod), wanted, before);
    changed[section] = inner === undefined ? merged : { ...fieldsOf(changed[section]), [inner]: merged ?? {} };
  }
  problems.throwIfAny(target);
  const at = endpoint?.lastIndexOf(':') ?? -1;
  return writeYaml([
    omitUndefined(changed),
    omitUndefined({
      apiVersion,
      kind: 'InitConfiguration',
      nodeRegistration: { name: nodeName, criSocket: kubernetes.node.criSocket },
      localAPIEndpoint:
        endpoint === undefined
          ? undefined
          : {
              advertiseAddress: endpoint.slice(0, at).replace(/^\[|\]$/g, ''),
              bindPort: Number(endpoint.slice(at + 1)),
            },
      timeouts: target.configVersion === 'v1beta4' ? timeouts(kubernetes, target, new Problems()) : undefined,
      patches:
        patchesDirectory === undefined || target.configVersion === 'v1beta2'
          ? undefined
          : { directory: patchesDirectory },
    }),
  ]);
}

function withSettings(old: Fields, wanted: Fields, before: RequestedNames): Fields | undefined {
  return omitEmpty({
    ...old,
    extraArgs: mergedArguments(old.extraArgs, wanted.extraArgs, before.args),
    extraEnvs: mergedByName(old.extraEnvs, wanted.extraEnvs, before.env),
    extraVolumes: mergedByName(old.extraVolumes, wanted.extraVolumes, before.volumes),
  });
}

/** The format of the existing configuration decides, not the newest one that this kubeadm knows. */
function configVersionOf(apiVersion: string): KubeadmConfigVersion {
  const version = apiVersion.split('/')[1];
  return version === 'v1beta2' || version === 'v1beta3' ? version : 'v1beta4';
}

/** A map up to v1beta3, a list from v1beta4 on. */
function mergedArguments(old: unknown, wanted: unknown, before: readonly string[]): unknown {
  if (Array.isArray(old) || Array.isArray(wanted)) return mergedByName(old, wanted, before);
  const given = fieldsOf(wanted);
  const kept = Object.entries(fieldsOf(old)).filter(([name]) => !before.includes(name) && !(name in given));
  return omitEmpty({ ...Object.fromEntries(kept), ...given });
}

function mergedByName(old: unknown, wanted: unknown, before: readonly string[]): readonly unknown[] | undefined {
  const given: readonly unknown[] = Array.isArray(wanted) ? wanted : [];
  const names = new Set([...before, ...given.map((item) => text(member(item, 'name')) ?? '')]);
  const kept = (Array.isArray(old) ? old : []).filter((item: unknown) => !names.has(text(member(item, 'name')) ?? ''));
  const all = [...kept, ...given];
  return all.length === 0 ? undefined : all;
}

function fieldsOf(value: unknown): Fields {
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? { ...value } : {};
}
