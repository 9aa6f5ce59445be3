import { printableKey } from '@machineadm/document/diagnostics/index.ts';
import type { InputObject } from '../inputs/input.ts';
import { append, isOpenNamespace, ObjectsByName } from '../inputs/namespaces.ts';
import type { Report } from '../report/report.ts';
import { at, items, text } from '../values/map.ts';
import { templateNamesOf } from './template-references.ts';

export const CORE_GROUP = 'cluster.x-k8s.io';
export const BOOTSTRAP_GROUP = 'bootstrap.cluster.x-k8s.io';
export const CONTROL_PLANE_GROUP = 'controlplane.cluster.x-k8s.io';
const CLUSTER_LABEL = 'cluster.x-k8s.io/cluster-name';
const INFRASTRUCTURE_GROUP = 'infrastructure.cluster.x-k8s.io';

/** A reference to an object, with the parts that it has. */
export interface Reference {
  readonly group: string | undefined;
  readonly kind: string | undefined;
  readonly namespace: string | undefined;
  readonly name: string;
  readonly uid: string | undefined;
}

/**
 * The reference at a place: v1beta1 of Cluster API names `apiVersion`, v1beta2 `apiGroup` (api/core/{v1beta1,v1beta2}).
 * undefined where it names nothing.
 */
export function referenceAt(value: unknown): Reference | undefined {
  const name = text(at(value, 'name'));
  if (name === undefined || name === '') return undefined;
  const apiVersion = text(at(value, 'apiVersion'));
  const group = apiVersion?.includes('/') === true ? apiVersion.slice(0, apiVersion.indexOf('/')) : undefined;
  return {
    group: text(at(value, 'apiGroup')) ?? group,
    kind: text(at(value, 'kind')),
    namespace: text(at(value, 'namespace')),
    name,
    uid: text(at(value, 'uid')),
  };
}

/** The owners of an object, of one kind. */
export function ownersOf({ value }: InputObject, group: string, kind: string): readonly Reference[] {
  return items(at(value, 'metadata', 'ownerReferences'))
    .flatMap((one) => referenceAt(one) ?? [])
    .filter((owner) => owner.kind === kind && (owner.group === undefined || owner.group === group));
}

/** The reference to the configuration of a Machine, or of the machines that an object creates. */
export function configRefOf(object: InputObject): Reference | undefined {
  return referenceAt(at(machineSpecOf(object), 'bootstrap', 'configRef'));
}

/** The spec of a Machine, or of the machines that an object creates. */
export function machineSpecOf({ kind, value }: InputObject): unknown {
  return kind === 'Machine' ? at(value, 'spec') : at(value, 'spec', 'template', 'spec');
}

/** Kinds of Machines, and of objects that create them from a template. */
export const MACHINES = ['Machine', 'MachineDeployment', 'MachineSet', 'MachinePool'] as const;

/**
 * The objects of the input, found as the API server would find them: by uid, or by group, kind, namespace and name. A
 * relation that the input does not decide is reported, and left out unless there is a single possibility.
 */
export class Relations {
  readonly clusters: readonly InputObject[];
  readonly classes: readonly InputObject[];
  readonly infrastructure: readonly InputObject[];
  readonly #report: Report;
  readonly #byName: ObjectsByName<InputObject>;
  readonly #byUid = new Map<string, InputObject>();
  readonly #byConfig = new Map<string | undefined, InputObject[]>();
  readonly #byDataSecret = new Map<string | undefined, InputObject[]>();
  readonly #byControlPlane = new Map<string | undefined, InputObject[]>();
  readonly #controlPlanesByCluster = new Map<string | undefined, InputObject[]>();
  readonly #classesByTemplate = new Map<string, InputObject[]>();
  /** What was found for all references to a name: a fleet has many objects of one name. */
  readonly #usersByName = new Map<string, ReadonlyMap<InputObject | undefined, readonly InputObject[]>>();
  readonly #clustersByControlPlaneName = new Map<
    string,
    ReadonlyMap<InputObject | undefined, readonly InputObject[]>
  >();
  #clustersByClass: ReadonlyMap<InputObject | undefined, readonly InputObject[]> | undefined;

