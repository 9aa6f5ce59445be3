import { generateKeyPairSync } from 'node:crypto';
import { posix } from 'node:path';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { archiveImages } from '@machineadm/archives/images.ts';
import { manifestOf } from '@machineadm/archives/manifest.ts';
import { ArchiveRefusal } from '@machineadm/archives/member.ts';
import { storedBytes } from '@machineadm/archives/stored-bytes.ts';
import { tarHeader } from '@machineadm/archives/write-tar.ts';
import { caCertHash } from '@machineadm/convert/kubernetes/certificate-hash.ts';
import { openArchive, tarSource } from '../../../src/container-runtime/image-archive-file.ts';
import { checkCertificates } from '../../../src/diagnosis/checks/certificates.ts';
import { readBlob } from '../../../src/features/active-directory/blob.ts';
import { readKeytab } from '../../../src/features/active-directory/keytab.ts';
import { authoritiesOf, fingerprintsIn } from '../../../src/features/certificate-authorities/certificates.ts';
import { nodeNameOfCertificate } from '../../../src/host/cluster/kubelet.ts';
import { readClock } from '../../../src/host/network/directory.ts';
import { checkPki } from '../../../src/kubernetes/pki.ts';
import { tarOf, zipOf } from '../../../test/support/archives.ts';
import { selfSigned } from '../../../test/support/certificates.ts';
import { tar } from '../../../test/support/image-archive.ts';
import { inlineSecret, kubernetesModel } from '../../../test/support/kubernetes-model.ts';
import { memoryHost } from '../../../test/support/memory-host.ts';
import { der, pem } from '../mutators/der.ts';
import { json } from '../mutators/json.ts';
import { CANARIES, type FuzzTarget, type Mutation } from '../target.ts';

const [SECRET] = CANARIES;
const latin1 = (bytes: Uint8Array) => Buffer.from(bytes).toString('latin1');
const bytesOf = (text: string) => Buffer.from(text, 'latin1');

