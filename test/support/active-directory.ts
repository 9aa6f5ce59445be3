import type { ActiveDirectoryModel } from '@machineadm/document/model/index.ts';
import { Secret } from '@machineadm/document/secrets/secret.ts';

export const PASSWORD = 'hunter22-of-the-joiner';

/** What a document asks for that names an account and nothing else. */
export const membership = (different: Partial<ActiveDirectoryModel> = {}): ActiveDirectoryModel => ({
  domain: 'corp.example.com',
  computerName: undefined,
  computerOU: undefined,
  credentials: {
    kind: 'account',
    user: 'joiner',
    password: { name: 'password', source: { kind: 'value', secret: new Secret(PASSWORD) } },
  },
  domainController: undefined,
  accountReuse: false,
  onBroken: 'Fail',
  onReset: 'Keep',
  keytab: '/etc/krb5.keytab',
  servicePrincipals: [],
  kerberosConfiguration: 'Managed',
  registersAddress: false,
  logins: undefined,
  timeoutMs: 60_000,
  ...different,
});

/** A keytab of version 0x0502 with an AES key of zeros for each principal. */
export function keytab(principals: readonly string[]): Buffer {
  return Buffer.concat([Buffer.from([5, 2]), ...principals.map(entry)]);
}

function entry(principal: string): Buffer {
  const at = principal.lastIndexOf('@');
  const components = principal.slice(0, at).split('/');
  const body = Buffer.concat([
    uint16(components.length),
    counted(principal.slice(at + 1)),
    ...components.map(counted),
    Buffer.from([0, 0, 0, 1, 0, 0, 0, 0, 2]),
    uint16(18),
    uint16(32),
    Buffer.alloc(32),
  ]);
  const length = Buffer.alloc(4);
  length.writeInt32BE(body.length);
  return Buffer.concat([length, body]);
}

function counted(text: string): Buffer {
  return Buffer.concat([uint16(Buffer.byteLength(text)), Buffer.from(text)]);
}

function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value);
  return bytes;
}

/** The head of an offline join blob, laid out as Samba 4.17 writes it. */
export function offlineBlob(made: {
  readonly domain: string;
  readonly computer: string;
  readonly password: string;
}): string {
  const [short = ''] = made.domain.toUpperCase().split('.');
  const body = Buffer.concat([
    Buffer.from('0000020001000000', 'hex'),
    ...[made.domain, made.computer, made.password].map((text) => wide(`${text}\0`, text.length + 1)),
    wide(short, short.length + 1),
    Buffer.alloc(16),
  ]);
  const header = Buffer.from('01100800cccccccc0000000000000000', 'hex');
  header.writeUInt32LE(body.length, 8);
  return Buffer.concat([header, body]).toString('base64');
}

function wide(text: string, maximum: number): Buffer {
  const characters = Buffer.from(text, 'utf16le');
  const counts = Buffer.alloc(12);
  counts.writeUInt32LE(maximum, 0);
  counts.writeUInt32LE(text.length, 8);
  return Buffer.concat([counts, characters, Buffer.alloc((4 - (characters.length % 4)) % 4)]);
}