  constructor(objects: readonly InputObject[], report: Report) {
    this.#report = report;
    const ofKind = (group: string, kind: string): readonly InputObject[] =>
      objects.filter((object) => isOf(object, group, kind));
    this.clusters = ofKind(CORE_GROUP, 'Cluster');
    this.classes = ofKind(CORE_GROUP, 'ClusterClass');
    this.infrastructure = objects.filter(({ group }) => group === INFRASTRUCTURE_GROUP);
    this.#byName = new ObjectsByName(objects);
    for (const object of objects) {
      const uid = uidOf(object);
      if (uid !== undefined) this.#byUid.set(uid, object);
      if (!MACHINES.some((kind) => isOf(object, CORE_GROUP, kind))) continue;
      append(this.#byConfig, configRefOf(object)?.name, object);
      append(this.#byDataSecret, dataSecretOf(object), object);
    }
    for (const cluster of this.clusters) append(this.#byControlPlane, controlPlaneRefOf(cluster)?.name, cluster);
    for (const object of ofKind(CONTROL_PLANE_GROUP, 'KubeadmControlPlane')) {
      append(this.#controlPlanesByCluster, clusterReferencesOf(object)[0]?.name, object);
    }
    for (const clusterClass of this.classes) {
      for (const name of new Set(templateNamesOf(clusterClass.value)))
        append(this.#classesByTemplate, name, clusterClass);
    }
  }

  /** The object that a reference of another one means; undefined where the input has none, or several. */
  find(reference: Reference, from: InputObject): InputObject | undefined {
    const { group, kind, namespace = from.namespace, name, uid } = reference;
    const isKind = (object: InputObject): boolean =>
      (kind === undefined || object.kind === kind) && (group === undefined || object.group === group);
    const byUid = uid === undefined ? undefined : this.#byUid.get(uid);
    if (byUid !== undefined && isKind(byUid)) return byUid;
    // One with another uid is another object that took the name.
    const named = this.#byName
      .near(name, namespace)
      .filter((object) => isKind(object) && (uid === undefined || uidOf(object) === undefined));
    return this.one(named, namespace, from, `${kind ?? 'the object'} ${printableKey(name)}`);
  }

  /**
   * The candidate in a namespace. One that the input leaves open is taken, and reported, if it is the only one.
   *
   * @param isFound called where the namespaces are equal
   */
  one<T extends Pick<InputObject, 'namespace'>>(
    candidates: readonly T[],
    namespace: string | undefined,
    from: Pick<InputObject, 'title'>,
    what: string,
    isFound?: () => void,
  ): T | undefined {
    const exact = candidates.filter((one) => one.namespace === namespace);
    const possible =
      exact.length > 0
        ? exact
        : candidates.filter((one) => isOpenNamespace(one.namespace) || isOpenNamespace(namespace));
    const [found, another] = possible;
    if (another !== undefined) {
      this.unclear(from, `${what} may be ${possible.length} objects of the input`);
      return undefined;
    }
    if (found !== undefined && exact.length === 0) {
      this.#report.add('RelationAssumed', from.title, `${what} is in the same namespace: one of the two names none`);
    } else if (found !== undefined) isFound?.();
    return found;
  }

  /** Reports a relation that the input leaves open, and that is left out. */
  unclear(from: Pick<InputObject, 'title'>, message: string): void {
    this.#report.add('RelationUnclear', from.title, message);
  }

  /** Reports a reference to an object that the input does not have. */
  missing(from: Pick<InputObject, 'title'>, message: string): void {
    this.#report.add('RelationMissing', from.title, message);
  }

  /** Reports that the only Cluster of the input is taken. */
  assumed(from: Pick<InputObject, 'title'>, message: string): void {
    this.#report.add('ClusterAssumed', from.title, message);
  }

  /** The Machines, and the objects that create them, that refer to a configuration. */
  usersOf(config: InputObject): readonly InputObject[] {
    return this.#referring(config, this.#usersByName, this.#byConfig, configRefOf);
  }

  /** The Machines that refer to a bootstrap data Secret, by its name or by that of the configuration it is named after. */
  usersOfSecret(secret: InputObject): readonly InputObject[] {
    const isNear = ({ namespace }: InputObject): boolean =>
      namespace === secret.namespace || isOpenNamespace(namespace) || isOpenNamespace(secret.namespace);
    const direct = (this.#byDataSecret.get(secret.name) ?? []).filter(isNear);
    if (direct.length > 0) return direct;
    return (this.#byConfig.get(secret.name) ?? []).filter((user) => {
      const kind = configRefOf(user)?.kind;
      return isNear(user) && (kind === undefined || kind === 'KubeadmConfig');
    });
  }

  /** The class of a Cluster with a topology: in its own namespace, unless it names another (api/core/v1beta2/cluster_types.go). */
  classOf(cluster: InputObject): InputObject | undefined {
    const topology = at(cluster.value, 'spec', 'topology');
    const name = text(at(topology, 'class')) ?? text(at(topology, 'classRef', 'name'));
    if (name === undefined) return undefined;
    const namespace = text(at(topology, 'classNamespace')) ?? text(at(topology, 'classRef', 'namespace'));
    return this.find({ group: CORE_GROUP, kind: 'ClusterClass', namespace, name, uid: undefined }, cluster);
  }

  /** The Clusters that refer to a control plane. */
  clustersNaming(controlPlane: InputObject): readonly InputObject[] {
    return this.#referring(controlPlane, this.#clustersByControlPlaneName, this.#byControlPlane, controlPlaneRefOf);
  }

  /** The objects that refer to one; each of those that name its name is looked up once. */
  #referring(
    object: InputObject,
    known: Map<string, ReadonlyMap<InputObject | undefined, readonly InputObject[]>>,
    byName: ReadonlyMap<string | undefined, readonly InputObject[]>,
    referenceOf: (user: InputObject) => Reference | undefined,
  ): readonly InputObject[] {
    const found = computed(known, object.name, () =>
      Map.groupBy(byName.get(object.name) ?? [], (user) => {
        const reference = referenceOf(user);
        return reference === undefined ? undefined : this.find(reference, user);
      }),
    );
    return found.get(object) ?? [];
  }

  /** The classes that name a template of a name. */
  classesWithTemplate(name: string): readonly InputObject[] {
    return this.#classesByTemplate.get(name) ?? [];
  }

  /** The Clusters of a class. */
  clustersOf(clusterClass: InputObject): readonly InputObject[] {
    this.#clustersByClass ??= Map.groupBy(this.clusters, (cluster) => this.classOf(cluster));
    return this.#clustersByClass.get(clusterClass) ?? [];
  }

  /** The control planes that name a Cluster of a name; without a name, those that name none. */
  controlPlanesNaming(cluster: string | undefined): readonly InputObject[] {
    return this.#controlPlanesByCluster.get(cluster) ?? [];
  }

  /** The control plane that a Cluster names. */
  controlPlaneOf(cluster: InputObject): InputObject | undefined {
    const reference = controlPlaneRefOf(cluster);
    const found = reference === undefined ? undefined : this.find(reference, cluster);
    return found !== undefined && isOf(found, CONTROL_PLANE_GROUP, 'KubeadmControlPlane') ? found : undefined;
  }
}

/** The Cluster that an object names, in the order in which its controllers ask. */
export function clusterReferencesOf(object: InputObject): readonly Reference[] {
  const byName = [
    text(at(object.value, 'spec', 'clusterName')),
    object.kind === 'Machine' ? undefined : text(at(object.value, 'spec', 'template', 'spec', 'clusterName')),
    text(at(object.value, 'metadata', 'labels', CLUSTER_LABEL)),
  ].flatMap((name) => (name === undefined || name === '' ? [] : [name]));
  const [owner] = ownersOf(object, CORE_GROUP, 'Cluster');
  const shared = { group: CORE_GROUP, kind: 'Cluster', namespace: undefined };
  const named = byName.map((name) => ({ ...shared, name, uid: owner?.name === name ? owner.uid : undefined }));
  return owner === undefined ? named : [...named, { ...owner, ...shared }];
}

function computed<Value>(known: Map<string, Value>, key: string, compute: () => Value): Value {
  const value = known.get(key) ?? compute();
  known.set(key, value);
  return value;
}

export function isOf({ group, kind }: InputObject, wantedGroup: string, wantedKind: string): boolean {
  return kind === wantedKind && group === wantedGroup;
}

export function uidOf({ value }: InputObject): string | undefined {
  return text(at(value, 'metadata', 'uid'));
}

function controlPlaneRefOf({ value }: InputObject): Reference | undefined {
  return referenceAt(at(value, 'spec', 'controlPlaneRef'));
}

function dataSecretOf(object: InputObject): string | undefined {
  return text(at(machineSpecOf(object), 'bootstrap', 'dataSecretName'));
}
