import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { generateKeyPairSync, hash } from 'node:crypto';
import { describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { type DownloadScript, renderDownloadScript } from '@machineadm/user-data/download-script.ts';
import { newKey, otherForms } from '../../support/release.ts';

const digest = (text: string): string => hash('sha256', text);
const digests = {
  amd64: { gzip: digest('a'), xz: digest('b'), program: digest('c') },
  arm64: { gzip: digest('d'), xz: digest('e'), program: digest('f') },
};
const PINNED: DownloadScript = {
  version: '1.4.2',
  digests,
  locations: [
    { url: 'https://machineadm.management.example.com:8443/release/', authorizationFile: '/etc/machineadm/credential' },
    { url: 'http://mirror.example.com/machineadm' },
    { url: 'file:///mnt/machineadm' },
  ],
};

function publicKey(): string {
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return pair.publicKey.export({ type: 'spki', format: 'der' }).toString('base64');
}

function refused(change: Partial<DownloadScript>, words: RegExp): void {
  assert.throws(
    () => renderDownloadScript({ ...PINNED, ...change }),
    (error) => {
      assert.ok(error instanceof MachineadmError);
      assert.equal(error.reason, 'DownloadInvalid');
      assert.match(error.message, words);
      return true;
    },
  );
}

describe('the rendered download script', () => {
  test('holds the version, the digests and the locations in their order, and no comment', () => {
    const text = renderDownloadScript(PINNED);
    assert.match(text, /^#!\/bin\/sh\nVERSION=1\.4\.2\n/);
    assert.ok(text.includes(`amd64.gz=${digest('a')} amd64.xz=${digest('b')} amd64=${digest('c')}`));
    assert.ok(
      text.includes(
        "LOCATIONS='https://machineadm.management.example.com:8443/release /etc/machineadm/credential -\n" +
          "http://mirror.example.com/machineadm - -\nfile:///mnt/machineadm - -\n'",
      ),
    );
    assert.doesNotMatch(text, /^\s*# /m);
    assert.doesNotMatch(text, /KEYS=|openssl/, 'with digests, keys are not asked');
  });

  test('is at most 4.9 KiB of gzip in base64: two architectures and three locations, or two keys in their place', () => {
    const { digests: _, ...unpinned } = PINNED;
    const signed = {
      ...unpinned,
      keys: [{ publicKey: publicKey(), notAfter: '2031-01-01' }, { publicKey: publicKey() }],
    };
    const validity = { since: '2026-01-01T00:00:00Z', until: '2027-01-01T00:00:00Z' };
    for (const script of [PINNED, signed, { ...signed, threshold: 2, validity }]) {
      const size = gzipSync(renderDownloadScript(script), { level: 9 }).toString('base64').length;
      assert.ok(size <= 4.9 * 1024, `${size} bytes`);
    }
  });

  test('is a shell script for sh', () => {
    const { status, stderr } = spawnSync('sh', ['-n'], { input: renderDownloadScript(PINNED), encoding: 'utf8' });
    assert.deepEqual([status, stderr], [0, '']);
  });

  test('holds keys with the day they expire, and keys that were revoked', () => {
    const [good, old] = [publicKey(), publicKey()];
    const { digests: _, ...unpinned } = PINNED;
    const text = renderDownloadScript({
      ...unpinned,
      keys: [{ publicKey: good, notAfter: '2031-01-02' }, { publicKey: old }],
      revokedKeys: [old],
    });
    assert.ok(text.includes(`KEYS='${good}@20310102'\nTHRESHOLD=1\nREVOKED='${old}'\n`));
    assert.doesNotMatch(text, /signatures\.json/);
  });

  test('holds each key once, and how many must have signed', () => {
    const [one, other] = [publicKey(), publicKey()];
    const { digests: _, ...unpinned } = PINNED;
    const keys = [one, other, one].map((key) => ({ publicKey: key }));
    const text = renderDownloadScript({ ...unpinned, keys, threshold: 2 });
    assert.ok(text.includes(`KEYS='${one}@0 ${other}@0'\nTHRESHOLD=2\n`));
    assert.match(text, /signatures\.json/);
    assert.doesNotMatch(text, /SHA256SUMS\.sig /);
  });

  test('is not rendered where the keys cannot reach the threshold', () => {
    const [one, other] = [publicKey(), publicKey()];
    const keys = [{ publicKey: one }, { publicKey: other }];
    refused({ digests: {}, keys, threshold: 3 }, /the threshold is 3, and the keys that are not revoked are 2/);
    refused({ digests: {}, keys, threshold: 2, revokedKeys: [other] }, /the keys that are not revoked are 1/);
    refused({ digests: {}, keys: [{ publicKey: one }, { publicKey: one }], threshold: 2 }, /are not revoked are 1/);
    refused({ digests: {}, keys, threshold: 0 }, /a number from 1 to 9/);
  });

  test('holds the time in which the root of the keys is valid', () => {
    const { digests: _, ...unpinned } = PINNED;
    const validity = { since: '2026-01-02T03:04:05.678Z', until: '2027-01-01T00:00:00+01:00' };
    const text = renderDownloadScript({ ...unpinned, keys: [{ publicKey: publicKey() }], validity });
    assert.ok(text.includes('SINCE=20260102030405\nUNTIL=20261231230000\n'));
    assert.doesNotMatch(renderDownloadScript({ ...PINNED, validity }), /SINCE|UNTIL/);
    refused({ validity: { ...validity, until: 'soon' }, digests: {}, keys: [{ publicKey: publicKey() }] }, /"soon"/);
  });

  test('takes a key in one form only, in which two keys are two', () => {
    const key = newKey();
    const loose = key.publicKey.replace(/.==$/, (end) => `${end.startsWith('A') ? 'B' : 'R'}==`);
    for (const form of [...otherForms(key), loose, `${key.publicKey}\n`, 'AAAA']) {
      refused({ digests: {}, keys: [{ publicKey: key.publicKey }, { publicKey: form }], threshold: 2 }, /a public key/);
    }
  });

  test('contains only the certificates of a certificate authority file', () => {
    const pem = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----';
    const text = renderDownloadScript({
      ...PINNED,
      certificateAuthorities: `Subject: CN = Example\n${pem}\n`,
      locations: [{ url: 'https://mirror.example.com', pinned: true }],
    });
    assert.ok(text.includes(`CA='${pem}'\n`));
    assert.ok(text.includes("LOCATIONS='https://mirror.example.com - pinned\n'"));
  });

  test('is not rendered when nothing would be verified', () => refused({ digests: {} }, /neither a digest nor a key/));

  test('is not rendered without a location', () => refused({ locations: [] }, /no location/));

  test('is not rendered with an invalid version', () => refused({ version: 'v1.4' }, /the version "v1\.4"/));

  test('is not rendered with an invalid digest', () =>
    refused({ digests: { amd64: { ...digests.amd64, gzip: 'sha256:1234' } } }, /digest of amd64\.gz/));

  test('is not rendered with an unknown architecture', () =>
    refused(
      Object.assign({}, { digests: JSON.parse(`{"amd64.gz='; reboot;'": ${JSON.stringify(digests.amd64)}}`) }),
      /architecture/,
    ));

  for (const url of [
    "https://mirror.example.com/'; reboot; '",
    'https://mirror.example.com/$(reboot)',
    'https://mirror.example.com/a b',
    'https://mirror.example.com/a\nb',
    'ftp://mirror.example.com/',
    'file://server/share',
    'file:///mnt/%2e%2e/x',
    'mirror.example.com',
  ]) {
    test(`is not rendered with the location ${JSON.stringify(url)}`, () =>
      refused({ locations: [{ url }] }, /not a plain http, https or file URL/));
  }

  test('holds no credentials in a URL, and sends none unencrypted', () => {
    refused({ locations: [{ url: 'https://user:word@mirror.example.com' }] }, /holds credentials/);
    refused(
      { locations: [{ url: 'http://mirror.example.com', authorizationFile: '/etc/machineadm/credential' }] },
      /unencrypted/,
    );
    refused({ locations: [{ url: 'https://m.example.com', authorizationFile: "/etc/'x" }] }, /not a plain path/);
  });

  test('pins no location without a certificate authority', () =>
    refused({ locations: [{ url: 'https://mirror.example.com', pinned: true }] }, /no certificate authority/));

  test('is not rendered with an invalid key, day, directory or deadline', () => {
    refused({ keys: [{ publicKey: "x'; reboot" }] }, /public key/);
    refused({ keys: [{ publicKey: publicKey(), notAfter: 'soon' }] }, /the day "soon"/);
    refused({ directories: ['/opt/a b'] }, /not a plain path/);
    refused({ deadlineSeconds: 0 }, /deadline/);
  });
});
