import { printableKey } from '@machineadm/document/diagnostics/index.ts';
import type { ConvertOptions, RelatedFacts } from '../inputs/conversion.ts';
import type { InputObject } from '../inputs/input.ts';
import { canShareNamespace } from '../inputs/namespaces.ts';
import {
  BOOTSTRAP_GROUP,
  CONTROL_PLANE_GROUP,
  CORE_GROUP,
  clusterReferencesOf,
  isOf,
  machineSpecOf,
  ownersOf,
  type Reference,
  type Relations,
  referenceAt,
  uidOf,
} from '../relations/relations.ts';
import { at, isMap, text, texts } from '../values/map.ts';
import { classesNaming, type TopologyUse } from './topology.ts';

/** How a configuration is used: by a topology, or by an object that creates Machines. */
export interface ConfigurationUse {
  readonly use?: TopologyUse | undefined;
  readonly maker?: InputObject | undefined;
  /** Of its machines, if several uses of one template must be distinguished. */
  readonly name?: string | undefined;
}

/**
 * Facts about a machine and its cluster from the objects beside a configuration or a data Secret, related as in Cluster
 * API: owner, bootstrap.configRef, clusterName, label, controlPlaneRef.
 *
 * @param title of the input, where there is no object
 */
export function relatedObjectsOf(
  object: InputObject | undefined,
  relations: Relations,
  options: ConvertOptions,
  title: string,
  { use, maker, name }: ConfigurationUse = {},
): RelatedFacts {
  const config = object === undefined || object.kind !== 'Secret' ? object : configurationOf(object, relations);
  const machine = object === undefined ? undefined : machineOf(object, config, relations);
  const pool = object === undefined ? undefined : (maker ?? poolOf(object, config, relations));
  const classes = object === undefined ? [] : classesNaming(object, relations);
  const ofWorkers = classes.some(({ isOfWorkers }) => isOfWorkers);
  const subjects = [machine, object, config, pool].filter((one) => one !== undefined);
  const named = subjects.flatMap((one) => clusterReferencesOf(one).map((reference) => ({ reference, from: one })))[0];
  const cluster =
    use?.cluster ??
    (named === undefined
      ? impliedCluster(object, title, classes, relations)
      : namedCluster(named.reference, named.from, relations));
  const network = at(cluster?.value, 'spec', 'clusterNetwork');
  const endpoint = at(cluster?.value, 'spec', 'controlPlaneEndpoint');
  const controlPlane =
    object !== undefined && isOf(object, CONTROL_PLANE_GROUP, 'KubeadmControlPlane')
      ? object
      : cluster === undefined
        ? undefined
        : controlPlaneOf(cluster, relations);
  const owner = machine ?? object;
  const ofControlPlane =
    (object?.group === CONTROL_PLANE_GROUP && object.kind.startsWith('KubeadmControlPlane')) ||
    subjects.some((one) => ownersOf(one, CONTROL_PLANE_GROUP, 'KubeadmControlPlane').length > 0);
  return {
    machine: {
      name: name ?? owner?.name ?? 'machine',
      namespace: owner?.namespace,
      uid: machine === undefined ? undefined : uidOf(machine),
      isMachine: machine !== undefined || object?.kind === 'KubeadmConfig' || object?.kind === 'Secret',
    },
    hasCluster: cluster !== undefined,
    clusterName: cluster?.name ?? named?.reference.name,
    kubernetesVersion:
      text(at(machine?.value, 'spec', 'version')) ??
      (pool === undefined ? undefined : text(at(machineSpecOf(pool), 'version'))) ??
      text(at(object?.value, 'spec', 'version')) ??
      text(at(cluster?.value, 'spec', 'topology', 'version')),
    controlPlaneVersion:
      options.controlPlaneVersion ??
      text(at(controlPlane?.value, 'spec', 'version')) ??
      text(at(cluster?.value, 'spec', 'topology', 'version')),
    endpoint: hostAndPort(endpoint),
    podSubnets: texts(at(network, 'pods', 'cidrBlocks')),
    serviceSubnets: texts(at(network, 'services', 'cidrBlocks')),
    dnsDomain: text(at(network, 'serviceDomain')),
    infrastructure: infrastructureOf([object, machine, pool, cluster], relations),
    ofControlPlane,
    kind: kindOf(ofControlPlane, machine, ofWorkers || pool !== undefined),
    namespace: object?.namespace,
  };
}

