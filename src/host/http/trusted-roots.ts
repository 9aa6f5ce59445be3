import { readFile } from 'node:fs/promises';

/** The locations of trusted certificates, in the order of Go's crypto/x509 (root_linux.go). */
const SYSTEM_BUNDLES: readonly string[] = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
  '/etc/pki/tls/cacert.pem',
  '/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem',
  '/etc/ssl/cert.pem',
];

/**
 * PEM certificates for the agent's own requests: those of the system or, where it has none, those bundled with Node,
 * and `added` from the document.
 */
export async function trustedRoots(
  added: readonly string[],
  bundles: readonly string[] = SYSTEM_BUNDLES,
): Promise<readonly string[]> {
  for (const path of bundles) {
    const bundle = await readFile(path, 'utf8').catch(() => '');
    if (bundle.includes('-----BEGIN CERTIFICATE-----')) return [bundle, ...added];
  }
  const { getCACertificates, rootCertificates } = await import('node:tls');
  if (process.platform === 'win32') return [...getCACertificates('system'), ...added];
  return [...rootCertificates, ...added];
}
