import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseChecksums, parseManifest } from '../../../src/trust/manifest.ts';
import { compareReleases, isReleaseVersion } from '../../../src/trust/release-version.ts';

const refused = { reason: 'ReleaseManifestInvalid' };
const digest = 'ab'.repeat(32);
const bytes = (text: string) => Buffer.from(text);

describe('SHA256SUMS', () => {
  test('is what sha256sum writes', () => {
    const sums = parseChecksums(bytes(`${digest}  machineadm-1.4.0-linux-amd64.gz\n${digest} *manifest.json\n`));
    assert.deepEqual(
      [...sums],
      [
        ['machineadm-1.4.0-linux-amd64.gz', digest],
        ['manifest.json', digest],
      ],
    );
  });

  for (const [what, text] of [
    ['is empty', ''],
    ['breaks off', `${digest}  a`],
    ['names a file twice', `${digest}  a\n${digest}  a\n`],
    ['leads out of its directory', `${digest}  ../a\n`],
    ['names a hidden file', `${digest}  .a\n`],
    ['names an option', `${digest}  -a\n`],
    ['escapes a name as sha256sum does', `\\${digest}  a\\nb\n`],
    ['has another digest', `${digest.slice(2)}  a\n`],
  ] as const) {
    test(`that ${what} is refused`, () => assert.throws(() => parseChecksums(bytes(text)), refused));
  }
});

describe('manifest.json', () => {
  const manifest = {
    apiVersion: 'machineadm.dev/release/v1',
    kind: 'Release',
    version: '1.4.0',
    createdAt: '2026-01-02T03:04:05.000Z',
    commit: 'abc',
    keyId: `${'A'.repeat(43)}=`,
    minimumVersion: '1.2.0',
    revokedKeys: [],
    artefacts: [],
  };

  test('may say more than is known here', () => {
    const later = { ...manifest, colour: 'blue' };
    assert.deepEqual(parseManifest(bytes(JSON.stringify(later))), { ...manifest, packages: [] });
  });

  for (const [os, isKnown] of [
    ['linux', true],
    ['windows', true],
    ['plan9', false],
  ] as const) {
    test(`names artefacts for ${os}: ${isKnown ? 'taken' : 'refused'}`, () => {
      const program = { size: 1, sha256: digest };
      const artefact = {
        file: 'a.gz',
        os,
        architecture: 'amd64',
        compression: 'gzip',
        size: 1,
        sha256: digest,
        program,
      };
      const read = () => parseManifest(bytes(JSON.stringify({ ...manifest, artefacts: [artefact] })));
      if (isKnown) assert.deepEqual(read().artefacts, [artefact]);
      else assert.throws(read);
    });
  }

  test('may name packages of a kind that is not known here', () => {
    const one = { file: 'a.apk', format: 'apk', os: 'linux', architecture: 'amd64', size: 1, sha256: digest };
    assert.deepEqual(parseManifest(bytes(JSON.stringify({ ...manifest, packages: [one] }))).packages, [one]);
  });

  const IMAGE = { file: 'a.tar', format: 'oci', os: 'linux', architecture: 'amd64', size: 1, sha256: digest };

  test('may say of a container image what a registry knows it by', () => {
    const one = { ...IMAGE, image: { name: 'machineadm:1.4.0', digest: `sha256:${digest}` } };
    assert.deepEqual(parseManifest(bytes(JSON.stringify({ ...manifest, packages: [one] }))).packages, [one]);
  });

  for (const change of [
    { apiVersion: 'machineadm.dev/release/v2' },
    { version: 'v1.4.0' },
    { minimumVersion: 'latest' },
    { revokedKeys: ['all'] },
    { artefacts: [{ file: '../a' }] },
    { packages: [{ ...IMAGE, image: { name: 'machineadm:1.4.0', digest: 'latest' } }] },
    { packages: [{ file: '../a', format: 'deb', os: 'linux', architecture: 'amd64', size: 1, sha256: digest }] },
  ]) {
    test(`with ${JSON.stringify(change)} is refused`, () =>
      assert.throws(() => parseManifest(bytes(JSON.stringify({ ...manifest, ...change }))), refused));
  }

  test('that is not JSON is refused', () => assert.throws(() => parseManifest(bytes('{')), refused));
});

describe('versions of releases', () => {
  test('are ordered as semver.org has it', () => {
    const ordered = [
      '0.9.10',
      '1.0.0-alpha',
      '1.0.0-alpha.1',
      '1.0.0-alpha.beta',
      '1.0.0-beta.2',
      '1.0.0-beta.11',
      '1.0.0-rc.1',
      '1.0.0',
      '1.2.0',
      '1.10.0',
    ];
    assert.deepEqual([...ordered].reverse().sort(compareReleases), ordered);
    assert.equal(compareReleases('1.2.3', '1.2.3'), 0);
  });

  test('are names of directories and nothing else', () => {
    for (const text of ['v1.2.3', '1.2', '1.2.3+build', '../1.2.3', '1.2.3-', '1.2.3-a..b', '']) {
      assert.equal(isReleaseVersion(text), false, text);
    }
  });
});
