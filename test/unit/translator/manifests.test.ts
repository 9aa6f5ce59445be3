import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { KEPT_REASONS } from '@machineadm/translator/handover/kept.ts';
import { MARKS } from '@machineadm/translator/handover/mark.ts';
import {
  ANNOTATIONS,
  FRAGMENT_KUBERNETES,
  FRAGMENT_REPORTING,
  FRAGMENT_SECTIONS,
} from '@machineadm/translator/handover/profiles.ts';
import { BOOLEAN_NAMES } from '@machineadm/translator/provider/objects.ts';
import { STORED_REASONS } from '@machineadm/translator/reconcile/verdict.ts';
import { newMetrics } from '@machineadm/translator/telemetry/metrics.ts';
import { VERSION } from '@machineadm/translator/version.ts';
import { parse, parseAllDocuments } from 'yaml';
import { TRANSLATOR_IMAGE } from '../../../scripts/translator/image.ts';
import { bootstrapComponents, clusterctlMetadata, components } from '../../../scripts/translator/manifests.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const LABEL = 'cluster.x-k8s.io/provider';

interface Manifest {
  kind: string;
  roleRef?: { name: string };
  metadata: { name: string; namespace?: string; labels: Record<string, string> };
  spec?: { template?: { metadata: { labels: Record<string, string> }; spec: PodSpec } };
  rules?: { resources: string[]; verbs: string[] }[];
  webhooks?: { failurePolicy: string; timeoutSeconds: number; sideEffects: string; clientConfig: object }[];
}

interface PodSpec {
  readonly securityContext: { readonly runAsUser: number; readonly runAsNonRoot: boolean };
  readonly containers: readonly {
    readonly image: string;
    readonly args: readonly string[];
    readonly securityContext: object;
    readonly volumeMounts: readonly { readonly readOnly: boolean }[];
  }[];
}

const objectsOf = (text: string): Manifest[] => parseAllDocuments(text).map((one): Manifest => one.toJS());
const named = (objects: readonly Manifest[], kind: string, name = 'machineadm-translator'): Manifest =>
  objects.find((one) => one.kind === kind && one.metadata.name === name) ?? assert.fail(`no ${kind} ${name}`);

