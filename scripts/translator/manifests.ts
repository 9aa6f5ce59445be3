import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { parse } from 'yaml';
import * as z from 'zod';
import { tarOfFiles } from '../build/tar.ts';
import { TRANSLATOR_REPOSITORY } from './image.ts';

/** All manifests of the translator are generated from this kustomize base. */

const BASE = 'packaging/translator/base';
const CHART = 'packaging/translator/chart';
const PROVIDER = 'packaging/bootstrap-provider';
const PROVIDER_FILES = ['definitions.yaml', 'rbac.yaml', 'webhook.yaml'];
const UPDATES = 'packaging/in-place-updates';
const UPDATES_FILES = ['rbac.yaml', 'extension.yaml'];

export const COMPONENTS = 'components.yaml';
/** The name that clusterctl looks for in a release of a bootstrap provider. */
export const BOOTSTRAP_COMPONENTS = 'bootstrap-components.yaml';
export const METADATA = 'metadata.yaml';
export const TRANSLATOR_LICENSES = 'machineadm-translator-LICENSES.txt';

/** The files of a release for the translator, without the image. */
export function translatorFiles(version: string): readonly string[] {
  return [COMPONENTS, BOOTSTRAP_COMPONENTS, METADATA, TRANSLATOR_LICENSES, chartFile(version)];
}

export function chartFile(version: string): string {
  return `machineadm-translator-${version}.tgz`;
}

const Kustomization = z.looseObject({ resources: z.array(z.string()) });
/** The image in the base. A test compares its version with package.json. */
const IMAGE = /docker\.io\/library\/machineadm-translator:\d+\.\d+\.\d+\S*/;

function baseFiles(root: string): readonly { readonly name: string; readonly text: string }[] {
  const { resources } = Kustomization.parse(parse(readFileSync(join(root, BASE, 'kustomization.yaml'), 'utf8')));
  return resources.map((name) => ({ name, text: readFileSync(join(root, BASE, name), 'utf8') }));
}

/** All objects in one file, for `kubectl apply -f` and clusterctl. */
export function components(root: string, version: string): string {
  const texts = baseFiles(root).map(({ text }) => text);
  return texts.join('---\n').replace(IMAGE, `${TRANSLATOR_REPOSITORY}:${version}`);
}

/**
 * The same service as the bootstrap provider of MachineadmConfigs, for `clusterctl init --bootstrap machineadm`: what
 * packaging/bootstrap-provider makes, with the label of that provider on everything.
 */