/** The facts about a machine that no object of Cluster API describes. `name`: that of its node, if it is known. */
export function unrelatedFacts(name: string | undefined, options: ConvertOptions): RelatedFacts {
  return {
    machine: { name: name ?? 'machine', namespace: undefined, uid: undefined, isMachine: name !== undefined },
    hasCluster: false,
    clusterName: undefined,
    kubernetesVersion: undefined,
    controlPlaneVersion: options.controlPlaneVersion,
    endpoint: undefined,
    podSubnets: [],
    serviceSubnets: [],
    dnsDomain: undefined,
    infrastructure: undefined,
    ofControlPlane: false,
    kind: undefined,
    namespace: undefined,
  };
}

const CONTROL_PLANE_LABEL = 'cluster.x-k8s.io/control-plane';

/** As the provider decides it: by the label of the Machine, which its creator sets (kubeadmconfig_controller.go). */
function kindOf(ofControlPlane: boolean, machine: InputObject | undefined, ofWorkers: boolean): RelatedFacts['kind'] {
  const labels = at(machine?.value, 'metadata', 'labels');
  if (ofControlPlane || (isMap(labels) && Object.hasOwn(labels, CONTROL_PLANE_LABEL))) return 'control plane';
  return machine === undefined && !ofWorkers ? undefined : 'worker';
}

/** The configuration that a bootstrap data Secret was made of: its owner, else the one of its name. */
export function configurationOf(secret: InputObject, relations: Relations): InputObject | undefined {
  const shared = { group: BOOTSTRAP_GROUP, kind: 'KubeadmConfig', namespace: undefined, uid: undefined };
  const [owner] = ownersOf(secret, BOOTSTRAP_GROUP, 'KubeadmConfig');
  return relations.find(owner ?? { ...shared, name: secret.name }, secret);
}

/** The Machine of a configuration or data Secret: its owner, else the one that refers to it. */
function machineOf(
  object: InputObject,
  config: InputObject | undefined,
  relations: Relations,
): InputObject | undefined {
  return ownerOrUser(object, config, relations, ({ kind }) => kind === 'Machine', 'Machine');
}

/** The object that creates the machines of a configuration or data Secret, as far as it is not a Machine's. */
function poolOf(object: InputObject, config: InputObject | undefined, relations: Relations): InputObject | undefined {
  const pool = ownerOrUser(object, config, relations, ({ kind }) => kind === 'MachinePool', 'MachinePool');
  if (pool !== undefined || object.kind === 'Secret') return pool;
  const isMaker = ({ kind }: InputObject): boolean => kind === 'MachineDeployment' || kind === 'MachineSet';
  const makers = (['MachineDeployment', 'MachineSet'] as const).flatMap((kind) =>
    ownersOf(object, CORE_GROUP, kind).flatMap((owner) => relations.find(owner, object) ?? []),
  );
  const [maker] = [...makers, ...relations.usersOf(object).filter(isMaker)];
  return maker;
}

function ownerOrUser(
  object: InputObject,
  config: InputObject | undefined,
  relations: Relations,
  isWanted: (user: InputObject) => boolean,
  kind: 'Machine' | 'MachinePool',
): InputObject | undefined {
  const subjects = config === undefined || config === object ? [object] : [object, config];
  const references = subjects.flatMap((subject) =>
    ownersOf(subject, CORE_GROUP, kind).map((reference) => ({ reference, subject })),
  );
  const owners = references.flatMap(({ reference, subject }) => relations.find(reference, subject) ?? []);
  const [owner] = owners;
  if (owner !== undefined) return owner;
  const users = [
    ...(object.kind === 'Secret' ? relations.usersOfSecret(object) : []),
    ...(config === undefined ? [] : relations.usersOf(config)),
  ].filter(isWanted);
  const found = [...new Set(users)];
  const [user, another] = found;
  if (another !== undefined) {
    relations.unclear(object, `${found.length} objects of the kind ${kind} refer to it`);
    return undefined;
  }
  const [reference] = references;
  if (user !== undefined && reference !== undefined) {
    relations.unclear(object, `its owner is another ${kind} than ${printableKey(user.name)}, which refers to it`);
    return undefined;
  }
  return user;
}

