import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type Proof, verifyFiles } from '../../../src/trust/verify.ts';
import { needs } from '../../support/needs.ts';
import { newKey, program, signedAgain, type TestRelease, testRelease, trustIn } from '../../support/release.ts';

const KEY = newKey();
const TRUST = trustIn(KEY);
const VERSION = '1.2.3';

describe('a file of a release', { skip: needs('xz') }, () => {
  const directory = mkdtempSync(join(tmpdir(), 'machineadm-verify-release-'));
  let release: TestRelease;
  before(async () => {
    release = await testRelease(directory, VERSION, KEY);
  });
  after(() => rmSync(directory, { recursive: true }));
  const at = (name: string) => join(release.directory, name);
  const verified = async (name: string, proof: Proof = {}, trust = TRUST) =>
    (await verifyFiles([at(name)], proof, trust, new Date('2026-11-20T10:00:00Z'))).map(
      ({ by, signedBy, warnings }) => ({
        by,
        signedBy,
        warnings,
      }),
    )[0];

  test('is verified by the signed list, also where its version is demanded', async () => {
    const expected = { by: at('SHA256SUMS'), signedBy: KEY.keyId, warnings: [] };
    const [artefact] = release.manifest.artefacts;
    for (const name of [
      'manifest.json',
      'LICENSES.txt',
      artefact?.file ?? '',
      release.manifest.packages[0]?.file ?? '',
    ])
      assert.deepEqual(await verified(name, { version: VERSION }), expected, name);
    assert.deepEqual(await verified('manifest.json'), expected);
  });

  test('is refused where another version is demanded, or a newer one is the oldest that may be used', async () => {
    await assert.rejects(verified('manifest.json', { version: '1.2.4' }), {
      reason: 'ReleaseVersionMismatch',
      message: `${release.directory} holds the release 1.2.3, not 1.2.4`,
    });
    await assert.rejects(verified('manifest.json', {}, { ...TRUST, minimumVersion: '1.2.4' }), {
      reason: 'ReleaseTooOld',
    });
  });

  test('is refused where the release itself is older than its own minimum version', async () => {
    const again = mkdtempSync(join(directory, 'again-'));
    cpSync(release.directory, again, { recursive: true });
    const text = JSON.stringify({ ...release.manifest, minimumVersion: '1.2.4' });
    await signedAgain(again, KEY, { 'manifest.json': Buffer.from(text) });
    await assert.rejects(verifyFiles([join(again, 'manifest.json')], {}, TRUST, new Date()), {
      reason: 'ReleaseTooOld',
      message: 'the release 1.2.3 is older than 1.2.4, the oldest allowed',
    });
  });

  test('may be the program of an archive under any name', async () => {
    writeFileSync(at('machineadm'), program(VERSION));
    const artefact = release.manifest.artefacts[0]?.file ?? '';
    assert.deepEqual(await verified('machineadm'), {
      by: `${artefact} of ${at('SHA256SUMS')}`,
      signedBy: KEY.keyId,
      warnings: [],
    });
    writeFileSync(at('machineadm'), program('1.2.4'));
    await assert.rejects(verified('machineadm'), {
      reason: 'DigestMismatch',
      message: `${at('SHA256SUMS')} has neither machineadm nor a program with its digest`,
    });
  });

  test('may be the provenance of the release, which has a signature of its own', async () => {
    assert.deepEqual(await verified('provenance.sigstore.json'), {
      by: 'its signature',
      signedBy: KEY.keyId,
      warnings: [],
    });
  });
});
