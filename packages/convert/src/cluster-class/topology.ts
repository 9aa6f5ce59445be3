import type { InputObject } from '../inputs.ts';
import { at, isMap, items, text } from '../map.ts';

/** Machines of a Cluster that its ClusterClass makes of a template: its control plane, a MachineDeployment or a MachinePool. */
export interface TopologyUse {
  readonly clusterClass: InputObject;
  readonly cluster: InputObject;
  readonly holder: 'controlPlane' | 'machineDeployment' | 'machinePool';
  /** The entry of the Cluster's `spec.topology`. */
  readonly entry: unknown;
  /** The part of the ClusterClass that the entry names. */
  readonly part: unknown;
  /** As which the class reads the template; undefined where its reference does not say. */
  readonly apiVersion: string | undefined;
}

/** A ClusterClass that names a template. */
export interface NamingClass {
  readonly clusterClass: InputObject;
  readonly isOfWorkers: boolean;
}

const WORKERS = [
  { list: 'machineDeployments', holder: 'machineDeployment' },
  { list: 'machinePools', holder: 'machinePool' },
] as const;

/** The classes that name a template (cluster-api api/core/{v1beta1,v1beta2}/clusterclass_types.go). */
export function classesNaming(template: InputObject, objects: readonly InputObject[]): readonly NamingClass[] {
  return objects
    .filter(({ kind }) => kind === 'ClusterClass')
    .flatMap((clusterClass) => {
      const isOfWorkers = WORKERS.some(({ list }) => classesOf(clusterClass, list, template).length > 0);
      return isOfWorkers || isOfControlPlane(clusterClass, template) ? [{ clusterClass, isOfWorkers }] : [];
    });
}

/** What the Clusters of the input make of a template. */
export function usesOf(template: InputObject, objects: readonly InputObject[]): readonly TopologyUse[] {
  return classesNaming(template, objects).flatMap(({ clusterClass }) =>
    objects
      .filter((object) => object.kind === 'Cluster' && isOfClass(object, clusterClass))
      .flatMap((cluster) => usesIn(template, clusterClass, cluster)),
  );
}

/** A Cluster's class is in its own namespace, unless it names another (cluster-api api/core/v1beta2/cluster_types.go). */
function isOfClass({ value, namespace }: InputObject, clusterClass: InputObject): boolean {
  if (classNameOf(value) !== clusterClass.name) return false;
  const wanted = classNamespaceOf(value) ?? namespace;
  // One that the input does not say may be any: the command that applies it decides.
  const isOpen = [wanted, clusterClass.namespace].some((name) => name === undefined || name.includes('$'));
  return isOpen || wanted === clusterClass.namespace;
}

function usesIn(template: InputObject, clusterClass: InputObject, cluster: InputObject): readonly TopologyUse[] {
  const topology = at(cluster.value, 'spec', 'topology');
  const controlPlane = at(clusterClass.value, 'spec', 'controlPlane');
  const shared = { clusterClass, cluster };
  return [
    ...(isOfControlPlane(clusterClass, template)
      ? [
          {
            ...shared,
            holder: 'controlPlane' as const,
            entry: at(topology, 'controlPlane') ?? {},
            part: controlPlane,
            apiVersion: text(at(referenceOf(controlPlane), 'apiVersion')),
          },
        ]
      : []),
    ...WORKERS.flatMap(({ list, holder }) =>
      classesOf(clusterClass, list, template).flatMap((part) =>
        items(at(topology, 'workers', list))
          .filter((entry) => text(at(entry, 'class')) === text(at(part, 'class')))
          .map((entry) => ({
            ...shared,
            holder,
            entry,
            part,
            apiVersion: text(at(bootstrapOf(part), 'apiVersion')),
          })),
      ),
    ),
  ];
}

function isOfControlPlane({ value }: InputObject, template: InputObject): boolean {
  const reference = referenceOf(at(value, 'spec', 'controlPlane'));
  return template.kind === 'KubeadmControlPlaneTemplate' && text(at(reference, 'name')) === template.name;
}

function classesOf({ value }: InputObject, list: string, template: InputObject): readonly unknown[] {
  if (template.kind !== 'KubeadmConfigTemplate') return [];
  return items(at(value, 'spec', 'workers', list)).filter(
    (part) => text(at(bootstrapOf(part), 'name')) === template.name,
  );
}

function referenceOf(part: unknown): unknown {
  return at(part, 'ref') ?? at(part, 'templateRef');
}

/** v1beta1 has it below `template`. */
function bootstrapOf(part: unknown): unknown {
  const below = at(part, 'template');
  return referenceOf(at(isMap(below) ? below : part, 'bootstrap'));
}

/** undefined: that of the Cluster. */
export function classNamespaceOf(cluster: unknown): string | undefined {
  const topology = at(cluster, 'spec', 'topology');
  return text(at(topology, 'classNamespace')) ?? text(at(topology, 'classRef', 'namespace'));
}

export function classNameOf(cluster: unknown): string | undefined {
  const topology = at(cluster, 'spec', 'topology');
  return text(at(topology, 'class')) ?? text(at(topology, 'classRef', 'name'));
}
