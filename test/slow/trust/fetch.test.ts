import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type DirectoryOptions, signDirectory } from '../../../scripts/release.ts';
import { placeVerified } from '../../../src/host/local-files/release-files.ts';
import { agent as anyAgent } from '../../support/agent.ts';
import { newAuthority } from '../../support/api-server.ts';
import { attack } from '../../support/attacks.ts';
import { startServer, type TestServer } from '../../support/http-servers.ts';
import { needs } from '../../support/needs.ts';
import {
  flipped,
  isArchive,
  newKey,
  type ServedFile,
  serveRelease,
  signedAgain,
  type TestKey,
  type TestRelease,
  testRelease,
} from '../../support/release.ts';

const VERSION = '1.4.2';
const OLDER = '1.3.0';

describe('machineadm fetch and verify', { skip: needs('xz'), timeout: 900_000 }, () => {
  let scratch = '';
  let publisher: TestKey;
  let stranger: TestKey;
  let release: TestRelease;
  let older: TestRelease;
  const authority = newAuthority();
  const identity = authority.issue('mirror', ['127.0.0.1']);

  before(async () => {
    scratch = mkdtempSync(join(tmpdir(), 'machineadm-fetch-'));
    [publisher, stranger] = [newKey(), newKey()];
    release = await testRelease(scratch, VERSION, publisher);
    older = await testRelease(scratch, OLDER, publisher);
    await testRelease(join(scratch, 'foreign'), VERSION, stranger);
    writeFileSync(join(scratch, 'publisher.pem'), publisher.pem);
    writeFileSync(join(scratch, 'ca.pem'), authority.certificate);
  });
  after(() => rmSync(scratch, { recursive: true, force: true }));

  function mirror(change?: (file: string) => ServedFile | undefined, tls = false): Promise<TestServer> {
    return serveRelease(release, change, tls ? identity : undefined);
  }

  const to = (): string => join(mkdtempSync(join(scratch, 'to-')), 'mirror');

  interface Options {
    readonly directory?: string;
    readonly key?: string;
    readonly trust?: string;
    /** Short where no location will answer. */
    readonly deadline?: string;
    readonly memory?: string;
    readonly more?: readonly string[];
  }

  async function fetch(locations: readonly string[], options: Options = {}) {
    const {
      directory = to(),
      key = join(scratch, 'publisher.pem'),
      trust = join(scratch, 'none'),
      deadline = '2m',
      memory = newMemory(),
      more = [],
    } = options;
    const from = locations.flatMap((location) => ['--from', location]);
    const words = [
      '--release',
      VERSION,
      '--to',
      directory,
      '--key',
      key,
      '--trust-directory',
      trust,
      '--memory',
      memory,
    ];
    const run = await agent(['fetch', ...from, ...words, '--deadline', deadline, '-o', 'json', ...more]);
    return { ...run, directory, answer: JSON.parse(run.stdout), files: filesBelow(directory) };
  }

  function filesBelow(directory: string): string[] {
    if (!existsSync(directory)) return [];
    return readdirSync(directory, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => name)
      .sort();
  }

  /** Refused with exit 21 and this reason, and nothing is kept under any name of `never`. */
  function refused(run: Awaited<ReturnType<typeof fetch>>, reason: string, never: RegExp = /./): void {
    assert.deepEqual([run.status, run.answer.error?.reason], [21, reason], run.stderr);
    assert.deepEqual(
      run.files.filter((name) => never.test(name)),
      [],
    );
    assert.ok(run.answer.error.remedy.length > 20);
  }

  /** The agent, with a memory of its own for each `fetch` that names none. */
  function agent(words: readonly string[], options?: Parameters<typeof anyAgent>[1]) {
    const memory = words.includes('--memory') || words[0] !== 'fetch' ? [] : ['--memory', newMemory()];
    return anyAgent([...words, ...memory], options);
  }

  const newMemory = (): string => join(mkdtempSync(join(scratch, 'memory-')), 'trust.json');

  const ARCHIVES = /\.(gz|xz)$|^SHA256SUMS/;

  describe('of a release', () => {
    test('makes a mirror, which is a place to fetch from, and a second run changes nothing', async () => {
      await using server = await mirror();
      const first = await fetch([server.url]);
      assert.equal(first.status, 0, first.stderr);
      assert.deepEqual(first.files, [...release.files.keys()].sort());
      assert.equal(first.answer.signedBy, publisher.keyId);
      const before = statSync(join(first.directory, VERSION, 'SHA256SUMS')).mtimeMs;
      const second = await fetch([server.url], { directory: first.directory });
      assert.ok(second.answer.files.every(({ changed }: { changed: boolean }) => !changed));
      assert.equal(statSync(join(first.directory, VERSION, 'SHA256SUMS')).mtimeMs, before);
      const third = await fetch([first.directory]);
      assert.deepEqual([third.status, third.files], [0, first.files]);
    });

    test('takes the archives and packages of the platforms asked for, and what is for all', async () => {
      const run = await fetch([join(scratch, 'release')], { more: ['--platform', 'linux-arm64'] });
      assert.deepEqual(
        run.files.filter((name) => isArchive(name)),
        [`machineadm-${VERSION}-linux-arm64.gz`, `machineadm-${VERSION}-linux-arm64.xz`],
      );
      assert.deepEqual(
        run.files.filter((name) => name.endsWith('.deb')),
        [`machineadm_${VERSION}_arm64.deb`],
      );
      assert.ok(run.files.includes('LICENSES.txt'));
    });

    test('takes a container image for each platform that it holds, and for no other', async () => {
      const { directory, files } = await testRelease(join(scratch, 'image'), VERSION, publisher, { image: true });
      const image = `machineadm-${VERSION}-image-linux.tar`;
      assert.ok(files.has(image));
      for (const [platform, kept] of [
        [undefined, [image]],
        ['linux-arm64', [image]],
        ['windows-amd64', []],
      ] as const) {
        const run = await fetch(
          [join(directory, '..')],
          platform === undefined ? {} : { more: ['--platform', platform] },
        );
        assert.equal(run.status, 0, run.stderr);
        assert.deepEqual(
          run.files.filter((name) => name.endsWith('.tar')),
          kept,
        );
      }
    });

    test('takes and proves a file above 64 MiB only where the signed manifest names its size', async () => {
      const { directory, manifest } = await testRelease(join(scratch, 'large'), VERSION, publisher);
      const large = Buffer.alloc(64 * 1024 * 1024 + 1);
      const platform = { os: 'linux', architecture: 'amd64' };
      const sized = { file: 'large.tar', format: 'oci', ...platform, size: large.length };
      const packages = [{ ...sized, sha256: createHash('sha256').update(large).digest('hex') }];
      const verify = () => {
        const words = ['--trust-directory', join(scratch, 'none'), '--key', join(scratch, 'publisher.pem')];
        return agent(['verify', ...words, join(directory, 'large.tar')]);
      };
      const publish = (manifest: object) =>
        signedAgain(directory, publisher, {
          'large.tar': large,
          'manifest.json': Buffer.from(JSON.stringify(manifest)),
        });
      await publish({ ...manifest, packages });
      const run = await fetch([join(directory, '..')]);
      assert.deepEqual([run.status, run.files.includes('large.tar')], [0, true], run.stderr);
      assert.equal((await verify()).status, 0);
      rmSync(run.directory, { recursive: true });

      await publish(manifest);
      refused(await fetch([join(directory, '..')]), 'DigestMismatch', /^large|^SHA256SUMS/);
      const unproved = await verify();
      assert.equal(unproved.status, 21);
      assert.match(unproved.stderr, /large\.tar is larger than it may be \(67108864 bytes\) \[DigestMismatch\]/);
    });

    test(
      'refuses a file with a flipped bit',
      attack('Releases and documents', 'a bit of a release is flipped', async () => {
        await using server = await mirror((file) =>
          isArchive(file) ? { body: flipped(release.files.get(file) ?? Buffer.alloc(0)) } : undefined,
        );
        refused(await fetch([server.url]), 'DigestMismatch', ARCHIVES);
        return 1;
      }),
    );

    test(
      'refuses a truncated archive, also where the server claims more',
      attack('Releases and documents', 'half an archive is served as the whole', async () => {
        const half = (file: string) => release.files.get(file)?.subarray(0, 50) ?? Buffer.alloc(0);
        await using short = await mirror((file) => (isArchive(file) ? { body: half(file) } : undefined));
        refused(await fetch([short.url]), 'DigestMismatch', ARCHIVES);
        await using broken = await mirror((file) =>
          isArchive(file) ? { body: half(file), headers: { 'content-length': '90', connection: 'close' } } : undefined,
        );
        const run = await fetch([broken.url], { deadline: '3s' });
        assert.deepEqual([run.status, run.answer.error.reason], [4, 'ReleaseUnavailable']);
        assert.deepEqual(
          run.files.filter((name) => ARCHIVES.test(name)),
          [],
        );
        return 2;
      }),
    );

    test(
      'refuses more bytes than the signed size, without waiting for their end',
      attack('Releases and documents', 'a release with more bytes than were signed for', async () => {
        await using server = await mirror((file) => (isArchive(file) ? { body: Buffer.alloc(100_000) } : undefined));
        refused(await fetch([server.url]), 'DigestMismatch', ARCHIVES);
        return 1;
      }),
    );

    test(
      'refuses a release that an unknown key signed',
      attack('Releases and documents', 'a release that a stranger signed', async () => {
        refused(await fetch([join(scratch, 'foreign', 'release')]), 'SignatureInvalid');
        return 1;
      }),
    );

    test(
      'refuses the signature of another file',
      attack('Releases and documents', 'the signature of another file', async () => {
        const other = await publisher.sign(release.files.get('manifest.json') ?? Buffer.alloc(0));
        await using server = await mirror((file) =>
          file === 'SHA256SUMS.sig' ? { body: Buffer.from(other) } : undefined,
        );
        refused(await fetch([server.url]), 'SignatureInvalid');
        return 1;
      }),
    );

    test(
      'stores no bundle either that is not in the list',
      attack('Releases and documents', 'a bundle that is not of the list (mix and match)', async () => {
        await using server = await mirror((file) =>
          file.endsWith('.json') && file !== 'manifest.json' ? { body: '{}' } : undefined,
        );
        refused(await fetch([server.url]), 'SignatureInvalid', /^SHA256SUMS/);
        return 1;
      }),
    );

    test(
      'refuses an older release replayed under the name of this one',
      attack('Releases and documents', 'an older release under the name of a newer one (rollback)', async () => {
        await using server = await mirror((file) => ({ body: older.files.get(file.replace(VERSION, OLDER)) ?? '' }));
        refused(await fetch([server.url]), 'ReleaseVersionMismatch');
        return 1;
      }),
    );

    test(
      'refuses a release older than this machine, or its mirror, allows',
      attack(
        'Releases and documents',
        'a release below the minimum version of the machine or its mirror (rollback)',
        async () => {
          const trust = mkdtempSync(join(scratch, 'trust-'));
          writeFileSync(join(trust, 'minimum-version'), '# since the advisory\n2.0.0\n');
          refused(await fetch([join(scratch, 'release')], { trust }), 'ReleaseTooOld');
          const next = await testRelease(join(scratch, 'next'), '2.0.0', publisher, { minimumVersion: '2.0.0' });
          const directory = to();
          const first = await agent([
            'fetch',
            '--release',
            '2.0.0',
            '--from',
            join(next.directory, '..'),
            '--to',
            directory,
            '--key',
            join(scratch, 'publisher.pem'),
          ]);
          assert.equal(first.status, 0, first.stderr);
          const run = await fetch([join(scratch, 'release')], { directory });
          assert.deepEqual([run.status, run.answer.error.reason], [21, 'ReleaseTooOld']);
          assert.ok(!existsSync(join(directory, VERSION)));
          return 2;
        },
      ),
    );

    test(
      'follows no redirect from https to http',
      attack('Releases and documents', 'a redirect from https to http', async () => {
        await using open = await mirror();
        await using server = await mirror(
          (file) => ({ status: 302, headers: { location: `${open.url}/${VERSION}/${file}` } }),
          true,
        );
        refused(await fetch([server.url], { more: ['--ca', join(scratch, 'ca.pem')] }), 'RedirectRefused');
        assert.deepEqual(open.requests, []);
        return 1;
      }),
    );

    test(
      'reports a web page in the place of a file',
      attack('Releases and documents', 'a web page instead of a file', async () => {
        await using server = await mirror(() => ({ body: '<!DOCTYPE html><title>Welcome to the hotel</title>' }));
        refused(await fetch([server.url]), 'WebPageReceived');
        await using later = await mirror((file) => (isArchive(file) ? { body: '<html>Sign in</html>' } : undefined));
        refused(await fetch([later.url]), 'WebPageReceived', ARCHIVES);
        return 2;
      }),
    );

    test(
      'takes the second location when the first serves bad data, and says so',
      attack('Releases and documents', 'a mirror that serves other bytes', async () => {
        await using liar = await mirror((file) => (isArchive(file) ? { body: 'something else' } : undefined));
        await using honest = await mirror();
        const run = await fetch([liar.url, honest.url]);
        assert.deepEqual([run.status, run.answer.from], [0, honest.url], run.stderr);
        assert.match(run.stderr, /is not the file that is known.*\[DigestMismatch\]/);
        return 1;
      }),
    );

    test('reports why each location failed', async () => {
      const run = await fetch(['http://127.0.0.1:1', join(scratch, 'nothing')], { deadline: '3s' });
      assert.deepEqual([run.status, run.answer.error.reason], [4, 'ReleaseUnavailable']);
      assert.deepEqual(
        run.answer.error.evidence.map(({ source }: { source: string }) => source),
        ['http://127.0.0.1:1', join(scratch, 'nothing')],
      );
    });

    test('accepts an expired key with a warning', async () => {
      const key = join(scratch, 'expired.pem');
      writeFileSync(key, `not-after: 2020-12-31\n${publisher.pem}`);
      const run = await fetch([join(scratch, 'release')], { key });
      assert.equal(run.status, 0);
      assert.ok(run.stderr.includes(`warning: the signing key ${publisher.keyId} `), run.stderr);
      assert.match(run.stderr, /warning: the signing key .* expired on 2020-12-31/);
    });

    test(
      'refuses a revoked key, on this machine or by a newer release in the mirror',
      attack('Releases and documents', 'a release signed by a revoked key', async () => {
        const trust = mkdtempSync(join(scratch, 'trust-'));
        writeFileSync(join(trust, 'revoked'), `${publisher.keyId}\n`);
        refused(await fetch([join(scratch, 'release')], { trust }), 'SigningKeyRevoked');

        const both = join(scratch, 'both.pem');
        writeFileSync(both, publisher.pem + stranger.pem);
        const next = { minimumVersion: OLDER, revokedKeys: [publisher.keyId] };
        await testRelease(join(scratch, 'rotated'), '1.5.0', stranger, next);
        const directory = to();
        const place = ['--from', join(scratch, 'rotated', 'release'), '--to', directory];
        const first = await agent(['fetch', '--release', '1.5.0', ...place, '--key', both]);
        assert.equal(first.status, 0, first.stderr);
        const run = await fetch([join(scratch, 'release')], { directory, key: both });
        assert.deepEqual([run.status, run.answer.error.reason], [21, 'SigningKeyRevoked']);
        return 2;
      }),
    );

    test('works with the clock at 1970 where no certificate needs it', async () => {
      const key = join(scratch, 'expires.pem');
      writeFileSync(key, `not-after: 2031-12-31\n${publisher.pem}`);
      const wish = ['--release', VERSION, '--from', join(scratch, 'release'), '--to', to(), '--key', key];
      const clock = join(scratch, 'clock.cjs');
      writeFileSync(
        clock,
        'const D = Date; globalThis.Date = class extends D { constructor(...a) { a.length ? super(...a) : super(0); } static now() { return 0; } };',
      );
      const run = await agent(['fetch', ...wish], { env: { NODE_OPTIONS: `--require ${clock}` } });
      assert.deepEqual([run.status, run.stderr], [0, '']);
    });

    test(
      'sends the credential of a location to it alone',
      attack('Releases and documents', 'a redirect to a server that wants the credential of another', async () => {
        const seen: (string | undefined)[] = [];
        await using other = await startServer(({ headers, url = '' }) => {
          seen.push(headers.authorization);
          return { body: release.files.get(url.slice(VERSION.length + 2)) ?? '' };
        }, identity);
        await using server = await startServer(({ headers, url = '' }) => {
          assert.equal(headers.authorization, 'Bearer of-this-machine');
          return { status: 302, headers: { location: `${other.url}${url}` } };
        }, identity);
        const file = join(scratch, 'credential');
        writeFileSync(file, 'Authorization: Bearer of-this-machine\n', { mode: 0o600 });
        const more = ['--ca', join(scratch, 'ca.pem'), '--authorization', `${server.url}=${file}`];
        const run = await fetch([server.url], { more });
        assert.equal(run.status, 0, run.stderr);
        assert.ok(seen.length > 0 && seen.every((header) => header === undefined));
        assert.ok(!`${run.stdout}${run.stderr}`.includes('of-this-machine'));
        return 1;
      }),
    );

    test('refuses a release when no trusted key is named', async () => {
      const run = await agent([
        'fetch',
        '--release',
        VERSION,
        '--from',
        join(scratch, 'release'),
        '--to',
        to(),
        '--trust-directory',
        join(scratch, 'none'),
      ]);
      assert.equal(run.status, 4);
      assert.match(run.stderr, /no key is trusted \[TrustedKeyInvalid\]/);
    });
  });

  describe('of documents and archives of images', () => {
    let directory = '';
    before(async () => {
      directory = join(scratch, 'images');
      mkdirSync(directory);
      writeFileSync(join(directory, 'kubernetes.tar'), 'an archive of images');
      writeFileSync(join(directory, 'bootstrap.yaml'), 'kind: MachineBootstrap\n');
      await signDirectory(directory, {}, publisher);
    });

    const words = (where: string) => ['--to', where, '--key', join(scratch, 'publisher.pem')];

    test('are fetched by the signed list beside them', async () => {
      const where = to();
      const run = await agent([
        'fetch',
        'images/kubernetes.tar',
        'images/bootstrap.yaml',
        '--from',
        scratch,
        ...words(where),
      ]);
      assert.equal(run.status, 0, run.stderr);
      assert.deepEqual(filesBelow(where), ['bootstrap.yaml', 'kubernetes.tar']);
    });

    test('or by a digest, which needs no key', async () => {
      const digest = '5c7a2c9b'.repeat(8);
      const where = to();
      const run = await agent(['fetch', 'images/bootstrap.yaml', '--sha256', digest, '--from', scratch, '--to', where]);
      assert.equal(run.status, 21);
      assert.match(run.stderr, /\[DigestMismatch\]/);
      assert.deepEqual(filesBelow(where), []);
    });

    test('and are refused where the list does not name them, or names another', async () => {
      writeFileSync(join(directory, 'added-later.tar'), 'not signed');
      const where = to();
      const unknown = await agent(['fetch', 'images/added-later.tar', '--from', scratch, ...words(where)]);
      assert.deepEqual([unknown.status, filesBelow(where)], [21, []]);
      assert.match(unknown.stderr, /has no added-later\.tar \[DigestMismatch\]/);
    });

    test('all that a list names, and the list, make a mirror of it', async () => {
      await signDirectory(directory, {}, publisher);
      const where = to();
      const run = await agent(['fetch', 'images/', '--from', scratch, ...words(where)]);
      assert.equal(run.status, 0, run.stderr);
      const names = [
        'SHA256SUMS',
        'SHA256SUMS.sig',
        'SHA256SUMS.signatures.json',
        'SHA256SUMS.sigstore.json',
        'added-later.tar',
        'bootstrap.yaml',
        'directory.json',
        'kubernetes.tar',
      ];
      assert.deepEqual(readdirSync(join(where, 'images')).sort(), names);
      // Each is reported once, though the list names directory.json, too.
      const again = await agent(['fetch', 'images/', '--from', scratch, '-o', 'json', ...words(to())]);
      const reported: { files: readonly { path: string }[] } = JSON.parse(again.stdout);
      assert.deepEqual(reported.files.map(({ path }) => basename(path)).sort(), names);
      const next = await agent(['fetch', 'images/kubernetes.tar', '--from', where, ...words(to())]);
      assert.equal(next.status, 0, next.stderr);
    });

    test(
      'and nobody else may write to what a fetch makes, whatever the umask',
      attack('Releases and documents', 'a fetch under a umask of 000', async () => {
        await signDirectory(directory, {}, publisher);
        const wrapper = ['sh', '-c', 'umask 000; exec "$@"', 'sh'];
        const made: string[] = [];
        for (const what of [
          ['--release', VERSION, '--from', join(scratch, 'release')],
          ['images/', '--from', scratch],
        ]) {
          const below = mkdtempSync(join(scratch, 'umask-'));
          const memory = join(below, 'state/machineadm/trust.json');
          const place = [...words(join(below, 'srv/mirror')), '--memory', memory];
          const run = await agent(['fetch', ...what, ...place], { wrapper });
          assert.equal(run.status, 0, run.stderr);
          assert.ok(existsSync(memory), 'what was verified is remembered');
          made.push(...readdirSync(below, { recursive: true }).map((name) => join(below, String(name))));
        }
        const open = made.filter((path) => (statSync(path).mode & 0o022) !== 0);
        assert.deepEqual(open, []);
        for (const kind of ['isFile', 'isDirectory'] as const) assert.ok(made.some((path) => statSync(path)[kind]()));
        return made.length;
      }),
    );

    /** A mirror of signed directories: their files by path below it. */
    async function signed(place: string, version: number, wish: DirectoryOptions = {}, ...keys: TestKey[]) {
      const made = join(mkdtempSync(join(scratch, 'signed-')), ...place.split('/'));
      mkdirSync(made, { recursive: true });
      writeFileSync(join(made, 'bootstrap.yaml'), `version: ${version}\n`);
      await signDirectory(made, { place, version, ...wish }, publisher, ...keys);
      return made.slice(0, -place.length - 1);
    }

    async function take(from: string, name: string, memory: string, more: readonly string[] = []) {
      const where = to();
      const run = await agent([
        'fetch',
        name,
        '--from',
        from,
        '--memory',
        memory,
        '-o',
        'json',
        ...words(where),
        ...more,
      ]);
      return { ...run, reason: JSON.parse(run.stdout).error?.reason, files: filesBelow(where) };
    }

    test(
      'are not taken from an older signed list than was seen, nor from another list of that version',
      attack(
        'Releases and documents',
        'an older list, or another list of the same version, of documents (rollback)',
        async () => {
          const memory = newMemory();
          const [first, second] = [await signed('images', 1), await signed('images', 2)];
          for (const mirror of [first, second, second]) {
            const run = await take(mirror, 'images/bootstrap.yaml', memory);
            assert.deepEqual([run.status, run.files], [0, ['bootstrap.yaml']], run.stderr);
          }
          const other = await signed('images', 2, { createdAt: new Date(0) });
          for (const mirror of [first, other]) {
            const run = await take(mirror, 'images/bootstrap.yaml', memory);
            assert.deepEqual([run.status, run.reason, run.files], [21, 'RolledBack', []], run.stderr);
          }
          // Another key's list of the place does not fall below the first's either.
          writeFileSync(join(scratch, 'two.pem'), publisher.pem + stranger.pem);
          const strangers = join(mkdtempSync(join(scratch, 'signed-')), 'images');
          mkdirSync(strangers);
          writeFileSync(join(strangers, 'bootstrap.yaml'), 'x');
          await signDirectory(strangers, { version: 1 }, stranger);
          const run = await take(join(strangers, '..'), 'images/bootstrap.yaml', memory, [
            '--key',
            join(scratch, 'two.pem'),
          ]);
          assert.deepEqual([run.status, run.reason], [21, 'RolledBack']);
          return 3;
        },
      ),
    );

    test(
      'are not taken from the list of another directory, of a release, or of none',
      attack('Releases and documents', 'the signed list of another directory, or of a release (exchange)', async () => {
        const mirror = await signed('site/images', 1);
        const put = (place: string): void => {
          cpSync(join(mirror, 'site/images'), join(mirror, place), { recursive: true });
        };
        for (const place of ['site/documents', 'images', 'xsite/images']) {
          put(place);
          const run = await take(mirror, `${place}/bootstrap.yaml`, newMemory());
          assert.deepEqual([place, run.status, run.reason, run.files], [place, 21, 'WrongPlace', []]);
        }
        assert.equal((await take(join(mirror, 'site'), 'images/bootstrap.yaml', newMemory())).status, 0);
        const ofRelease = await take(join(scratch, 'release'), `${VERSION}/LICENSES.txt`, newMemory());
        assert.deepEqual([ofRelease.status, ofRelease.reason, ofRelease.files], [21, 'WrongPlace', []]);
        return 4;
      }),
    );

    test(
      'are not taken once their list has expired; a clock from before the signing cannot tell',
      attack('Releases and documents', 'a list that has expired (freeze)', async () => {
        const day = 86_400_000;
        const lasting = await signed('images', 1, { expiresAt: new Date(Date.now() + day) });
        assert.equal((await take(lasting, 'images/bootstrap.yaml', newMemory())).status, 0);
        const past = { createdAt: new Date(Date.now() - 2 * day), expiresAt: new Date(Date.now() - day) };
        const run = await take(await signed('images', 1, past), 'images/bootstrap.yaml', newMemory());
        assert.deepEqual([run.status, run.reason, run.files], [21, 'SignatureExpired', []]);
        const future = { createdAt: new Date(Date.now() + day), expiresAt: new Date(Date.now() + 2 * day) };
        const early = await take(await signed('images', 1, future), 'images/bootstrap.yaml', newMemory());
        assert.equal(early.status, 0);
        assert.match(early.stderr, /its expiry was not checked/);
        return 1;
      }),
    );

    test(
      'are not taken by a key that a release or directory revoked before, wherever that was',
      attack('Releases and documents', 'documents signed by a key that was revoked elsewhere', async () => {
        const memory = newMemory();
        const both = join(scratch, 'both-keys.pem');
        writeFileSync(both, publisher.pem + stranger.pem);
        const release = { minimumVersion: OLDER, revokedKeys: [publisher.keyId] };
        const rotated = await testRelease(join(scratch, 'revoking'), '1.5.0', stranger, release);
        const fetched = ['--from', join(rotated.directory, '..'), '--to', to(), '--key', both, '--memory', memory];
        assert.equal((await agent(['fetch', '--release', '1.5.0', ...fetched])).status, 0);
        const more = ['--key', both];
        const run = await take(await signed('images', 1), 'images/bootstrap.yaml', memory, more);
        assert.deepEqual([run.status, run.reason, run.files], [21, 'SigningKeyRevoked', []]);
        // A mirror on a disk says so itself, to a machine that has seen nothing.
        const mirror = await signed('images', 1);
        cpSync(rotated.directory, join(mirror, '1.5.0'), { recursive: true });
        const fresh = await take(mirror, 'images/bootstrap.yaml', newMemory(), more);
        assert.deepEqual([fresh.status, fresh.reason], [21, 'SigningKeyRevoked']);
        return 2;
      }),
    );

    test(
      'are taken with as many signatures as this machine demands, and not with one key twice',
      attack('Releases and documents', 'too few signatures, or two by one key (threshold)', async () => {
        const trust = mkdtempSync(join(scratch, 'trust-'));
        writeFileSync(join(trust, 'threshold'), '2\n');
        writeFileSync(join(trust, 'keys.pem'), publisher.pem + stranger.pem);
        const more = ['--trust-directory', trust];
        const one = await take(await signed('images', 1), 'images/bootstrap.yaml', newMemory(), more);
        assert.deepEqual([one.status, one.reason, one.files], [21, 'TooFewSignatures', []]);
        const twice = await take(await signed('images', 1, {}, publisher), 'images/bootstrap.yaml', newMemory(), more);
        assert.deepEqual([twice.status, twice.reason], [21, 'TooFewSignatures']);
        const two = await take(await signed('images', 1, {}, stranger), 'images/bootstrap.yaml', newMemory(), more);
        assert.deepEqual([two.status, two.files], [0, ['bootstrap.yaml']], two.stderr);
        return 2;
      }),
    );

    test(
      'are not taken while the memory is damaged',
      attack('Releases and documents', 'the memory of seen versions is damaged', async () => {
        const memory = newMemory();
        writeFileSync(memory, '{"apiVersion":');
        const run = await take(await signed('images', 1), 'images/bootstrap.yaml', memory);
        assert.deepEqual([run.status, run.reason, run.files], [4, 'TrustedKeyInvalid', []]);
        return 1;
      }),
    );

    test(
      'nor is a name followed out of the location',
      attack('Releases and documents', 'a name that leads out of the location', async () => {
        const run = await agent(['fetch', '../etc/passwd', '--from', scratch, ...words(to())]);
        assert.equal(run.status, 2);
        assert.match(run.stderr, /is not a plain name \[DownloadInvalid\]/);
        return 1;
      }),
    );
  });

  describe('verify', () => {
    const verify = (...words: string[]) =>
      agent(['verify', '--trust-directory', join(scratch, 'none'), '--key', join(scratch, 'publisher.pem'), ...words]);

    test('proves all of a release, and the program that was in it', async () => {
      const all = readdirSync(release.directory).map((name) => join(release.directory, name));
      assert.equal((await verify(...all)).status, 0);
      const installed = join(scratch, `built-${VERSION}`, 'machineadm-linux-amd64');
      const run = await verify('--list', join(release.directory, 'SHA256SUMS'), '-o', 'json', installed);
      assert.match(JSON.parse(run.stdout).files[0].by, /^machineadm-1\.4\.2-linux-amd64\.gz of /);
    });

    test('changes nothing', async () => {
      const state = () =>
        readdirSync(release.directory).map((name) => [name, statSync(join(release.directory, name)).ctimeMs]);
      const before = state();
      assert.equal((await verify(join(release.directory, 'manifest.json'))).status, 0);
      assert.deepEqual(state(), before);
    });

    test(
      'refuses a file that was changed, of another release, or not of this one',
      attack('Releases and documents', 'verify is given a changed, foreign or unlisted file', async () => {
        const copy = mkdtempSync(join(scratch, 'copy-'));
        for (const [name, bytes] of release.files) writeFileSync(join(copy, name), bytes);
        const archive = join(copy, `machineadm-${VERSION}-linux-amd64.gz`);
        writeFileSync(archive, flipped(readFileSync(archive)));
        const changed = await verify(archive);
        assert.deepEqual([changed.status, /\[DigestMismatch\]/.test(changed.stderr)], [21, true]);
        const other = await verify('--release', OLDER, join(copy, 'manifest.json'));
        assert.deepEqual([other.status, /\[ReleaseVersionMismatch\]/.test(other.stderr)], [21, true]);
        writeFileSync(join(copy, 'stowaway'), 'x');
        const stowaway = await verify(join(copy, 'stowaway'));
        assert.deepEqual([stowaway.status, /has neither stowaway/.test(stowaway.stderr)], [21, true]);
        return 3;
      }),
    );

    test(
      'takes a detached signature of openssl or cosign',
      attack('Releases and documents', 'a file is exchanged beside its detached signature', async () => {
        const [document, signature] = [join(scratch, 'document.yaml'), join(scratch, 'document.sig')];
        writeFileSync(document, 'kind: MachineBootstrap\n');
        writeFileSync(signature, await publisher.sign(readFileSync(document)));
        assert.equal((await verify('--signature', signature, document)).status, 0);
        writeFileSync(document, 'kind: Trojan\n');
        const run = await verify('--signature', signature, document);
        assert.deepEqual([run.status, /\[SignatureInvalid\]/.test(run.stderr)], [21, true]);
        return 1;
      }),
    );

    test(
      'believes a bundle about nothing but its signature',
      attack('Releases and documents', 'a bundle with a forged digest', async () => {
        const list = join(release.directory, 'SHA256SUMS');
        const bundle = join(release.directory, 'SHA256SUMS.sigstore.json');
        assert.equal((await verify('--bundle', bundle, list)).status, 0);
        const forged = JSON.parse(readFileSync(bundle, 'utf8'));
        const other = join(scratch, 'forged.json');
        forged.messageSignature.messageDigest.digest = Buffer.alloc(32).toString('base64');
        writeFileSync(other, JSON.stringify(forged));
        const run = await verify('--bundle', other, list);
        assert.match(run.stderr, /belongs to another file \[SignatureInvalid\]/);
        return 1;
      }),
    );

    test('needs a key, or a digest', async () => {
      const run = await agent([
        'verify',
        '--trust-directory',
        join(scratch, 'none'),
        join(release.directory, 'manifest.json'),
      ]);
      assert.deepEqual([run.status, /\[TrustedKeyInvalid\]/.test(run.stderr)], [4, true]);
    });
  });

  test(
    'a file that was replaced between its verification and its rename is detected, and removed',
    attack('Releases and documents', 'a program is swapped between verification and its name', async () => {
      const directory = mkdtempSync(join(scratch, 'swap-'));
      const path = join(directory, 'machineadm');
      const swapped = async function* () {
        yield Buffer.from('what was verified');
      };
      const swap = (): void => {
        const [temporary = ''] = readdirSync(directory);
        writeFileSync(join(directory, temporary), 'what an attacker wrote');
      };
      await assert.rejects(placeVerified(path, swapped(), swap), { reason: 'VerifiedFileChanged' });
      assert.deepEqual(readdirSync(directory), []);
      return 1;
    }),
  );
});
