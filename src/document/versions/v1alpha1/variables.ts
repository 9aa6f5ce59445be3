import type { PathSegment } from '../../diagnostics.ts';
import type { VariableSource } from '../../variables.ts';
import type { Sections } from './sections.ts';

/** The variables of a document by name. */
export function variableSources(section: Sections['variables']): ReadonlyMap<string, VariableSource> {
  return new Map(Object.entries(section ?? {}).map(([name, source]) => [name, toSource(source)]));
}

function toSource(section: NonNullable<Sections['variables']>[string]): VariableSource {
  if ('value' in section) return { kind: 'value', value: section.value };
  if ('env' in section) return { kind: 'env', variable: section.env };
  if ('envFile' in section) return { kind: 'envFile', ...section.envFile };
  if ('file' in section) return { kind: 'file', path: section.file };
  if ('instanceData' in section) return { kind: 'instanceData', path: section.instanceData };
  return { kind: 'metadata', ...section.metadata };
}

/**
 * Where `${name}` is replaced: what differs from machine to machine. Everywhere else such text stands for itself, as in
 * shell commands, which have their own `${name}`. `*` is one part, `**` any number.
 */
const EXPANDABLE: readonly string[] = [
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'metadata.cluster',
  'metadata.labels.*',
  'host.hostname',
  'host.storage.**.path',
  'host.storage.**.id',
  'host.storage.**.serial',
  'host.storage.**.label',
  'host.time.servers.*',
  'host.proxy.http',
  'host.proxy.https',
  'host.proxy.no.*',
  'host.files.*.path',
  'host.files.*.contentFrom.http.url',
  'images.archives.*.url',
  'containerRuntime.containerd.sandboxImage',
  'containerRuntime.containerd.registries.*.host',
  'containerRuntime.containerd.registries.*.server',
  'containerRuntime.containerd.registries.*.mirrors.*.url',
  'containerRuntime.containerd.registries.*.verify',
  'secrets.*.http.url',
  'secrets.*.file',
  'secrets.*.awsSecretsManager.*',
  'secrets.*.awsParameter.*',
  'kubernetes.cluster.name',
  'kubernetes.cluster.controlPlaneEndpoint',
  'kubernetes.controlPlane.apiEndpoint.advertiseAddress',
  'kubernetes.controlPlane.apiServer.certSANs.*',
  'kubernetes.controlPlane.etcd.local.serverCertSANs.*',
  'kubernetes.controlPlane.etcd.local.peerCertSANs.*',
  'kubernetes.controlPlane.*.args.*.value',
  'kubernetes.controlPlane.*.env.*.value',
  'kubernetes.controlPlane.etcd.local.args.*.value',
  'kubernetes.node.name',
  'kubernetes.node.providerID',
  'kubernetes.node.labels.*',
  'kubernetes.node.kubelet.args.*.value',
  'kubernetes.node.kubelet.config.**',
  'kubernetes.join.discovery.token.endpoint',
  'kubernetes.join.discovery.file.path',
  'kubernetes.join.discovery.file.kubeconfig.server',
  'kubernetes.join.discovery.file.kubeconfig.proxyURL',
  'kubernetes.join.discovery.file.kubeconfig.user.exec.args.*',
  'kubernetes.bootstrapper.exec.args.*',
  'kubernetes.bootstrapper.exec.env.*.value',
  'reporting.sinks.*.configMap.*',
  'reporting.sinks.*.server',
];

const PATTERNS = EXPANDABLE.map((pattern) => {
  const parts = pattern.split('.').map((part) => (part === '**' ? '.+' : part === '*' ? '[^.]+' : part));
  return new RegExp(`^${parts.join('\\.')}$`);
});

/** Whether variables are replaced in the string at a path; in a file's content only where it says `expand: true`. */
export function isExpandable(path: readonly PathSegment[], document: unknown): boolean {
  const [section, list, index, field] = path;
  if (section === 'host' && list === 'files' && field === 'content' && path.length === 4) {
    return expands(document, index);
  }
  // A label key may hold dots: parts are joined by a character that no part has.
  const text = path.map((part) => String(part).replaceAll('.', '_')).join('.');
  return PATTERNS.some((pattern) => pattern.test(text));
}

function expands(document: unknown, index: PathSegment | undefined): boolean {
  const files = member(member(document, 'host'), 'files');
  const file: unknown = Array.isArray(files) && typeof index === 'number' ? files[index] : undefined;
  return member(file, 'expand') === true;
}

function member(value: unknown, key: string): unknown {
  return value !== null && typeof value === 'object' ? new Map(Object.entries(value)).get(key) : undefined;
}
