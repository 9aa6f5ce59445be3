import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import {
  type DownloadDigests,
  type DownloadScript,
  renderDownloadScript,
} from '@machineadm/user-data/download-script.ts';
import { newAuthority } from '../../support/api-server.ts';
import { attack } from '../../support/attacks.ts';
import { startServer, type TestServer } from '../../support/http-servers.ts';
import { needs } from '../../support/needs.ts';
import {
  askingOnce,
  flipped,
  isArchive,
  newKey,
  program,
  type ServedFile,
  serveRelease,
  signedAgain,
  type TestKey,
  type TestRelease,
  testRelease,
} from '../../support/release.ts';

const VERSION = '1.4.2';
const OLDER = '1.3.0';
/** What the script finds in its PATH besides a downloader. */
const TOOLS =
  'sh cat head cut sha256sum tail date wc tr id uname find mktemp mkdir rm mv chmod sleep od gzip xz sync timeout dd openssl sed fold grep';

function where(name: string): string | undefined {
  return ['/usr/bin', '/bin', '/usr/sbin', '/sbin'].map((directory) => join(directory, name)).find(existsSync);
}

/** The script installs for root only. */
const skip = needs('root', 'x86-64', 'busybox', 'shellcheck', 'curl', 'python3', 'wget', 'xz', 'openssl');

