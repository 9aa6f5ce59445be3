import type { ConvertOptions, Surroundings } from './conversion.ts';
import type { InputObject, Inputs } from './inputs.ts';
import { isMap } from './map.ts';

const CLUSTER_LABEL = 'cluster.x-k8s.io/cluster-name';

/**
 * Facts about a machine and its cluster from the objects beside a configuration or a data Secret. Objects are related
 * as in Cluster API (label, owner, bootstrap.configRef); a single Cluster is related to all.
 */
export function relatedObjectsOf(
  object: InputObject | undefined,
  inputs: Inputs,
  options: ConvertOptions,
): Surroundings {
  const all = inputs.objects;
  const ofKind = (kind: string): readonly InputObject[] => all.filter((one) => one.kind === kind);
  const machine = object === undefined ? undefined : ofKind('Machine').find((one) => belongsTo(one, object));
  const deployment =
    object === undefined
      ? undefined
      : [...ofKind('MachineDeployment'), ...ofKind('MachineSet'), ...ofKind('MachinePool')].find((one) =>
          belongsTo(one, object),
        );
  const controlPlanes = ofKind('KubeadmControlPlane');
  const clusters = ofKind('Cluster');
  const classes = object === undefined ? [] : ofKind('ClusterClass').map((one) => ({ one, ...classNames(one) }));
  const workers = classes.find(({ workers }) => workers.has(object?.name ?? ''));
  const ownClass = workers ?? classes.find(({ controlPlane }) => controlPlane === object?.name);
  const owner = [machine, object, deployment].flatMap((one) => (one === undefined ? [] : clusterNameOf(one)))[0];
  const cluster =
    clusters.find(({ name }) => name === owner) ??
    clusters.find(({ value }) => ownClass !== undefined && classNameOf(value) === ownClass.one.name) ??
    clusters.find(({ value }) => text(at(value, 'spec', 'controlPlaneRef', 'name')) === object?.name) ??
    (clusters.length === 1 ? clusters[0] : undefined);
  const network = at(cluster?.value, 'spec', 'clusterNetwork');
  const endpoint = at(cluster?.value, 'spec', 'controlPlaneEndpoint');
  const controlPlane =
    object?.kind === 'KubeadmControlPlane' ? object : controlPlanes.length === 1 ? controlPlanes[0] : undefined;
  const named = machine ?? object;
  const uid = text(at(machine?.value, 'metadata', 'uid'));
  const ofControlPlane =
    object?.kind.startsWith('KubeadmControlPlane') === true ||
    [object, machine].some((one) => ownersOf(one).some((kind) => kind === 'KubeadmControlPlane'));
  return {
    machine: {
      name: named?.name ?? 'machine',
      namespace: named?.namespace,
      uid,
      isMachine: machine !== undefined || object?.kind === 'KubeadmConfig' || object?.kind === 'Secret',
    },
    hasCluster: cluster !== undefined,
    clusterName: cluster?.name ?? owner,
    patches: patchesOf(
      object,
      classes.map(({ one }) => one),
    ),
    kubernetesVersion:
      text(at(machine?.value, 'spec', 'version')) ??
      text(at(deployment?.value, 'spec', 'template', 'spec', 'version')) ??
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
    infrastructure: infrastructureOf([object, machine, deployment], all),
    ofControlPlane,
    kind: kindOf(ofControlPlane, machine, deployment ?? workers?.one),
    namespace: object?.namespace,
  };
}

const CONTROL_PLANE_LABEL = 'cluster.x-k8s.io/control-plane';

/** As the provider decides it: by the label of the Machine, which its creator sets (kubeadmconfig_controller.go). */
function kindOf(
  ofControlPlane: boolean,
  machine: InputObject | undefined,
  workers: InputObject | undefined,
): Surroundings['kind'] {
  const labels = at(machine?.value, 'metadata', 'labels');
  if (ofControlPlane || (isMap(labels) && Object.hasOwn(labels, CONTROL_PLANE_LABEL))) return 'control plane';
  return machine === undefined && workers === undefined ? undefined : 'worker';
}

