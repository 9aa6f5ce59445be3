import { createPrivateKey, X509Certificate } from 'node:crypto';
import { ADMIN_KUBECONFIG, type KubeadmPod } from '@machineadm/document/ownership/kubernetes-paths.ts';
import { KubeconfigUnusable, parseKubeconfig } from '../../host/cluster/kubeconfig.ts';
import type { QueryHost } from '../../host/seam/host.ts';

/** A certificate that kubeadm manages (k/k cmd/kubeadm/app/phases/certs/renewal/manager.go). */
export interface ManagedCertificate {
  /** As `kubeadm certs renew` names it. */
  readonly name: string;
  /** Of the certificate, or the kubeconfig with it. */
  readonly path: string;
  /** Of the key; undefined: in the kubeconfig. */
  readonly keyPath: string | undefined;
  /** Of the certificate of the authority that signs it; its key is beside it. */
  readonly authorityPath: string;
  /** The static pod that keeps it in memory; undefined: everyone reads the file anew. */
  readonly holder: KubeadmPod | undefined;
}

/** Which certificates of this node are renewed, and when. */
export interface RenewalWish {
  /** Of kubeadm. */
  readonly directory: string;
  readonly renewBeforeMs: number;
  readonly hasLocalEtcd: boolean;
  /** Paths whose content the document gives. */
  readonly given: ReadonlySet<string>;
}

/** A certificate that expires within the time of the document. */
export interface DueCertificate extends ManagedCertificate {
  readonly until: Date;
  /** Why it is not renewed; undefined: it can be. */
  readonly kept: string | undefined;
}

const SUPER_ADMIN = 'super-admin.conf';
const KUBERNETES_DIRECTORY = '/etc/kubernetes';

const FILES = [
  ['apiserver', 'apiserver', 'ca', 'kube-apiserver'],
  ['apiserver-kubelet-client', 'apiserver-kubelet-client', 'ca', 'kube-apiserver'],
  ['front-proxy-client', 'front-proxy-client', 'front-proxy-ca', 'kube-apiserver'],
  ['apiserver-etcd-client', 'apiserver-etcd-client', 'etcd/ca', 'kube-apiserver'],
  ['etcd-server', 'etcd/server', 'etcd/ca', 'etcd'],
  ['etcd-peer', 'etcd/peer', 'etcd/ca', 'etcd'],
  ['etcd-healthcheck-client', 'etcd/healthcheck-client', 'etcd/ca', undefined],
] as const;

const KUBECONFIGS = [
  ['admin.conf', undefined],
  [SUPER_ADMIN, undefined],
  ['controller-manager.conf', 'kube-controller-manager'],
  ['scheduler.conf', 'kube-scheduler'],
] as const;

/** The path of a kubeconfig with which this machine asks its cluster. */
export const ADMIN_NAME = ADMIN_KUBECONFIG.slice(ADMIN_KUBECONFIG.lastIndexOf('/') + 1);

/** What kubeadm manages on a control plane. With an external etcd, its client certificate is not kubeadm's. */
export function managedCertificates({
  directory,
  hasLocalEtcd,
}: Pick<RenewalWish, 'directory' | 'hasLocalEtcd'>): readonly ManagedCertificate[] {
  return [
    ...FILES.filter(([, , authority]) => hasLocalEtcd || authority !== 'etcd/ca').map(
      ([name, file, authority, holder]) => ({
        name,
        path: `${directory}/${file}.crt`,
        keyPath: `${directory}/${file}.key`,
        authorityPath: `${directory}/${authority}.crt`,
        holder,
      }),
    ),
    ...KUBECONFIGS.map(([name, holder]) => ({
      name,
      path: `${KUBERNETES_DIRECTORY}/${name}`,
      keyPath: undefined,
      authorityPath: `${directory}/ca.crt`,
      holder,
    })),
  ];
}