describe('the download script', { skip, timeout: 900_000 }, () => {
  let scratch = '';
  let publisher: TestKey;
  let stranger: TestKey;
  let release: TestRelease;
  let older: TestRelease;
  let foreign: TestRelease;
  let second: TestKey;
  /** Signed with two keys. */
  let both: TestRelease;
  const authority = newAuthority();
  const identity = authority.issue('mirror', ['127.0.0.1']);

  before(async () => {
    scratch = mkdtempSync(join(tmpdir(), 'machineadm-download-'));
    [publisher, stranger, second] = [newKey(), newKey(), newKey()];
    release = await testRelease(scratch, VERSION, publisher);
    older = await testRelease(scratch, OLDER, publisher);
    foreign = await testRelease(join(scratch, 'foreign'), VERSION, stranger);
    both = await testRelease(join(scratch, 'both'), VERSION, publisher, { alsoSignedBy: [second] });
    for (const [downloader, program] of [
      ['curl', 'curl'],
      ['python3', 'python3'],
      ['wget', 'wget'],
    ] as const) {
      const bin = join(scratch, 'path', downloader);
      mkdirSync(bin, { recursive: true });
      for (const name of [...TOOLS.split(' '), program]) symlinkSync(where(name) ?? '', join(bin, name));
    }
    const busybox = join(scratch, 'path', 'busybox');
    mkdirSync(busybox, { recursive: true });
    const applets = spawnSync('busybox', ['--list'], { encoding: 'utf8' }).stdout.split('\n');
    for (const name of TOOLS.split(' ').concat('wget')) {
      const tool = applets.includes(name) ? where('busybox') : where(name);
      symlinkSync(tool ?? '', join(busybox, name));
    }
  });
  after(() => rmSync(scratch, { recursive: true, force: true }));

  function digests(of: TestRelease = release): Partial<Record<'amd64', DownloadDigests>> {
    const [gzip, xz] = ['gzip', 'xz'].map((kind) =>
      of.manifest.artefacts.find(({ architecture, compression }) => architecture === 'amd64' && compression === kind),
    );
    assert.ok(gzip !== undefined && xz !== undefined);
    return { amd64: { gzip: gzip.sha256, xz: xz.sha256, program: gzip.program.sha256 } };
  }

  function mirror(change?: (file: string) => ServedFile | undefined, tls = false): Promise<TestServer> {
    return serveRelease(release, change, tls ? identity : undefined);
  }

  interface Run {
    readonly status: number | null;
    readonly stdout: string;
    readonly stderr: string;
    /** What lies in the directory of installation afterwards. */
    readonly installed: readonly string[];
    readonly directory: string;
  }

  async function run(
    script: Partial<DownloadScript> & Pick<DownloadScript, 'locations'>,
    options: {
      readonly downloader?: string;
      readonly shell?: readonly string[];
      readonly change?: (text: string) => string;
      readonly directory?: string;
      readonly args?: readonly string[];
    } = {},
  ): Promise<Run> {
    const { downloader = 'curl', change = (text) => text, args = [] } = options;
    const directory = options.directory ?? mkdtempSync(join(scratch, 'bin-'));
    chmodSync(directory, 0o755);
    const text = renderDownloadScript({
      version: VERSION,
      deadlineSeconds: 60,
      certificateAuthorities: authority.certificate,
      directories: [directory],
      ...script,
    });
    const path = join(mkdtempSync(join(scratch, 'script-')), 'download.sh');
    const bin = join(scratch, 'path', downloader);
    const adapted = text.replace('PATH=/usr/sbin:/usr/bin:/sbin:/bin', `PATH=${bin}`);
    assert.notEqual(adapted, text);
    writeFileSync(path, change(adapted.replace('CONSOLE=/dev/console', 'CONSOLE=/dev/null')));
    const [shell = 'dash', ...flags] = options.shell ?? (downloader === 'busybox' ? ['busybox', 'sh'] : ['dash']);
    const child = spawn(shell, [...flags, path, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
    const [stdout, stderr] = [child.stdout, child.stderr].map(async (stream) => {
      const pieces: Buffer[] = [];
      for await (const piece of stream) pieces.push(piece);
      return Buffer.concat(pieces).toString();
    });
    const [status] = await once(child, 'exit');
    return {
      status,
      stdout: (await stdout) ?? '',
      stderr: (await stderr) ?? '',
      installed: existsSync(directory) ? readdirSync(directory) : [],
      directory,
    };
  }

  /** Refused with this status and these words; nothing is installed, and nothing of the attempt is left. */
  function refused(result: Run, status: number, words: RegExp): void {
    assert.deepEqual([result.status, result.installed], [status, []], result.stderr);
    assert.match(result.stderr, words);
    assert.match(result.stderr, new RegExp(`\\[${status}\\]\n`));
  }

  function installs(result: Run, output = ''): void {
    assert.deepEqual([result.status, result.installed], [0, ['machineadm']], result.stderr);
    assert.equal(result.stdout, output);
    assert.equal(readFileSync(join(result.directory, 'machineadm'), 'utf8'), program(VERSION));
  }

  test('is clean for shellcheck, whatever is rendered', () => {
    const texts = [
      readFileSync(join(import.meta.dirname, '../../../packaging/download/machineadm-download.sh'), 'utf8'),
      renderDownloadScript({
        version: VERSION,
        digests: digests(),
        locations: [{ url: 'https://mirror.example.com', authorizationFile: '/etc/x' }],
      }),
      renderDownloadScript({
        version: VERSION,
        keys: [publisher],
        revokedKeys: [stranger.publicKey],
        certificateAuthorities: authority.certificate,
        locations: [{ url: 'https://mirror.example.com', pinned: true }],
      }),
    ];
    for (const input of texts) {
      const { stdout, status } = spawnSync('shellcheck', ['--shell=sh', '-'], { input, encoding: 'utf8' });
      assert.deepEqual([status, stdout], [0, '']);
    }
  });

  test('refuses to run as it is in packaging, not rendered', () => {
    const script = join(import.meta.dirname, '../../../packaging/download/machineadm-download.sh');
    const { status, stderr } = spawnSync('dash', [script], { encoding: 'utf8' });
    assert.deepEqual([status, stderr], [64, 'machineadm-download: not rendered [64]\n']);
  });

  for (const downloader of ['curl', 'python3', 'wget', 'busybox']) {
    describe(`with ${downloader}`, () => {
      const go = (script: Parameters<typeof run>[0], options: Parameters<typeof run>[1] = {}) =>
        run(script, { downloader, ...options });

      test('installs what a digest pins, and runs it with the arguments', async () => {
        await using server = await mirror();
        installs(
          await go({ digests: digests(), locations: [server] }, { args: ['provision', '-d', 'a b'] }),
          'ran provision -d a b\n',
        );
      });

      test('installs what a trusted key signed', async () => {
        await using server = await mirror();
        installs(await go({ keys: [stranger, publisher], locations: [server] }));
      });

      test('installs from a directory', async () => {
        installs(await go({ digests: digests(), locations: [{ url: `file://${join(scratch, 'release')}` }] }));
      });

      test(
        'refuses a release with a flipped bit',
        attack(`Download script (${downloader})`, 'a bit of the archive is flipped', async () => {
          await using server = await mirror((file) =>
            isArchive(file) ? { body: flipped(release.files.get(file) ?? Buffer.alloc(0)) } : undefined,
          );
          refused(await go({ digests: digests(), locations: [server] }), 68, /has the SHA-256/);
          refused(await go({ keys: [publisher], locations: [server] }), 68, /has the SHA-256/);
          return 2;
        }),
      );

      test(
        'refuses a truncated archive that claims to be complete, and a transfer that breaks off',
        attack(`Download script (${downloader})`, 'half an archive is served as the whole', async () => {
          const half = (file: string) => release.files.get(file)?.subarray(0, 100) ?? Buffer.alloc(0);
          await using short = await mirror((file) => (isArchive(file) ? { body: half(file) } : undefined));
          refused(await go({ digests: digests(), locations: [short] }), 68, /has the SHA-256/);
          await using broken = await mirror((file) =>
            isArchive(file)
              ? { body: half(file), headers: { 'content-length': '100000', connection: 'close' } }
              : undefined,
          );
          const result = await go({ digests: digests(), locations: [broken] }, { change: askingOnce });
          // python3 and busybox take the end of the connection for the end of the file; then the digest tells.
          assert.ok(result.status === 67 || result.status === 68, result.stderr);
          assert.deepEqual(result.installed, []);
          return 2;
        }),
      );

      test(
        'refuses a release that an unknown key signed',
        attack(`Download script (${downloader})`, 'a release that a stranger signed', async () => {
          await using server = await mirror((file) => ({ body: foreign.files.get(file) ?? '' }));
          refused(await go({ keys: [publisher], locations: [server] }), 69, /signed by 0 of \d keys/);
          return 1;
        }),
      );

      test(
        'refuses the signature of another file',
        attack(`Download script (${downloader})`, 'the signature of another file', async () => {
          const other = await publisher.sign(release.files.get('manifest.json') ?? Buffer.alloc(0));
          await using server = await mirror((file) =>
            file === 'SHA256SUMS.sig' ? { body: Buffer.from(other) } : undefined,
          );
          refused(await go({ keys: [publisher], locations: [server] }), 69, /signed by 0 of \d keys/);
          return 1;
        }),
      );

      test(
        'refuses an older release replayed under the name of this one',
        attack(`Download script (${downloader})`, 'an older release under the name of this one', async () => {
          await using server = await mirror((file) => ({ body: older.files.get(file.replace(VERSION, OLDER)) ?? '' }));
          refused(await go({ keys: [publisher], locations: [server] }), 71, /of another release/);
          refused(await go({ digests: digests(), locations: [server] }), 68, /has the SHA-256/);
          return 2;
        }),
      );

      test(
        'reports a web page in the place of a file',
        attack(`Download script (${downloader})`, 'a web page instead of a file', async () => {
          await using server = await mirror(() => ({ body: '<!DOCTYPE html><title>Welcome to the hotel</title>' }));
          refused(await go({ digests: digests(), locations: [server] }), 75, /is a web page/);
          refused(await go({ keys: [publisher], locations: [server] }), 75, /is a web page/);
          return 2;
        }),
      );

      test(
        'takes the second location when the first serves bad data, and requests the first once',
        attack(`Download script (${downloader})`, 'a mirror that serves other bytes', async () => {
          await using liar = await mirror((file) => (isArchive(file) ? { body: 'something else' } : undefined));
          await using honest = await mirror();
          const result = await go({ digests: digests(), locations: [liar, honest] });
          installs(result);
          assert.equal(liar.requests.length, 1);
          assert.match(result.stderr, /has the SHA-256/);
          return 1;
        }),
      );

      test('takes the second location when the first is unreachable', async () => {
        await using honest = await mirror();
        installs(await go({ digests: digests(), locations: [{ url: 'http://127.0.0.1:1' }, honest] }));
      });

      test('tries again where no location answered', async () => {
        let refusals = 2;
        await using server = await mirror(() => (--refusals < 0 ? undefined : { status: 503 }));
        const result = await go({ digests: digests(), locations: [server] });
        installs(result);
        assert.match(result.stderr, /503|error/i);
        assert.equal(server.requests.length, 3);
      });

      test('gives up at its deadline, and reports the last answer', async () => {
        await using server = await mirror(() => ({ status: 503 }));
        const locations = [server];
        refused(await go({ digests: digests(), locations }, { change: askingOnce }), 67, /503|error/i);
        refused(await go({ digests: digests(), locations, deadlineSeconds: 1 }), 67, /./);
      });

      test('accepts an expired key with a warning', async () => {
        await using server = await mirror();
        const result = await go({ keys: [{ ...publisher, notAfter: '2020-12-31' }], locations: [server] });
        installs(result);
        assert.match(result.stderr, /warning: the key expired on 20201231/);
      });

      test(
        'refuses a revoked key as such, also where it is still listed',
        attack(`Download script (${downloader})`, 'a release signed by a revoked key', async () => {
          await using server = await mirror();
          const keys = [stranger, publisher];
          refused(await go({ keys, revokedKeys: [publisher.publicKey], locations: [server] }), 70, /revoked key/);
          return 1;
        }),
      );

      test(
        'demands as many different keys as the threshold',
        attack(`Download script (${downloader})`, 'a release that fewer keys signed than demanded', async () => {
          const keys = [publisher, second, stranger];
          await using server = await mirror((file) => ({ body: both.files.get(file) ?? '' }));
          installs(await go({ keys, threshold: 2, locations: [server] }));
          const count = { keys, threshold: 3, locations: [server] };
          refused(await go(count), 69, /signed by 2 of 3 keys/);
          const revoked = { keys, revokedKeys: [second.publicKey], threshold: 2, locations: [server] };
          refused(await go(revoked), 70, /revoked key/);
          // The same signature twice is of one key, whatever is said of it.
          const set = JSON.parse(String(release.files.get('SHA256SUMS.signatures.json')));
          const twice = [...set.signatures, { ...set.signatures[0], keyId: second.keyId }];
          await using forged = await mirror((file) =>
            file.endsWith('.signatures.json') ? { body: JSON.stringify({ signatures: twice }) } : undefined,
          );
          refused(await go({ keys, threshold: 2, locations: [forged] }), 69, /signed by 1 of 2 keys/);
          await using empty = await mirror((file) => (file.endsWith('.signatures.json') ? { body: '{}' } : undefined));
          refused(await go({ keys, threshold: 2, locations: [empty] }), 69, /signed by 0 of \d keys/);
          // What one location signs does not count for the list of another.
          await using honest = await mirror((file) => ({ body: both.files.get(file) ?? '' }));
          installs(await go({ keys, threshold: 2, locations: [forged, empty, honest] }));
          return 5;
        }),
      );

      test(
        'refuses what the manifest of the release itself forbids, and another manifest',
        attack(`Download script (${downloader})`, 'a release that revokes its own key or forbids itself', async () => {
          const manifest = JSON.parse(String(release.files.get('manifest.json')));
          const changed = async (change: object) => {
            const directory = mkdtempSync(join(scratch, 'again-'));
            cpSync(release.directory, directory, { recursive: true });
            const text = JSON.stringify({ ...manifest, ...change }, undefined, 2);
            await signedAgain(directory, publisher, { 'manifest.json': Buffer.from(text) });
            return mirror((file) => ({ body: readFileSync(join(directory, file)) }));
          };
          const keys = [publisher];
          await using revoking = await changed({ revokedKeys: [stranger.keyId, publisher.keyId] });
          refused(await go({ keys, locations: [revoking] }), 70, /revokes the key that signed it/);
          await using forbidding = await changed({ minimumVersion: '1.10.0' });
          refused(await go({ keys, locations: [forbidding] }), 71, /older than 1\.10\.0/);
          await using other = await changed({ revokedKeys: [stranger.keyId], minimumVersion: '1.4.1' });
          installs(await go({ keys, locations: [other] }));
          await using forged = await mirror((file) =>
            file === 'manifest.json' ? { body: JSON.stringify({ ...manifest, commit: 'other' }) } : undefined,
          );
          refused(await go({ keys, locations: [forged] }), 68, /manifest\.json is not the signed one/);
          return 3;
        }),
      );

      test(
        'refuses everything after the expiry of the root that its keys are from',
        attack(`Download script (${downloader})`, 'a script whose root has expired', async () => {
          await using server = await mirror();
          const wish = { keys: [publisher], locations: [server] };
          const validity = { since: '2026-01-01T00:00:00Z', until: '2026-02-01T00:00:00Z' };
          const at = (time: string) => ({
            change: (text: string) => text.replace('now=$(date -u +%Y%m%d%H%M%S)', `now=${time}`),
          });
          refused(await go({ ...wish, validity }), 77, /the root of the keys expired at 20260201000000/);
          refused(await go({ ...wish, validity }, at('20260201000001')), 77, /clock: 20260201000001/);
          assert.deepEqual(server.requests, []);
          installs(await go({ ...wish, validity }, at('20260201000000')));
          const early = await go({ ...wish, validity }, at('19700101000000'));
          installs(early);
          assert.match(early.stderr, /warning: the clock \(19700101000000\) is before the root of the keys/);
          return 2;
        }),
      );

      test(
        'detects that the program was replaced after it was verified',
        attack(`Download script (${downloader})`, 'the program is swapped after it was verified', async () => {
          await using server = await mirror();
          const change = (text: string) =>
            text.replace('restorecon -F "$to" 2>/dev/null', 'echo "#!/bin/sh" >"$to" # an attacker is as fast as this');
          const result = await go({ digests: digests(), locations: [server] }, { change, args: ['provision'] });
          refused(result, 74, /was swapped after it was verified/);
          assert.equal(result.stdout, '');
          return 1;
        }),
      );

      test(
        'takes no more than an archive may have',
        attack(`Download script (${downloader})`, 'an archive that does not end', async () => {
          await using server = await mirror((file) => (isArchive(file) ? { body: Buffer.alloc(200_000) } : undefined));
          const change = (text: string) => text.replace('268435456', '100000');
          refused(await go({ digests: digests(), locations: [server] }, { change }), 68, /is too large/);
          return 1;
        }),
      );

      if (downloader === 'busybox') {
        test(
          'uses no https location: this wget checks no certificate',
          attack(
            `Download script (${downloader})`,
            'an https location, where this wget checks no certificate',
            async () => {
              await using server = await mirror(undefined, true);
              const result = await go({ digests: digests(), locations: [server] }, { change: askingOnce });
              refused(result, 67, /http or file only/);
              assert.deepEqual(server.requests, []);
              return 1;
            },
          ),
        );
        return;
      }

      test(
        'installs over https from a server whose authority is pinned, and from no other',
        attack(`Download script (${downloader})`, 'a certificate of another authority', async () => {
          await using server = await mirror(undefined, true);
          installs(await go({ digests: digests(), locations: [{ url: server.url, pinned: true }] }));
          const once = { change: askingOnce };
          refused(await go({ digests: digests(), locations: [{ url: server.url }] }, once), 67, /certificate/i);
          const other = { certificateAuthorities: newAuthority('another').certificate };
          const pinned = [{ url: server.url, pinned: true }];
          refused(await go({ digests: digests(), locations: pinned, ...other }, once), 67, /certificate/i);
          return 2;
        }),
      );

      test(
        'follows no redirect from https to http',
        attack(`Download script (${downloader})`, 'a redirect from https to http', async () => {
          await using open = await mirror();
          await using server = await mirror(
            (file) => ({ status: 302, headers: { location: `${open.url}/${VERSION}/${file}` } }),
            true,
          );
          const result = await go({ digests: digests(), locations: [{ url: server.url, pinned: true }] });
          refused(result, 76, /redirect|Protocol/);
          assert.deepEqual(open.requests, []);
          return 1;
        }),
      );

      test(
        'gives its credential to the location it is for, and to no other server',
        attack(
          `Download script (${downloader})`,
          'a redirect to a server that wants the credential of another',
          async () => {
            const credential = join(scratch, `credential-${downloader}`);
            writeFileSync(credential, 'Authorization: Bearer of-this-machine\n', { mode: 0o600 });
            const seen: (string | undefined)[] = [];
            const strangers: (string | undefined)[] = [];
            await using elsewhere = await startServer(({ headers, url = '' }) => {
              strangers.push(headers.authorization);
              return { body: release.files.get(url.slice(VERSION.length + 2)) ?? '' };
            }, identity);
            await using server = await startServer(({ headers, url = '' }) => {
              seen.push(headers.authorization);
              // Another name of the same machine is another server to an HTTP client.
              return { status: 302, headers: { location: `${elsewhere.url}${url}` } };
            }, identity);
            const locations = [
              { url: server.url, pinned: true, authorizationFile: credential },
              { url: elsewhere.url, pinned: true },
            ];
            const result = await go({ digests: digests(), locations });
            installs(result);
            assert.equal(seen[0], 'Bearer of-this-machine');
            assert.ok(strangers.length > 0);
            assert.ok(!strangers.includes('Bearer of-this-machine'));
            return 1;
          },
        ),
      );
    });
  }

  /** A well-signed release with this program in it. */
  async function releaseOf(name: string, text: string): Promise<TestRelease> {
    const from = join(scratch, name, 'from');
    mkdirSync(from, { recursive: true });
    writeFileSync(join(from, 'machineadm-linux-amd64'), text);
    return testRelease(join(scratch, name), VERSION, publisher, { from });
  }

  describe('on a machine that', () => {
    test('has the program already, asks nobody', async () => {
      await using server = await mirror();
      const directory = mkdtempSync(join(scratch, 'bin-'));
      writeFileSync(join(directory, 'machineadm'), program(VERSION), { mode: 0o755 });
      installs(await run({ digests: digests(), locations: [server] }, { directory, args: ['status'] }), 'ran status\n');
      assert.deepEqual(server.requests, []);
    });

    test('has another one there, replaces it', async () => {
      await using server = await mirror();
      const directory = mkdtempSync(join(scratch, 'bin-'));
      writeFileSync(join(directory, 'machineadm'), program(OLDER), { mode: 0o755 });
      installs(await run({ digests: digests(), locations: [server] }, { directory }));
    });

    test(
      'lets others write to the directory, is not installed to',
      attack('Download script', 'the target directory is writable for all', async () => {
        await using server = await mirror();
        const directory = mkdtempSync(join(scratch, 'bin-'));
        const shared = join(directory, 'shared');
        mkdirSync(shared);
        chmodSync(shared, 0o777);
        const result = await run({ digests: digests(), locations: [server], directories: [shared] }, { directory });
        assert.deepEqual([result.status, readdirSync(shared)], [72, []], result.stderr);
        const own = join(directory, 'own');
        const next = await run({ digests: digests(), locations: [server], directories: [shared, own] }, { directory });
        assert.deepEqual([next.status, readdirSync(shared), readdirSync(own)], [0, [], ['machineadm']], next.stderr);
        return 2;
      }),
    );

    for (const [what, change] of Object.entries<(shared: string) => void>({
      'is writable for its group': (shared) => chmodSync(shared, 0o775),
      "is another user's": (shared) => chownSync(shared, 65534, 0),
      'is below one that others may write to': (shared) => chmodSync(join(shared, '..'), 0o777),
      "is below another user's": (shared) => chownSync(join(shared, '..'), 65534, 0),
      'is a link to one that others may write to': (shared) => {
        rmSync(shared, { recursive: true });
        mkdirSync(`${shared}.open`);
        chmodSync(`${shared}.open`, 0o777);
        symlinkSync(`${shared}.open`, shared);
      },
    })) {
      test(
        `has a directory that ${what}, is not installed to, and nothing there is run`,
        attack('Download script', `the target directory ${what}`, async () => {
          await using server = await mirror();
          const shared = join(mkdtempSync(join(scratch, 'bin-')), 'above', 'shared');
          mkdirSync(shared, { recursive: true });
          change(shared);
          // The right program, as the swap between a verification and a start would show it.
          writeFileSync(join(shared, 'machineadm'), program(VERSION), { mode: 0o755 });
          const own = mkdtempSync(join(scratch, 'bin-'));
          const wish = { digests: digests(), locations: [server], directories: [shared, own] };
          const result = await run(wish, { directory: own, args: ['status'] });
          installs(result, 'ran status\n');
          assert.deepEqual(readdirSync(shared), ['machineadm']);
          return 1;
        }),
      );
    }

    for (const [what, make] of Object.entries<(path: string) => void>({
      'a program that others may write to': (path) => {
        writeFileSync(path, program(VERSION));
        chmodSync(path, 0o757);
      },
      "another user's program": (path) => {
        writeFileSync(path, program(VERSION), { mode: 0o755 });
        chownSync(path, 65534, 0);
      },
      'a link to the program': (path) => {
        writeFileSync(`${path}.elsewhere`, program(VERSION), { mode: 0o755 });
        symlinkSync(`${path}.elsewhere`, path);
      },
      'a FIFO': (path) => void spawnSync('mkfifo', ['-m', '755', path]),
    })) {
      test(
        `has ${what} under the name, replaces it`,
        attack('Download script', `${what} under the name of the program`, async () => {
          await using server = await mirror();
          const directory = mkdtempSync(join(scratch, 'bin-'));
          const path = join(directory, 'machineadm');
          make(path);
          const result = await run({ digests: digests(), locations: [server] }, { directory });
          assert.equal(result.status, 0, result.stderr);
          const found = lstatSync(path);
          assert.deepEqual([found.isFile(), found.uid, found.mode & 0o7777], [true, 0, 0o755]);
          return 1;
        }),
      );
    }

    test(
      'has a directory under the name, is not installed into it',
      attack('Download script', 'a directory under the name of the program', async () => {
        await using server = await mirror();
        const directory = mkdtempSync(join(scratch, 'bin-'));
        mkdirSync(join(directory, 'machineadm'));
        const result = await run({ digests: digests(), locations: [server] }, { directory });
        assert.deepEqual([result.status, readdirSync(join(directory, 'machineadm'))], [72, []], result.stderr);
        assert.match(result.stderr, /is a directory \[72\]/);
        return 1;
      }),
    );

    test(
      'has a FIFO for a release on its disk, is not held up by it beyond the deadline',
      attack('Download script', 'a FIFO instead of a release on the disk', async () => {
        const release = mkdtempSync(join(scratch, 'fifo-'));
        mkdirSync(join(release, VERSION));
        for (const extension of ['xz', 'gz'])
          spawnSync('mkfifo', [join(release, VERSION, `machineadm-${VERSION}-linux-amd64.${extension}`)]);
        const wish = { digests: digests(), locations: [{ url: `file://${release}` }], deadlineSeconds: 2 };
        refused(await run(wish), 67, /failed: /);
        return 1;
      }),
    );

    test(
      'starts it with a umask of 000, gets directories and a program that are closed to others',
      attack('Download script', 'a umask of 000', async () => {
        await using server = await mirror();
        const above = mkdtempSync(join(scratch, 'bin-'));
        const directory = join(above, 'opt', 'bin');
        const shell = ['sh', '-c', 'umask 000; exec dash "$@"', 'sh'];
        const result = await run(
          { digests: digests(), locations: [server], directories: [directory] },
          { shell, directory: above },
        );
        assert.equal(result.status, 0, result.stderr);
        const modes = ['opt', 'opt/bin', 'opt/bin/machineadm'].map((name) => statSync(join(above, name)).mode & 0o7777);
        assert.deepEqual(modes, [0o755, 0o755, 0o755]);
        return 1;
      }),
    );

    test('mounts the first directory noexec, gets it into the next', async () => {
      await using server = await mirror();
      const directory = mkdtempSync(join(scratch, 'bin-'));
      const [first, second] = [join(directory, 'noexec'), join(directory, 'second')];
      mkdirSync(first);
      const shell = [
        'unshare',
        '--mount',
        'sh',
        '-c',
        `mount -t tmpfs -o mode=755,noexec none ${first} && exec dash "$@"`,
        'sh',
      ];
      const result = await run(
        { digests: digests(), locations: [server], directories: [first, second] },
        { directory, shell },
      );
      assert.deepEqual([result.status, readdirSync(second)], [0, ['machineadm']], result.stderr);
    });

    test(
      'cannot run the program reports it and keeps nothing of it',
      attack('Download script', 'a program that cannot run', async () => {
        const unfit = await releaseOf('unfit', '#!/bin/sh\necho "GLIBC_2.28 not found" >&2\nexit 1\n');
        const url = `file://${join(scratch, 'unfit', 'release')}`;
        refused(await run({ digests: digests(unfit), locations: [{ url }] }), 73, /GLIBC_2\.28 not found/);
        return 1;
      }),
    );

    test(
      'got a program under the right name that is of another version, does not install it',
      attack('Download script', 'a program of another version under the right name', async () => {
        await releaseOf('mislabelled', program(OLDER));
        const url = `file://${join(scratch, 'mislabelled', 'release')}`;
        refused(await run({ keys: [publisher], locations: [{ url }] }), 71, /it is 1\.3\.0, not 1\.4\.2/);
        return 1;
      }),
    );

    for (const downloader of ['curl', 'python3', 'wget', 'busybox']) {
      test(
        `has a clock of 1970 and ${downloader}, installs by a digest or a signature over http`,
        attack('Download script', `a clock of 1970 and ${downloader}`, async (context) => {
          const faketime = where('faketime');
          if (faketime === undefined) {
            context.skip(String(needs('faketime')));
            return 0;
          }
          await using server = await mirror();
          const shell = [
            faketime,
            '-f',
            '@1970-01-01 00:00:10',
            ...(downloader === 'busybox' ? ['busybox', 'sh'] : ['dash']),
          ];
          const options = { shell, downloader, change: (text: string) => text.replace('unset LD_PRELOAD', 'unset') };
          installs(await run({ digests: digests(), locations: [server] }, options));
          installs(await run({ keys: [{ ...publisher, notAfter: '2031-01-01' }], locations: [server] }, options));
          return 2;
        }),
      );
    }

    test(
      'has a clock of 1970 is refused, where a certificate needs the clock',
      attack('Download script', 'a clock of 1970, where a certificate needs the time', async (context) => {
        const faketime = where('faketime');
        if (faketime === undefined) {
          context.skip(String(needs('faketime')));
          return 0;
        }
        const shell = [faketime, '-f', '@1970-01-01 00:00:10', 'dash'];
        const change = (text: string) => text.replace('unset LD_PRELOAD', 'unset');
        await using tls = await mirror(undefined, true);
        const result = await run(
          { digests: digests(), locations: [{ url: tls.url, pinned: true }] },
          { shell, change: (text) => askingOnce(change(text)) },
        );
        refused(result, 67, /certificate is not yet valid.*\(clock: 1970-01-01\)/);
        return 1;
      }),
    );

    test('has a console that nobody reads, is not held up by it', { timeout: 600_000 }, async () => {
      const holder = spawn('python3', [
        '-c',
        'import os,pty,sys,time\nm,s=pty.openpty()\nos.set_blocking(s,False)\ntry:\n  while True: os.write(s,b"x"*1024)\nexcept BlockingIOError: pass\nprint(os.ttyname(s),flush=True)\ntime.sleep(86400)',
      ]);
      try {
        const [line] = await once(holder.stdout, 'data');
        const console = String(line).trim();
        await using server = await mirror();
        // Whoever waited for the console would wait for a day.
        const change = (text: string) =>
          text.replace('CONSOLE=/dev/null', `CONSOLE=${console}`).replace('timeout 2 dd', 'timeout 86400 dd');
        installs(await run({ digests: digests(), locations: [server] }, { change }));
      } finally {
        holder.kill();
      }
    });

    test(
      'got half of the script, does nothing',
      attack('Download script', 'half of the script arrives', async () => {
        await using server = await mirror();
        const result = await run({ digests: digests(), locations: [server] }, { change: (text) => text.slice(0, -14) });
        assert.deepEqual(result.installed, []);
        assert.deepEqual(server.requests, []);
      }),
    );

    test('is stopped, and leaves nothing', async () => {
      await using server = await startServer(() => 'silence');
      const shell = ['timeout', '--signal=TERM', '0.5', 'dash'];
      const result = await run({ digests: digests(), locations: [server], deadlineSeconds: 3 }, { shell });
      assert.deepEqual(result.installed, []);
    });
  });
});
