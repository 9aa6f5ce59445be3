import * as z from '../schema/zod.ts';
import { define, field, meaning, object } from './field.ts';
import { secret } from './types.ts';

/** Certificates and keys in PEM form. */

/** A block of PEM, found in one pass: a pattern with two ends would look for the second one behind each of the first. */
function holdsPem(text: string, kind: string, end: string): boolean {
  const begin = `-----BEGIN ${kind}-----`;
  const start = text.indexOf(begin);
  return start >= 0 && text.indexOf(end, start + begin.length + 1) >= 0;
}

function isCertificate(text: string): boolean {
  return holdsPem(text, 'CERTIFICATE', '-----END CERTIFICATE-----');
}

const CERTIFICATE = '-----BEGIN CERTIFICATE-----[\\s\\S]+-----END CERTIFICATE-----';

export const EXAMPLE_CERTIFICATE =
  '-----BEGIN CERTIFICATE-----\nMIIBdzCCAR2gAwIBAgIBADAKBggqhkjOPQQDAjAj\n-----END CERTIFICATE-----\n';

export const certificatePem = define(
  'Certificate',
  meaning(z.string().refine(isCertificate, 'not a PEM certificate'), { pattern: CERTIFICATE }),
  'One or more certificates in PEM form.',
  EXAMPLE_CERTIFICATE,
);

/** What proves this machine to a server (mutual TLS). */
export const clientCertificate = define(
  'ClientCertificate',
  object({
    certificate: field(
      certificatePem,
      'The certificate in PEM form, with the intermediate certificates that the other side needs.',
      { example: EXAMPLE_CERTIFICATE },
    ),
    key: field(secret, 'The private key of the certificate in PEM form.', { example: { secret: 'clientKey' } }),
  }),
  'A certificate and its key, with which a client proves its identity (mutual TLS).',
  { certificate: EXAMPLE_CERTIFICATE, key: { secret: 'clientKey' } },
);

const VARIABLE = /^\$\{[A-Za-z_][A-Za-z0-9_]*\}$/;

/**
 * The same in a field that takes variables, where one may stand for the whole: its value is judged once it is known, and
 * what depends on the certificate being there is not misled before.
 */
export const certificateOrVariable = define(
  'CertificateOfTheCluster',
  meaning(
    z.string().refine((text) => VARIABLE.test(text) || isCertificate(text), 'not a PEM certificate'),
    // After expansion `$${name}` is the text of a variable.
    { pattern: `^\\$\\$\\{[A-Za-z_][A-Za-z0-9_]*\\}$|${CERTIFICATE}` },
  ),
  'One or more certificates in PEM form.',
  EXAMPLE_CERTIFICATE,
);

export const publicKeyPem = meaning(
  z
    .string()
    .refine(
      (text) => holdsPem(text, 'PUBLIC KEY', '-----END') || holdsPem(text, 'RSA PUBLIC KEY', '-----END'),
      'not a PEM public key',
    ),
  { pattern: '-----BEGIN (?:RSA )?PUBLIC KEY-----[\\s\\S]+-----END' },
);
