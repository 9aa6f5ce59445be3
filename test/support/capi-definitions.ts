import type { KubeApiServer } from './kube-apiserver.ts';

/** Definitions of Cluster API's kinds: the parts of their public types that matter here (api/core, api/bootstrap/kubeadm). */

type CapiVersion = 'v1beta1' | 'v1beta2';

const text = { type: 'string' } as const;
const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } as const;

/** metav1.Condition, as v1beta2 has it in `status.conditions` and v1beta1 in `status.v1beta2.conditions`. */
export const CONDITIONS = {
  type: 'array',
  maxItems: 32,
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['type'],
  items: {
    type: 'object',
    required: ['type', 'status', 'reason', 'message', 'lastTransitionTime'],
    properties: {
      type: { type: 'string', maxLength: 316 },
      status: { type: 'string', enum: ['True', 'False', 'Unknown'] },
      reason: { type: 'string', minLength: 1, maxLength: 1024 },
      message: { type: 'string', maxLength: 32768 },
      lastTransitionTime: { type: 'string', format: 'date-time' },
      observedGeneration: { type: 'integer', format: 'int64' },
    },
  },
} as const;

/** Conditions of v1beta1: another form, and no list type. */
const OLD_CONDITIONS = {
  type: 'array',
  items: {
    type: 'object',
    required: ['type', 'status', 'lastTransitionTime'],
    properties: {
      type: text,
      status: text,
      severity: text,
      reason: text,
      message: text,
      lastTransitionTime: { type: 'string', format: 'date-time' },
    },
  },
} as const;

const BOOTSTRAP = {
  type: 'object',
  properties: {
    configRef: {
      type: 'object',
      properties: { apiGroup: text, apiVersion: text, kind: text, name: text, namespace: text },
    },
    dataSecretName: text,
  },
} as const;

const MACHINE_SPEC = {
  type: 'object',
  properties: {
    clusterName: text,
    version: text,
    providerID: text,
    bootstrap: BOOTSTRAP,
    infrastructureRef: anything,
    readinessGates: { type: 'array', items: anything },
  },
} as const;

const KINDS = {
  Cluster: { group: 'cluster.x-k8s.io', plural: 'clusters', spec: anything },
  Machine: { group: 'cluster.x-k8s.io', plural: 'machines', spec: MACHINE_SPEC },
  MachinePool: {
    group: 'cluster.x-k8s.io',
    plural: 'machinepools',
    spec: {
      type: 'object',
      properties: {
        clusterName: text,
        replicas: { type: 'integer' },
        template: { type: 'object', properties: { metadata: anything, spec: MACHINE_SPEC } },
      },
    },
  },
  KubeadmConfig: { group: 'bootstrap.cluster.x-k8s.io', plural: 'kubeadmconfigs', spec: anything },
} as const;

interface Definition {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: object;
  readonly spec: { readonly versions: readonly object[] } & Readonly<Record<string, unknown>>;
}

function definition(kind: keyof typeof KINDS, version: CapiVersion): Definition {
  const { group, plural, spec } = KINDS[kind];
  const status =
    version === 'v1beta2'
      ? { dataSecretName: text, conditions: CONDITIONS, initialization: anything, nodeRef: anything }
      : {
          dataSecretName: text,
          conditions: OLD_CONDITIONS,
          v1beta2: { type: 'object', properties: { conditions: CONDITIONS } },
        };
  const openAPIV3Schema = { type: 'object', properties: { spec, status: { type: 'object', properties: status } } };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      names: { kind, listKind: `${kind}List`, plural, singular: kind.toLowerCase() },
      scope: 'Namespaced',
      versions: [
        { name: version, served: true, storage: true, subresources: { status: {} }, schema: { openAPIV3Schema } },
      ],
    },
  };
}

const NAMES = ['Cluster', 'Machine', 'MachinePool', 'KubeadmConfig'] as const;

/** Installs the definitions, and waits until they are served in a namespace. */
export async function installClusterApi(server: KubeApiServer, version: CapiVersion, namespace: string): Promise<void> {
  await server.ask('POST', '/api/v1/namespaces', { metadata: { name: namespace } });
  for (const kind of NAMES) {
    const { group, plural } = KINDS[kind];
    await server.ask('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition(kind, version));
    await server.until(`/apis/${group}/${version}/namespaces/${namespace}/${plural}`);
  }
}

/** An upgrade of Cluster API from v1beta1 to v1beta2 that serves the old version no longer. The objects stay. */
export async function upgradeClusterApi(server: KubeApiServer, namespace: string): Promise<void> {
  for (const kind of NAMES) {
    const { group, plural } = KINDS[kind];
    const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${plural}.${group}`;
    const old = (await server.ask('GET', path)) as Definition;
    const { spec } = definition(kind, 'v1beta2');
    const versions = old.spec.versions.map((version) => ({ ...version, served: false, storage: false }));
    await server.ask('PUT', path, { ...old, spec: { ...spec, versions: [...spec.versions, ...versions] } });
    await server.until(`/apis/${group}/v1beta2/namespaces/${namespace}/${plural}`);
  }
}
