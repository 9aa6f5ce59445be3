import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Conversion, type ConvertOptions, convert } from '@machineadm/convert/index.ts';
import { formatDiagnostic } from '@machineadm/document/diagnostics/index.ts';
import { type LoadedDocument, loadDocument } from '@machineadm/document/loading/load.ts';
import type { VariableSource } from '@machineadm/document/trees/variables.ts';
import { parse, parseAllDocuments, stringify } from 'yaml';

const FIXTURES = join(import.meta.dirname, '../fixtures/capi');

/** The five examples, their Cluster, and the user data that the kubeadm bootstrap provider makes of each. */
export const EXAMPLES = [
  { name: '01-controlplane-kube-vip', cluster: 'prod-a', golden: ['init', 'join-controlplane'], version: 'v1.35.2' },
  { name: '02-worker-registry-mirrors', cluster: 'prod-b', golden: ['join-worker'], version: 'v1.35.2' },
  { name: '03-controlplane-etcd-disk', cluster: 'prod-c', golden: ['init', 'join-controlplane'], version: 'v1.34.3' },
  {
    name: '03b-controlplane-etcd-disk.v1beta1',
    cluster: 'prod-c',
    golden: ['init', 'join-controlplane'],
    version: 'v1.30.9',
  },
  { name: '05-worker-windows', cluster: 'prod-e', golden: ['join-worker'], version: 'v1.35.2' },
] as const;

export type Example = (typeof EXAMPLES)[number];

export function example(name: string): string {
  return readFileSync(join(FIXTURES, `${name}.yaml`), 'utf8');
}

export function goldenUserData(name: string, kind: string): string {
  return readFileSync(join(FIXTURES, 'golden', `${name}.${kind}.user-data`), 'utf8');
}

/** The data Secret of a machine of the first example. */
export function dataSecret(): string {
  const [{ name }] = EXAMPLES;
  return stringify({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'prod-a-0', namespace: 'clusters', labels: { 'cluster.x-k8s.io/cluster-name': 'prod-a' } },
    data: { format: btoa('cloud-config'), value: btoa(goldenUserData(name, 'init')) },
  });
}

/** What the example is converted with: itself, its Cluster, its MachineDeployment, and the cluster's CA Secrets. */
export function withRelatedObjects({ name, cluster }: Example): { name: string; text: string }[] {
  const all = parseAllDocuments(readFileSync(join(FIXTURES, 'clusters.yaml'), 'utf8')).map((one) => one.toJS());
  const own = all.filter(({ metadata, spec }) => metadata.name === cluster || spec?.clusterName === cluster);
  return [
    { name: `${name}.yaml`, text: example(name) },
    { name: 'cluster.yaml', text: own.map((object) => stringify(object, { version: '1.1' })).join('---\n') },
    { name: 'secrets.yaml', text: authorities(cluster) },
  ];
}

/** A certificate or key out of golden user data: it is the same invented PKI in all of them. */
export function authority(path: string): string {
  const { write_files: files } = parse(goldenUserData('01-controlplane-kube-vip', 'init'));
  const file = files.find((one: { path: string }) => one.path === `/etc/kubernetes/pki/${path}`);
  assert.ok(file, path);
  return file.content;
}

/** The CA Secrets of a cluster. */
function authorities(cluster: string): string {
  const secret = (suffix: string, certificate: string, key: string) =>
    stringify({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: `${cluster}-${suffix}`, namespace: 'clusters' },
      data: { 'tls.crt': btoa(authority(certificate)), 'tls.key': btoa(authority(key)) },
    });
  return [
    secret('ca', 'ca.crt', 'ca.key'),
    secret('etcd', 'etcd/ca.crt', 'etcd/ca.key'),
    secret('proxy', 'front-proxy-ca.crt', 'front-proxy-ca.key'),
    secret('sa', 'sa.pub', 'sa.key'),
  ].join('---\n');
}

/** Converts texts that are given as objects or as they are. */
export function converting(inputs: readonly (string | object)[], options: ConvertOptions = {}): Promise<Conversion> {
  const texts = inputs.map((input, index) => ({
    name: `input-${index}.yaml`,
    text: typeof input === 'string' ? input : stringify(input, { version: '1.1' }),
  }));
  return convert(texts, options);
}

/** A value for each variable that says which one it is, and fits where a name is wanted. */
function variableValue(source: VariableSource): string {
  if (source.kind === 'instanceData') return source.path.toLowerCase().replace(/[^a-z0-9]+/g, '-');
  if (source.kind === 'envFile') return source.key.toLowerCase().replace(/[^a-z0-9]+/g, '-');
  assert.fail(`a variable of the kind ${source.kind}`);
}

/** Golden text with its jinja expressions replaced by the same values. */
export function withVariableValues(text: string): string {
  return text.replace(/\{\{ *([\w.[\]\\"]+?) *\}\}/g, (_whole, expression: string) =>
    variableValue({
      kind: 'instanceData',
      path: expression.replace(/\[\\?"(\w+)\\?"\]/g, '.$1'),
    }),
  );
}

/** The document as an agent on the machine reads it. */
export async function loaded(yaml: string): Promise<LoadedDocument> {
  const result = await loadDocument([{ name: 'converted', bytes: Buffer.from(yaml) }], {
    agentVersion: '0.1.0',
    resolveVariables: async (_name, source) => ({ value: variableValue(source) }),
  });
  assert.ok(result.ok, result.ok ? '' : result.problems.map(formatDiagnostic).join('\n'));
  return result.document;
}

/** Codes of a severity, each once, in their order. */
export function codesOf({ decisions }: Conversion, severity: string): string[] {
  return [...new Set(decisions.filter((one) => one.severity === severity).map(({ code }) => code))];
}
