import * as z from 'zod';
import { type Api, isStatus } from './api.ts';
import type { ObjectStore } from './object-store.ts';
import {
  BOOTSTRAP_GROUP,
  CLUSTER_LABEL,
  CORE_GROUP,
  KubernetesObject,
  type OwnerReference,
  ownerOf,
  type SecretObject,
} from './objects.ts';

const Group = z.looseObject({ preferredVersion: z.looseObject({ version: z.string() }) });

/** The version of each API group that the API server prefers, asked once and again after `forget`. */
export class ServedVersions {
  readonly #api: Api;
  readonly #versions = new Map<string, Promise<string>>();

  constructor(api: Api) {
    this.#api = api;
  }

  async of(group: string): Promise<string> {
    const known = this.#versions.get(group);
    if (known !== undefined) return await known;
    const asked = this.#api
      .request({ path: `/apis/${group}` })
      .then((answer) => Group.parse(answer).preferredVersion.version);
    this.#versions.set(group, asked);
    asked.catch(() => this.#versions.delete(group));
    return await asked;
  }

  forget(group: string): void {
    this.#versions.delete(group);
  }
}

const PLURALS = {
  KubeadmConfig: [BOOTSTRAP_GROUP, 'kubeadmconfigs'],
  Machine: [CORE_GROUP, 'machines'],
  MachinePool: [CORE_GROUP, 'machinepools'],
  Cluster: [CORE_GROUP, 'clusters'],
} as const;

type Kind = keyof typeof PLURALS;

/** The path of an object of Cluster API in one version. */
export function pathOf(kind: Kind, version: string, namespace: string, name: string): string {
  const [group, plural] = PLURALS[kind];
  return `/apis/${group}/${version}/namespaces/${namespace}/${plural}/${encodeURIComponent(name)}`;
}

/** The path of all objects of a kind, in all namespaces. */
export function collectionPath(kind: Kind, version: string): string {
  const [group, plural] = PLURALS[kind];
  return `/apis/${group}/${version}/${plural}`;
}

/** The path of all objects of a kind in a namespace. */
export function collectionIn(kind: Kind, version: string, namespace: string): string {
  const [group, plural] = PLURALS[kind];
  return `/apis/${group}/${version}/namespaces/${namespace}/${plural}`;
}

/** Reads an object in the version that the API server prefers; undefined = there is none. */
export async function readObject(
  api: Api,
  versions: ServedVersions,
  kind: Kind,
  namespace: string,
  name: string,
  signal?: AbortSignal,
): Promise<KubernetesObject | undefined> {
  const [group] = PLURALS[kind];
  for (let version = await versions.of(group); ; ) {
    try {
      return KubernetesObject.parse(await api.request({ path: pathOf(kind, version, namespace, name), signal }));
    } catch (error) {
      if (!isStatus(error, 404)) throw error;
    }
    // Cluster API may have been upgraded, and no longer serve this version.
    const before = version;
    versions.forget(group);
    version = await versions.of(group);
    if (version === before) return undefined;
  }
}

/** The Machine or MachinePool that owns a configuration, a Machine from those that are followed; undefined = there is none, or another one. */
export async function owningMachine(
  { api, versions }: { readonly api: Api; readonly versions: ServedVersions },
  machines: ObjectStore,
  config: Pick<KubernetesObject, 'metadata'>,
  signal: AbortSignal,
): Promise<KubernetesObject | undefined> {
  const { namespace = '' } = config.metadata;
  const owner = ownerOf(config, CORE_GROUP, 'Machine', 'MachinePool');
  if (owner === undefined) return undefined;
  const kind = owner.kind === 'MachinePool' ? 'MachinePool' : 'Machine';
  const known = kind === 'Machine' ? machines.get(`${namespace}/${owner.name}`) : undefined;
  const found = known ?? (await readObject(api, versions, kind, namespace, owner.name, signal));
  return found?.metadata.uid === owner.uid ? found : undefined;
}

/** The objects that a bootstrap data Secret belongs to. */
export interface Related {
  readonly config: KubernetesObject;
  /** A Machine or a MachinePool; undefined where the owner is gone. */
  readonly machine: KubernetesObject | undefined;
  readonly cluster: KubernetesObject | undefined;
}

/** The KubeadmConfig that owns the Secret; undefined = it is no bootstrap data of the kubeadm provider. */
export function configOwner(secret: SecretObject): OwnerReference | undefined {
  return ownerOf(secret, BOOTSTRAP_GROUP, 'KubeadmConfig');
}

/** Reads the KubeadmConfig of a Secret, its Machine and its Cluster. undefined = the KubeadmConfig is gone or another one. */
export async function relatedObjects(
  api: Api,
  versions: ServedVersions,
  namespace: string,
  owner: OwnerReference,
  signal: AbortSignal,
): Promise<Related | undefined> {
  const config = await readObject(api, versions, 'KubeadmConfig', namespace, owner.name, signal);
  if (config === undefined || config.metadata.uid !== owner.uid) return undefined;
  const machineOwner = ownerOf(config, CORE_GROUP, 'Machine', 'MachinePool');
  const clusterName = config.metadata.labels?.[CLUSTER_LABEL];
  const [machine, cluster] = await Promise.all([
    machineOwner === undefined
      ? undefined
      : readObject(
          api,
          versions,
          machineOwner.kind === 'Machine' ? 'Machine' : 'MachinePool',
          namespace,
          machineOwner.name,
          signal,
        ),
    clusterName === undefined ? undefined : readObject(api, versions, 'Cluster', namespace, clusterName, signal),
  ]);
  return { config, machine, cluster };
}