const NOW = Date.parse('2026-11-20T10:00:00Z');
const { privateKey: key, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const CERTIFICATE = selfSigned({
  key,
  publicKey,
  notBefore: new Date(NOW - 1e9),
  notAfter: new Date(NOW + 1e10),
  authority: true,
  commonName: 'system:node:n',
  addresses: ['10.0.0.1'],
});
const KEY_PEM = key.export({ type: 'pkcs8', format: 'pem' }).toString();
const PEM_TOKENS = [
  ...[
    '-----BEGIN CERTIFICATE-----\n',
    '-----END CERTIFICATE-----\n',
    '-----BEGIN PRIVATE KEY-----\n',
    '-----',
    'BEGIN ',
    '\n',
    '\r\n',
  ],
  ...['=', 'AAAA', ' ', 'TRUSTED CERTIFICATE', 'ENCRYPTED', 'MIIB', '\x00'],
];

export const certificates: FuzzTarget = {
  name: 'certificates',
  reads: 'Certificates and keys in PEM and DER',
  seeds: [`${CERTIFICATE}====\n${KEY_PEM}`, `text\n${CERTIFICATE}${CERTIFICATE}====\n${KEY_PEM}`],
  tokens: PEM_TOKENS,
  grammar: [pem],
  run: async (input) => {
    const [certificate = '', secret = ''] = input.split('====\n');
    const words: string[] = [];
    const found = authoritiesOf({ name: 'a', pem: certificate }, NOW);
    words.push('problem' in found ? found.problem : `${found.authorities.length} authorities`);
    words.push(`${fingerprintsIn(certificate).size} in a bundle`, `${nodeNameOfCertificate(certificate)}`);
    words.push(`${(await caCertHash(certificate))?.length}`);
    const host = memoryHost({
      files: {
        '/etc/kubernetes/pki/ca.crt': CERTIFICATE,
        '/etc/kubernetes/pki/apiserver.crt': certificate,
        '/var/lib/kubelet/pki/kubelet-client-current.pem': certificate,
      },
    });
    for (const { text, severity } of await checkCertificates(host, NOW)) words.push(`${severity} ${text}`);
    const kubernetes = kubernetesModel({ pki: { ca: { certificate, key: inlineSecret('key') } } });
    checkPki({ kubernetes, secrets: () => secret, now: new Date(NOW) });
    return words.join('\n');
  },
};

/** Changes a member header of an archive and recomputes its checksum. */
const checksummed: Mutation = (random, input) => {
  const at = random.below(Math.max(1, Math.floor(input.length / 512))) * 512;
  const block = bytesOf(input.slice(at, at + 512));
  if (block.length < 512) return undefined;
  const place = random.below(512);
  if (place < 148 || place >= 156) block[place] = random.below(256);
  block.fill(0x20, 148, 156);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return input.slice(0, at) + latin1(block) + input.slice(at + 512);
};

const CONFIG = JSON.stringify({ architecture: 'amd64', os: 'linux', rootfs: { type: 'layers', diff_ids: [] } });
const HEX = 'a'.repeat(64);
const DOCKER_FILES = [
  {
    name: 'manifest.json',
    content: JSON.stringify([{ Config: `${HEX}.json`, RepoTags: ['a.example/b:1'], Layers: [] }]),
  },
  { name: `${HEX}.json`, content: CONFIG },
];
const DOCKER = tar(DOCKER_FILES);
const descriptor = (mediaType: string) => ({
  mediaType,
  digest: `sha256:${HEX}`,
  size: 10,
  annotations: { 'org.opencontainers.image.ref.name': 'a.example/b:1' },
});
const OCI_FILES = [
  { name: 'oci-layout', content: '{"imageLayoutVersion":"1.0.0"}' },
  {
    name: 'index.json',
    content: JSON.stringify({
      schemaVersion: 2,
      manifests: [descriptor('application/vnd.oci.image.manifest.v1+json')],
    }),
  },
  {
    name: `blobs/sha256/${HEX}`,
    content: JSON.stringify({ config: descriptor('application/vnd.oci.image.config.v1+json'), layers: [] }),
  },
];
const OCI = tar(OCI_FILES);
const LONG = Buffer.concat([
  tarHeader('././@LongLink', 14, 'L'),
  Buffer.from('manifest.json\0'.padEnd(512, '\0')),
  DOCKER,
]);

/** A new archive in which one JSON document is changed. */
const retarred: Mutation = (random) => {
  const files = random.pick([DOCKER_FILES, OCI_FILES]);
  const at = random.below(files.length);
  return latin1(
    tar(files.map((file, index) => (index === at ? { ...file, content: json(random, file.content) ?? '' } : file))),
  );
};

export const archives: FuzzTarget = {
  name: 'image-archives',
  reads: 'Image archives: tar, gzip, zstd, manifest.json, index.json',
  seeds: [DOCKER, OCI, LONG, gzipSync(DOCKER), zstdCompressSync(OCI)].map(latin1),
  tokens: [
    '\x00'.repeat(512),
    'ustar\x00',
    '{',
    '[',
    '"',
    'null',
    '\x80\x00\x00\x00',
    '77777777777',
    '11 path=a\n',
    'x',
    'L',
    '\x1f\x8b',
    '\x28\xb5\x2f\xfd',
    'BZh',
  ],
  isBinary: true,
  grammar: [checksummed, retarred],
  run: async (input) => {
    const host = memoryHost({ files: { '/a.tar': bytesOf(input) } });
    try {
      await using file = await openArchive(host, '/a.tar');
      if (file === undefined) return 'none';
      return JSON.stringify(await archiveImages(tarSource(file, undefined), file.path, 'amd64'));
    } catch (error) {
      // Both functions document these errors. The step reports them as `ImageArchiveInvalid`.
      if (error instanceof RangeError || isDecompression(error)) return error.message;
      throw error;
    }
  },
};

const [TARRED, ZIPPED] = [tarOf, zipOf].map((pack) =>
  pack([
    { name: 'bin/', type: '5' },
    { name: 'bin/tool', content: 'tool\n' },
    { name: 'bin/link', type: '2', target: 'tool' },
    { name: 'share/doc/text', content: 'text\n', mode: 0o644 },
  ]),
) as [Buffer, Buffer];

/** Entries that leave the directory, and special files, are refused before anything is written. */
export const unpacked: FuzzTarget = {
  name: 'unpacked-archives',
  reads: 'Archives to unpack: tar, gzip, zstd, zip, with paths, links, devices and sizes',
  seeds: [TARRED, ZIPPED, gzipSync(TARRED), zstdCompressSync(TARRED)].map(latin1),
  tokens: [
    '../',
    '/',
    '..',
    '\x00',
    'ustar\x00',
    '77777777777',
    '2',
    '5',
    'PK\x03\x04',
    'PK\x01\x02',
    'PK\x05\x06',
    'L',
    'K',
    'x',
  ],
  isBinary: true,
  grammar: [checksummed],
  run: async (input) => {
    try {
      const entries = await manifestOf(storedBytes(bytesOf(input)), { exclude: [], stripComponents: 0 });
      for (const entry of entries) {
        const leads = entry.type === 'symlink' ? posix.join(posix.dirname(entry.path), entry.target) : entry.path;
        if (leads.startsWith('/') || leads.split('/').includes('..')) throw new TypeError(`${leads} is accepted`);
      }
      return JSON.stringify(entries);
    } catch (error) {
      // Both functions document these errors. The step reports them as `ArchiveInvalid`.
      if (error instanceof ArchiveRefusal || error instanceof RangeError || isDecompression(error))
        return error.message;
      throw error;
    }
  },
};

function isDecompression(error: unknown): error is Error {
  return (
    error instanceof Error && 'code' in error && /^(?:Z_|ZSTD_|ERR_STREAM_PREMATURE_CLOSE)/.test(String(error.code))
  );
}

/** A keytab with these principals. Each entry has a length, the number of components, the realm, the names and the key. */
function keytab(...principals: readonly (readonly string[])[]): string {
  const counted = (text: string) => String.fromCharCode(0, text.length) + text;
  const entries = principals.map((names) => {
    const body = `\x00${String.fromCharCode(names.length)}${counted('CORP')}${names.map(counted).join('')}\x00\x00\x00\x01tttt\x02\x00\x12\x00\x04keyy`;
    return `\x00\x00\x00${String.fromCharCode(body.length)}${body}`;
  });
  return `\x05\x02${entries.join('')}`;
}

const utf16 = (text: string): string => {
  const length = Buffer.alloc(12);
  length.writeUInt32LE(text.length + 1, 0);
  length.writeUInt32LE(text.length + 1, 8);
  const units = Buffer.from(`${text}\0`, 'utf16le');
  return latin1(Buffer.concat([length, units, Buffer.alloc((4 - (units.length % 4)) % 4)]));
};
const ODJ = ['corp.example', 'NODE', SECRET, 'CORP'].map(utf16).join('');
const size = Buffer.alloc(8);
size.writeUInt32LE(ODJ.length, 0);
const BLOB = Buffer.from(`\x01\x10\x08\x00\xcc\xcc\xcc\xcc${latin1(size)}${ODJ}`, 'latin1').toString('base64');

/** The first line is base64; the other files follow it. */
export const activeDirectory: FuzzTarget = {
  name: 'active-directory',
  reads: 'Offline join data, keytabs, responses of LDAP',
  seeds: [
    `${BLOB}\n${keytab(['NODE$'], ['host', 'node'])}`,
    `A\n${keytab(['a'])}currentTime\x31\x130\x04\x1120261120230000.0Z`,
  ],
  tokens: [
    '\n',
    'AAAA',
    '=',
    '\x00\x00',
    '\xff\xff\xff\xf0',
    '\x00\x00\x00\x02\xff\xff',
    'currentTime',
    '0Z',
    '\x05\x02',
  ],
  isBinary: true,
  grammar: [
    der,
    (random, input) => {
      const [blob = '', ...rest] = input.split('\n');
      const bytes = Buffer.from(blob, 'base64');
      if (bytes.length === 0) return undefined;
      bytes[random.below(bytes.length)] = random.below(256);
      return [bytes.toString('base64'), ...rest].join('\n');
    },
  ],
  run: async (input) => {
    const [blob = '', ...rest] = input.split('\n');
    const bytes = bytesOf(rest.join('\n'));
    const found = readBlob(blob);
    const principals = readKeytab(bytes)?.length;
    return `${found === undefined} ${found?.domain.length} ${principals} ${readClock(bytes)}`;
  },
};
