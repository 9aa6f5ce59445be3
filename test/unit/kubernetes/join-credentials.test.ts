import assert from 'node:assert/strict';
import { createHash, X509Certificate } from 'node:crypto';
import { describe, test } from 'node:test';
import { Secret } from '../../../src/document/secret.ts';
import { requireLivingCredentials } from '../../../src/kubernetes/join-credentials.ts';
import { newAuthority } from '../../support/api-server.ts';
import { type ClusterState, startJoinableCluster } from '../../support/joinable-cluster.ts';
import { inlineSecret } from '../../support/kubernetes-model.ts';

const TOKEN = 'abcdef.0123456789abcdef';
const authority = newAuthority();
const signal = new AbortController().signal;

function hashOf(pem: string): string {
  const key = new X509Certificate(pem).publicKey.export({ type: 'spki', format: 'der' });
  return `sha256:${createHash('sha256').update(key).digest('hex')}`;
}

const cluster = (state: ClusterState) => startJoinableCluster(authority, state);

async function judge(endpoint: string, fetchesCertificates: boolean, hash = hashOf(authority.certificate)) {
  const discovery = { token: inlineSecret(TOKEN), endpoint, caCertHashes: [hash], unsafeSkipCAVerification: false };
  await requireLivingCredentials(discovery, { token: new Secret(TOKEN), fetchesCertificates }, signal);
}

describe('before another attempt to join', () => {
  test('a token that the cluster signs for is good', async () => {
    await using server = await cluster({ signed: true, certificates: true });
    await judge(server.endpoint, true);
    assert.deepEqual(server.bearers, [`Bearer ${TOKEN}`]);
  });

  test('a token that it signs for no more has expired', async () => {
    await using server = await cluster({ signed: false, certificates: true });
    await assert.rejects(judge(server.endpoint, false), { reason: 'BootstrapTokenExpired', retryable: false });
    assert.deepEqual(server.bearers, [], 'and it is shown to nobody');
  });

  test('shared certificates that are gone have expired', async () => {
    await using server = await cluster({ signed: true, certificates: false });
    await assert.rejects(judge(server.endpoint, true), { reason: 'CertificateKeySecretExpired', retryable: false });
    await judge(server.endpoint, false);
  });

  test('the token is shown to no cluster but the one that is pinned', async () => {
    await using server = await cluster({ signed: true, certificates: false });
    await judge(server.endpoint, true, `sha256:${'0'.repeat(64)}`);
    await using impostor = await cluster({ signed: true, certificates: false, ca: newAuthority().certificate });
    await judge(impostor.endpoint, true);
    assert.deepEqual([...server.bearers, ...impostor.bearers], []);
  });

  test('what does not answer is left to kubeadm', async () => {
    await judge('127.0.0.1:1', true);
  });
});
