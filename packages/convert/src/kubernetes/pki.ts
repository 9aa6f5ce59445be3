import { utf8Text } from '@machineadm/document/encodings/decode.ts';
import type { KubernetesSection } from '@machineadm/document/sections/kubernetes/index.ts';
import { omitEmpty } from '@machineadm/document/values/defined.ts';
import type { Conversion } from '../inputs/conversion.ts';
import type { SecretName } from '../inputs/secrets.ts';
import type { FileSpec, Spec } from '../spec/spec.ts';
import type { Source } from '../values/source.ts';
import { nonEmpty } from './components.ts';

type Pki = NonNullable<KubernetesSection['pki']>;
type Pair = NonNullable<Pki['ca']>;

const DEFAULT_DIRECTORY = '/etc/kubernetes/pki';

/** The provider's paths, below the certificates directory (cluster-api util/secret/certificates.go). */
const FILES = { ca: 'ca', etcd: 'etcd/ca', frontProxy: 'front-proxy-ca' } as const;

/** Names of their Secrets: `<cluster>-ca`, … (cluster-api util/secret/consts.go). */
const SECRETS = { ca: 'ca', etcd: 'etcd', frontProxy: 'proxy', serviceAccount: 'sa' } as const;
const CLIENT_SECRET = 'apiserver-etcd-client';

/** A certificate and its key, at the provider's paths. */
interface PairPaths {
  readonly certificate: string;
  readonly key?: string;
}

function pairPaths(cluster: Source): Readonly<Record<keyof Pki, PairPaths>> {
  const directory = nonEmpty(cluster.get('certificatesDir')) ?? DEFAULT_DIRECTORY;
  const external = cluster.get('etcd', 'external');
  const named = (name: string): string => external.get(name).text() ?? '';
  const below = (name: string): PairPaths => ({
    certificate: `${directory}/${name}.crt`,
    key: `${directory}/${name}.key`,
  });
  return {
    ca: below(FILES.ca),
    etcd: external.exists ? { certificate: named('caFile') } : below(FILES.etcd),
    frontProxy: below(FILES.frontProxy),
    serviceAccount: { certificate: `${directory}/sa.pub`, key: `${directory}/sa.key` },
    apiserverEtcdClient: external.exists
      ? { certificate: named('certFile'), key: named('keyFile') }
      : below('apiserver-etcd-client'),
  };
}

/**
 * The files of user data that become `kubernetes.pki`, by path. A key without its certificate, and a file that root
 * does not own, stay files.
 */
export function certificatesAmong(files: readonly FileSpec[], cluster: Source): ReadonlyMap<string, FileSpec> {
  const found = (path: string | undefined): FileSpec | undefined => {
    const several = files.filter((file) => file.path === path && path !== '');
    const [file] = several;
    return several.length === 1 && file !== undefined && isPlain(file) ? file : undefined;
  };
  return new Map(
    Object.entries(pairPaths(cluster)).flatMap(([name, { certificate, key }]) => {
      const pair = [found(certificate), found(key)];
      const isWhole = pair[0] !== undefined && (name !== 'serviceAccount' || pair[1] !== undefined);
      return isWhole ? pair.flatMap((file) => (file === undefined ? [] : [[file.path, file] as const])) : [];
    }),
  );
}

function isPlain({ secret, encoding = '', append, owner = '' }: FileSpec): boolean {
  return secret === undefined && encoding === '' && !append && /^(?:(?:root|0)?(?::(?:root|0))?)$/.test(owner);
}

/** `kubernetes.pki` from the files of the user data. */
export function pkiOfFiles(spec: Spec, conversion: Conversion): Pki | undefined {
  const { cluster, certificates } = spec;
  const paths = pairPaths(cluster);
  const text = (path: string | undefined): string | undefined =>
    path === undefined ? undefined : certificates.get(path)?.content;
  const pair = (name: string, { certificate, key }: PairPaths): Pair | undefined => {
    const pem = text(certificate);
    const file = key === undefined ? undefined : certificates.get(key);
    if (pem === undefined) return undefined;
    return { certificate: pem, key: file === undefined ? undefined : keyOfFile(`${name}Key`, file, conversion) };
  };
  const account = pair('serviceAccount', paths.serviceAccount);
  return omitEmpty({
    ca: pair('ca', paths.ca),
    etcd: pair('etcdCA', paths.etcd),
    frontProxy: pair('frontProxyCA', paths.frontProxy),
    serviceAccount: account?.key === undefined ? undefined : { publicKey: account.certificate, key: account.key },
    apiserverEtcdClient: pair('apiserverEtcdClient', paths.apiserverEtcdClient),
  });
}

