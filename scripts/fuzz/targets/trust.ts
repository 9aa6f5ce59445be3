import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { withChecksum } from '../../../src/host/files/checksum.ts';
import { verifyDirectory } from '../../../src/trust/directory.ts';
import { keyId, parseKeys, spkiOf } from '../../../src/trust/keys.ts';
import { floorOf, parseMemory, withMemory } from '../../../src/trust/memory.ts';
import { verifyRelease } from '../../../src/trust/release.ts';
import { bytesToSign, parseRoot, unsignedRoot, verifyRoot, withSignature } from '../../../src/trust/root.ts';
import { findSigner } from '../../../src/trust/signature.ts';
import type { TrustStore } from '../../../src/trust/store.ts';
import { pem } from '../mutators/der.ts';
import { checksummedJson, json } from '../mutators/json.ts';
import type { FuzzTarget, Mutation } from '../target.ts';

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const ID = keyId(publicKey);
const TRUST: TrustStore = {
  keys: [{ id: ID, key: publicKey, source: 'fuzz.pem', notAfter: undefined }],
  revoked: new Set(),
  minimumVersion: '1.0.0',
  threshold: 1,
};
const NOW = new Date('2026-11-20T10:00:00Z');
const DIGEST = 'a'.repeat(64);
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

const RELEASE = JSON.stringify(
  {
    apiVersion: 'machineadm.dev/release/v1',
    kind: 'Release',
    version: '1.4.0',
    createdAt: '2026-11-01T00:00:00Z',
    commit: 'abc',
    keyId: ID,
    minimumVersion: '1.0.0',
    revokedKeys: [],
    artefacts: [
      {
        file: 'machineadm-linux-amd64.xz',
        os: 'linux',
        architecture: 'amd64',
        compression: 'xz',
        size: 1,
        sha256: DIGEST,
        program: { size: 2, sha256: DIGEST },
      },
    ],
    packages: [
      {
        file: 'machineadm_1.4.0_amd64.deb',
        format: 'deb',
        os: 'linux',
        architecture: 'amd64',
        size: 1,
        sha256: DIGEST,
      },
    ],
  },
  undefined,
  2,
);
const DIRECTORY = JSON.stringify({
  apiVersion: 'machineadm.dev/directory/v1',
  kind: 'SignedDirectory',
  place: 'sites/edge',
  version: 7,
  createdAt: '2026-11-01T00:00:00Z',
  expiresAt: '2027-11-01T00:00:00Z',
  revokedKeys: [ID.replace(/^./, 'A')],
});
const SEPARATOR = '\n====\n';
const TOKENS = [
  '{',
  '}',
  '[',
  ']',
  '"',
  ',',
  '\n',
  '  ',
  ' *',
  `${DIGEST}  `,
  '../',
  'manifest.json',
  '<html>',
  '\r\n',
  '==',
];

/** A manifest and its list of digests. The list is always signed with a trusted key. */
const both: (kind: 'release' | 'directory') => FuzzTarget['run'] = (kind) => async (input) => {
  const at = input.indexOf(SEPARATOR);
  const [manifest, rest] = [input.slice(0, at), input.slice(at + SEPARATOR.length)];
  // The digest of the manifest is corrected, so that a mutated manifest is parsed as well.
  const list = Buffer.from(rest.replaceAll('DIGEST', sha256(manifest)));
  const signature = { kind: 'der', bytes: sign('sha256', list, { key: privateKey, dsaEncoding: 'der' }) } as const;
  const bytes = Buffer.from(manifest);
  if (kind === 'release') {
    const { manifest: found } = await verifyRelease(
      { list, signature, manifest: bytes },
      '1.4.0',
      TRUST,
      NOW,
      'https://a',
    );
    return JSON.stringify(found.artefacts);
  }
  const found = await verifyDirectory(
    { list, signature, manifest: async () => bytes },
    '/srv/sites/edge',
    TRUST,
    parseMemory(withChecksum(MEMORY), 'trust.json'),
    NOW,
    'https://a/sites/edge',
  );
  return JSON.stringify([found.manifest, found.warnings]);
};

const manifestOnly: Mutation = (random, input) => {
  const at = input.indexOf(SEPARATOR);
  const changed = json(random, input.slice(0, at));
  return changed === undefined ? undefined : changed + input.slice(at);
};

const MEMORY = JSON.stringify(
  {
    apiVersion: 'machineadm.dev/trust-memory/v1',
    directories: [{ place: 'sites/edge', key: ID, version: 6, sha256: DIGEST }],
    revoked: [ID.replace(/^./, 'B')],
    minimumVersion: '1.2.0',
  },
  undefined,
  2,
);

