import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash, verify } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { checkMirror } from '../../../scripts/mirror.ts';
import { signerOf } from '../../../scripts/release/signer.ts';
import { makeRelease, minimumOfPredecessor, signDirectory } from '../../../scripts/release.ts';
import { parseDirectory } from '../../../src/trust/directory.ts';
import { parseManifest } from '../../../src/trust/manifest.ts';
import { UNSIZED_LIMIT } from '../../../src/trust/release.ts';
import { loadTrust } from '../../../src/trust/trust-directory.ts';
import { verifyFiles } from '../../../src/trust/verify.ts';
import { needs } from '../../support/needs.ts';
import { flipped, newKey, program, type TestKey, testImage, testRelease } from '../../support/release.ts';

const skip = needs('xz');

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
      [...packages.map(([file = '']) => file), ...documents, ...archives, 'manifest.json', 'provenance.json'].sort(),
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

  test('has the container image that was built: in its lists, its provenance and its notes, with what a pod pins', async () => {
    const checkout = mkdtempSync(join(scratch, 'checkout-'));
    for (const name of ['machineadm-download.sh', 'machineadm-download.ps1']) {
      mkdirSync(join(checkout, 'packaging/download'), { recursive: true });
      writeFileSync(join(checkout, 'packaging/download', name), 'exit\n');
    }
    writeFileSync(join(checkout, 'package-lock.json'), JSON.stringify({ packages: {} }));
    const git = ['-c', 'user.name=a', '-c', 'user.email=a@example.com'];
    for (const words of [
      ['init', '--quiet'],
      ['add', '.'],
      [...git, 'commit', '--quiet', '--message', 'First'],
    ]) {
      execFileSync('git', words, { cwd: checkout, stdio: 'pipe' });
    }
    const { directory, manifest, files } = await testRelease(join(scratch, 'image'), '1.4.0', key, {
      checkout,
      image: true,
    });
    const file = 'machineadm-1.4.0-image-linux.tar';
    const archive = files.get(file) ?? assert.fail(`no ${file}`);
    const index = execFileSync('tar', ['--extract', '--to-stdout', '--file', join(directory, file), 'index.json']);
    const [{ digest }] = JSON.parse(`${index}`).manifests;
    const [sha256, size] = [createHash('sha256').update(archive).digest('hex'), archive.length];
    const name = 'docker.io/library/machineadm:1.4.0';
    assert.deepEqual(
      manifest.packages.filter(({ format }) => format === 'oci'),
      ['amd64', 'arm64'].map((architecture) => ({
        ...{ file, format: 'oci', os: 'linux', architecture, size, sha256, image: { name, digest } },
      })),
    );
    assert.ok(`${files.get('SHA256SUMS')}`.includes(`${sha256}  ${file}\n`));
    const { subject } = JSON.parse(`${files.get('provenance.json')}`);
    for (const one of [
      { name: file, digest: { sha256 } },
      { name, digest: { sha256: digest.replace('sha256:', '') } },
    ]) {
      assert.ok(
        subject.some((other: unknown) => isDeepStrictEqual(one, other)),
        one.name,
      );
    }
    assert.ok(
      `${files.get('RELEASE_NOTES.md')}`.endsWith(
        `\n### Container image\n\n- \`${file}\`: \`${name}@${digest}\`, for linux/amd64 and linux/arm64\n`,
      ),
    );
    assert.ok(!`${files.get('CHANGELOG.md')}`.includes('Container image'));
    const trust = await loadTrust([pem('p.pem', key.pem)], join(scratch, 'none'));
    assert.deepEqual(await checkMirror(join(directory, '..'), trust, new Date()), { proved: files.size, wrong: [] });
  });

  test('is not made with an image of something else', async () => {
    const from = mkdtempSync(join(scratch, 'dist-'));
    for (const architecture of ['amd64', 'arm64']) {
      writeFileSync(join(from, `machineadm-linux-${architecture}`), `program for ${architecture}`);
    }
    const to = join(scratch, 'l');
    const made = () =>
      makeRelease(
        {
          ...{ from, to, version: '1.4.0', commit: 'abc', createdAt: new Date(0) },
          minimumVersion: '1.4.0',
          revokedKeys: [],
        },
        key,
      );
    const programs = { amd64: 'program for amd64', arm64: 'program for arm64' };
    const origin = { version: '1.4.0', commit: 'abc' };
    for (const [image, built, problem] of [
      [programs, { ...origin, version: '1.3.0' }, /is of version 1\.3\.0, not 1\.4\.0: build it again/],
      [programs, { ...origin, commit: 'def' }, /was built from the commit def, not abc/],
      [{ ...programs, arm64: 'an older one' }, origin, /has another program for linux-arm64/],
      [{ amd64: programs.amd64 }, origin, /is not an image of several architectures/],
    ] as const) {
      testImage(from, image, built);
      await assert.rejects(made(), problem);
    }
    testImage(from, programs, origin);
    const archive = join(from, 'machineadm-image-linux.tar');
    const bytes = readFileSync(archive);
    const damaged = Buffer.from(bytes);
    // In the compressed program, of which a digest is in the image itself.
    damaged.writeUInt8(0, bytes.indexOf(Buffer.from([0x1f, 0x8b, 8])));
    writeFileSync(archive, damaged);
    await assert.rejects(
      made(),
      /machineadm-image-linux\.tar is damaged: blobs\/sha256\/[0-9a-f]{64} has another digest/,
    );
    writeFileSync(archive, bytes);
    assert.equal(await made(), join(to, '1.4.0'));
  });

  test('has no large file whose size its manifest does not name: no machine would take it', async () => {
    const from = mkdtempSync(join(scratch, 'dist-'));
    writeFileSync(join(from, 'machineadm-linux-amd64'), 'program');
    writeFileSync(join(from, 'LICENSES.txt'), '');
    truncateSync(join(from, 'LICENSES.txt'), UNSIZED_LIMIT + 1);
    const wish = { version: '1.4.0', commit: 'abc', createdAt: new Date(0), minimumVersion: '1.4.0', revokedKeys: [] };
    await assert.rejects(
      makeRelease({ from, to: join(scratch, 'm'), ...wish }, key),
      /LICENSES\.txt has 67108865 bytes/,
    );
  });

  test('says how it was made: SLSA provenance over every file, signed as the release is', async () => {
    const commit = '0123456789abcdef0123456789abcdef01234567';
    const source = 'git+https://git.example.com/machineadm';
    const { directory, files } = await testRelease(join(scratch, 'slsa'), '1.4.0', key, { commit, source });
    const read = (name: string): Buffer => files.get(name) ?? assert.fail(`no ${name}`);
    const statement = JSON.parse(read('provenance.json').toString());
    assert.deepEqual(
      [statement._type, statement.predicateType],
      ['https://in-toto.io/Statement/v1', 'https://slsa.dev/provenance/v1'],
    );
    const subjects = [...files.keys()].filter((name) => !/^(SHA256SUMS|provenance\.)/.test(name));
    assert.deepEqual(
      statement.subject,
      subjects.map((name) => ({ name, digest: { sha256: createHash('sha256').update(read(name)).digest('hex') } })),
    );
    const { buildDefinition, runDetails } = statement.predicate;
    for (const uri of [buildDefinition.buildType, runDetails.builder.id]) assert.ok(URL.canParse(uri), uri);
    assert.deepEqual(buildDefinition.resolvedDependencies, [
      { name: 'machineadm', uri: source, digest: { gitCommit: commit } },
    ]);

    // secure-systems-lab/dsse protocol.md: what the signature is over
    const { dsseEnvelope } = JSON.parse(read('provenance.sigstore.json').toString());
    const payload = Buffer.from(dsseEnvelope.payload, 'base64');
    assert.deepEqual(payload, read('provenance.json'));
    const encoded = Buffer.concat([Buffer.from(`DSSEv1 28 application/vnd.in-toto+json ${payload.length} `), payload]);
    const [{ sig }] = dsseEnvelope.signatures;
    assert.ok(verify('sha256', encoded, { key: key.pem, dsaEncoding: 'der' }, Buffer.from(sig, 'base64')));

    const trust = await loadTrust([pem('p.pem', key.pem)], join(scratch, 'none'));
    const bundle = join(directory, 'provenance.sigstore.json');
    const proved = () => verifyFiles([bundle], {}, trust, new Date());
    assert.equal((await proved())[0]?.signedBy, key.keyId);
    // Signed by the same key, but of another release; and a statement that was changed.
    const other = await testRelease(join(scratch, 'slsa'), '1.5.0', key);
    writeFileSync(bundle, other.files.get('provenance.sigstore.json') ?? '');
    await assert.rejects(proved(), /another statement than the provenance\.json/);
    const changed = Buffer.from(payload.toString().replace('1.4.0', '1.4.1')).toString('base64');
    writeFileSync(
      bundle,
      JSON.stringify({
        ...JSON.parse(read('provenance.sigstore.json').toString()),
        dsseEnvelope: { ...dsseEnvelope, payload: changed },
      }),
    );
    await assert.rejects(proved(), /was not made by a trusted key/);
    writeFileSync(bundle, '{}');
    await assert.rejects(proved(), /is not a Sigstore bundle/);
  });

  test('does not say that a commit has what it has not', async () => {
    const stated = async (name: string, commit: string) => {
      const { files } = await testRelease(join(scratch, name), '1.4.0', key, { commit });
      return JSON.parse(`${files.get('provenance.json')}`).predicate.buildDefinition.resolvedDependencies[0];
    };
    const commit = '0123456789abcdef0123456789abcdef01234567';
    assert.deepEqual(await stated('dirty', `${commit}-dirty`), {
      name: 'machineadm',
      digest: { gitCommit: commit },
      annotations: { uncommittedChanges: true },
    });
    assert.deepEqual(await stated('unknown', 'unknown'), { name: 'machineadm' });
  });

  test('of a checkout has its manifests, roles, scripts, contract and changes', async () => {
    const checkout = join(scratch, 'checkout');
    const written = {
      'packaging/daemonset/daemonset.yaml': 'kind: DaemonSet\n',
      'packaging/management-cluster/mint.sh': '#!/bin/sh\n',
      'packaging/image-builder/ansible/roles/machineadm/tasks/main.yml': '[]\n',
      'packaging/download/machineadm-download.sh': '#!/bin/sh\n',
      'packaging/download/machineadm-download.ps1': 'exit\n',
      'contract/CONTRACT.md': '# Contract\n',
      'contract/schema/v1alpha1.json': '{}\n',
      'package-lock.json': JSON.stringify({
        packages: {
          '': { version: '1.4.0' },
          'node_modules/@scope/a': { version: '1.0.0', integrity: `sha512-${Buffer.alloc(64).toString('base64')}` },
          'node_modules/own': { link: true },
        },
      }),
    };
    for (const [path, content] of Object.entries(written)) {
      mkdirSync(dirname(join(checkout, path)), { recursive: true });
      writeFileSync(join(checkout, path), content);
    }
    const git = (...args: readonly string[]) =>
      execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], {
        cwd: checkout,
        stdio: 'pipe',
      });
    git('init', '--quiet');
    git('add', '.');
    git('commit', '--quiet', '--message', 'The first release');
    const { directory, files } = await testRelease(join(scratch, 'j'), '1.4.0', key, { checkout });
    const listed = (name: string) => execFileSync('tar', ['-tzvf', join(directory, name)], { encoding: 'utf8' });
    assert.match(
      listed('machineadm-1.4.0-manifests.tar.gz'),
      /^-rw-r--r-- .* machineadm-1\.4\.0-manifests\/daemonset\/daemonset\.yaml$/m,
    );
    assert.match(listed('machineadm-1.4.0-manifests.tar.gz'), /^-rwxr-xr-x .*\/management-cluster\/mint\.sh$/m);
    assert.match(
      listed('machineadm-1.4.0-image-builder.tar.gz'),
      /-image-builder\/ansible\/roles\/machineadm\/tasks\/main\.yml$/m,
    );
    assert.match(listed('machineadm-1.4.0-contract.tar.gz'), /-contract\/schema\/v1alpha1\.json$/m);
    assert.equal(`${files.get('machineadm-download.ps1')}`, 'exit\n');
    assert.match(
      `${files.get('RELEASE_NOTES.md')}`,
      /^## 1\.4\.0 \(2026-01-02\)\n[\s\S]*- The first release \([0-9a-f]+\)$/m,
    );
    const { resolvedDependencies } = JSON.parse(`${files.get('provenance.json')}`).predicate.buildDefinition;
    // The sources, the list of what nodejs.org published, and what npm brought.
    const [, node, ...packages] = resolvedDependencies;
    assert.match(node.uri, /^https:\/\/nodejs\.org\/dist\/v[\d.]+\/SHASUMS256\.txt\.asc$/);
    assert.deepEqual(packages[0], { uri: 'pkg:npm/%40scope/a@1.0.0', digest: { sha512: '0'.repeat(128) } });
    const again = await testRelease(join(scratch, 'k'), '1.4.0', key, { checkout });
    assert.deepEqual(again.files.get('SHA256SUMS'), files.get('SHA256SUMS'));
  });

  test('is proved by what is on every machine: openssl and sha256sum', async () => {
    const { directory } = await testRelease(join(scratch, 'f'), '1.4.0', key);
    const publicKey = pem('publisher.pem', key.pem);
    const verified = `openssl dgst -sha256 -verify ${publicKey} -signature SHA256SUMS.sig SHA256SUMS`;
    const shell = (command: string) => spawnSync('sh', ['-c', command], { cwd: directory, encoding: 'utf8' });
    assert.equal(shell(`${verified} && sha256sum --check --quiet SHA256SUMS`).stdout, 'Verified OK\n');
    writeFileSync(join(directory, 'SHA256SUMS'), 'x');
    assert.equal(shell(verified).status, 1);
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
    await assert.rejects(wrong.sign(Buffer.from('x')), /does not verify with its public key/);
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