function namedCluster(reference: Reference, from: InputObject, relations: Relations): InputObject | undefined {
  const found = relations.find(reference, from);
  if (found === undefined && relations.clusters.length > 0) {
    relations.missing(from, `it belongs to the Cluster ${printableKey(reference.name)}, which the input does not have`);
  }
  return found;
}

/** The Cluster that refers to an object which names none; else the only one of the input. */
function impliedCluster(
  object: InputObject | undefined,
  title: string,
  classes: ReturnType<typeof classesNaming>,
  relations: Relations,
): InputObject | undefined {
  const ofClass = classes.flatMap(({ clusterClass }) => relations.clustersOf(clusterClass));
  const referring = object === undefined ? [] : relations.clustersNaming(object);
  const found = referring.length > 0 ? referring : ofClass;
  const [cluster, another] = found;
  const from = { title: object?.title ?? title };
  if (another !== undefined) {
    relations.unclear(from, `it may belong to ${found.length} Clusters of the input`);
    return undefined;
  }
  if (cluster !== undefined) return cluster;
  return onlyCluster(object, from, relations);
}

/** The only Cluster of the input, for an object that no reference relates to any. */
function onlyCluster(
  object: InputObject | undefined,
  from: Pick<InputObject, 'title'>,
  relations: Relations,
): InputObject | undefined {
  const [only, second] = relations.clusters;
  if (only === undefined || second !== undefined) return undefined;
  const isControlPlane = object !== undefined && isOf(object, CONTROL_PLANE_GROUP, 'KubeadmControlPlane');
  if (isControlPlane && referenceAt(at(only.value, 'spec', 'controlPlaneRef')) !== undefined) return undefined;
  return relations.one([only], object === undefined ? only.namespace : object.namespace, from, only.title, () =>
    relations.assumed(from, only.title),
  );
}

/** The control plane that the Cluster names, else the only one that names the Cluster. */
function controlPlaneOf(cluster: InputObject, relations: Relations): InputObject | undefined {
  const named = relations.controlPlaneOf(cluster);
  if (named !== undefined || referenceAt(at(cluster.value, 'spec', 'controlPlaneRef')) !== undefined) return named;
  const isAlone = relations.clusters.length === 1;
  const candidates = [
    ...relations.controlPlanesNaming(cluster.name),
    ...(isAlone ? relations.controlPlanesNaming(undefined) : []),
  ];
  const found = candidates.filter((object) => {
    if (!canShareNamespace(object, cluster)) return false;
    const [reference] = clusterReferencesOf(object);
    return reference === undefined || relations.find(reference, object) === cluster;
  });
  return found.length === 1 ? found[0] : undefined;
}

/** The kind of the infrastructure identifies its provider: AzureMachineTemplate, AWSMachine, VSphereCluster. */
function infrastructureOf(
  candidates: readonly (InputObject | undefined)[],
  { clusters, infrastructure }: Relations,
): string | undefined {
  const paths = [
    ['spec', 'machineTemplate', 'spec', 'infrastructureRef', 'kind'],
    ['spec', 'machineTemplate', 'infrastructureRef', 'kind'],
    ['spec', 'infrastructureRef', 'kind'],
    ['spec', 'template', 'spec', 'infrastructureRef', 'kind'],
  ];
  const named = candidates.flatMap((object) => paths.map((path) => text(at(object?.value, ...path))));
  // In the input of a single cluster every object of this group is its own.
  const [first] = candidates;
  const beside =
    clusters.length > 1
      ? undefined
      : infrastructure.find((object) => first === undefined || canShareNamespace(object, first))?.kind;
  return named.find((kind) => kind !== undefined) ?? beside;
}

function hostAndPort(endpoint: unknown): string | undefined {
  const host = text(at(endpoint, 'host'));
  const port = at(endpoint, 'port');
  if (host === undefined || host === '') return undefined;
  const name = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
  return typeof port === 'number' && port > 0 ? `${name}:${port}` : name;
}
