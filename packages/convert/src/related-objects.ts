import { classesNaming, classNameOf, type TopologyUse } from './cluster-class/topology.ts';
import type { ConvertOptions, RelatedFacts } from './conversion.ts';
import type { InputObject, Inputs } from './inputs.ts';
import { at, isMap, text, texts } from './map.ts';

const CLUSTER_LABEL = 'cluster.x-k8s.io/cluster-name';

/**
 * Facts about a machine and its cluster from the objects beside a configuration or a data Secret. Objects are related
 * as in Cluster API (label, owner, bootstrap.configRef); a single Cluster is related to all.
 */
export function relatedObjectsOf(
  object: InputObject | undefined,
  inputs: Inputs,
  options: ConvertOptions,
  { use, name }: { readonly use?: TopologyUse; readonly name?: string } = {},
): RelatedFacts {
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
  const classes = object === undefined ? [] : classesNaming(object, all);
  const ofWorkers = classes.some(({ isOfWorkers }) => isOfWorkers);
  const owner = [machine, object, deployment].flatMap((one) => (one === undefined ? [] : clusterNameOf(one)))[0];
  const cluster =
    use?.cluster ??
    clusters.find(({ name }) => name === owner) ??
    clusters.find(({ value }) => classes.some(({ clusterClass }) => clusterClass.name === classNameOf(value))) ??
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
      name: name ?? named?.name ?? 'machine',
      namespace: named?.namespace,
      uid,
      isMachine: machine !== undefined || object?.kind === 'KubeadmConfig' || object?.kind === 'Secret',
    },
    hasCluster: cluster !== undefined,
    clusterName: cluster?.name ?? owner,
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
    kind: kindOf(ofControlPlane, machine, ofWorkers || deployment !== undefined),
    namespace: object?.namespace,
  };
}

const CONTROL_PLANE_LABEL = 'cluster.x-k8s.io/control-plane';

/** As the provider decides it: by the label of the Machine, which its creator sets (kubeadmconfig_controller.go). */
function kindOf(ofControlPlane: boolean, machine: InputObject | undefined, ofWorkers: boolean): RelatedFacts['kind'] {
  const labels = at(machine?.value, 'metadata', 'labels');
  if (ofControlPlane || (isMap(labels) && Object.hasOwn(labels, CONTROL_PLANE_LABEL))) return 'control plane';
  return machine === undefined && !ofWorkers ? undefined : 'worker';
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
