import type { InputObject } from '../inputs/input.ts';
import { BOOTSTRAP_GROUP, CONTROL_PLANE_GROUP, isOf, type Relations, referenceAt } from '../relations/relations.ts';
import { bootstrapOf, referenceOf } from '../relations/template-references.ts';
import { at, items, text } from '../values/map.ts';

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
export function classesNaming(template: InputObject, relations: Relations): readonly NamingClass[] {
  if (!/Template$/.test(template.kind)) return [];
  return relations.classesWithTemplate(template.name).flatMap((clusterClass) => {
    const isOfWorkers = WORKERS.some(({ list }) => classesOf(clusterClass, list, template, relations).length > 0);
    return isOfWorkers || isOfControlPlane(clusterClass, template, relations) ? [{ clusterClass, isOfWorkers }] : [];
  });
}

/** What the Clusters of the input make of a template. */
export function usesOf(template: InputObject, relations: Relations): readonly TopologyUse[] {
  return classesNaming(template, relations).flatMap(({ clusterClass }) =>
    relations.clustersOf(clusterClass).flatMap((cluster) => usesIn(template, clusterClass, cluster, relations)),
  );
}

function usesIn(
  template: InputObject,
  clusterClass: InputObject,
  cluster: InputObject,
  relations: Relations,
): readonly TopologyUse[] {
  const topology = at(cluster.value, 'spec', 'topology');
  const controlPlane = at(clusterClass.value, 'spec', 'controlPlane');
  const shared = { clusterClass, cluster };
  return [
    ...(isOfControlPlane(clusterClass, template, relations)
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
      classesOf(clusterClass, list, template, relations).flatMap((part) =>
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

function isOfControlPlane(clusterClass: InputObject, template: InputObject, relations: Relations): boolean {
  if (!isOf(template, CONTROL_PLANE_GROUP, 'KubeadmControlPlaneTemplate')) return false;
  return refersTo(referenceOf(at(clusterClass.value, 'spec', 'controlPlane')), clusterClass, template, relations);
}

function classesOf(
  clusterClass: InputObject,
  list: string,
  template: InputObject,
  relations: Relations,
): readonly unknown[] {
  if (!isOf(template, BOOTSTRAP_GROUP, 'KubeadmConfigTemplate')) return [];
  return items(at(clusterClass.value, 'spec', 'workers', list)).filter((part) =>
    refersTo(bootstrapOf(part), clusterClass, template, relations),
  );
}

/** The templates of a class are in its namespace. */
function refersTo(value: unknown, from: InputObject, template: InputObject, relations: Relations): boolean {
  const reference = referenceAt(value);
  if (reference?.name !== template.name) return false;
  return relations.find({ ...reference, namespace: undefined }, from) === template;
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
