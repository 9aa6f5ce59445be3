import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { DIRECTORY_MANIFEST, expiry, manifestOf, parseDirectory } from '../../../src/trust/directory.ts';

const GOOD = {
  apiVersion: 'machineadm.dev/directory/v1',
  kind: 'SignedDirectory',
  place: 'sites/edge',
  version: 3,
  createdAt: '2026-11-01T00:00:00Z',
} as const;
const bytesOf = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));
const digestOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

describe('the manifest of a signed directory', () => {
  test('revokes no keys and does not expire by default', () => {
    assert.deepEqual(parseDirectory(bytesOf({ ...GOOD, of: 'a later version' })), { ...GOOD, revokedKeys: [] });
  });

  for (const place of ['.', 'images', 'a/b.c/d_e+f-g']) {
    test(`may be of the place ${place}`, () => assert.equal(parseDirectory(bytesOf({ ...GOOD, place })).place, place));
  }

  for (const [field, value] of [
    ['apiVersion', 'machineadm.dev/directory/v2'],
    ['kind', 'Release'],
    ['place', '/images'],
    ['place', 'images/'],
    ['place', '../images'],
    ['place', ''],
    ['version', 0],
    ['version', 1.5],
    ['createdAt', 'yesterday'],
    ['expiresAt', '2026-11-01'],
    ['revokedKeys', ['short']],
  ] as const) {
    test(`is refused with ${field}: ${JSON.stringify(value)}, which is named`, () => {
      assert.throws(() => parseDirectory(bytesOf({ ...GOOD, [field]: value })), {
        reason: 'ReleaseManifestInvalid',
        message: new RegExp(`: ${field}\\S* is missing or wrong$`),
      });
    });
  }

  test('is refused where it is not JSON', () => {
    assert.throws(() => parseDirectory(Buffer.from('{')), {
      reason: 'ReleaseManifestInvalid',
      message: 'directory.json is not JSON',
    });
  });

  test('is the one that the signed list names', async () => {
    const bytes = bytesOf(GOOD);
    const digests = new Map([[DIRECTORY_MANIFEST, digestOf(bytes)]]);
    const found = await manifestOf(digests, async () => bytes, 'x');
    assert.equal(found.manifest.version, 3);
    assert.equal(found.bytes, bytes);
    await assert.rejects(
      manifestOf(digests, async () => bytesOf({ ...GOOD, version: 4 }), 'x'),
      { reason: 'DigestMismatch', message: /^x\/directory\.json is not the one that / },
    );
  });

  for (const [what, names, message] of [
    ['is that of a release', ['manifest.json'], /^the list of x is that of a release: /],
    ['names no directory', ['other'], /^the list of x names no directory and no version: /],
  ] as const) {
    test(`is not read where the list ${what}`, async () => {
      const read = async (): Promise<Uint8Array> => assert.fail('it was read');
      await assert.rejects(manifestOf(new Map(names.map((name) => [name, ''])), read, 'x'), {
        reason: 'WrongPlace',
        message,
      });
    });
  }
});

describe('a signed directory expires', () => {
  const manifest = { ...GOOD, expiresAt: '2026-12-01T00:00:00Z', revokedKeys: [] };
  const at = (time: string) => expiry(manifest, new Date(time), 'x');

  test('after its time, and not at it', () => {
    assert.deepEqual(at('2026-12-01T00:00:00.000Z'), []);
    assert.throws(
      () => at('2026-12-01T00:00:00.001Z'),
      (error) => {
        assert.ok(error instanceof MachineadmError);
        assert.equal(error.reason, 'SignatureExpired');
        assert.deepEqual(error.evidence, [{ source: 'clock of this machine', text: '2026-12-01T00:00:00.001Z' }]);
        return true;
      },
    );
  });

  test('not by a clock that is before its signature, which is reported', () => {
    assert.deepEqual(at('2026-11-01T00:00:00.000Z'), []);
    assert.deepEqual(at('2026-10-31T23:59:59.999Z'), [
      'the clock (2026-10-31T23:59:59.999Z) is before x was signed: its expiry was not checked',
    ]);
  });

  test('never, if it has no expiry', () => {
    assert.deepEqual(expiry({ ...GOOD, revokedKeys: [] }, new Date('2099-01-01T00:00:00Z'), 'x'), []);
  });
});
