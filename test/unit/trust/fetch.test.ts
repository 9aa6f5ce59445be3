import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { signDirectory } from '../../../scripts/release.ts';
import { commandLine } from '../../support/command-line.ts';
import { needs } from '../../support/needs.ts';
import { flipped, newKey, type TestKey, type TestRelease, testRelease } from '../../support/release.ts';

const VERSION = '1.4.2';
const digestOf = (path: string): string => createHash('sha256').update(readFileSync(path)).digest('hex');

describe('machineadm fetch and verify', { skip: needs('xz') }, () => {
  let scratch = '';
  let publisher: TestKey;
  let stranger: TestKey;
  let release: TestRelease;
  const revoked = newKey().keyId;
  let count = 0;

  before(async () => {
    scratch = mkdtempSync(join(tmpdir(), 'machineadm-fetch-'));
    [publisher, stranger] = [newKey(), newKey()];
    release = await testRelease(scratch, VERSION, publisher);
    writeFileSync(join(scratch, 'publisher.pem'), publisher.pem);
    writeFileSync(join(scratch, 'stranger.pem'), stranger.pem);
    await documents('site', 7);
  });
  after(() => rmSync(scratch, { recursive: true }));

  /** A signed directory `site` with two documents, below a directory of its own. */
  async function documents(at: string, version: number, place = 'site'): Promise<string> {
    const directory = join(scratch, at, 'site');
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, 'a.yaml'), `a: ${version}\n`);
    writeFileSync(join(directory, 'b.yaml'), 'b: 1\n');
    const createdAt = new Date('2026-01-02T03:04:05Z');
    await signDirectory(directory, { place, version, createdAt, revokedKeys: [revoked] }, publisher);
    return join(scratch, at);
  }

  const fresh = (): string => {
    count += 1;
    return join(scratch, `to-${count}`);
  };
  const memoryOf = (to: string): string => `${to}.trust.json`;

  /** Fetches with the publisher's key and a record of its own; what it printed has `TO` and `KEY` in it. */
  async function fetch(from: readonly string[], words: readonly string[], { to = fresh(), key = 'publisher' } = {}) {
    const told = await commandLine(
      'fetch',
      ...from.flatMap((location) => ['--from', location]),
      ...['--output-dir', to, '--key', join(scratch, `${key}.pem`), '--trust-directory', join(scratch, 'none')],
      ...['--memory', memoryOf(to), '--timeout', '0s'],
      ...words,
    );
    const plain = (text: string) =>
      text
        .replaceAll(to, 'TO')
        .replaceAll(scratch, 'DIR')
        .replaceAll(publisher.keyId, 'KEY')
        .replace(/\b[0-9a-f]{64}\b/g, 'DIGEST')
        .trimEnd()
        .split('\n');
    return { to, status: told.status, stdout: plain(told.stdout), stderr: plain(told.stderr) };
  }
  const below = (directory: string): readonly string[] =>
    readdirSync(directory, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name).slice(directory.length + 1))
      .sort();

  /** The last files of a release. */
  const SIGNED = [
    'provenance.sigstore.json',
    'SHA256SUMS.sigstore.json',
    'SHA256SUMS.sig',
    'SHA256SUMS.signatures.json',
    'SHA256SUMS',
  ];

  test('a release becomes a mirror: every file that the list names, the list last; a second time nothing changes', async () => {
    const from = join(scratch, 'release');
    const first = await fetch([from], ['--release', VERSION]);
    assert.deepEqual([first.status, first.stderr], [0, ['']]);
    const names = first.stdout.map((line) => line.replace(`TO/${VERSION}/`, '').split('  ')[0]);
    assert.deepEqual(names.slice(-6), [
      ...SIGNED.map((name) => `fetched ${name}`),
      `verified, from ${from.replace(scratch, 'DIR')}, signed by KEY`,
    ]);
    assert.deepEqual(below(first.to), [...release.files.keys()].map((name) => `${VERSION}/${name}`).sort());
    for (const [name, bytes] of release.files) assert.deepEqual(readFileSync(join(first.to, VERSION, name)), bytes);
    const list = statSync(join(first.to, VERSION, 'SHA256SUMS')).mtimeMs;
    const second = await fetch([from], ['--release', VERSION], { to: first.to });
    assert.deepEqual(
      second.stdout,
      first.stdout.map((line) => line.replace(/^fetched/, 'kept')),
    );
    assert.equal(statSync(join(first.to, VERSION, 'SHA256SUMS')).mtimeMs, list);
    // What it learned is remembered: an older release is refused from now on.
    assert.match(readFileSync(memoryOf(first.to), 'utf8'), /"minimumVersion":\s*"1\.4\.2"/);
  });

  test('for one platform, only its archives and packages are fetched, and the files for all', async () => {
    const { to, stdout } = await fetch(
      [join(scratch, 'release')],
      ['--release', VERSION, '--platform', 'linux-arm64', '-o', 'json'],
    );
    const names = below(to);
    assert.deepEqual(
      names.filter((name) => name.includes('amd64')),
      [],
    );
    assert.ok(
      names.some((name) => name.endsWith('linux-arm64.gz')) && names.some((name) => name.endsWith('arm64.deb')),
    );
    assert.ok(
      names.some((name) => name.endsWith('LICENSES.txt')),
      names.join(),
    );
    const { kind, from, files, signedBy, warnings } = JSON.parse(stdout.join('\n'));
    assert.deepEqual([kind, from, signedBy, warnings], ['FetchedFiles', 'DIR/release', 'KEY', []]);
    assert.equal(files.length, names.length);
    for (const file of files)
      assert.deepEqual([typeof file.size, file.changed, file.sha256], ['number', true, 'DIGEST']);
  });

  test('the next location is tried where one has nothing, or a file that is not the one that was signed', async () => {
    cpSync(join(scratch, 'release'), join(scratch, 'damaged'), { recursive: true });
    const archive = join(scratch, 'damaged', VERSION, `machineadm-${VERSION}-linux-amd64.gz`);
    writeFileSync(archive, flipped(readFileSync(archive)));
    const from = ['nowhere', 'damaged', 'release'].map((name) => join(scratch, name));
    const { status, stderr, stdout } = await fetch(from, ['--release', VERSION]);
    assert.equal(status, 0, stderr.join('\n'));
    assert.equal(stdout.at(-1), 'verified, from DIR/release, signed by KEY');
    assert.equal(stderr.length, 2);
    assert.match(
      stderr[1] ?? '',
      /^machineadm: DIR\/damaged\/1\.4\.2\/machineadm-1\.4\.2-linux-amd64\.gz is not the file that is known: (\d+) of \1 bytes came \[DigestMismatch\]$/,
    );
  });

  test('a web page in the place of a file is called one', async () => {
    cpSync(join(scratch, 'release'), join(scratch, 'portal'), { recursive: true });
    writeFileSync(join(scratch, 'portal', VERSION, 'SHA256SUMS'), '<!doctype html>\n<html>Sign in</html>\n');
    const list = await fetch([join(scratch, 'portal')], ['--release', VERSION]);
    assert.deepEqual([list.status, list.stdout], [21, ['']]);
    assert.match(list.stderr.join('\n'), /DIR\/portal\/1\.4\.2\/SHA256SUMS is a web page \[WebPageReceived\]/);
    await documents('portal', 7);
    writeFileSync(join(scratch, 'portal/site/a.yaml'), '<html>Sign in</html>\n');
    const file = await fetch([join(scratch, 'portal')], ['site/a.yaml']);
    assert.match(file.stderr.join('\n'), /DIR\/portal\/site\/a\.yaml is a web page \[WebPageReceived\]/);
  });

  test('nothing is kept of a release that an unknown key signed', async () => {
    const { to, status, stderr } = await fetch([join(scratch, 'release')], ['--release', VERSION], { key: 'stranger' });
    assert.equal(status, 21);
    assert.match(stderr.join('\n'), /\[SignatureInvalid\]|\[SigningKeyUnknown\]|\[Sign\w+\]/);
    assert.throws(() => below(to), { code: 'ENOENT' });
  });

  test('a directory is fetched whole by its name with a slash, with what others need to verify it', async () => {
    const { to, status, stdout, stderr } = await fetch([join(scratch, 'site')], ['site/']);
    assert.deepEqual([status, stderr], [0, ['']]);
    assert.deepEqual(stdout, [
      'fetched TO/site/a.yaml  DIGEST',
      'fetched TO/site/b.yaml  DIGEST',
      'fetched TO/site/directory.json  DIGEST',
      ...SIGNED.slice(1).map((name) => `fetched TO/site/${name}  DIGEST`),
      'verified, from DIR/site, signed by KEY',
    ]);
    // The result is a source again.
    const again = await fetch([to], ['site/b.yaml', 'site/a.yaml']);
    assert.deepEqual(again.stdout, [
      'fetched TO/b.yaml  DIGEST',
      'fetched TO/a.yaml  DIGEST',
      `verified, from ${to.replace(scratch, 'DIR')}, signed by KEY`,
    ]);
    const memory = JSON.parse(readFileSync(memoryOf(again.to), 'utf8'));
    assert.deepEqual(
      memory.directories.map(({ place, version, key }: Record<string, unknown>) => [place, version, key]),
      [['site', 7, publisher.keyId]],
    );
    assert.deepEqual(memory.revoked, [revoked]);
  });

  test('an older version of a directory than was seen is refused, and so is another of the same version', async () => {
    const { to } = await fetch([join(scratch, 'site')], ['site/a.yaml']);
    const older = await fetch([await documents('older', 6)], ['site/a.yaml'], { to });
    assert.equal(older.status, 21);
    assert.match(older.stderr.join('\n'), /offers version 6 of "site"; version 7 was seen \[RolledBack\]/);
    const another = await documents('another', 7);
    writeFileSync(join(another, 'site/c.yaml'), 'c: 1\n');
    await signDirectory(join(another, 'site'), { place: 'site', version: 7 }, publisher);
    const same = await fetch([another], ['site/a.yaml'], { to });
    assert.match(same.stderr.join('\n'), /offers another version 7 of "site" than was seen \[RolledBack\]/);
    const newer = await fetch([await documents('newer', 8)], ['site/a.yaml'], { to });
    assert.equal(newer.status, 0);
    assert.equal(readFileSync(join(to, 'a.yaml'), 'utf8'), 'a: 8\n');
  });

  test('a directory that was signed for another place is refused, and a file that it does not list', async () => {
    const elsewhere = await fetch([await documents('elsewhere', 1, 'other')], ['site/a.yaml']);
    assert.match(elsewhere.stderr.join('\n'), /was signed for the directory "other" \[WrongPlace\]/);
    const missing = await fetch([join(scratch, 'site')], ['site/c.yaml']);
    assert.match(missing.stderr.join('\n'), /the signed DIR\/site\/site\/SHA256SUMS has no c\.yaml \[DigestMismatch\]/);
  });

  test('a file by its digest needs no signature', async () => {
    const path = join(scratch, 'site/site/a.yaml');
    const { status, stdout } = await fetch(
      [pathToFileURL(join(scratch, 'site')).href],
      ['site/a.yaml', '--sha256', digestOf(path)],
    );
    assert.equal(status, 0);
    assert.match(stdout.join('\n'), /^fetched TO\/a\.yaml {2}DIGEST\nverified, from DIR\/site$/);
    const wrong = await fetch([join(scratch, 'site')], ['site/a.yaml', '--sha256', 'f'.repeat(64)]);
    assert.match(wrong.stderr.join('\n'), /a\.yaml is not the file that is known: 5 bytes came \[DigestMismatch\]/);
  });

  for (const [what, words, message] of [
    ['without a name or a release', [], /give either --release or names of files/],
    ['with a name and a release', ['--release', VERSION, 'a'], /give either --release or names of files/],
    ['with a digest for a release', ['--release', VERSION, '--sha256', 'f'.repeat(64)], /--sha256 is for one file/],
    ['with a platform for files', ['a', '--platform', 'linux-amd64'], /--platform is for a release/],
    ['with a release that is none', ['--release', 'new'], /"new" is not a version like 1\.4\.0/],
    ['with a name that leads elsewhere', ['../a'], /"\.\.\/a" is not a plain name/],
    ['with a hidden name', ['.a'], /"\.a" is not a plain name/],
    ['with a digest for two files', ['a', 'b', '--sha256', 'f'.repeat(64)], /--sha256 takes 64 lower-case/],
    ['with a digest for a directory', ['a/', '--sha256', 'f'.repeat(64)], /--sha256 takes 64 lower-case/],
    ['with a digest that is none', ['a', '--sha256', 'F'.repeat(64)], /--sha256 takes 64 lower-case/],
    ['with a proxy that is none', ['a', '--proxy', 'socks://x'], /the proxy is not an http or https URL/],
    [
      'with a credential for another location',
      ['a', '--authorization', 'https://x=/f'],
      /no --from has the location https:\/\/x of --authorization/,
    ],
    ['with authorities that are not there', ['a', '--ca', '/nowhere'], /there is no file \/nowhere/],
  ] as const) {
    test(`reports a usage error ${what}`, async () => {
      const { status, stdout, stderr } = await fetch([join(scratch, 'site')], words);
      assert.notEqual(status, 0);
      assert.deepEqual(stdout, ['']);
      assert.match(stderr.join('\n'), message);
    });
  }

  test('verify reports how each file is proven', async () => {
    const file = join(scratch, 'site/site/a.yaml');
    const key = ['--key', join(scratch, 'publisher.pem'), '--trust-directory', join(scratch, 'none')];
    const listed = await commandLine('verify', file, ...key);
    assert.equal(
      listed.stdout,
      `verified ${file}  ${digestOf(file)}  by ${join(scratch, 'site/site/SHA256SUMS')}, signed by ${publisher.keyId}\n`,
    );
    const digest = await commandLine('verify', file, '--sha256', digestOf(file), ...key, '-o', 'json');
    const { kind, verified, files } = JSON.parse(digest.stdout);
    assert.deepEqual(
      [kind, verified, files[0].path, files[0].by, files[0].signedBy],
      ['Verification', true, file, 'the digest given', undefined],
    );
    const wrong = await commandLine('verify', file, '--sha256', 'f'.repeat(64), ...key);
    assert.deepEqual([wrong.status, wrong.stdout], [21, '']);
    const archive = join(scratch, 'release', VERSION, `machineadm-${VERSION}-linux-amd64.gz`);
    const bundled = await commandLine(
      'verify',
      join(scratch, 'release', VERSION, 'SHA256SUMS'),
      '--bundle',
      join(scratch, 'release', VERSION, 'SHA256SUMS.sigstore.json'),
      ...key,
    );
    assert.match(bundled.stdout, /by \S+SHA256SUMS\.sigstore\.json, signed by /);
    const signed = await commandLine(
      'verify',
      join(scratch, 'release', VERSION, 'SHA256SUMS'),
      '--signature',
      join(scratch, 'release', VERSION, 'SHA256SUMS.sig'),
      ...key,
    );
    assert.match(signed.stdout, /by \S+SHA256SUMS\.sig, signed by /);
    const other = await commandLine('verify', archive, '--release', '1.4.3', ...key);
    assert.equal(other.status, 21);
  });
});
