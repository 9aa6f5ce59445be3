import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ApiServerFilesModel, Model, StaticPodModel } from '@machineadm/document/model/index.ts';
import type { SecretValue } from '@machineadm/document/secrets/secret.ts';
import { controlPlaneFiles } from '../../../../src/features/control-plane-files/index.ts';
import { EMPTY_RECORD } from '../../../../src/step/index.ts';
import { apiServerModel } from '../../../support/api-server-model.ts';
import { hostModel } from '../../../support/host-model.ts';
import { inlineSecret } from '../../../support/kubernetes-model.ts';
import { memoryHost, queryOnly } from '../../../support/memory-host.ts';
import { planned, runStep } from '../../../support/run-step.ts';

const CONFIG = '/etc/kubernetes/encryption/config.yaml';
const KEY = Buffer.alloc(32, 7).toString('base64');
const programs = { findmnt: () => ({ stdout: 'rw,relatime\n' }) };

function machine(files: Partial<ApiServerFilesModel>, staticPods: readonly StaticPodModel[] = []): Model {
  const kubernetes = apiServerModel(files);
  return { ...hostModel(), kubernetes: { ...kubernetes, controlPlane: { ...kubernetes.controlPlane, staticPods } } };
}

function withKey(key: SecretValue): Model {
  const providers = [{ kind: 'secretbox', keys: [{ name: 'key1', key }] } as const];
  return machine({ encryptionAtRest: { resources: ['secrets'], providers } });
}

const log = { path: '/var/log/kubernetes/audit/audit.log', maxAgeDays: 30, maxBackups: 10, maxSizeMi: 100 };
const audited = machine({
  audit: { policy: { rules: [{ level: 'None' }] }, log: { ...log, mode: undefined }, webhook: undefined },
});
const kms = { kind: 'kms', name: 'k', socket: '/run/kms/kms.sock', timeoutMs: 3000, version: 'v2' } as const;
const withKms = machine({ encryptionAtRest: { resources: ['secrets'], providers: [kms] } });

describe('the files of the API server', () => {
  test('a document that asks for none has no such step', () => {
    assert.equal(controlPlaneFiles.desired(machine({}), { ...Object.create(null) }), undefined);
  });

  test('are written for root alone, with the directory of the log; a second run changes nothing', async () => {
    const host = memoryHost({ programs, files: { '/etc/kubernetes': { type: 'directory' } } });
    const run = await runStep(controlPlaneFiles, host, audited);
    assert.deepEqual(run.left, []);
    assert.deepEqual(
      host.log.filter((line) => !line.startsWith('sync')),
      ['mkdir /var/log/kubernetes/audit 0700', 'write /etc/kubernetes/audit-policy.yaml 0600 0:0'],
    );
    assert.deepEqual((await runStep(controlPlaneFiles, host, audited)).changes, []);
  });

  test('a directory of its own is made for a file that is mounted with it', async () => {
    const host = memoryHost({ files: { '/etc/kubernetes': { type: 'directory' } } });
    await runStep(controlPlaneFiles, host, withKey(inlineSecret(KEY)));
    assert.deepEqual(
      host.log.filter((line) => !line.startsWith('sync')),
      ['mkdir /etc/kubernetes/encryption 0700', `write ${CONFIG} 0600 0:0`],
    );
  });

  test('a log on a read-only file system is refused before anything is written', async () => {
    const files = { '/var/log/kubernetes/audit': { type: 'directory' as const } };
    const host = memoryHost({ files, programs: { findmnt: () => ({ stdout: 'ro,relatime\n' }) } });
    await assert.rejects(runStep(controlPlaneFiles, host, audited), { reason: 'ReadOnlyFilesystem' });
    assert.deepEqual(host.log, []);
  });

  test('a key of the document is written to the file and nowhere else', async () => {
    const host = memoryHost();
    const run = await runStep(controlPlaneFiles, host, withKey(inlineSecret(KEY)));
    assert.match(host.text(CONFIG) ?? '', new RegExp(KEY.replaceAll('+', '\\+')));
    assert.doesNotMatch(JSON.stringify(run.changes.map(({ id, summary, diff }) => [id, summary, diff])), /BwcH/);
  });

  test('a key that is not there is refused before anything is written', async () => {
    const host = memoryHost();
    const key: SecretValue = { name: 'secrets.key', source: { kind: 'file', path: '/run/secrets/key' } };
    await assert.rejects(runStep(controlPlaneFiles, host, withKey(key)), { reason: 'SecretUnavailable' });
    assert.deepEqual(host.log, []);
  });

  test('a key that turns out too short is refused before anything is written', async () => {
    const host = memoryHost({ files: { '/run/secrets/key': 'c2hvcnQ=\n' } });
    const key: SecretValue = { name: 'secrets.key', source: { kind: 'file', path: '/run/secrets/key' } };
    await assert.rejects(runStep(controlPlaneFiles, host, withKey(key)), {
      reason: 'EncryptionConfigInvalid',
      exit: 'HostStepFailed',
    });
    assert.deepEqual(host.log, []);
  });

  test('a plan names what depends on a key that it may not read', async () => {
    const key: SecretValue = { name: 'k', source: { kind: 'exec', command: ['vault'], timeoutMs: 1 } };
    const [change] = await planned(controlPlaneFiles, queryOnly(memoryHost({ secrets: { k: KEY } })), withKey(key));
    assert.deepEqual([change?.id, change?.knownAfter], [`control-plane-files/${CONFIG}`, 'secrets']);
  });

  for (const [what, files, why] of [
    ['is not there', {}, /no such file/],
    ['is a file', { '/run/kms/kms.sock': '' }, /it is a file/],
  ] as const) {
    test(`the socket of a KMS that ${what} is refused before anything is written`, async () => {
      const host = memoryHost({ files });
      await assert.rejects(runStep(controlPlaneFiles, host, withKms), { reason: 'KMSSocketMissing', message: why });
      assert.deepEqual(host.log, []);
    });
  }

  test('a KMS that listens is taken', async () => {
    const host = memoryHost({ files: { '/run/kms/kms.sock': { type: 'socket' } } });
    assert.deepEqual((await runStep(controlPlaneFiles, host, withKms)).left, []);
  });

  test('a KMS that is a static pod of the document starts later', async () => {
    const manifest = 'apiVersion: v1\nkind: Pod\nspec: {volumes: [{name: s, hostPath: {path: /run/kms}}]}\n';
    const { encryptionAtRest } = withKms.kubernetes?.controlPlane.apiServer ?? {};
    const model = machine({ encryptionAtRest }, [{ name: 'kms', manifest, adminKubeconfig: 'Auto' }]);
    assert.deepEqual((await runStep(controlPlaneFiles, memoryHost(), model)).left, []);
  });

  test('are left alone after the bootstrap: they change together with the API server', async () => {
    const record = { ...EMPTY_RECORD, bootstrap: 'done' as const };
    assert.deepEqual(await planned(controlPlaneFiles, memoryHost({ programs }), audited, { record }), []);
  });
});
