import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { checkMirror } from '../../../scripts/mirror.ts';
import { signerOf } from '../../../scripts/release/signer.ts';
import { makeRelease, minimumOfPredecessor, signDirectory } from '../../../scripts/release.ts';
import { parseDirectory } from '../../../src/trust/directory.ts';
import { parseManifest } from '../../../src/trust/manifest.ts';
import { loadTrust } from '../../../src/trust/store.ts';
import { flipped, newKey, program, type TestKey, testRelease } from '../../support/release.ts';

const skip = spawnSync('xz', ['--version']).status === 0 ? false : 'xz is not installed';

describe('a release', { skip }, () => {
  let scratch = '';
  let key: TestKey;
  const pem = (name: string, text: string, mode = 0o600): string => {
    writeFileSync(join(scratch, name), text);
    chmodSync(join(scratch, name), mode);
    return join(scratch, name);
  };
  before(() => {
    scratch = mkdtempSync(join(tmpdir(), 'machineadm-release-'));
    key = newKey();
  });
  after(() => rmSync(scratch, { recursive: true }));

  test('has each binary in two archives, with both digests, and the same bytes at each making', async () => {
    const [first, second] = [
      await testRelease(join(scratch, 'a'), '1.4.0', key),
      await testRelease(join(scratch, 'b'), '1.4.0', key),
    ];
    const archives = first.manifest.artefacts.map(({ file }) => file);
    assert.deepEqual(archives, [
      'machineadm-1.4.0-linux-amd64.gz',
      'machineadm-1.4.0-linux-amd64.xz',
      'machineadm-1.4.0-linux-arm64.gz',
      'machineadm-1.4.0-linux-arm64.xz',
    ]);
    assert.equal(gunzipSync(first.files.get(archives[0] ?? '') ?? '').toString(), program('1.4.0'));
    assert.deepEqual(first.files.get('SHA256SUMS'), second.files.get('SHA256SUMS'));
  });

  test('carries what a user downloads: packages, the bill of materials, licences, the library', async () => {
    const from = mkdtempSync(join(scratch, 'dist-'));
    const packages = [
      ['machineadm-1.4.0-1.aarch64.rpm', 'rpm', 'linux', 'arm64'],
      ['machineadm-1.4.0-1.x86_64.rpm', 'rpm', 'linux', 'amd64'],
      ['machineadm-1.4.0-windows-amd64.zip', 'zip', 'windows', 'amd64'],
      ['machineadm_1.4.0_amd64.deb', 'deb', 'linux', 'amd64'],
      ['machineadm_1.4.0_arm64.deb', 'deb', 'linux', 'arm64'],
    ];
    const documents = ['LICENSES.txt', 'machineadm-library-1.4.0.tgz'];
    const bill = 'machineadm-linux-amd64.cdx.json';
    const others = [
      'machineadm_1.3.0_amd64.deb',
      'machineadm-library-1.3.0.tgz',
      'machineadm',
      '.inputs',
      'SHA256SUMS',
    ];
    for (const name of [
      ...packages.map(([file = '']) => file),
      ...documents,
      bill,
      ...others,
      'machineadm-linux-amd64',
    ]) {
      writeFileSync(join(from, name), name);
    }
    const wish = {
      ...{ from, version: '1.4.0', commit: 'abc', createdAt: new Date(0), minimumVersion: '1.4.0', revokedKeys: [] },
    };
    const [made, again] = [
      await makeRelease({ ...wish, to: join(scratch, 'g') }, key),
      await makeRelease({ ...wish, to: join(scratch, 'h') }, key),
    ];
    const manifest = parseManifest(readFileSync(join(made, 'manifest.json')));
    assert.deepEqual(
      manifest.packages.map(({ file, format, os, architecture }) => [file, format, os, architecture]).sort(),
      packages,
    );
    const archives = ['cdx.json', 'gz', 'xz'].map((extension) => `machineadm-1.4.0-linux-amd64.${extension}`);
    const listed = readFileSync(join(made, 'SHA256SUMS'), 'utf8').match(/\S+$/gm);
    assert.deepEqual(
      listed,
      [...packages.map(([file = '']) => file), ...documents, ...archives, 'manifest.json'].sort(),
    );
    for (const { file, sha256, size } of manifest.packages) {
      assert.equal(sha256, createHash('sha256').update(file).digest('hex'));
      assert.equal(size, file.length);
    }
    // What is signed is the same bytes; a signature by ECDSA is another one each time.
    for (const name of [...(listed ?? []), 'SHA256SUMS']) {
      assert.deepEqual(readFileSync(join(again, name)), readFileSync(join(made, name)), name);
    }
  });

  test('is proved by what is on every machine: openssl and sha256sum', async () => {
    const { directory } = await testRelease(join(scratch, 'f'), '1.4.0', key);
    const publicKey = pem('publisher.pem', key.pem);
    const verify = `openssl dgst -sha256 -verify ${publicKey} -signature SHA256SUMS.sig SHA256SUMS`;
    const shell = (command: string) => spawnSync('sh', ['-c', command], { cwd: directory, encoding: 'utf8' });
    assert.equal(shell(`${verify} && sha256sum --check --quiet SHA256SUMS`).stdout, 'Verified OK\n');
    writeFileSync(join(directory, 'SHA256SUMS'), 'x');
    assert.equal(shell(verify).status, 1);
  });

  test('that exists is never changed', async () => {
    await testRelease(join(scratch, 'c'), '1.4.0', key);
    await assert.rejects(testRelease(join(scratch, 'c'), '1.4.0', key), /is never changed/);
    assert.deepEqual(readdirSync(join(scratch, 'c', 'release')), ['1.4.0']);
  });

  test('is not made with a minimum above itself, or with a key that it revokes', async () => {
    const at = join(scratch, 'd');
    await assert.rejects(testRelease(at, '1.4.0', key, { minimumVersion: '2.0.0' }), /minimum version/);
    await assert.rejects(testRelease(at, '1.4.0', key, { revokedKeys: [key.keyId] }), /that it revokes/);
    assert.deepEqual(existsSync(join(at, 'release')) ? readdirSync(join(at, 'release')) : [], []);
  });

  test("is signed by a key in a file that is its owner's alone", async () => {
    const signer = await signerOf({ key: pem('k.pem', key.privatePem), command: undefined, publicKey: undefined });
    assert.equal(signer.keyId, key.keyId);
    const open = { key: pem('open.pem', key.privatePem, 0o644), command: undefined, publicKey: undefined };
    await assert.rejects(signerOf(open), /may be read by others/);
  });

  test('is signed by a command, whose signature is proved before it is used', async () => {
    const publicKey = pem('p.pem', key.pem);
    const privateKey = pem('k.pem', key.privatePem);
    for (const command of [
      `openssl dgst -sha256 -sign ${privateKey}`,
      `openssl dgst -sha256 -sign ${privateKey} | base64`,
    ]) {
      const signer = await signerOf({ key: undefined, command, publicKey });
      await signer.sign(Buffer.from('x'));
    }
    const stranger = pem('s.pem', newKey().privatePem);
    const wrong = await signerOf({ key: undefined, command: `openssl dgst -sha256 -sign ${stranger}`, publicKey });
    await assert.rejects(wrong.sign(Buffer.from('x')), /not right under its public key/);
    const failing = await signerOf({ key: undefined, command: 'cat >/dev/null; exit 3', publicKey });
    await assert.rejects(failing.sign(Buffer.from('x')), /ended with 3/);
    await assert.rejects(signerOf({ key: privateKey, command: 'x', publicKey }), /give --key FILE, or/);
  });

  test('is proved in a mirror, every byte of it, and so is what lies beside it', async () => {
    const { directory, files } = await testRelease(join(scratch, 'e'), '1.4.0', key);
    const mirror = join(directory, '..');
    const trust = await loadTrust([pem('p.pem', key.pem)], join(scratch, 'none'));
    assert.deepEqual(await checkMirror(mirror, trust, new Date()), { proved: files.size, wrong: [] });
    const archive = join(directory, 'machineadm-1.4.0-linux-amd64.gz');
    writeFileSync(archive, flipped(readFileSync(archive)));
    writeFileSync(join(mirror, 'stray'), '');
    const { proved, wrong } = await checkMirror(mirror, trust, new Date());
    assert.equal(proved, files.size - 1);
    assert.match(
      wrong.join('\n'),
      /stray: there is no SHA256SUMS beside it\n.*amd64\.gz is not the file that is known/,
    );
  });

  test('forbids by default what its predecessor forbade, and not its predecessor', async () => {
    const releases = join(scratch, 'i', 'release');
    assert.equal(await minimumOfPredecessor(releases, '1.4.0'), '0.0.0');
    await testRelease(join(scratch, 'i'), '1.4.0', key, { minimumVersion: '1.2.0' });
    assert.equal(await minimumOfPredecessor(releases, '1.5.0'), '1.2.0');
    await testRelease(join(scratch, 'i'), '1.5.0', key, { minimumVersion: '1.4.0' });
    // A release of an older line is not bound by what came after it.
    assert.deepEqual(
      [await minimumOfPredecessor(releases, '1.4.1'), await minimumOfPredecessor(releases, '1.10.0')],
      ['1.2.0', '1.4.0'],
    );
  });

  test('of other files says where it is published and rises with each signing', async () => {
    const directory = join(mkdtempSync(join(scratch, 'signed-')), 'images');
    mkdirSync(directory);
    writeFileSync(join(directory, 'a.tar'), 'x');
    const said = () => parseDirectory(readFileSync(join(directory, 'directory.json')));
    assert.deepEqual(await signDirectory(directory, {}, key), ['a.tar', 'directory.json']);
    assert.deepEqual([said().place, said().version], ['images', 1]);
    await signDirectory(directory, { place: 'site/images' }, key, newKey());
    assert.deepEqual([said().place, said().version], ['site/images', 2]);
    await assert.rejects(signDirectory(directory, { revokedKeys: [key.keyId] }, key), /that it revokes/);
    assert.equal(said().version, 2);
    const trust = await loadTrust([pem('p.pem', key.pem)], join(scratch, 'none'));
    assert.deepEqual((await checkMirror(join(directory, '..'), trust, new Date())).wrong, []);
  });

  test('cannot be of names that a list cannot hold', async () => {
    const directory = mkdtempSync(join(scratch, 'names-'));
    writeFileSync(join(directory, 'a b'), '');
    await assert.rejects(signDirectory(directory, {}, key), /"a b" cannot be in a SHA256SUMS/);
  });
});
