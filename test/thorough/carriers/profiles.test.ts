import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import {
  countedBytes,
  type ProfileName,
  profileNamed,
  profileNames,
  renderBootstrapSecret,
  wrapDocument,
} from '@machineadm/user-data/index.ts';
import { load } from '../../support/document.ts';

/** A document whose compressed size is a little above this many bytes. */
function documentOf(bytes: number): string {
  const noise = createHash('shake256', { outputLength: bytes }).update('noise').digest('base64');
  return `apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\nmetadata: {name: n}\nhost: {files: [{path: /n, content: "${noise}"}]}\n`;
}

async function wrapFor(profile: ProfileName, bytes: number) {
  const document = documentOf(bytes);
  const result = await load(document);
  assert.ok(result.ok);
  return await wrapDocument(document, result.document, { format: 'cloud-init', profile });
}

describe('the limits of providers', () => {
  const limited = profileNames().filter((name) => profileNamed(name).limitBytes !== undefined);

  for (const name of limited) {
    test(`${name} accepts what fits, and no more`, async () => {
      const { limitBytes = 0, counted } = profileNamed(name);
      const user = counted === 'base64' ? Math.floor((limitBytes * 3) / 4) : limitBytes;
      // Noise in base64 that is compressed and in base64 again: 4/3 of itself, and gzip adds up to one per cent.
      const fits = await wrapFor(name, Math.floor(user * 0.75 * 0.985) - 500);
      assert.ok(countedBytes(profileNamed(name), fits.userData) <= limitBytes);
      assert.ok(countedBytes(profileNamed(name), fits.userData) > limitBytes * 0.9, 'a case near the limit');
      await assert.rejects(wrapFor(name, Math.floor(user * 0.75) + 100), (error) => {
        assert.ok(error instanceof MachineadmError);
        assert.deepEqual([error.reason, error.exit], ['UserDataTooLarge', 'DocumentInvalid']);
        assert.match(error.message, new RegExp(`accepts ${limitBytes}$`));
        assert.match(error.remedy, /ECDSA/);
        return true;
      });
    });
  }

  test('count base64 at its encoded size', () => {
    assert.equal(countedBytes(profileNamed('capo'), 'ü'.repeat(5)), 16);
    assert.equal(countedBytes(profileNamed('capa'), 'ü'.repeat(5)), 10);
  });
});

describe('a bootstrap data Secret', () => {
  test('has the form of one by the kubeadm provider', () => {
    const secret = {
      name: 'w1',
      namespace: 'clusters',
      cluster: 'prod',
      format: 'cloud-config',
      userData: 'ü',
    } as const;
    assert.deepEqual(JSON.parse(renderBootstrapSecret(secret)), {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'w1', namespace: 'clusters', labels: { 'cluster.x-k8s.io/cluster-name': 'prod' } },
      type: 'cluster.x-k8s.io/secret',
      data: { value: 'w7w=', format: Buffer.from('cloud-config').toString('base64') },
    });
  });

  test('has no namespace and no label unless they are given', () => {
    const bare = { name: 'w1', namespace: undefined, cluster: undefined, format: 'ignition', userData: '{}' } as const;
    assert.deepEqual(JSON.parse(renderBootstrapSecret(bare)).metadata, { name: 'w1' });
  });
});