/** The templates that a ClusterClass names (cluster-api api/core/{v1beta1,v1beta2}/clusterclass_types.go). */
function classNames({ value }: InputObject): {
  readonly controlPlane: string | undefined;
  readonly workers: ReadonlySet<string>;
} {
  const controlPlane = at(value, 'spec', 'controlPlane');
  const pools = ['machineDeployments', 'machinePools'].flatMap((list): readonly unknown[] => {
    const found = at(value, 'spec', 'workers', list);
    return Array.isArray(found) ? found : [];
  });
  return {
    controlPlane: text(at(controlPlane, 'ref', 'name')) ?? text(at(controlPlane, 'templateRef', 'name')),
    workers: new Set(
      pools.flatMap(
        (one) =>
          text(at(one, 'template', 'bootstrap', 'ref', 'name')) ??
          text(at(one, 'bootstrap', 'templateRef', 'name')) ??
          [],
      ),
    ),
  };
}

/** The names of the patches that change a template for a Cluster: by its kind, for which classes of workers whatever. */
function patchesOf(object: InputObject | undefined, classes: readonly InputObject[]): readonly string[] {
  const lists = classes.map(({ value }) => at(value, 'spec', 'patches'));
  return lists
    .flatMap((patches) => (Array.isArray(patches) ? patches : []))
    .flatMap((patch: unknown) => {
      const definitions = at(patch, 'definitions');
      const kinds = Array.isArray(definitions) ? definitions.map((one) => text(at(one, 'selector', 'kind'))) : [];
      const changes = kinds.includes(object?.kind) || at(patch, 'external') !== undefined;
      return changes ? [text(at(patch, 'name')) ?? 'unnamed'] : [];
    });
}

function classNameOf(cluster: unknown): string | undefined {
  const topology = at(cluster, 'spec', 'topology');
  return text(at(topology, 'class')) ?? text(at(topology, 'classRef', 'name'));
}

/**
 * A Machine, or the object that creates Machines, refers to its configuration; a configuration has its Machine as
 * owner.
 */
function belongsTo(machine: InputObject, object: InputObject): boolean {
  const spec = machine.kind === 'Machine' ? at(machine.value, 'spec') : at(machine.value, 'spec', 'template', 'spec');
  const reference = text(at(spec, 'bootstrap', 'configRef', 'name'));
  const secret = text(at(spec, 'bootstrap', 'dataSecretName'));
  const owns = owners(object).some(({ kind, name }) => kind === machine.kind && name === machine.name);
  return owns || (object.kind === 'Secret' ? secret : reference) === object.name || reference === object.name;
}

function clusterNameOf(object: InputObject): readonly string[] {
  const label = text(at(object.value, 'metadata', 'labels', CLUSTER_LABEL));
  const named = text(at(object.value, 'spec', 'clusterName'));
  const owner = owners(object).find(({ kind }) => kind === 'Cluster')?.name;
  return [named, label, owner].flatMap((name) => name ?? []);
}

function ownersOf(object: InputObject | undefined): readonly string[] {
  return object === undefined ? [] : owners(object).map(({ kind }) => kind);
}

function owners({ value }: InputObject): readonly { readonly kind: string; readonly name: string }[] {
  const references = at(value, 'metadata', 'ownerReferences');
  return Array.isArray(references)
    ? references.map((one: unknown) => ({ kind: text(at(one, 'kind')) ?? '', name: text(at(one, 'name')) ?? '' }))
    : [];
}

/** The kind of the infrastructure identifies its provider: AzureMachineTemplate, AWSMachine, VSphereCluster. */
function infrastructureOf(
  candidates: readonly (InputObject | undefined)[],
  all: readonly InputObject[],
): string | undefined {
  const paths = [
    ['spec', 'machineTemplate', 'spec', 'infrastructureRef', 'kind'],
    ['spec', 'machineTemplate', 'infrastructureRef', 'kind'],
    ['spec', 'infrastructureRef', 'kind'],
    ['spec', 'template', 'spec', 'infrastructureRef', 'kind'],
  ];
  const named = candidates.flatMap((object) => paths.map((path) => text(at(object?.value, ...path))));
  const beside = all.find(({ group }) => group === 'infrastructure.cluster.x-k8s.io')?.kind;
  return named.find((kind) => kind !== undefined) ?? beside;
}

function hostAndPort(endpoint: unknown): string | undefined {
  const host = text(at(endpoint, 'host'));
  const port = at(endpoint, 'port');
  if (host === undefined || host === '') return undefined;
  const name = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
  return typeof port === 'number' && port > 0 ? `${name}:${port}` : name;
}

function at(value: unknown, ...path: readonly string[]): unknown {
  let found = value;
  for (const name of path) found = isMap(found) ? found[name] : undefined;
  return found;
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function texts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}
