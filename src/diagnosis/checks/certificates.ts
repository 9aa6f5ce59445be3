import { X509Certificate } from 'node:crypto';
import { pemBlocks } from '@machineadm/document/pem.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import type { Finding } from './finding.ts';

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
const DIRECTORY = '/etc/kubernetes/pki';
const KUBELET_CLIENT = '/var/lib/kubelet/pki/kubelet-client-current.pem';
const SOON_MS = 7 * 24 * 3_600_000;

/**
 * The certificates on the disk: whether they are valid now and signed by the CA beside them. Keys are never read, but
 * for the kubelet's own file, which holds both; only its certificate is looked at.
 * @param now milliseconds since the epoch
 */
export async function checkCertificates(host: QueryHost, now: number): Promise<readonly Finding[]> {
  const found = new Map<string, X509Certificate>();
  const checks: Finding[] = [];
  for (const [name] of CERTIFICATES) {
    const read = await readCertificate(host, `${DIRECTORY}/${name}`);
    if (read === 'unreadable') checks.push(unreadable(`${DIRECTORY}/${name}`));
    else if (read !== undefined) found.set(name, read);
  }
  for (const [name, issuer] of CERTIFICATES) {
    const certificate = found.get(name);
    if (certificate === undefined) continue;
    checks.push(
      evaluateCertificate(
        `${DIRECTORY}/${name}`,
        certificate,
        issuer === undefined ? undefined : found.get(issuer),
        now,
      ),
    );
  }
  const client = await readCertificate(host, KUBELET_CLIENT);
  if (client !== undefined && client !== 'unreadable') {
    checks.push(evaluateCertificate(KUBELET_CLIENT, client, found.get('ca.crt'), now));
  }
  return checks;
}

async function readCertificate(host: QueryHost, path: string): Promise<X509Certificate | 'unreadable' | undefined> {
  const text = await host.readText(path);
  if (text === undefined) return undefined;
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
): Finding {
  const base = { id: `certificate${path}`, title: 'certificates' } as const;
  const { validFromDate, validToDate } = certificate;
  if (now < validFromDate.getTime()) {
    return {
      ...base,
      severity: 'failed',
      reason: 'ClockSkew',
      text: `certificate ${path} is not valid before ${validFromDate.toISOString()}: the clock is behind, or the certificate starts later`,
      remedy: 'Set the clock (host.time), or replace the certificate.',
    };
  }
  if (now > validToDate.getTime()) {
    return {
      ...base,
      severity: 'failed',
      reason: 'CertificateExpired',
      text: `certificate ${path} expired on ${validToDate.toISOString()}`,
      remedy:
        'Remove it, so that kubeadm creates a new one, or renew it with `kubeadm certs renew`. If it is a CA, rotate the cluster CA.',
    };
  }
  if (issuer !== undefined && !certificate.verify(issuer.publicKey)) {
    return {
      ...base,
      severity: 'failed',
      reason: 'StaleCertificates',
      text: `certificate ${path} is not signed by the CA beside it`,
      remedy: 'Remove it and its key, so that kubeadm creates new ones. Keep the CA.',
    };
  }
  if (validToDate.getTime() - now < SOON_MS) {
    return {
      ...base,
      severity: 'warning',
      reason: 'CertificateExpired',
      text: `certificate ${path} expires soon, on ${validToDate.toISOString()}`,
      remedy: 'Renew it with `kubeadm certs renew`.',
    };
  }
  return { ...base, severity: 'passed', text: `${path} is valid until ${validToDate.toISOString()}` };
}

function unreadable(path: string): Finding {
  return {
    id: `certificate${path}`,
    title: 'certificates',
    severity: 'failed',
    reason: 'CertificateUnreadable',
    text: `${path} holds no certificate that can be read`,
    remedy: 'Replace it with the PEM of the certificate, or remove it so that kubeadm creates one.',
  };
}
