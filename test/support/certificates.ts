import { type KeyObject, randomBytes, sign } from 'node:crypto';

/** What a test wants of a self-signed certificate. */
export interface CertificateWish {
  readonly key: KeyObject;
  readonly publicKey: KeyObject;
  readonly notBefore: Date;
  readonly notAfter: Date;
  readonly authority: boolean;
  /** Default: `test certificate`. */
  readonly commonName?: string;
  /** IPv4 addresses and names of hosts that the certificate is for. */
  readonly addresses?: readonly string[];
  /** Who signs it; default: itself. */
  readonly issuer?: { readonly commonName: string; readonly key: KeyObject };
}

/** A certificate in PEM, self-signed unless it has an issuer, written in DER by hand (RFC 5280): no program and no stored key is needed. */
export function selfSigned(wish: CertificateWish): string {
  const algorithm = sequence(objectIdentifier([1, 2, 840, 10045, 4, 3, 2])); // ecdsa-with-SHA256
  const subject = wish.commonName ?? 'test certificate';
  const basicConstraints = sequence(
    objectIdentifier([2, 5, 29, 19]),
    der(0x01, Buffer.from([0xff])), // critical
    der(0x04, wish.authority ? sequence(der(0x01, Buffer.from([0xff]))) : sequence()),
  );
  const extensions =
    wish.addresses === undefined ? [basicConstraints] : [basicConstraints, alternativeNames(wish.addresses)];
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))), // version 3
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    algorithm,
    distinguishedName(wish.issuer?.commonName ?? subject),
    sequence(time(wish.notBefore), time(wish.notAfter)),
    distinguishedName(subject),
    wish.publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(...extensions)),
  );
  const signature = der(0x03, Buffer.concat([Buffer.from([0]), sign('sha256', body, wish.issuer?.key ?? wish.key)]));
  const base64 = sequence(body, algorithm, signature).toString('base64');
  const lines = base64.match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}

function distinguishedName(commonName: string): Buffer {
  return sequence(der(0x31, sequence(objectIdentifier([2, 5, 4, 3]), der(0x0c, Buffer.from(commonName)))));
}

function alternativeNames(addresses: readonly string[]): Buffer {
  const names = addresses.map((address) =>
    /^[\d.]+$/.test(address) ? der(0x87, Buffer.from(address.split('.').map(Number))) : der(0x82, Buffer.from(address)),
  );
  return sequence(objectIdentifier([2, 5, 29, 17]), der(0x04, sequence(...names)));
}

function der(tag: number, content: Buffer): Buffer {
  const length =
    content.length < 0x80
      ? Buffer.from([content.length])
      : content.length <= 0xff
        ? Buffer.from([0x81, content.length]) // Go takes the shortest form only
        : Buffer.from([0x82, content.length >> 8, content.length & 0xff]);
  return Buffer.concat([Buffer.from([tag]), length, content]);
}

function sequence(...items: readonly Buffer[]): Buffer {
  return der(0x30, Buffer.concat(items));
}

/** GeneralizedTime in whole seconds. */
function time(date: Date): Buffer {
  return der(
    0x18,
    Buffer.from(
      `${date
        .toISOString()
        .replace(/\.\d+Z$/, '')
        .replace(/[-:T]/g, '')}Z`,
    ),
  );
}

function objectIdentifier(arcs: readonly number[]): Buffer {
  const [first = 0, second = 0, ...rest] = arcs;
  const bytes = rest.flatMap((arc) => {
    const septets = [arc & 0x7f];
    for (let left = arc >> 7; left > 0; left >>= 7) septets.unshift((left & 0x7f) | 0x80);
    return septets;
  });
  return der(0x06, Buffer.from([first * 40 + second, ...bytes]));
}
