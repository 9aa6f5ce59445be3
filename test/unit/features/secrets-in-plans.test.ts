import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Model } from '@machineadm/document/model/index.ts';
import type { SecretValue } from '@machineadm/document/secrets/secret.ts';
import { parseVersion } from '@machineadm/document/text/program-version.ts';
import { kubeadmConfig } from '../../../src/features/kubeadm/config.ts';
import { pki } from '../../../src/features/pki/index.ts';
import { newAuthority } from '../../support/api-server.ts';
import { facts } from '../../support/facts.ts';
import { hostModel } from '../../support/host-model.ts';
import { kubernetesModel } from '../../support/kubernetes-model.ts';
import { memoryHost, queryOnly } from '../../support/memory-host.ts';
import { planned } from '../../support/run-step.ts';

/** A secret that a program prints: a plan may not run it. */
function printed(name: string): SecretValue {
  return { name, source: { kind: 'exec', command: ['fetch'], timeoutMs: 1000 } };
}

const TOKEN = 'abcdef.0123456789abcdef';

describe('a plan with secrets that have effects to find out', () => {
  test('tells which certificates and keys are known after the secrets', async () => {
    const ca = { certificate: newAuthority().certificate, key: printed('secrets.caKey') };
    const model: Model = { ...hostModel(), kubernetes: kubernetesModel({ pki: { ca } }) };
    const host = memoryHost({ secrets: {} });
    const changes = await planned(pki, queryOnly(host), model);
    assert.deepEqual(
      changes.map(({ id, knownAfter, scope }) => [id, knownAfter, scope]),
      [
        ['pki//etc/kubernetes/pki/ca.crt', 'secrets', 'node'],
        ['pki//etc/kubernetes/pki/ca.key', 'secrets', 'node'],
      ],
    );
    assert.deepEqual([host.log, host.queries], [[], []]);
  });

  test("tells the same of kubeadm's configuration, which a run with the value then writes", async () => {
    const join = {
      discovery: {
        token: printed('secrets.joinToken'),
        endpoint: '10.0.0.1:6443',
        caCertHashes: [`sha256:${'a'.repeat(64)}`],
        unsafeSkipCAVerification: false,
      },
      tlsBootstrapToken: undefined,
      caCertPath: '/etc/kubernetes/pki/ca.crt',
    };
    const model: Model = { ...hostModel(), kubernetes: kubernetesModel({ role: 'Worker', join }) };
    const host = memoryHost({ secrets: { 'secrets.joinToken': TOKEN } });
    const options = { facts: facts({ kubeadm: parseVersion('v1.35.2') }) };
    const [change, ...more] = await planned(kubeadmConfig, queryOnly(host), model, options);
    assert.deepEqual(
      [change?.id, change?.knownAfter],
      ['kubeadm-config//run/kubeadm/kubeadm-join-config.yaml', 'secrets'],
    );
    assert.deepEqual([more, host.log], [[], []]);
    const [known] = await planned(kubeadmConfig, host, model, options);
    assert.equal(known?.knownAfter, undefined);
    assert.equal(known?.id, change?.id);
  });
});