function keyOfFile(name: string, { path, content, isReference, at }: FileSpec, { secrets }: Conversion): SecretName {
  if (isReference !== true) return secrets.value(name, content);
  return secrets.reference(path.replace(/^\/etc\/kubernetes\//, ''), at, 'the private key');
}

/**
 * `kubernetes.pki` from the cluster's Secrets, which the provider reads. A machine that starts a cluster can generate
 * them; one that joins its control plane needs them.
 */
export function pkiOfSecrets(spec: Spec, joins: boolean, conversion: Conversion, variable: Variable): Pki | undefined {
  const { report, related, object } = conversion;
  const { clusterName } = related;
  if (!readsSecrets(joins, conversion)) {
    report.add(
      'CertificatesByKubeadm',
      object,
      `give the Secrets ${clusterName ?? '<cluster>'}-ca, -etcd, -proxy and -sa`,
    );
    return undefined;
  }
  const external = spec.cluster.get('etcd', 'external').exists;
  const pair = (name: string, suffix: string, withKey = true): Pair => ({
    certificate: publicPart(suffix, conversion, variable),
    key: withKey ? keyOf(name, suffix, conversion) : undefined,
  });
  const publicKey = publicPart(SECRETS.serviceAccount, conversion, variable);
  return {
    ca: pair('caKey', SECRETS.ca),
    etcd: pair('etcdCAKey', SECRETS.etcd, !external),
    frontProxy: pair('frontProxyCAKey', SECRETS.frontProxy),
    serviceAccount: { publicKey, key: keyOf('serviceAccountKey', SECRETS.serviceAccount, conversion) },
    apiserverEtcdClient: external ? pair('apiserverEtcdClientKey', CLIENT_SECRET) : undefined,
  };
}

/** All or none: kubeadm would create a second authority for a cluster that has one. */
function readsSecrets(joins: boolean, conversion: Conversion): boolean {
  return joins || Object.values(SECRETS).some((suffix) => bytesOf(suffix, 'tls.crt', conversion) !== undefined);
}

/**
 * The specification without the user's own files in the places of the cluster's certificates: today they are written after those of
 * the cluster's Secrets, and take their place. They become `certificates`.
 */
export function withOwnCertificates(spec: Spec, joins: boolean, conversion: Conversion): Spec {
  if (spec.resolved || !readsSecrets(joins, conversion)) return spec;
  const certificates = certificatesAmong(spec.files, spec.cluster);
  for (const { rights, at, path } of certificates.values()) {
    for (const part of rights) part.drop('CertificateFile');
    conversion.report.add('OwnCertificate', at, path);
  }
  const own = new Set(certificates.values());
  return { ...spec, certificates, files: spec.files.filter((file) => !own.has(file)) };
}

/** Creates a variable for a file on the machine and returns its mark; reports the missing value. */
export type Variable = (name: string, what: string) => string;

function publicPart(suffix: string, conversion: Conversion, variable: Variable): string {
  const bytes = bytesOf(suffix, 'tls.crt', conversion);
  const text = bytes === undefined ? undefined : utf8Text(bytes);
  return text ?? variable(`${suffix}.crt`, `tls.crt of the Secret ${secretName(suffix, conversion)}`);
}

function keyOf(name: string, suffix: string, conversion: Conversion): SecretName {
  const { secrets, related, object } = conversion;
  const secret = secretName(suffix, conversion);
  const bytes = secrets.inlineBytes(related.namespace, secret, 'tls.key');
  const text = bytes === undefined ? undefined : utf8Text(bytes);
  return text === undefined
    ? secrets.reference(`${suffix}.key`, object, `tls.key of the Secret ${secret}`)
    : secrets.value(name, text);
}

function bytesOf(suffix: string, key: string, conversion: Conversion): Uint8Array | undefined {
  const { secrets, related } = conversion;
  return related.clusterName === undefined
    ? undefined
    : secrets.bytes(related.namespace, secretName(suffix, conversion), key);
}

function secretName(suffix: string, { related }: Conversion): string {
  return `${related.clusterName ?? '<cluster>'}-${suffix}`;
}

/** The certificate of the cluster's authority, if it is in the input: for the hash that a joining machine pins. */
export function clusterAuthority(conversion: Conversion): string | undefined {
  const bytes = bytesOf(SECRETS.ca, 'tls.crt', conversion);
  return bytes === undefined ? undefined : utf8Text(bytes);
}
