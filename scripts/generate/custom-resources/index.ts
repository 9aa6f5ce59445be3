import type { JsonSchema } from '@machineadm/document/fields/conditions.ts';
import { DECIDED } from '@machineadm/translator/provider/decided.ts';
import { stringify } from 'yaml';
import { structuralSchema } from './structural.ts';

/**
 * The CustomResourceDefinitions of MachineadmConfig and MachineadmConfigTemplate, as YAML: `spec.document` is the schema of the
 * document, without what Cluster API decides. Labels are those of the contract v1beta2 for bootstrap providers.
 */
export function customResourceDefinitions(document: JsonSchema): string {
  const spec = specSchema(documentSchema(document));
  const template = object(
    {
      metadata: object(
        {
          labels: map('Labels of each MachineadmConfig.'),
          annotations: map('Annotations of each MachineadmConfig.'),
        },
        'Metadata of each MachineadmConfig that is made from this template.',
      ),
      spec,
    },
    'The MachineadmConfig that each machine gets.',
  );
  return (
    [
      definition('MachineadmConfig', 'How machineadm bootstraps one machine, or the instances of one MachinePool.', {
        spec,
        status: STATUS,
      }),
      definition('MachineadmConfigTemplate', 'The MachineadmConfigs of a MachineDeployment or MachineSet.', {
        spec: { ...object({ template }, 'What is made from this template.'), required: ['template'] },
      }),
    ]
      // kubectl and clusterctl read YAML 1.1, where the fields `no` and `on` would be booleans.
      .map((one) => stringify(one, { lineWidth: 0, aliasDuplicateObjects: false, version: '1.1' }))
      .join('---\n')
  );
}

const text = (description: string, more: JsonSchema = {}): JsonSchema => ({ description, type: 'string', ...more });
const map = (description: string): JsonSchema => ({
  description,
  type: 'object',
  additionalProperties: { type: 'string' },
});
const object = (properties: Readonly<Record<string, JsonSchema>>, description: string): JsonSchema => ({
  description,
  type: 'object',
  properties,
});

const NAME = { minLength: 1, maxLength: 253 };

/** metav1.Condition. */
const CONDITION: JsonSchema = {
  ...object(
    {
      type: text('The type of the condition.', { maxLength: 316 }),
      status: text('True, False or Unknown.', { enum: ['True', 'False', 'Unknown'] }),
      reason: text('Why, as one word.', { minLength: 1, maxLength: 1024 }),
      message: text('Why, for people.', { maxLength: 32768 }),
      lastTransitionTime: text('When the status changed last.', { format: 'date-time' }),
      observedGeneration: {
        description: 'The generation of the object that the condition is about.',
        type: 'integer',
        format: 'int64',
        minimum: 0,
      },
    },
    'A condition in the form of metav1.Condition.',
  ),
  // `message` is absent where it is empty (packages/translator/src/provider/status.ts).
  required: ['type', 'status', 'reason', 'lastTransitionTime'],
};

const STATUS = object(
  {
    dataSecretName: text('The name of the Secret with the bootstrap data.', NAME),
    initialization: {
      ...object(
        { dataSecretCreated: { description: 'Whether the Secret with the bootstrap data exists.', type: 'boolean' } },
        'What Cluster API waits for before it creates the machine.',
      ),
      minProperties: 1,
    },
    conditions: {
      description: 'Ready: whether the bootstrap data exists, or why not. Paused: whether the controller waits.',
      type: 'array',
      maxItems: 32,
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['type'],
      items: CONDITION,
    },
  },
  'What the controller observed.',
);