export const releaseManifest: FuzzTarget = {
  name: 'release-manifest',
  reads: 'Signed lists and manifests of releases',
  seeds: [
    `${RELEASE}${SEPARATOR}DIGEST  manifest.json\n${DIGEST}  machineadm-linux-amd64.xz\n${DIGEST} *machineadm_1.4.0_amd64.deb\n`,
  ],
  tokens: TOKENS,
  grammar: [manifestOnly],
  run: both('release'),
};

export const directoryList: FuzzTarget = {
  name: 'directory-list',
  reads: 'Signed lists of directories',
  seeds: [`${DIRECTORY}${SEPARATOR}DIGEST  directory.json\n${DIGEST}  a.yaml\n`],
  tokens: TOKENS,
  grammar: [manifestOnly],
  run: both('directory'),
};

const SUMS = Buffer.from(`${DIGEST}  a\n`);
const DER = sign('sha256', SUMS, { key: privateKey, dsaEncoding: 'der' }).toString('base64');

export const signatures: FuzzTarget = {
  name: 'signatures',
  reads: 'Sets of signatures and Sigstore bundles',
  seeds: [
    JSON.stringify({ signatures: [{ signature: DER }] }),
    JSON.stringify({
      mediaType: 'application/vnd.dev.sigstore.bundle.v0.3+json',
      messageSignature: {
        messageDigest: { algorithm: 'SHA2_256', digest: createHash('sha256').update(SUMS).digest('base64') },
        signature: DER,
      },
    }),
  ],
  tokens: ['{', '}', '[', ']', '"', ',', DER, 'AAAA', '=', 'MEUCIQ'],
  grammar: [json],
  run: async (input) => {
    const bytes = Buffer.from(input);
    let signed = 0;
    for (const kind of ['set', 'bundle', 'der'] as const) {
      await findSigner('SHA256SUMS', [SUMS], { kind, bytes }, TRUST, NOW).then(
        () => signed++,
        (error: unknown) => {
          if (!(error instanceof Error && 'reason' in error)) throw error;
        },
      );
    }
    return `${signed} signed`;
  },
};

export const trustMemory: FuzzTarget = {
  name: 'trust-memory',
  reads: 'The memory of earlier verifications',
  seeds: [`${withChecksum(MEMORY)}\n`],
  tokens: TOKENS,
  grammar: [checksummedJson, json],
  run: async (input) => {
    const memory = parseMemory(input, 'trust.json');
    const { revoked, minimumVersion } = withMemory(TRUST, memory);
    return JSON.stringify([floorOf(memory, 'sites/edge', TRUST), [...revoked], minimumVersion]);
  },
};

export const trustedKeys: FuzzTarget = {
  name: 'trusted-keys',
  reads: 'Public keys in PEM',
  seeds: [
    `# key of the releases\nnot-after: 2031-12-31\n${publicKey.export({ type: 'spki', format: 'pem' })}text\n`,
    `${generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' })}`,
  ],
  tokens: [
    '-----BEGIN PUBLIC KEY-----\n',
    '-----END PUBLIC KEY-----\n',
    '-----',
    'not-after: ',
    '\n',
    ' ',
    'PRIVATE',
    '=',
  ],
  grammar: [pem],
  run: async (input) =>
    parseKeys(input, 'a.pem')
      .map(({ id, notAfter }) => `${id} ${notAfter}`)
      .join('\n'),
};

const ROOT = unsignedRoot({
  apiVersion: 'machineadm.dev/trust-root/v1',
  kind: 'TrustRoot',
  name: 'example.com',
  version: 2,
  createdAt: '2026-11-01T00:00:00Z',
  expiresAt: '2027-11-01T00:00:00Z',
  root: { threshold: 1, keys: [spkiOf(publicKey).toString('base64')] },
  lists: { threshold: 1, keys: [spkiOf(publicKey).toString('base64')] },
});
const SIGNED_ROOT = withSignature(ROOT, ID, sign('sha256', bytesToSign(ROOT), { key: privateKey, dsaEncoding: 'der' }));

/** The envelope and what is in it, so that both are mutated. */
const ENVELOPE = JSON.parse(SIGNED_ROOT.text) as { payload: string };

export const trustRoot: FuzzTarget = {
  name: 'trust-root',
  reads: 'Roots of trust',
  seeds: [`${SIGNED_ROOT.text}${SEPARATOR}`, `{}${SEPARATOR}${Buffer.from(ENVELOPE.payload, 'base64')}`],
  tokens: [...TOKENS, 'threshold', 'keys', '"version": 3', 'signatures'],
  grammar: [manifestOnly, json],
  run: async (input) => {
    const at = input.indexOf(SEPARATOR);
    const content = input.slice(at + SEPARATOR.length);
    const text =
      content === ''
        ? input.slice(0, at)
        : JSON.stringify({ ...ENVELOPE, payload: Buffer.from(content).toString('base64') });
    const root = parseRoot(text, 'root.json');
    const { keys } = await verifyRoot(root, new Set(), 'root.json');
    return `${root.name} ${root.version} ${keys.length}`;
  },
};
