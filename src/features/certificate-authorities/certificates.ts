import { createHash, X509Certificate } from 'node:crypto';
import { pemBlocks } from '@machineadm/document/encodings/pem.ts';
import type { CertificateAuthorityModel } from '@machineadm/document/model/index.ts';

export interface Authority {
  /** Of the document's entry. */
  readonly name: string;
  /** PEM in canonical form: lines of 64, one newline at the end. */
  readonly pem: string;
  /** Lower-case hex SHA-256 of the certificate. */
  readonly fingerprint: string;
}

/**
 * The certificates of an entry, or why one cannot be trusted, without quoting its content.
 *
 * @param now milliseconds since the epoch
 */
export function authoritiesOf(
  { name, pem }: CertificateAuthorityModel,
  now: number,
): { readonly authorities: readonly Authority[] } | { readonly problem: string } {
  const authorities: Authority[] = [];
  for (const { label, body } of pemBlocks(pem)) {
    const which = `certificate ${authorities.length + 1} of ${name}`;
    if (label.includes('PRIVATE KEY')) return { problem: `${name} contains a private key, which must not be here` };
    if (label !== 'CERTIFICATE') return { problem: `${name} holds a ${label.toLowerCase()}, not only certificates` };
    let certificate: X509Certificate;
    try {
      certificate = new X509Certificate(Buffer.from(body, 'base64'));
    } catch {
      return { problem: `${which} is damaged: it cannot be read as X.509` };
    }
    if (!certificate.ca) return { problem: `${which} is not of an authority: its basic constraints do not say CA` };
    if (Date.parse(certificate.validTo) <= now) return { problem: `${which} expired on ${certificate.validTo}` };
    const fingerprint = createHash('sha256').update(certificate.raw).digest('hex');
    if (!authorities.some((other) => other.fingerprint === fingerprint)) {
      authorities.push({ name, pem: canonicalPem(certificate.raw), fingerprint });
    }
  }
  return authorities.length === 0 ? { problem: `${name} holds no certificate` } : { authorities };
}

/** SHA-256 of every certificate in a bundle, without parsing them completely. */
export function fingerprintsIn(bundle: string): ReadonlySet<string> {
  const found = new Set<string>();
  for (const { label, body } of pemBlocks(bundle)) {
    // p11-kit and OpenSSL also have TRUSTED CERTIFICATE, which contains more than the certificate.
    if (label === 'CERTIFICATE') found.add(createHash('sha256').update(Buffer.from(body, 'base64')).digest('hex'));
  }
  return found;
}

function canonicalPem(der: Uint8Array): string {
  const lines =
    Buffer.from(der)
      .toString('base64')
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}
