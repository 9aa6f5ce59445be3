import { createPublicKey, X509Certificate } from 'node:crypto';
import { pemBlocks } from '@machineadm/document/encodings/pem.ts';
import type { Reason } from '@machineadm/document/outcomes/reasons.ts';
import { DEFAULT_CERTIFICATES_DIRECTORY } from '@machineadm/document/ownership/kubernetes-paths.ts';
import type { QueryHost } from '../seam/host.ts';

/**
 * Each certificate of a kubeadm node and the CA that must have signed it (k/k
 * cmd/kubeadm/app/phases/certs/certlist.go).
 */
const CERTIFICATES: readonly (readonly [string, string | undefined])[] = [
  ['ca.crt', undefined],
  ['front-proxy-ca.crt', undefined],
  ['etcd/ca.crt', undefined],
  ['apiserver.crt', 'ca.crt'],
  ['apiserver-kubelet-client.crt', 'ca.crt'],
  ['front-proxy-client.crt', 'front-proxy-ca.crt'],
  ['etcd/server.crt', 'etcd/ca.crt'],
  ['etcd/peer.crt', 'etcd/ca.crt'],
  ['etcd/healthcheck-client.crt', 'etcd/ca.crt'],
  ['apiserver-etcd-client.crt', 'etcd/ca.crt'],
];
const KUBELET_CLIENT = '/var/lib/kubelet/pki/kubelet-client-current.pem';
const SOON_MS = 7 * 24 * 3_600_000;

/** A certificate on the disk, and what is wrong with it. */
export interface CertificateOnDisk {
  readonly path: string;
  readonly text: string;
  /** undefined: it is good. */
  readonly problem?: {
    readonly reason: Reason;
    readonly remedy: string;
    readonly severity: 'failed' | 'warning';
  };
}

/**
 * The certificates on the disk: whether they are valid now and signed by the CA beside them. Keys are never read, but
 * for the kubelet's own file, which holds both; only its certificate is looked at.
 *
 * @param now milliseconds since the epoch
 * @param authorities PEM by the name of the file: they will be written there, and are not judged
 */
export async function certificatesOnDisk(
  host: Pick<QueryHost, 'readText'>,
  now: number,
  directory = DEFAULT_CERTIFICATES_DIRECTORY,
  authorities: ReadonlyMap<string, string> = new Map(),
): Promise<readonly CertificateOnDisk[]> {
  const found = new Map<string, X509Certificate>();
  const results: CertificateOnDisk[] = [];
  for (const [name] of CERTIFICATES) {
    const pem = authorities.get(name);
    if (pem !== undefined) {
      const parsed = parseCertificate(pem);
      if (parsed !== 'unreadable') found.set(name, parsed);
      continue;
    }
    const read = await readCertificate(host, `${directory}/${name}`);
    if (read === 'unreadable') results.push(unreadable(`${directory}/${name}`));
    else if (read !== undefined) found.set(name, read);
  }
  for (const [name, issuer] of CERTIFICATES) {
    const certificate = found.get(name);
    if (certificate === undefined || authorities.has(name)) continue;
    const signer = issuer === undefined ? undefined : found.get(issuer);
    results.push(evaluateCertificate(`${directory}/${name}`, certificate, signer, now));
  }
  const client = await readCertificate(host, KUBELET_CLIENT);
  if (client !== undefined && client !== 'unreadable') {
    results.push(evaluateCertificate(KUBELET_CLIENT, client, found.get('ca.crt'), now));
  }
  return results;
}

/** The public key for service accounts, as far as it can be seen without the private one. */
export async function serviceAccountKeyOnDisk(
  host: Pick<QueryHost, 'readText'>,
  directory = DEFAULT_CERTIFICATES_DIRECTORY,
): Promise<CertificateOnDisk | undefined> {
  const path = `${directory}/sa.pub`;
  const text = await host.readText(path);
  if (text === undefined) return undefined;
  try {
    createPublicKey(text);
    return undefined;
  } catch {
    return unreadable(path, 'public key');
  }
}

async function readCertificate(
  host: Pick<QueryHost, 'readText'>,
  path: string,
): Promise<X509Certificate | 'unreadable' | undefined> {
  const text = await host.readText(path);
  return text === undefined ? undefined : parseCertificate(text);
}

function parseCertificate(text: string): X509Certificate | 'unreadable' {
  const pem = pemBlocks(text).find(({ label }) => label === 'CERTIFICATE')?.text;
  if (pem === undefined) return 'unreadable';
  try {
    return new X509Certificate(pem);
  } catch {
    return 'unreadable';
  }
}

function evaluateCertificate(
  path: string,
  certificate: X509Certificate,
  issuer: X509Certificate | undefined,
  now: number,
): CertificateOnDisk {
  const { validFromDate, validToDate } = certificate;
  if (now < validFromDate.getTime()) {
    return {
      path,
      text: `certificate ${path} is not valid before ${validFromDate.toISOString()}: the clock is behind, or the certificate starts later`,
      problem: {
        reason: 'ClockSkew',
        severity: 'failed',
        remedy: 'Set the clock (host.time), or replace the certificate.',
      },
    };
  }
  if (now > validToDate.getTime()) {
    return {
      path,
      text: `certificate ${path} expired on ${validToDate.toISOString()}`,
      problem: {
        reason: 'CertificateExpired',
        severity: 'failed',
        remedy:
          'Renew it with `kubeadm certs renew`, or move it out of the directory, so that kubeadm creates a new one. If it is a CA, rotate the cluster CA.',
      },
    };
  }
  if (issuer !== undefined && !certificate.verify(issuer.publicKey)) {
    return {
      path,
      text: `certificate ${path} is not signed by the CA beside it`,
      problem: {
        reason: 'StaleCertificates',
        severity: 'failed',
        remedy: 'Move it and its key out of the directory, so that kubeadm creates new ones. Keep the CA.',
      },
    };
  }
  if (validToDate.getTime() - now < SOON_MS) {
    return {
      path,
      text: `certificate ${path} expires soon, on ${validToDate.toISOString()}`,
      problem: { reason: 'CertificateExpired', severity: 'warning', remedy: 'Renew it with `kubeadm certs renew`.' },
    };
  }
  return { path, text: `${path} is valid until ${validToDate.toISOString()}` };
}

function unreadable(path: string, what = 'certificate'): CertificateOnDisk {
  return {
    path,
    text: `${path} holds no ${what} that can be read`,
    problem: {
      reason: 'CertificateUnreadable',
      severity: 'failed',
      remedy: `Replace it with the PEM of the ${what}, or move it out of the directory, so that kubeadm creates one.`,
    },
  };
}