/**
 * The certificates of this machine that expire within the time of the document, those first that expire first. One that
 * does not exist, or that nobody can read, is not among them: `kubeadm certs renew` makes a new one from the old.
 *
 * @param now milliseconds since the epoch
 */
export async function dueCertificates(
  host: QueryHost,
  wish: RenewalWish,
  now: number,
): Promise<readonly DueCertificate[]> {
  const due: DueCertificate[] = [];
  for (const managed of managedCertificates(wish)) {
    const certificate = (await certificateOf(host, managed))?.certificate;
    if (certificate === undefined || certificate.validToDate.getTime() - now >= wish.renewBeforeMs) continue;
    due.push({
      ...managed,
      until: certificate.validToDate,
      kept: await whyKept(host, wish, managed, certificate, now),
    });
  }
  return due.sort((one, other) => one.until.getTime() - other.until.getTime());
}

/** A certificate with whether its key belongs to it; undefined: it does not exist, or is none. */
export async function certificateOf(
  host: QueryHost,
  { path, keyPath }: Pick<ManagedCertificate, 'path' | 'keyPath'>,
): Promise<{ readonly certificate: X509Certificate; readonly hasKey: boolean } | undefined> {
  const source = await host.readText(path);
  if (source === undefined) return undefined;
  try {
    // A kubeconfig that names other files is not as kubeadm writes it.
    const { certificate = '', key } =
      keyPath === undefined ? await parseKubeconfig(source, path) : { certificate: source, key: undefined };
    const parsed = new X509Certificate(certificate);
    const pem = keyPath === undefined ? key?.reveal() : await host.readText(keyPath);
    return { certificate: parsed, hasKey: belongs(parsed, pem) };
  } catch (error) {
    if (error instanceof KubeconfigUnusable || isOfCrypto(error)) return undefined;
    throw error;
  }
}

/** Whether this authority has signed the certificate. */
export async function isSignedBy(host: QueryHost, certificate: X509Certificate, authorityPath: string) {
  const authority = parsed(await host.readText(authorityPath));
  return authority !== undefined && isFrom(certificate, authority);
}

async function whyKept(
  host: QueryHost,
  { given }: RenewalWish,
  { path, keyPath, authorityPath }: ManagedCertificate,
  certificate: X509Certificate,
  now: number,
): Promise<string | undefined> {
  if ([path, keyPath ?? path].some((one) => given.has(one))) return 'the document gives it: give it a newer one';
  const authority = parsed(await host.readText(authorityPath));
  if (authority === undefined || !isFrom(certificate, authority)) {
    return `${authorityPath} has not signed it: whoever did renews it`;
  }
  const until = authority.validToDate;
  if (until.getTime() <= now) {
    return `${authorityPath} expired at ${until.toISOString()}: an authority is replaced by hand`;
  }
  const key = await host.readText(authorityPath.replace(/\.crt$/, '.key'));
  if (key === undefined) return `the key of ${authorityPath} is not on this machine: whoever has it renews it`;
  return belongs(authority, key) ? undefined : `the key beside ${authorityPath} does not belong to it`;
}

function parsed(pem: string | undefined): X509Certificate | undefined {
  try {
    return pem === undefined ? undefined : new X509Certificate(pem);
  } catch {
    return undefined;
  }
}

function isFrom(certificate: X509Certificate, authority: X509Certificate): boolean {
  return certificate.issuer === authority.subject && certificate.verify(authority.publicKey);
}

function belongs(certificate: X509Certificate, key: string | undefined): boolean {
  if (key === undefined) return false;
  try {
    return certificate.checkPrivateKey(createPrivateKey(key));
  } catch {
    return false;
  }
}

/** What is wrong with the text of a certificate: OpenSSL's errors have such a code. */
function isOfCrypto(error: unknown): boolean {
  return error instanceof Error && 'code' in error && /^ERR_(?:OSSL|CRYPTO)/.test(String(error.code));
}
