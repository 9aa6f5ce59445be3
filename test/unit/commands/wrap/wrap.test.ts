import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { parse } from 'yaml';
import { dataSecret } from '../../../support/capi.ts';
import { commandLine } from '../../../support/command-line.ts';
import { needs } from '../../../support/needs.ts';
import { newKey, testRelease } from '../../../support/release.ts';
import { rootText, writtenRoot } from '../../../support/roots.ts';
import { DIGEST, DOCUMENT, DRIVE, HEADER, MANIFEST, MIRROR, WrapBench } from '../../../support/wrapping.ts';

describe('machineadm wrap', () => {
  let bench: WrapBench;
  let directory = '';
  before(() => {
    bench = new WrapBench();
    directory = bench.directory;
  });
  after(() => bench[Symbol.dispose]());

  const lay = (name: string, text: string): string => bench.lay(name, text);
  const wrap = (...args: readonly string[]) => bench.wrap(...args);
  const wrapped = (...args: readonly string[]) => bench.wrapped(...args);

  test('writes the user data, and prints its size, the limits and a warning about secrets, but no secret', async () => {
    const { status, stdout, stderr } = await wrap('-d', lay('document.yaml', DOCUMENT), '--format', 'cloud-init');
    assert.equal(status, 0);
    assert.match(stdout, /^#cloud-config\n/);
    const size = Buffer.byteLength(stdout);
    assert.ok(stderr.includes(`cloud-init: ${size} bytes\n  capa   AWS EC2 user data: ${size} of 16384 bytes`), stderr);
    assert.match(stderr, /in base64/);
    assert.match(stderr, /^it starts \/usr\/local\/bin\/machineadm, which the image must contain/m);
    assert.match(stderr, /warning: this user data contains secrets in clear text: secrets\.password\./);
    assert.doesNotMatch(stderr, /not-for-everybody/);
  });

  test('has no warning about secrets where references are all there is', async () => {
    const path = lay('references.yaml', DOCUMENT.replace('value: not-for-everybody', 'file: /run/secrets/p'));
    assert.doesNotMatch((await wrap('-d', path, '--format', 'cloud-init')).stderr, /warning/);
  });

  test('writes a file for its owner alone, also over an existing one', async () => {
    const path = lay('user-data', 'open to all');
    assert.equal(await wrapped('--format', 'script', '--to', path), '');
    assert.match(readFileSync(path, 'utf8'), /^#!\/bin\/sh\n/);
    assert.equal(statSync(path).mode & 0o777, 0o600);
    const { status, stderr } = await wrap(
      '-d',
      lay('document.yaml', DOCUMENT),
      '--format',
      'script',
      '--to',
      directory,
    );
    assert.equal(status, 4);
    assert.match(stderr, /FileNotWritten/);
  });

  test('writes nothing for a provider that does not support it, and names a remedy', async () => {
    const noise = Array.from({ length: 4000 }, (_, index) => (index * 2654435761) % 2 ** 32).join(' ');
    const path = lay('large.yaml', `${HEADER}host: {files: [{path: /n, content: "${noise}"}]}\n`);
    const { status, stdout, stderr } = await wrap('-d', path, '--format', 'cloud-init', '--profile', 'capa');
    assert.deepEqual([status, stdout], [3, '']);
    assert.match(stderr, /AWS EC2 user data accepts 16384 \[UserDataTooLarge\]\nFetch files by http/);
    const anywhere = await wrap('-d', path, '--format', 'cloud-init');
    assert.equal(anywhere.status, 0, 'for no provider in particular');
    assert.match(anywhere.stderr, /capa .* too large\n[\s\S]*To make it smaller: /);
  });

  test('merges several sources into one document', async () => {
    const over = lay('over.yaml', 'metadata: {name: n2}\n');
    const { write_files: files } = parse(await wrapped('-d', over, '--format', 'cloud-init'));
    const document = parse(gunzipSync(Buffer.from(files[0].content, 'base64')).toString());
    assert.deepEqual(document.metadata, { name: 'n2', namespace: 'clusters', cluster: 'prod' });
  });

  test('refuses a document with mistakes as validate does', async () => {
    const path = lay('wrong.yaml', `${HEADER}host: {hostnam: x}\n`);
    const { status, stdout, stderr } = await wrap('-d', path, '--format', 'cloud-init');
    assert.deepEqual([status, stdout], [3, '']);
    assert.match(stderr, /did you mean "hostname"/);
  });

  test('writes the Secret that a provider reads', async () => {
    const secret = JSON.parse(await wrapped('--format', 'cloud-init', '--secret', 'n1-machineadm'));
    assert.deepEqual(secret.metadata, {
      name: 'n1-machineadm',
      namespace: 'clusters',
      labels: { 'cluster.x-k8s.io/cluster-name': 'prod' },
    });
    assert.equal(atob(secret.data.format), 'cloud-config');
    assert.equal(atob(secret.data.value), await wrapped('--format', 'cloud-init'));
  });

  for (const [what, args] of Object.entries({
    'a Secret of what Cluster API does not know': ['--format', 'script', '--secret', 'n'],
    'a Secret with a name that is none': ['--format', 'cloud-init', '--secret', 'N_1'],
    'a download that nothing verifies': ['--format', 'cloud-init', ...MIRROR],
    'a key without a download': ['--format', 'cloud-init', '--key', 'key.pem'],
    'a credential for another location': [
      ...['--format', 'cloud-init', ...MIRROR, '--release-manifest', 'manifest.json'],
      ...['--authorization', 'https://other.example=/etc/credential'],
    ],
    'a download for Talos': ['--format', 'talos', ...MIRROR, '--release-manifest', 'manifest.json'],
    'a download for Windows by keys': ['--format', 'unattend', ...DRIVE, '--release', '1.4.0', '--key', 'key.pem'],
    'an authority of a download for Windows': [
      ...['--format', 'cloudbase-init', ...DRIVE, '--release-manifest', 'manifest.json', '--ca', 'ca.pem'],
    ],
    'a directory of Linux for Windows': ['--format', 'unattend', ...MIRROR, '--release-manifest', 'manifest.json'],
    'a format that is none': ['--format', 'floppy'],
  })) {
    test(`refuses ${what}, with exit code 2`, async () => {
      const manifest = lay('manifest.json', JSON.stringify(MANIFEST));
      const here = args.map((word) => (word === 'manifest.json' ? manifest : word));
      const { status, stdout } = await wrap('-d', lay('document.yaml', DOCUMENT), ...here);
      assert.deepEqual([status, stdout], [2, '']);
    });
  }

  describe('--fetch', () => {
    const scriptOf = (userData: string): string => {
      const [, script] = parse(userData).write_files;
      return gunzipSync(Buffer.from(script.content, 'base64')).toString();
    };

    test('pins the digests of the manifest, and asks the locations in their order', async () => {
      const manifest = lay('manifest.json', JSON.stringify(MANIFEST));
      const args = ['--format', 'cloud-init', ...MIRROR, '--release-manifest', manifest];
      const script = scriptOf(
        await wrapped(...args, '--authorization', 'https://mirror.example/machineadm=/etc/machineadm/credential'),
      );
      assert.ok(
        script.includes(
          `VERSION=1.4.0\nPINS='amd64.gz=${DIGEST} amd64.xz=${'ef'.repeat(32)} amd64=${'cd'.repeat(32)}'\n`,
        ),
        script,
      );
      assert.ok(
        script.includes('https://mirror.example/machineadm /etc/machineadm/credential -\nfile:///mnt/machineadm - -\n'),
      );
      assert.equal(spawnSync('sh', ['-n'], { input: script }).status, 0);
    });

    test('pins keys where there is no manifest, and the authority of https locations', async () => {
      const pair = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
      const publicKey = pair.publicKey.export({ type: 'spki', format: 'pem' }).toString();
      const ca = '-----BEGIN CERTIFICATE-----\nTUlJQg==\n-----END CERTIFICATE-----\n';
      const script = scriptOf(
        await wrapped(
          ...['--format', 'cloud-init', ...MIRROR, '--release', '1.4.0'],
          ...['--key', lay('key.pem', publicKey), '--ca', lay('ca.pem', ca)],
        ),
      );
      const body = publicKey.replace(/-----[A-Z ]+-----|\s/g, '');
      assert.ok(script.includes(`KEYS='${body}@0'`), script);
      assert.ok(script.includes('https://mirror.example/machineadm - pinned\nfile:///mnt/machineadm - -\n'));
    });

    test('pins every key, the threshold and the day of the trust directory, and no key that was revoked', async () => {
      const [one, other, old] = [newKey(), newKey(), newKey()];
      const trust = join(directory, 'trust.d');
      mkdirSync(trust, { recursive: true });
      writeFileSync(join(trust, 'other.pem'), `not-after: 2031-12-31\n${other.pem}${old.pem}`);
      writeFileSync(join(trust, 'revoked'), `${old.keyId}\n`);
      writeFileSync(join(trust, 'threshold'), '2\n');
      writeFileSync(join(trust, 'minimum-version'), '1.4.0\n');
      const args = [
        ...['--format', 'cloud-init', ...MIRROR, '--key', lay('key.pem', one.pem)],
        ...['--trust-directory', trust],
      ];
      const script = scriptOf(await wrapped(...args, '--release', '1.4.0'));
      const keys = `KEYS='${other.publicKey}@20311231 ${one.publicKey}@0'\nTHRESHOLD=2\nREVOKED='${old.publicKey}'\n`;
      assert.ok(script.includes(keys), script);
      const document = ['-d', lay('document.yaml', DOCUMENT)];
      const older = await wrap(...document, ...args, '--release', '1.3.9');
      assert.equal(older.status, 21);
      assert.match(older.stderr, /the release 1\.3\.9 is older than 1\.4\.0.* \[ReleaseTooOld\]/);
      writeFileSync(join(trust, 'threshold'), '3\n');
      const few = await wrap(...document, ...args, '--release', '1.4.0');
      assert.equal(few.status, 2);
      assert.match(few.stderr, /the threshold is 3, and the keys that are not revoked are 2/);
    });

    test('pins the keys, the threshold and the expiry of the newest root, and refuses what the root refuses', {
      skip: needs('xz'),
    }, async () => {
      const [one, other, root] = [newKey(), newKey(), newKey()];
      const trust = join(directory, 'trust-with-root.d');
      mkdirSync(trust, { recursive: true });
      const wish = { root: [root], lists: [one, other], threshold: 2 };
      const file = join(trust, 'root.json');
      writtenRoot(file, await rootText({ ...wish, expiresAt: '2999-01-02T03:04:05Z' }));
      const document = ['-d', lay('document.yaml', DOCUMENT)];
      const args = ['--format', 'cloud-init', ...MIRROR, '--trust-directory', trust];
      const script = scriptOf(await wrapped(...args, '--release', '1.4.0'));
      const keys = `KEYS='${one.publicKey}@0 ${other.publicKey}@0'\nTHRESHOLD=2\nSINCE=20260102030405\nUNTIL=29990102030405\n`;
      assert.ok(script.includes(keys), script);

      const { directory: release } = await testRelease(join(directory, 'by-root'), '1.4.0', one, {
        alsoSignedBy: [other],
      });
      const manifest = ['--release-manifest', join(release, 'manifest.json')];
      const verified = await wrap(...document, ...args, ...manifest);
      assert.equal(verified.status, 0, verified.stderr);
      assert.doesNotMatch(verified.stderr, /is not checked/);
      writtenRoot(file, await rootText({ ...wish, lists: [one, root] }));
      const few = await wrap(...document, ...args, ...manifest);
      assert.deepEqual([few.status, few.stdout], [21, '']);
      assert.match(few.stderr, /\[TooFewSignatures\]/);
      writtenRoot(file, await rootText({ ...wish, expiresAt: '2026-02-01T00:00:00Z' }));
      for (const what of [manifest, ['--release', '1.4.0']]) {
        const expired = await wrap(...document, ...args, ...what);
        assert.deepEqual([expired.status, expired.stdout], [21, '']);
        assert.match(expired.stderr, /\[SignatureExpired\]/);
      }
      const beside = await wrap(...document, ...args, '--release', '1.4.0', '--key', lay('beside.pem', one.pem));
      assert.deepEqual([beside.status, beside.stdout], [4, '']);
      assert.match(beside.stderr, /the root in .* names all keys/);
    });

    test('verifies the manifest by the keys it is given, and says when there are none', {
      skip: needs('xz'),
    }, async () => {
      const [publisher, stranger] = [newKey(), newKey()];
      const { directory: release, manifest } = await testRelease(directory, '1.4.0', publisher);
      const args = ['--format', 'cloud-init', ...MIRROR, '--release-manifest', join(release, 'manifest.json')];
      const document = ['-d', lay('document.yaml', DOCUMENT)];
      const key = lay('publisher.pem', publisher.pem);
      const verified = await wrap(...document, ...args, '--key', key);
      assert.equal(verified.status, 0, verified.stderr);
      assert.doesNotMatch(verified.stderr, /signature of .* is not checked/);
      const gzip = manifest.artefacts.find((one) => one.architecture === 'arm64' && one.compression === 'gzip');
      assert.ok(scriptOf(verified.stdout).includes(`arm64.gz=${gzip?.sha256}`));

      const believed = await wrap(...document, ...args);
      assert.equal(believed.stdout, verified.stdout);
      assert.match(believed.stderr, /signature of .*manifest\.json is not checked/);

      const refused = await wrap(...document, ...args, '--key', lay('stranger.pem', stranger.pem));
      assert.deepEqual([refused.status, refused.stdout], [21, '']);
      assert.match(refused.stderr, /SignatureInvalid/);
      const path = join(release, 'manifest.json');
      writeFileSync(path, readFileSync(path, 'utf8').replace(gzip?.sha256 ?? '', DIGEST));
      const changed = await wrap(...document, ...args, '--key', key);
      assert.deepEqual([changed.status, changed.stdout], [21, '']);
      assert.match(changed.stderr, /DigestMismatch/);
    });

    test('pins the digests of Windows for a carrier of Windows', async () => {
      const manifest = lay('manifest.json', JSON.stringify(MANIFEST));
      const args = ['--format', 'cloudbase-init', ...DRIVE, '--release-manifest', manifest];
      const credential = 'https://mirror.example/machineadm=C:\\credential';
      const script = scriptOf(await wrapped(...args, '--authorization', credential));
      for (const line of [
        "$Version = '1.4.0'",
        `$ArchiveDigest = '${'01'.repeat(32)}'`,
        `$ProgramDigest = '${'cd'.repeat(32)}'`,
        "$Locations = @('https://mirror.example/machineadm C:\\credential', 'file:///D:/machineadm -')",
      ]) {
        assert.ok(script.includes(`${line}\n`), line);
      }
      const linux = { ...MANIFEST, artefacts: MANIFEST.artefacts.filter(({ os }) => os === 'linux') };
      const without = [...args.slice(0, -1), lay('linux.json', JSON.stringify(linux))];
      const refused = await wrap('-d', lay('document.yaml', DOCUMENT), ...without);
      assert.deepEqual([refused.status, refused.stdout], [2, '']);
      assert.match(refused.stderr, /release 1\.4\.0 has no machineadm for Windows \[DownloadInvalid\]/);
    });

    test('refuses an invalid manifest', async () => {
      const args = ['--format', 'cloud-init', ...MIRROR, '--release-manifest', lay('page.json', '<html>')];
      const { status, stdout, stderr } = await wrap('-d', lay('document.yaml', DOCUMENT), ...args);
      assert.deepEqual([status, stdout], [21, '']);
      assert.match(stderr, /ReleaseManifestInvalid/);
    });
  });

  test('replaces a data Secret with one whose user data contains the document that convert prints', async () => {
    const converted = await commandLine('convert', '-f', lay('secret.yaml', dataSecret()));
    assert.equal(converted.status, 0, converted.stderr);
    const args = ['--format', 'cloud-init', '--profile', 'capv', '--secret', 'prod-a-0-machineadm'];
    const { status, stdout, stderr } = await wrap('-f', lay('converted.yaml', converted.stdout), ...args);
    assert.equal(status, 0, stderr);
    const { kind, metadata, data } = JSON.parse(stdout);
    assert.deepEqual([kind, metadata.name, metadata.namespace], ['Secret', 'prod-a-0-machineadm', 'clusters']);
    assert.deepEqual(metadata.labels, { 'cluster.x-k8s.io/cluster-name': 'prod-a' });
    const [file] = parse(atob(data.value)).write_files;
    assert.equal(gunzipSync(Buffer.from(file.content, 'base64')).toString(), converted.stdout);
    assert.ok(!/PRIVATE KEY|REPLACE-WITH/.test(stderr), 'no secret in the messages');
    assert.match(stderr, /warning: this user data contains secrets in clear text: /);
  });
});
