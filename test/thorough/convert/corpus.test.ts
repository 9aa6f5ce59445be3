import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { convert } from '@machineadm/convert/index.ts';
import { parseAllDocuments, stringify } from 'yaml';
import { SSH_KEY, template, templateNames } from '../../support/capi-templates.ts';
import { needs } from '../../support/needs.ts';

/** Templates whose arguments only kubelets of other versions take. */
const VERSIONS: readonly (readonly [RegExp, string])[] = [
  [/multitenancy-clusterclass|efs-support|capm3--examples__controlplane/, 'v1.26.15'],
  // It asks for a feature gate of a version that is not released.
  [/ci-version-dra/, ''],
];

describe('published templates of Cluster API and its providers', {
  skip: needs('published templates of Cluster API'),
}, () => {
  for (const name of templateNames()) {
    const version = VERSIONS.find(([pattern]) => pattern.test(name))?.[1] ?? 'v1.35.2';
    test(`${name} converts`, { skip: version === '' ? 'a feature gate of no release' : false }, async () => {
      const { documents, decisions } = await convert([{ name, text: template(name, version) }], {
        kubernetesVersion: version,
      });
      const errors = decisions.filter(({ severity }) => severity === 'error');
      assert.deepEqual(
        errors.map(({ code, at, message }) => `${code} ${at}: ${message}`),
        [],
      );
      assert.ok(documents.length > 0);
      // A worker's template never becomes a control plane.
      for (const { name: machine, role } of documents) {
        if (/-(?:md|mp|pool|worker|workers)(?:-|\d|$)/.test(machine)) assert.equal(role, 'Worker', machine);
      }
    });
  }
});

type Tree = ReturnType<ReturnType<typeof parseAllDocuments>[number]['toJS']>;

/** Why a patch of a published ClusterClass is left to the reader. */
const NOT_APPLIED =
  /an extension of Cluster API makes it|the controller gives builtin\.(?:controlPlane\.machineTemplate|machineDeployment)\.infrastructureRef\.name/;

/** Classes whose patches change the kubeadm templates, or may. */
const PATCHED = templateNames().filter(
  (name) => /^kind: ClusterClass$/m.test(template(name)) && /^ {2}patches:/m.test(template(name)),
);

describe('the patches of published ClusterClasses, for a Cluster that uses every class', {
  skip: needs('published templates of Cluster API'),
}, () => {
  for (const name of PATCHED) {
    test(`${name}: each is applied, or has a reason of a few`, async () => {
      const version = VERSIONS.find(([pattern]) => pattern.test(name))?.[1] ?? 'v1.34.3';
      const objects: Tree[] = parseAllDocuments(template(name, version)).map((document) => document.toJS());
      const ours = objects.find((object) => object?.kind === 'ClusterClass');
      const rest = objects.filter((object) => object?.kind !== 'Cluster');
      const text = [...rest, clusterOf(ours, version)]
        .map((object) => stringify(object, { version: '1.1' }))
        .join('---\n');
      const { documents, decisions } = await convert([{ name, text }], {});
      const errors = decisions.filter(({ severity }) => severity === 'error');
      assert.deepEqual(
        errors.map(({ code, at, message }) => `${code} ${at}: ${message}`),
        [],
      );
      assert.ok(documents.length > 0);
      for (const { code, message } of decisions) if (code === 'PatchesNotApplied') assert.match(message, NOT_APPLIED);
    });
  }
});

/** A Cluster with an entry for each class of workers, and a value for each variable. */
function clusterOf({ apiVersion, metadata, spec }: Tree, version: string): Tree {
  const entries = (list: string) =>
    (spec.workers?.[list] ?? []).map((one: Tree, index: number) => ({ class: one.class, name: `${list}-${index}` }));
  const variables = (spec.variables ?? []).map(({ name, schema }: Tree) => ({
    name,
    value: fitting(schema.openAPIV3Schema, name),
  }));
  return {
    apiVersion,
    kind: 'Cluster',
    metadata: { name: 'c', namespace: metadata.namespace ?? 'clusters' },
    spec: {
      controlPlaneEndpoint: { host: 'api.example', port: 6443 },
      topology: {
        class: metadata.name,
        classRef: { name: metadata.name },
        version,
        controlPlane: { replicas: 3 },
        variables,
        workers: { machineDeployments: entries('machineDeployments'), machinePools: entries('machinePools') },
      },
    },
  };
}

/** A value that a schema allows, as long as it has no pattern. */
function fitting(schema: Tree, name: string): unknown {
  if (/ssh_?(?:authorized)?_?key(?!s)/i.test(name) && schema.type === 'string') return SSH_KEY;
  if (schema.default !== undefined && Object.keys(schema.default ?? {}).length > 0) return schema.default;
  if (schema.enum !== undefined) return schema.enum[0];
  if (schema.type === 'string' && schema.example !== undefined) return schema.example;
  const { properties = {} } = schema;
  if (schema.type === 'object')
    return Object.fromEntries(Object.entries(properties).map(([name, below]) => [name, fitting(below, name)]));
  if (schema.type === 'array') return [fitting(schema.items, name.replace(/s$/, ''))];
  if (schema.type === 'boolean') return true;
  return schema.type === 'integer' || schema.type === 'number' ? 3 : (schema.default ?? 'word');
}
