import type { PathSegment } from '../diagnostics/index.ts';
import { choice, field, object, oneOf } from '../fields/field.ts';
import { absolutePath, environmentName } from '../fields/types.ts';
import * as z from '../schema/zod.ts';
import type { VariableSource } from '../trees/variables.ts';

const variableSource = oneOf({
  value: field(z.string(), 'The value itself.', { example: 'eu-west-1' }),
  env: field(environmentName, 'The environment variable of machineadm that holds the value.', {
    example: 'NODE_ROLE',
  }),
  envFile: field(
    object({
      path: field(absolutePath, 'The path of the file.', { example: '/run/metadata/afterburn' }),
      key: field(environmentName, 'The key whose value is used.', { example: 'AFTERBURN_AWS_IPV4_LOCAL' }),
    }),
    'A file of KEY=value lines, as systemd, afterburn and Flatcar write it.',
    { example: { path: '/run/metadata/afterburn', key: 'AFTERBURN_AWS_IPV4_LOCAL' } },
  ),
  file: field(absolutePath, 'A file whose content is the value. One line break at its end is removed.', {
    example: '/etc/site',
  }),
  instanceData: field(
    z.string().min(1),
    'A dotted path into cloud-init\'s instance data. "-" and "_" are the same; names below v1 may be used alone.',
    { example: 'ds.meta_data.rack' },
  ),
  metadata: field(
    object({
      provider: field(
        choice({
          aws: 'Amazon EC2.',
          gcp: 'Google Compute Engine.',
          azure: 'Azure virtual machines.',
          openstack: 'OpenStack Nova.',
        }),
        'The cloud with the metadata service.',
        {
          example: 'gcp',
        },
      ),
      path: field(z.string().min(1), 'The path of the value, as the service of the provider names it.', {
        example: 'instance/zone',
      }),
    }),
    "A value of the cloud's metadata service, which is reached directly and never through a proxy.",
    { example: { provider: 'gcp', path: 'instance/zone' } },
  ),
});

export const variables = z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'not a name'), variableSource);

type VariablesSection = z.infer<typeof variables>;

/** The variables of a document by name. */
export function variableSources(section: VariablesSection | undefined): ReadonlyMap<string, VariableSource> {
  return new Map(Object.entries(section ?? {}).map(([name, source]) => [name, toSource(source)]));
}

function toSource(section: VariablesSection[string]): VariableSource {
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
  'host.hooks.*.environment.*',
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
  'kubernetes.pki.*.certificate',
  'kubernetes.pki.serviceAccount.publicKey',
  'kubernetes.join.discovery.token.endpoint',
  'kubernetes.join.discovery.token.caCertHashes.*',
  'kubernetes.join.discovery.file.path',
  'kubernetes.join.discovery.file.kubeconfig.server',
  'kubernetes.join.discovery.file.kubeconfig.certificateAuthority',
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

/** Whether the string at a path is a command of a shell, which would interpret a value in it. */
export function isShellText([section, list, , field]: readonly PathSegment[]): boolean {
  return section === 'host' && list === 'hooks' && field === 'commands';
}

/** Whether variables are replaced in the string at a path; in a file's content and in hooks only with `expand: true`. */
export function isExpandable(path: readonly PathSegment[], document: unknown): boolean {
  const [section, list, index, field] = path;
  if (section === 'host' && list === 'files' && field === 'content' && path.length === 4) {
    return expands(member(member(document, 'host'), 'files'), index);
  }
  if (section === 'host' && list === 'hooks' && field === 'commands' && path.length >= 5) {
    return expands(member(member(document, 'host'), 'hooks'), index);
  }
  // A label key may hold dots: parts are joined by a character that no part has.
  const text = path.map((part) => String(part).replaceAll('.', '_')).join('.');
  return PATTERNS.some((pattern) => pattern.test(text));
}

function expands(owner: unknown, key: PathSegment | undefined): boolean {
  const part: unknown = Array.isArray(owner) && typeof key === 'number' ? owner[key] : member(owner, String(key));
  return member(part, 'expand') === true;
}

function member(value: unknown, key: string): unknown {
  return value !== null && typeof value === 'object' && Object.hasOwn(value, key) ? Reflect.get(value, key) : undefined;
}
