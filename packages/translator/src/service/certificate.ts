import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Certificate and key of a mounted Secret, as cert-manager and the kubelet keep them: read again for each rotation. */
export async function readDirectory(
  directory: string,
): Promise<{ readonly certificate: string; readonly key: string }> {
  const [certificate, key] = await Promise.all([
    readFile(join(directory, 'tls.crt'), 'utf8'),
    readFile(join(directory, 'tls.key'), 'utf8'),
  ]);
  return { certificate, key };
}

/** When a certificate expires. */
export function expiryOf(certificate: string): Date {
  return new X509Certificate(certificate).validToDate;
}
