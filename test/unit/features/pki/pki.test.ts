import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { describe, test } from 'node:test';
import type { Model } from '@machineadm/document/model/index.ts';
import { pki } from '../../../../src/features/pki/index.ts';
import { newAuthority } from '../../../support/api-server.ts';
import { selfSigned } from '../../../support/certificates.ts';
import { hostModel } from '../../../support/host-model.ts';
import { inlineSecret, kubernetesModel } from '../../../support/kubernetes-model.ts';
import { memoryHost } from '../../../support/memory-host.ts';
import { bench } from '../../../support/step-bench.ts';

function authorityPair() {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const certificate = selfSigned({
    key: privateKey,
    publicKey,
    notBefore: new Date(Date.now() - 60_000),
    notAfter: new Date(Date.now() + 3_600_000),
    authority: true,
  });
  return { certificate, key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() };
}

const CA = authorityPair();

function modelWith(pair: { certificate: string; key: string }): Model {
  const ca = { certificate: pair.certificate, key: inlineSecret(pair.key, 'caKey') };
  return { ...hostModel(), kubernetes: kubernetesModel({ pki: { ca } }) };
}

describe('the PKI of the document', () => {
  test('is nothing to do where the document brings none', () => {
    assert.equal(bench(pki, memoryHost(), { ...hostModel(), kubernetes: kubernetesModel() }).desired, undefined);
  });

  test('is written with its modes, and then nothing is left to do', async () => {
    const host = memoryHost();
    const step = bench(pki, host, modelWith(CA));
    await step.apply();
    assert.deepEqual(host.log, [
      'write /etc/kubernetes/pki/ca.crt 0640 0:0',
      'write /etc/kubernetes/pki/ca.key 0600 0:0',
    ]);
    assert.equal(host.text('/etc/kubernetes/pki/ca.key'), CA.key);
    assert.deepEqual(await step.plan(), []);
  });

  test('is planned without a word of a key', async () => {
    const changes = await bench(pki, memoryHost(), modelWith(CA)).plan();
    assert.deepEqual(
      changes.map(({ id, scope, diff }) => [id, scope, diff]),
      [
        ['pki//etc/kubernetes/pki/ca.crt', 'node', undefined],
        ['pki//etc/kubernetes/pki/ca.key', 'node', undefined],
      ],
    );
    assert.doesNotMatch(JSON.stringify(changes), /PRIVATE KEY/);
  });

  test('is put right where content, mode or owner differ', async () => {
    const files = {
      '/etc/kubernetes/pki/ca.crt': { content: 'of another cluster', mode: 0o640 },
      '/etc/kubernetes/pki/ca.key': { content: CA.key, mode: 0o644, uid: 7 },
    };
    const changes = await bench(pki, memoryHost({ files }), modelWith(CA)).plan();
    assert.deepEqual(
      changes.map(({ summary }) => summary),
      [
        '/etc/kubernetes/pki/ca.crt: another content',
        '/etc/kubernetes/pki/ca.key: mode 0644 -> 0600, owner 7:0 -> 0:0',
      ],
    );
  });

  test('that cannot be used is refused before anything is written, by plan already', async () => {
    const foreign = newAuthority().issue('not the key of the CA');
    const host = memoryHost();
    const step = bench(pki, host, modelWith({ certificate: CA.certificate, key: foreign.key }));
    await assert.rejects(step.plan(), { name: 'MachineadmError', reason: 'PKIInvalid' });
    assert.deepEqual(host.log, []);
  });

  test("is the cluster's own once it is bootstrapped", async () => {
    const files = { '/etc/kubernetes/pki/ca.crt': 'renewed since' };
    assert.deepEqual(await bench(pki, memoryHost({ files }), modelWith(CA)).plan({ bootstrap: 'done' }), []);
  });
});