export function bootstrapComponents(root: string, version: string): string {
  const own = PROVIDER_FILES.map((name) => readFileSync(join(root, PROVIDER, name), 'utf8'));
  const service = components(root, version)
    .replaceAll(
      'cluster.x-k8s.io/provider: runtime-extension-machineadm',
      'cluster.x-k8s.io/provider: bootstrap-machineadm',
    )
    .replace(/( +)- --profiles=\S+\n/, '$&$1- --bootstrap-provider\n');
  // clusterctl replaces variables in all that it reads (drone/envsubst), and the definitions explain those of documents.
  return [service, ...own].join('---\n').replace(/\$+(?=\{)/g, (dollars) => `${dollars}${dollars}`);
}

/** metadata.yaml for clusterctl (cmd/clusterctl/api/v1alpha3/metadata_type.go). */
export function clusterctlMetadata(version: string): string {
  const [major, minor] = version.split('.');
  return `apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3
kind: Metadata
releaseSeries:
  - {major: ${major}, minor: ${minor}, contract: v1beta2}
`;
}

/**
 * The templates of the Helm chart, by name: the files of the base with the namespace of the release and the chart values.
 * Helm itself creates the namespace.
 */
function chartTemplates(root: string): ReadonlyMap<string, string> {
  const replaced = (text: string): string => {
    const changes: readonly (readonly [string | RegExp, string])[] = [
      [/machineadm-system/g, '{{ .Release.Namespace }}'],
      [/cluster\.x-k8s\.io\/provider: (?:runtime-extension|bootstrap)-machineadm, /g, ''],
      [/ +cluster\.x-k8s\.io\/provider: (?:runtime-extension|bootstrap)-machineadm\n/g, ''],
      [IMAGE, '"{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"'],
      [/replicas: 2\b/, 'replicas: {{ .Values.replicas }}'],
      [
        /( +)- ports: \[\{protocol: TCP, port: webhook\}\]\n/,
        '$&$1  {{- with .Values.controlPlaneCidrs }}\n$1  from:\n$1    {{- range . }}\n$1    - ipBlock: {cidr: {{ . | quote }}}\n$1    {{- end }}\n$1  {{- end }}\n',
      ],
      [
        /( +)(- --profiles=\S+\n)/,
        '$1$2$1{{- if .Values.bootstrapProvider }}\n$1- --bootstrap-provider\n$1{{- end }}\n$1{{- with .Values.updateImage }}\n$1- --update-image={{ . }}\n$1{{- end }}\n$1{{- range .Values.reportNamespaces }}\n$1- --report-namespace={{ . }}\n$1{{- end }}\n$1{{- range .Values.args }}\n$1- {{ . | quote }}\n$1{{- end }}\n',
      ],
    ];
    return changes.reduce((before, [from, to]) => before.replace(from, to), text);
  };
  const files = baseFiles(root).filter(({ name }) => name !== 'namespace.yaml');
  const translator = 'machineadm-translator';
  return new Map([
    ...files.map(({ name, text }) => [name, replaced(text)] as const),
    [
      'bindings.yaml',
      bindings('namespaces', `${translator}-namespace`) + bindings('reportNamespaces', `${translator}-reports`),
    ],
    ...PROVIDER_FILES.map((name) => {
      const text = readFileSync(join(root, PROVIDER, name), 'utf8');
      // With its definitions, the objects of all users would be removed, too.
      const kept = text.replaceAll(
        /^kind: CustomResourceDefinition\nmetadata:\n/gm,
        '$&  annotations: {helm.sh/resource-policy: keep}\n',
      );
      return [`bootstrap-${name}`, ifProvider(replaced(kept))] as const;
    }),
    ...UPDATES_FILES.map((name) => {
      const text = replaced(readFileSync(join(root, UPDATES, name), 'utf8'));
      return [`updates-${name}`, `{{- if .Values.updateImage }}\n${text}{{- end }}\n`] as const;
    }),
    ['bootstrap-bindings.yaml', ifProvider(bindings('namespaces', 'machineadm-bootstrap-namespace'))],
  ]);
}

function ifProvider(text: string): string {
  return `{{- if .Values.bootstrapProvider }}\n${text}{{- end }}\n`;
}

/** The binding of a role in each namespace of a value. */
function bindings(value: string, role: string): string {
  return `{{- range .Values.${value} }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {namespace: {{ . }}, name: ${role}}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: ${role}}
subjects:
  - {kind: ServiceAccount, namespace: {{ $.Release.Namespace }}, name: machineadm-translator}
{{- end }}
`;
}

/** The Helm chart as an archive for `helm install`. It is reproducible. */
export function chartArchive(root: string, version: string): Buffer {
  const own = (name: string) => readFileSync(join(root, CHART, name), 'utf8').replaceAll('@VERSION@', version);
  const texts = new Map([
    ['Chart.yaml', own('Chart.yaml')],
    ['values.yaml', own('values.yaml')],
    ...[...chartTemplates(root)].map(([name, text]) => [`templates/${name}`, text] as const),
  ]);
  const files = [...texts].map(([name, text]) => [
    `machineadm-translator/${name}`,
    { content: Buffer.from(text), mode: 0o644 },
  ]);
  return gzipSync(tarOfFiles(Object.fromEntries(files)), { level: 9 });
}