function specSchema(document: JsonSchema): JsonSchema {
  const reference = {
    ...object(
      {
        name: text('The name of the Secret.', NAME),
        key: text('The key of the value in the Secret.', NAME),
      },
      'A value in a Secret of the namespace of the MachineadmConfig.',
    ),
    required: ['name', 'key'],
  };
  return object(
    {
      document,
      format: text(
        'The format of the bootstrap data, as the machine image needs it. Windows machines get cloudbase-init. Default: cloud-config.',
        { enum: ['cloud-config', 'ignition'] },
      ),
      profile: text(
        'The profile of the controller that says how machineadm comes to the machine. Default: the profile named default, or machineadm is in the image.',
        NAME,
      ),
      secrets: {
        description:
          'Secrets of the document whose values are in Secrets of this namespace. A field of the document refers to one with {secret: NAME}.',
        type: 'array',
        maxItems: 64,
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['name'],
        items: {
          ...object(
            {
              name: text('The name in the document.', { pattern: '^[A-Za-z][A-Za-z0-9_-]*$', maxLength: 63 }),
              secretRef: reference,
            },
            'One secret of the document.',
          ),
          required: ['name', 'secretRef'],
        },
      },
    },
    'What the machine becomes.',
  );
}

/** The document's schema without what Cluster API decides. */
function documentSchema(document: JsonSchema): JsonSchema {
  const { $defs: definitions, ...root } = document;
  const converted = structuralSchema(root, definitions as Readonly<Record<string, JsonSchema>>);
  const properties = { ...(converted.properties as Readonly<Record<string, JsonSchema>>) };
  const kubernetes = properties.kubernetes ?? {};
  return {
    ...without(converted, ''),
    description:
      'The bootstrap document: the machine and its node. What Cluster API decides is no part of it. Default: a worker with the defaults of kubeadm.',
    properties: {
      ...(without(converted, '').properties as object),
      kubernetes: without(kubernetes, 'kubernetes.'),
    },
  };
}

/** An object whose decided fields are refused with the reason (CEL, since Kubernetes 1.25), and not required. */
function without(schema: JsonSchema, prefix: string): JsonSchema {
  const properties = { ...(schema.properties as Readonly<Record<string, JsonSchema>>) };
  for (const [path, decider] of Object.entries(DECIDED)) {
    const name = path.slice(prefix.length);
    if (!path.startsWith(prefix) || name.includes('.')) continue;
    const type = properties[name]?.type ?? 'object';
    properties[name] = {
      description: `Not allowed here. Decided by ${decider}.`,
      type,
      ...(type === 'object' ? { 'x-kubernetes-preserve-unknown-fields': true } : {}),
      'x-kubernetes-validations': [{ rule: 'false', message: `leave it out: it is decided by ${decider}` }],
    };
  }
  const { required: _, ...rest } = schema;
  return { ...rest, properties };
}

const GROUP = 'bootstrap.cluster.x-k8s.io';
const VERSION = 'v1alpha1';

function definition(kind: string, description: string, parts: Readonly<Record<string, JsonSchema>>): object {
  const singular = kind.toLowerCase();
  const column = (name: string, type: string, jsonPath: string) => ({ name, type, jsonPath });
  const hasStatus = 'status' in parts;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: `${singular}s.${GROUP}`,
      labels: {
        'cluster.x-k8s.io/provider': 'bootstrap-machineadm',
        'clusterctl.cluster.x-k8s.io': '',
        'cluster.x-k8s.io/v1beta1': VERSION,
        'cluster.x-k8s.io/v1beta2': VERSION,
      },
    },
    spec: {
      group: GROUP,
      scope: 'Namespaced',
      names: { kind, listKind: `${kind}List`, plural: `${singular}s`, singular, categories: ['cluster-api'] },
      versions: [
        {
          name: VERSION,
          served: true,
          storage: true,
          ...(hasStatus ? { subresources: { status: {} } } : {}),
          additionalPrinterColumns: [
            ...(hasStatus
              ? [
                  column('Cluster', 'string', '.metadata.labels.cluster\\.x-k8s\\.io/cluster-name'),
                  column('Ready', 'string', '.status.conditions[?(@.type=="Ready")].status'),
                  column('Reason', 'string', '.status.conditions[?(@.type=="Ready")].reason'),
                ]
              : []),
            column('Age', 'date', '.metadata.creationTimestamp'),
          ],
          schema: { openAPIV3Schema: object(parts, description) },
        },
      ],
    },
  };
}
