import { Opaque } from '../go-template/values.ts';
import { at, isMap, items, text, texts } from '../values/map.ts';
import { PatchError } from './json-patch.ts';
import { classNameOf, classNamespaceOf, type TopologyUse } from './topology.ts';

/** The variables of a patch by name, `builtin` among them. */
export type Variables = Readonly<Record<string, unknown>>;

/**
 * The variables of the patches of a template, as the topology controller calculates them (cluster-api
 * internal/controllers/topology/cluster/patches/variables, internal/topology/variables): those of the Cluster that the class
 * defines, with the defaults of their schemas; the overrides of the MachineDeployment, MachinePool or control plane before them.
 */
export function variablesOf(use: TopologyUse): Variables {
  const { clusterClass, cluster, entry } = use;
  const schemas = new Map(
    items(at(clusterClass.value, 'spec', 'variables')).map((one) => [
      text(at(one, 'name')) ?? '',
      at(one, 'schema', 'openAPIV3Schema'),
    ]),
  );
  const given = valuesOf(at(cluster.value, 'spec', 'topology', 'variables'));
  const overrides = valuesOf(at(entry, 'variables', 'overrides'));
  const found = Array.from(schemas, ([name, schema]): [string, unknown] => {
    const value = overrides.has(name) ? overrides.get(name) : given.get(name);
    return [name, defaulted(orDefault(value, schema), schema)];
  });
  return { ...Object.fromEntries(found.filter(([, value]) => value !== undefined)), builtin: builtinOf(use) };
}

/** Values that are meant for one patch by an extension are not for inline patches. */
function valuesOf(list: unknown): ReadonlyMap<string, unknown> {
  return new Map(
    items(list)
      .filter((one) => ['', 'inline'].includes(text(at(one, 'definitionFrom')) ?? ''))
      .map((one) => [text(at(one, 'name')) ?? '', at(one, 'value')]),
  );
}

/** k8s.io/apiextensions-apiserver, structural defaulting. */
function defaulted(value: unknown, schema: unknown): unknown {
  if (Array.isArray(value)) {
    const item = at(schema, 'items');
    return value.map((one) => defaulted(orDefault(one, item), item));
  }
  if (!isMap(value)) return value;
  const properties = at(schema, 'properties');
  const known = isMap(properties) ? properties : {};
  const others = at(schema, 'additionalProperties');
  const names = new Set([...Object.keys(value), ...Object.keys(known)]);
  return Object.fromEntries(
    [...names].flatMap((name): [string, unknown][] => {
      const part = Object.hasOwn(known, name) ? known[name] : others;
      const complete = orDefault(Object.hasOwn(value, name) ? value[name] : undefined, part);
      return complete === undefined ? [] : [[name, defaulted(complete, part)]];
    }),
  );
}

function orDefault(value: unknown, schema: unknown): unknown {
  const isMissing = value === undefined || (value === null && at(schema, 'nullable') !== true);
  return isMissing ? (at(schema, 'default') ?? value) : value;
}

/** exp/runtime/hooks/api/v1alpha1/topologymutation_variable_types.go. Names that the controller makes up are not known. */
function builtinOf(use: TopologyUse): unknown {
  const { clusterClass, cluster, holder, entry, part } = use;
  const topology = at(cluster.value, 'spec', 'topology');
  const network = at(cluster.value, 'spec', 'clusterNetwork');
  const version = at(topology, 'version');
  const madeUp = (name: string) => new Opaque(`the controller gives builtin.${name}`);
  const above = holder === 'controlPlane' ? `${holder}.machineTemplate` : holder;
  const infrastructureRef = { name: madeUp(`${above}.infrastructureRef.name`) };
  const shared = {
    version,
    replicas: at(entry, 'replicas'),
    name: madeUp(`${holder}.name`),
    metadata: madeUp(`${holder}.metadata`),
  };
  const ofHolder =
    holder === 'controlPlane'
      ? { ...shared, machineTemplate: { infrastructureRef } }
      : {
          ...shared,
          class: at(part, 'class'),
          topologyName: at(entry, 'name'),
          bootstrap: { configRef: { name: madeUp(`${holder}.bootstrap.configRef.name`) } },
          infrastructureRef,
        };
  return defined({
    cluster: {
      name: cluster.name,
      namespace: cluster.namespace ?? new Opaque('the Cluster of the input has no namespace'),
      uid: at(cluster.value, 'metadata', 'uid') ?? madeUp('cluster.uid'),
      metadata: {
        labels: at(cluster.value, 'metadata', 'labels'),
        annotations: at(cluster.value, 'metadata', 'annotations'),
      },
      topology: {
        version,
        class: classNameOf(cluster.value),
        classNamespace:
          classNamespaceOf(cluster.value) ??
          clusterClass.namespace ??
          new Opaque('the ClusterClass of the input has no namespace'),
      },
      network: network === undefined ? undefined : networkOf(network),
    },
    [holder]: ofHolder,
  });
}

function networkOf(network: unknown): object {
  const [services, pods] = ['services', 'pods'].map((name) => texts(at(network, name, 'cidrBlocks')));
  return {
    serviceDomain: at(network, 'serviceDomain'),
    services: services?.length === 0 ? undefined : services,
    pods: pods?.length === 0 ? undefined : pods,
    ipFamily: new Opaque('builtin.cluster.network.ipFamily is deprecated, and is not known here'),
  };
}

/** Without fields that have no value, as Go leaves them out. */
function defined(value: unknown): unknown {
  if (!isMap(value) || value instanceof Opaque) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, part]): [string, unknown][] =>
      part === undefined ? [] : [[name, defined(part)]],
    ),
  );
}

/** The value of `valueFrom.variable`: `name`, `name.field`, `name.list[0]` (variables/value.go). */
export function variableAt(variables: Variables, path: string): unknown {
  let value: unknown = variables;
  for (const [, name, index] of path.matchAll(/([^.[\]]+)|\[(\d+)\]/g)) {
    if (value instanceof Opaque) break;
    value = index === undefined ? at(value, name ?? '') : items(value)[Number(index)];
    if (value === undefined) throw new PatchError(`the variable ${path} has no value`);
  }
  requireKnown(value);
  return value;
}

function requireKnown(value: unknown): void {
  if (value instanceof Opaque) throw new PatchError(value.why);
  for (const part of Array.isArray(value) ? value : isMap(value) ? Object.values(value) : []) requireKnown(part);
}