describe('the manifests of the translator', () => {
  const objects = objectsOf(components(ROOT, VERSION));
  const pod = named(objects, 'Deployment').spec?.template?.spec ?? assert.fail();

  test('are those of one release: the package, the base and the image have its version', () => {
    const { version }: { version: string } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    assert.equal(VERSION, version);
    assert.equal(pod.containers[0]?.image, `docker.io/library/machineadm-translator:${version}`);
    const base = readFileSync(join(ROOT, 'packaging/translator/base/deployment.yaml'), 'utf8');
    assert.ok(base.includes(`image: docker.io/library/machineadm-translator:${version}\n`));
    assert.match(components(ROOT, '7.8.9'), /image: docker\.io\/library\/machineadm-translator:7\.8\.9\n/);
  });

  test('have the label of clusterctl, and contain nothing that belongs to the user', () => {
    for (const { kind, metadata } of objects) {
      assert.equal(metadata.labels[LABEL], 'runtime-extension-machineadm', kind);
      assert.ok(['machineadm-system', undefined].includes(metadata.namespace), kind);
      assert.ok(!['ConfigMap', 'Secret', 'Machine', 'MachineDeployment'].includes(kind), kind);
    }
    assert.deepEqual(parse(clusterctlMetadata('1.4.0')).releaseSeries, [{ major: 1, minor: 4, contract: 'v1beta2' }]);
  });

  test('never stop a cluster, and leave the certificate authority to cert-manager', () => {
    const [webhook, ...others] = named(objects, 'MutatingWebhookConfiguration').webhooks ?? [];
    assert.deepEqual(others, []);
    assert.deepEqual(
      [webhook?.failurePolicy, webhook?.timeoutSeconds, webhook?.sideEffects],
      ['Ignore', 10, 'NoneOnDryRun'],
    );
    assert.ok(!('caBundle' in (webhook?.clientConfig ?? {})));
  });

  test('meet the Pod Security level restricted, as the user of the image', () => {
    assert.equal(
      named(objects, 'Namespace', 'machineadm-system').metadata.labels['pod-security.kubernetes.io/enforce'],
      'restricted',
    );
    assert.equal(TRANSLATOR_IMAGE.user, `${pod.securityContext.runAsUser}:${pod.securityContext.runAsUser}`);
    assert.equal(pod.securityContext.runAsNonRoot, true);
    for (const container of pod.containers) {
      assert.deepEqual(container.securityContext, {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      assert.ok(container.volumeMounts.every(({ readOnly }) => readOnly));
    }
  });

  test('grant no right to Secrets but the one that is bound by namespace, and none to the own webhook', () => {
    const boundEverywhere = objects.flatMap(({ kind, roleRef }) =>
      kind === 'ClusterRoleBinding' ? [roleRef?.name] : [],
    );
    assert.deepEqual(boundEverywhere, ['machineadm-translator']);
    for (const { kind, metadata, rules } of objects) {
      if (kind !== 'ClusterRole' && kind !== 'Role') continue;
      for (const { resources, verbs } of rules ?? []) {
        if (resources.includes('secrets')) {
          assert.deepEqual([metadata.name, verbs], ['machineadm-translator-namespace', ['get']]);
        }
        assert.ok(!resources.some((one) => one === '*' || one.endsWith('configurations')), metadata.name);
        assert.ok(!verbs.some((verb) => ['*', 'delete', 'escalate', 'bind', 'impersonate'].includes(verb)));
      }
    }
  });
});

test('the definitions are the same for kubectl, which reads YAML 1.1, and every name that it takes for a boolean is known', () => {
  const text = readFileSync(join(ROOT, 'packaging/bootstrap-provider/definitions.yaml'), 'utf8');
  const plain = parseAllDocuments(text).map((one): unknown => one.toJS());
  const asKubectl = parseAllDocuments(text, { version: '1.1' }).map((one): unknown => one.toJS());
  assert.deepEqual(asKubectl, plain);
  const found = new Set<string>();
  const walk = (schema: unknown, path: string): void => {
    if (typeof schema !== 'object' || schema === null) return;
    const { properties = {}, items } = schema as { properties?: object; items?: unknown };
    for (const [name, below] of Object.entries(properties)) {
      if (/^(?:y|n|yes|no|on|off|true|false|null|~)$/i.test(name)) found.add(`${path} ${name}`);
      walk(below, path === '' ? name : `${path}.${name}`);
    }
    walk(items, `${path}[]`);
  };
  const [config] = plain as [{ spec: { versions: [{ schema: { openAPIV3Schema: object } }] } }];
  walk(config.spec.versions[0].schema.openAPIV3Schema, '');
  const known = Object.entries(BOOLEAN_NAMES).map(([path, [, name]]) => `spec.document.${path} ${name}`);
  assert.deepEqual([...found].sort(), known.sort());
});

test('the bootstrap provider is the translator with one more argument, and its own objects', () => {
  const all = objectsOf(bootstrapComponents(ROOT, VERSION));
  const container = named(all, 'Deployment').spec?.template?.spec.containers[0];
  const profiles = '--profiles=/etc/machineadm-translator/profiles/profiles.yaml';
  assert.deepEqual(container?.args, [profiles, '--bootstrap-provider']);
  const base = objectsOf(components(ROOT, VERSION)).map(({ kind, metadata }) => `${kind} ${metadata.name}`);
  const more = all.map(({ kind, metadata }) => `${kind} ${metadata.name}`).filter((one) => !base.includes(one));
  assert.deepEqual(more, [
    'CustomResourceDefinition machineadmconfigs.bootstrap.cluster.x-k8s.io',
    'CustomResourceDefinition machineadmconfigtemplates.bootstrap.cluster.x-k8s.io',
    'ClusterRole machineadm-bootstrap',
    'ClusterRoleBinding machineadm-bootstrap',
    'ClusterRole machineadm-bootstrap-namespace',
    'ValidatingWebhookConfiguration machineadm-bootstrap',
  ]);
  const [webhook, ...others] = named(all, 'ValidatingWebhookConfiguration', 'machineadm-bootstrap').webhooks ?? [];
  assert.deepEqual(others, []);
  assert.deepEqual([webhook?.failurePolicy, webhook?.timeoutSeconds, webhook?.sideEffects], ['Ignore', 10, 'None']);
});

test('the updates in place are the same service with the image of this release', () => {
  const directory = join(ROOT, 'packaging/in-place-updates');
  const kustomization = readFileSync(join(directory, 'kustomization.yaml'), 'utf8');
  assert.match(
    kustomization,
    new RegExp(`value: --update-image=docker\\.io/library/machineadm:${VERSION.replaceAll('.', '\\.')}\\}`),
  );
  const { resources } = parse(kustomization);
  assert.deepEqual(resources, ['../bootstrap-provider', 'rbac.yaml', 'extension.yaml']);
  const [extension] = objectsOf(readFileSync(join(directory, 'extension.yaml'), 'utf8'));
  const service = named(objectsOf(components(ROOT, VERSION)), 'Service');
  assert.deepEqual(JSON.parse(JSON.stringify(extension?.spec)).clientConfig.service, {
    namespace: service.metadata.namespace,
    name: service.metadata.name,
    port: 443,
  });
});

for (const [provider, text] of [
  ['runtime-extension-machineadm', components(ROOT, VERSION)],
  ['bootstrap-machineadm', bootstrapComponents(ROOT, VERSION)],
] as const)
  describe(`clusterctl generate provider: ${provider}`, () => {
    const objects = objectsOf(text);

    test('takes the images: their names are canonical (distribution/reference, ParseNamed)', () => {
      const images = [...text.matchAll(/^ *image: (\S+)$/gm)].map(([, image]) => image ?? '');
      assert.equal(images.length, 1);
      for (const image of images) {
        assert.match(image, /^(?:[a-z0-9-]+\.)+[a-z]+(?::\d+)?\/[a-z0-9._-]+(?:\/[a-z0-9._-]+)+:[\w.-]+$/);
      }
    });

    test('finds one namespace, no variable, and its label on every object', () => {
      assert.equal(objects.filter(({ kind }) => kind === 'Namespace').length, 1);
      // drone/envsubst, as clusterctl evaluates it.
      assert.doesNotMatch(text.replace(/(?:\$\$)+\{/g, ''), /\$\{|\$[A-Za-z_]/);
      for (const { kind, metadata } of objects) assert.equal(metadata.labels[LABEL], provider, kind);
    });

    test('leaves no reference to another namespace than the one that it replaces', () => {
      const namespaces = new Set([...text.matchAll(/namespace: ([a-z-]+)/g)].map(([, name]) => name));
      assert.deepEqual([...namespaces], ['machineadm-system']);
    });
  });

describe('docs/cluster-api.md', () => {
  const page = readFileSync(join(ROOT, 'docs/cluster-api.md'), 'utf8');

  test('names every reason, annotation, metric, option and part of a fragment', async () => {
    const metrics = await newMetrics().registry.getMetricsAsArray();
    const own = metrics.map(({ name }) => name).filter((name) => name.startsWith('machineadm_'));
    assert.ok(own.length >= 8);
    const fragments = [...FRAGMENT_SECTIONS, ...FRAGMENT_KUBERNETES, ...FRAGMENT_REPORTING];
    const reasons = [...Object.keys(KEPT_REASONS), ...Object.keys(STORED_REASONS)];
    const missing = [...reasons, ...Object.values(ANNOTATIONS), ...MARKS, ...own, ...fragments].filter(
      (word) => !page.includes(`\`${word}`),
    );
    assert.deepEqual(missing, []);
  });
});
