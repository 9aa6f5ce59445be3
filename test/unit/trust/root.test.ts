import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { signDirectory } from '../../../scripts/release.ts';
import { attack } from '../../support/attacks.ts';
import { commandLine } from '../../support/command-line.ts';
import { newKey, otherForms, type TestKey } from '../../support/release.ts';
import { contentOf, rootText, type TestRoot, versionIn, withContent, writtenRoot } from '../../support/roots.ts';

const KIND = 'Roots of trust';

describe('a signed root', () => {
  const [a, b, c, d, thief] = [newKey(), newKey(), newKey(), newKey(), newKey()] as const;
  const FIRST: TestRoot = { root: [a, b, c], rootThreshold: 2, lists: [d] };
  const SECOND: TestRoot = { ...FIRST, version: 2, root: [b, c, d] };
  let scratch = '';
  let count = 0;
  before(() => {
    scratch = mkdtempSync(join(tmpdir(), 'machineadm-root-'));
  });
  after(() => rmSync(scratch, { recursive: true }));

  /** A machine: its trust directory and its memory. */
  function machine() {
    count += 1;
    const home = join(scratch, `machine-${count}`);
    mkdirSync(home);
    const directory = join(home, 'trust.d');
    const memory = join(home, 'trust.json');
    const own = ['--trust-directory', directory, '--memory', memory] as const;
    const file = (text: string) => {
      count += 1;
      return writtenRoot(join(home, `${count}.json`), text);
    };
    return {
      home,
      directory,
      memory,
      own,
      file,
      root: join(directory, 'root.json'),
      install: async (...texts: readonly string[]) =>
        told(await commandLine('trust', 'install', ...texts.map(file), ...own)),
      check: async () => told(await commandLine('trust', 'check', ...own)),
    };
  }

  /** A machine that trusts the first root. */
  async function machineWith(...texts: readonly string[]) {
    const made = machine();
    const first = texts.length === 0 ? [await rootText(FIRST)] : texts;
    assert.equal((await made.install(...first)).status, 0);
    return made;
  }

  function told(run: { readonly status: number; readonly stdout: string; readonly stderr: string }) {
    return { ...run, reason: /\[(\w+)\]/.exec(run.stderr)?.[1] };
  }

  /** The machine must refuse the file, for this reason, and trust what it trusted before. */
  async function mustRefuse(text: string, reason: string, message: RegExp, texts: readonly string[] = []) {
    const victim = await machineWith(...texts);
    const [before, memory] = [readFileSync(victim.root), readFileSync(victim.memory)];
    const run = await victim.install(text);
    assert.deepEqual([run.status, run.reason], [reason === 'TrustedKeyInvalid' ? 4 : 21, reason], run.stderr);
    assert.match(run.stderr, message);
    assert.deepEqual([readFileSync(victim.root), readFileSync(victim.memory)], [before, memory]);
  }

  test('is rotated by the keys of the one before it and by its own, in several steps at once', async () => {
    const third = await rootText({ ...SECOND, version: 3, root: [d], rootThreshold: 1, lists: [a] }, [b, c, d]);
    const { install, check, root } = await machineWith();
    const run = await install(await rootText(SECOND, [b, c]), third);
    assert.deepEqual([run.status, versionIn(root)], [0, 3], run.stderr);
    assert.match(
      (await check()).stdout,
      new RegExp(`^root "example.com", version 3.*needs 1 of 1 keys\n  ${escaped(d)}\n.*  ${escaped(a)}`, 's'),
    );
  });

  test('is described for programs, with what restricts it on this machine', async () => {
    const victim = await machineWith(await rootText({ ...FIRST, expiresAt: '2999-01-02T03:04:05Z' }));
    writeFileSync(join(victim.directory, 'revoked'), `${thief.keyId}\n`);
    writeFileSync(join(victim.directory, 'minimum-version'), '1.4.0\n');
    const run = await commandLine('trust', 'check', '-o', 'json', ...victim.own);
    assert.deepEqual(JSON.parse(run.stdout), {
      apiVersion: 'machineadm.dev/v1',
      kind: 'TrustedKeys',
      name: 'example.com',
      version: 1,
      createdAt: '2026-01-02T03:04:05.000Z',
      expiresAt: '2999-01-02T03:04:05.000Z',
      root: { threshold: 2, keys: [a, b, c].map(({ keyId }) => keyId) },
      lists: { threshold: 1, keys: [d.keyId] },
      revokedKeys: [thief.keyId],
      minimumVersion: '1.4.0',
      warnings: [],
    });
  });

  test('that is installed already changes nothing', async () => {
    const { install } = await machineWith();
    const run = await install(await rootText(FIRST));
    assert.deepEqual([run.status, run.stdout.includes('it is already installed: version 1')], [0, true], run.stderr);
  });

  test(
    'of an earlier version is refused',
    attack(KIND, 'a root of an earlier version, with correct signatures', async () => {
      const second = await rootText(SECOND, [b, c]);
      await mustRefuse(
        await rootText(FIRST),
        'RolledBack',
        /is version 1 of the root "example.com"; version 2 is trusted/,
        [await rootText(FIRST), second],
      );
    }),
  );

  test(
    'of an earlier version in the trust directory leads to the newest one',
    attack(KIND, 'the trust directory of an old image, on a machine that has seen a newer root', async () => {
      const victim = await machineWith(await rootText(FIRST), await rootText(SECOND, [b, c]));
      writeFileSync(victim.root, await rootText(FIRST));
      assert.match((await victim.check()).stdout, /^root "example.com", version 2,/);
      const stranger = await rootText({ ...FIRST, root: [thief], rootThreshold: 1, lists: [thief] });
      writeFileSync(victim.root, stranger);
      const run = await victim.check();
      assert.deepEqual([run.status, run.reason], [21, 'RolledBack'], run.stderr);
    }),
  );

  test(
    'that skips a version is refused',
    attack(KIND, 'a root that skips a version', async () => {
      const third = await rootText({ ...SECOND, version: 3 }, [a, b, c, d]);
      await mustRefuse(third, 'TrustRootRefused', /version 2 must come first/);
    }),
  );

  test(
    'that only new keys signed is refused',
    attack(KIND, 'a root that only its own keys signed', async () => {
      const stolen: TestRoot = { ...FIRST, version: 2, root: [thief], rootThreshold: 1 };
      await mustRefuse(await rootText(stolen), 'SignatureInvalid', /by the keys of version 1/);
      await mustRefuse(
        await rootText(stolen, [thief, a]),
        'TooFewSignatures',
        /by the keys of version 1, is signed with 1 of the 2 keys/,
      );
    }),
  );

  test(
    'that only old keys signed is refused',
    attack(KIND, 'a root that its own keys did not sign', async () => {
      const strange: TestRoot = { ...FIRST, version: 2, root: [newKey(), newKey()] };
      await mustRefuse(await rootText(strange, [a, b]), 'SignatureInvalid', /was not made by a trusted key/);
    }),
  );

  test(
    'that a key of lists signed is refused',
    attack(KIND, 'a root that was signed with a stolen key of releases', async () => {
      await mustRefuse(
        await rootText({ ...FIRST, version: 2, root: [d], rootThreshold: 1 }),
        'SignatureInvalid',
        /by the keys of version 1/,
      );
    }),
  );

  test(
    'counts one key once, whatever its signatures are called',
    attack(KIND, 'one key twice: two signatures, two names, two encodings', async () => {
      const half = await rootText({ ...FIRST, version: 2 }, [a]);
      const envelope = JSON.parse(half) as { signatures: { keyid: string; sig: string }[] };
      const [mine] = envelope.signatures;
      const [again] = (JSON.parse(await rootText({ ...FIRST, version: 2 }, [a])) as typeof envelope).signatures;
      const twice = JSON.stringify({
        ...envelope,
        signatures: [mine, { ...again, keyid: b.keyId }, { ...mine, keyid: 'c' }],
      });
      await mustRefuse(twice, 'TooFewSignatures', /signed with 1 of the 2 keys/);
      const content = contentOf({ ...FIRST, version: 2 });
      for (const keys of [[a.publicKey, a.publicKey], ...otherForms(a).map((form) => [a.publicKey, form])]) {
        const doubled = withContent(half, () => ({ ...content, root: { threshold: 2, keys } }));
        await mustRefuse(doubled, 'TrustRootRefused', /has a key twice in root/);
      }
      return 4;
    }),
  );

  test(
    'is refused if its keys cannot reach its threshold, or need not',
    attack(KIND, 'a root with a threshold of 0, of half a key, or above its keys', async () => {
      const text = await rootText({ ...FIRST, version: 2 });
      const bad: readonly (readonly [object, RegExp])[] = [
        [{ root: { threshold: 0, keys: [thief.publicKey] } }, /root\.threshold/],
        [{ lists: { threshold: 0, keys: [thief.publicKey] } }, /lists\.threshold/],
        [{ lists: { threshold: 0.5, keys: [thief.publicKey] } }, /lists\.threshold/],
        [{ lists: { threshold: -1, keys: [thief.publicKey] } }, /lists\.threshold/],
        [{ root: { threshold: 2, keys: [thief.publicKey] } }, /demands 2 signatures in root, and has 1 keys/],
        [{ root: { threshold: 1, keys: [] } }, /root\.keys/],
        [{ version: 0 }, /version/],
        [{ version: 9007199254740992 }, /version/],
        [{ version: '2' }, /version/],
        [{ name: '../../etc' }, /name/],
      ];
      for (const [change, message] of bad) {
        await mustRefuse(
          withContent(text, (content) => ({ ...content, ...change })),
          'TrustRootRefused',
          message,
        );
      }
      return bad.length;
    }),
  );

  test(
    'that was changed after it was signed is refused',
    attack(KIND, 'a root whose content was changed', async () => {
      const text = await rootText({ ...FIRST, version: 2 });
      const own = withContent(text, (content) => ({ ...content, lists: { threshold: 1, keys: [thief.publicKey] } }));
      await mustRefuse(own, 'SignatureInvalid', /was not made by a trusted key/);
    }),
  );

  test(
    'of another publisher is refused',
    attack(KIND, 'a root of another name, signed with the same keys', async () => {
      const other = await rootText({ ...FIRST, version: 2, name: 'test.example.com' });
      await mustRefuse(other, 'TrustRootRefused', /a root of "test.example.com", not of "example.com"/);
    }),
  );

  test(
    'is no list, and a list is no root',
    attack(KIND, 'a signature of a list given as that of a root', async () => {
      const text = await rootText({ ...FIRST, version: 2 }, []);
      const envelope = JSON.parse(text) as { payload: string };
      const plain = Buffer.from(envelope.payload, 'base64');
      const signatures = await Promise.all(
        [a, b].map(async (key) => ({ sig: Buffer.from(await key.sign(plain)).toString('base64') })),
      );
      await mustRefuse(
        JSON.stringify({ ...envelope, signatures }),
        'SignatureInvalid',
        /was not made by a trusted key/,
      );
    }),
  );

  test(
    'that expired is refused, and so is everything that is verified by it',
    attack(KIND, 'everything that a root signed, after its expiry', async () => {
      const old: TestRoot = { ...FIRST, lists: [a], expiresAt: '2026-01-03T00:00:00Z' };
      const victim = machine();
      const run = await victim.install(await rootText(old));
      assert.deepEqual([run.status, run.reason, existsSync(victim.root)], [21, 'SignatureExpired', false], run.stderr);
      mkdirSync(victim.directory);
      writeFileSync(victim.root, await rootText(old));
      const site = await signedSite(victim.home, a);
      const verified = told(await commandLine('verify', join(site, 'a.yaml'), ...victim.own));
      assert.deepEqual([verified.status, verified.reason], [21, 'SignatureExpired'], verified.stderr);
      assert.match(verified.stderr, /version 1 of the root "example.com" expired at 2026-01-03T00:00:00.000Z/);
      // The next one is still reachable.
      const next = await victim.install(await rootText({ ...SECOND, lists: [a] }, [b, c]));
      assert.deepEqual([next.status, next.reason], [0, undefined], next.stderr);
      assert.equal((await commandLine('verify', join(site, 'a.yaml'), ...victim.own)).status, 0);
    }),
  );

  test('is used with a warning by a clock that is before the root itself', async () => {
    const victim = await machineWith(
      await rootText({ ...FIRST, lists: [a], createdAt: '2999-01-01T00:00:00Z', expiresAt: '2999-02-01T00:00:00Z' }),
    );
    const run = await commandLine('verify', join(await signedSite(victim.home, a), 'a.yaml'), ...victim.own);
    assert.equal(run.status, 0, run.stderr);
    assert.match(
      run.stderr,
      /warning: the clock \(.*\) is before the root "example.com" was made: its expiry was not checked/,
    );
  });

  test(
    'that is damaged, too large or a link is refused',
    attack(KIND, 'root files: huge, no JSON, nested, half written, a link to a private file', async () => {
      const whole = await rootText({ ...FIRST, version: 2 });
      await mustRefuse('', 'TrustRootRefused', /not a DSSE envelope/);
      await mustRefuse(whole.slice(0, whole.length / 2), 'TrustRootRefused', /not a DSSE envelope/);
      await mustRefuse('['.repeat(60_000), 'TrustRootRefused', /not a DSSE envelope/);
      await mustRefuse('{"payload":{"toString":1},"length":{"toString":2}}', 'TrustRootRefused', /not a DSSE envelope/);
      const victim = await machineWith();
      const huge = victim.file('');
      truncateSync(huge, 4 * 1024 ** 3);
      const run = told(await commandLine('trust', 'install', huge, ...victim.own));
      assert.deepEqual([run.status, run.reason], [2, 'DownloadInvalid'], run.stderr);
      const secret = join(victim.home, 'secret');
      writeFileSync(secret, 'not to be shown');
      symlinkSync(secret, join(victim.home, 'link'));
      const link = told(await commandLine('trust', 'install', join(victim.home, 'link'), ...victim.own));
      assert.deepEqual(
        [link.status, link.reason, link.stderr.includes('to be shown')],
        [21, 'TrustRootRefused', false],
      );
      truncateSync(victim.root, 70_000);
      assert.deepEqual([(await victim.check()).reason, (await victim.check()).status], ['TrustedKeyInvalid', 4]);
      return 7;
    }),
  );

  test(
    'is not used with a memory that is damaged',
    attack(KIND, 'a memory that was half written or changed', async () => {
      const victim = await machineWith(await rootText(FIRST), await rootText(SECOND, [b, c]));
      const text = readFileSync(victim.memory, 'utf8');
      for (const broken of [text.slice(0, text.length / 2), text.replace('"version": 2', '"version": 1')]) {
        writeFileSync(victim.memory, broken);
        assert.deepEqual([(await victim.check()).status, (await victim.check()).reason], [4, 'TrustedKeyInvalid']);
        assert.equal((await victim.install(await rootText({ ...SECOND, version: 3 }))).reason, 'TrustedKeyInvalid');
      }
      return 2;
    }),
  );

  test('is used in the same state wherever an installation was killed', async () => {
    const [first, second] = [await rootText(FIRST), await rootText(SECOND, [b, c])];
    for (const half of ['directory', 'memory'] as const) {
      const victim = await machineWith(first);
      const done = await machineWith(first, second);
      if (half === 'directory') writeFileSync(victim.root, second);
      else writeFileSync(victim.memory, readFileSync(done.memory));
      assert.match((await victim.check()).stdout, /^root "example.com", version 2,/);
      assert.equal((await victim.install(second)).status, 0);
      assert.deepEqual(
        [readFileSync(victim.root), readFileSync(victim.memory)],
        [readFileSync(done.root), readFileSync(done.memory)],
      );
    }
  });

  test(
    'that the operator revoked keys of is refused',
    attack(KIND, 'a root that was signed with keys that the operator revoked', async () => {
      const victim = await machineWith();
      writeFileSync(join(victim.directory, 'revoked'), `${b.keyId}\n`);
      const run = await victim.install(await rootText(SECOND, [b, c]));
      assert.deepEqual([run.status, run.reason], [21, 'SigningKeyRevoked'], run.stderr);
      const enough = await victim.install(await rootText({ ...SECOND, root: [c, d] }, [a, c, d]));
      assert.equal(enough.status, 0, enough.stderr);
    }),
  );

  test('names all keys: no other one is used beside it', async () => {
    const plain = machine();
    mkdirSync(plain.directory);
    writeFileSync(join(plain.directory, 'old.pem'), a.pem);
    const first = await plain.install(await rootText(FIRST));
    assert.deepEqual([first.status, first.reason, existsSync(plain.root)], [4, 'TrustedKeyInvalid', false]);
    assert.match(first.stderr, /old\.pem cannot be used: root\.json names all keys of its directory/);

    const victim = await machineWith();
    const key = join(victim.home, 'key.pem');
    writeFileSync(key, thief.pem);
    const site = await signedSite(victim.home, thief);
    const given = told(await commandLine('verify', '--key', key, join(site, 'a.yaml'), ...victim.own));
    assert.deepEqual([given.status, given.reason], [4, 'TrustedKeyInvalid'], given.stderr);
    assert.match(given.stderr, /the root in .*trust\.d names all keys/);
    writeFileSync(join(victim.directory, 'threshold'), '1\n');
    assert.match((await victim.check()).stderr, /threshold cannot be used: root\.json names all keys of its directory/);
  });

  describe('at a location', () => {
    async function fetched(
      victim: ReturnType<typeof machine>,
      signer: TestKey,
      roots: Readonly<Record<string, string>>,
    ) {
      count += 1;
      const mirror = join(scratch, `mirror-${count}`);
      await signedSite(mirror, signer);
      mkdirSync(join(mirror, 'roots', 'example.com'), { recursive: true });
      for (const [name, text] of Object.entries(roots)) writeFileSync(join(mirror, 'roots', 'example.com', name), text);
      const to = join(scratch, `to-${count}`);
      const words = ['--from', mirror, '--output-dir', to, '--timeout', '0s', 'site/'];
      return {
        ...told(await commandLine('fetch', ...words, ...victim.own)),
        came: existsSync(join(to, 'site/a.yaml')),
      };
    }

    test('is followed, and remembered', async () => {
      const victim = await machineWith();
      const third = await rootText({ ...SECOND, version: 3, root: [d], rootThreshold: 1, lists: [a] }, [b, c, d]);
      const roots = { '2.json': await rootText(SECOND, [b, c]), '3.json': third };
      const run = await fetched(victim, a, roots);
      assert.deepEqual([run.status, run.came], [0, true], run.stderr);
      assert.match((await victim.check()).stdout, /^root "example.com", version 3,/);
      // The key of the first root signs nothing any more, wherever the roots are withheld.
      const old = await fetched(victim, d, {});
      assert.deepEqual([old.status, old.reason, old.came], [21, 'SignatureInvalid', false], old.stderr);
    });

    test('that is a page is as good as none', async () => {
      const run = await fetched(await machineWith(), d, { '2.json': '<!DOCTYPE html><html></html>' });
      assert.deepEqual([run.status, run.came], [0, true], run.stderr);
    });

    test(
      'is refused with the location, if it does not follow',
      attack(KIND, 'a mirror that serves roots of its own', async () => {
        const stolen: TestRoot = { ...FIRST, version: 2, root: [thief], rootThreshold: 1, lists: [thief] };
        const served: readonly (readonly [string, string])[] = [
          [await rootText(stolen), 'SignatureInvalid'],
          [await rootText({ ...stolen, version: 3 }), 'TrustRootRefused'],
          [await rootText(FIRST), 'RolledBack'],
          ['{}', 'TrustRootRefused'],
          [' '.repeat(70_000), 'DigestMismatch'],
          [
            withContent(await rootText(stolen), (one) => ({ ...one, root: { threshold: 1, keys: ['AAAA'] } })),
            'TrustRootRefused',
          ],
        ];
        for (const [text, reason] of served) {
          const victim = await machineWith();
          const run = await fetched(victim, thief, { '2.json': text });
          assert.deepEqual([run.status, run.reason, run.came], [21, reason, false], run.stderr);
          assert.match((await victim.check()).stdout, /^root "example.com", version 1,/);
        }
        return served.length;
      }),
    );
  });

  async function signedSite(at: string, signer: TestKey): Promise<string> {
    const site = join(at, 'site');
    mkdirSync(site, { recursive: true });
    writeFileSync(join(site, 'a.yaml'), 'a: 1\n');
    await signDirectory(site, { place: 'site', version: 1, createdAt: new Date('2026-01-02T03:04:05Z') }, signer);
    return site;
  }
});

function escaped({ keyId }: TestKey): string {
  return keyId.replaceAll('+', '\\+');
}
