import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';

/** Node reads certificates and does not write them: this writes the two that a webhook needs, in DER (RFC 5280). */

/** A certificate and its key, in PEM. */
export interface ServingCertificate {
  readonly certificate: string;
  readonly key: string;
  /** The authority that signed it. Its key is never stored: the next certificate has a new one. */
  readonly authority: string;
}

export interface CertificateRequest {
  readonly dnsNames: readonly string[];
  readonly notBefore: Date;
  readonly notAfter: Date;
}

/** Makes an authority, and a server certificate signed by it. ECDSA P-256 with SHA-256. */
export function newServingCertificate({ dnsNames, notBefore, notAfter }: CertificateRequest): ServingCertificate {
  const authority = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const server = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  // Distinct names: only the key identifiers distinguish two authorities of one name in one bundle.
  const issuer = `machineadm-translator-ca-${randomBytes(4).toString('hex')}`;
  const validity = sequence(time(notBefore), time(notAfter));
  const authorityKeyId = keyId(authority.publicKey);
  const common = { issuer, validity, signer: authority.privateKey, authorityKeyId };
  return {
    authority: certificate({
      ...common,
      subject: issuer,
      publicKey: authority.publicKey,
      extensions: [
        extension([2, 5, 29, 19], true, sequence(TRUE)), // basicConstraints: CA
        extension([2, 5, 29, 15], true, der(0x03, Buffer.from([1, 0b0000_0110]))), // keyCertSign, cRLSign
      ],
    }),
    certificate: certificate({
      ...common,
      subject: dnsNames[0] ?? '',
      publicKey: server.publicKey,
      extensions: [
        extension([2, 5, 29, 19], true, sequence()),
        extension([2, 5, 29, 15], true, der(0x03, Buffer.from([7, 0b1000_0000]))), // digitalSignature
        extension([2, 5, 29, 37], false, sequence(objectIdentifier([1, 3, 6, 1, 5, 5, 7, 3, 1]))), // serverAuth
        extension([2, 5, 29, 17], false, sequence(...dnsNames.map((name) => der(0x82, Buffer.from(name, 'ascii'))))),
      ],
    }),
    key: server.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

interface Parts {
  readonly issuer: string;
  readonly subject: string;
  readonly validity: Buffer;
  readonly publicKey: KeyObject;
  readonly signer: KeyObject;
  readonly authorityKeyId: Buffer;
  readonly extensions: readonly Buffer[];
}

function certificate({ issuer, subject, validity, publicKey, signer, authorityKeyId, extensions }: Parts): string {
  const algorithm = sequence(objectIdentifier([1, 2, 840, 10045, 4, 3, 2])); // ecdsa-with-SHA256
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))), // version 3
    // A positive integer of 17 bytes: at most 20 are allowed (RFC 5280, 4.1.2.2).
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(16)])),
    algorithm,
    distinguishedName(issuer),
    validity,
    distinguishedName(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(
      0xa3,
      sequence(
        ...extensions,
        extension([2, 5, 29, 14], false, der(0x04, keyId(publicKey))),
        extension([2, 5, 29, 35], false, sequence(der(0x80, authorityKeyId))),
      ),
    ),
  );
  const signature = der(0x03, Buffer.concat([Buffer.from([0]), sign('sha256', body, signer)]));
  const lines =
    sequence(body, algorithm, signature)
      .toString('base64')
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}

const TRUE = Buffer.from([0x01, 0x01, 0xff]);

function keyId(publicKey: KeyObject): Buffer {
  return createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest()
    .subarray(0, 20);
}

function extension(id: readonly number[], isCritical: boolean, value: Buffer): Buffer {
  return sequence(objectIdentifier(id), ...(isCritical ? [TRUE] : []), der(0x04, value));
}

/** A name of at most 64 characters (RFC 5280, ub-common-name); DNS names count by the subjectAltName alone. */
function distinguishedName(commonName: string): Buffer {
  return sequence(der(0x31, sequence(objectIdentifier([2, 5, 4, 3]), der(0x0c, Buffer.from(commonName.slice(0, 64))))));
}

function sequence(...items: readonly Buffer[]): Buffer {
  return der(0x30, Buffer.concat(items));
}

function der(tag: number, content: Buffer): Buffer {
  const size = content.length;
  const length = size < 0x80 ? [size] : size <= 0xff ? [0x81, size] : [0x82, size >> 8, size & 0xff];
  return Buffer.concat([Buffer.from([tag, ...length]), content]);
}

/** UTCTime until 2049 and GeneralizedTime after, in whole seconds (RFC 5280, 4.1.2.5). */
function time(date: Date): Buffer {
  const digits = date
    .toISOString()
    .replace(/\.\d+Z$/, 'Z')
    .replace(/[-:T]/g, '');
  return date.getUTCFullYear() < 2050 ? der(0x17, Buffer.from(digits.slice(2))) : der(0x18, Buffer.from(digits));
}

function objectIdentifier([first = 0, second = 0, ...rest]: readonly number[]): Buffer {
  const bytes = rest.flatMap((arc) => {
    const septets = [arc & 0x7f];
    for (let left = arc >> 7; left > 0; left >>= 7) septets.unshift((left & 0x7f) | 0x80);
    return septets;
  });
  return der(0x06, Buffer.from([first * 40 + second, ...bytes]));
}
