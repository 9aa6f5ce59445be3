import assert from 'node:assert/strict';
import { createHash, X509Certificate } from 'node:crypto';
import { describe, test } from 'node:test';
import { Secret } from '@machineadm/document/secrets/secret.ts';
import {
  requireFreeNodeName,
  requireLivingCredentials,
  requirePinnedAuthority,
} from '../../../src/kubernetes/join-credentials.ts';
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

function discoveryOf(endpoint: string, hash = hashOf(authority.certificate)) {
  return { token: inlineSecret(TOKEN), endpoint, caCertHashes: [hash], unsafeSkipCAVerification: false };
}

async function judge(endpoint: string, fetchesCertificates: boolean, hash?: string) {
  await requireLivingCredentials(
    discoveryOf(endpoint, hash),
    { token: new Secret(TOKEN), fetchesCertificates },
    signal,
  );
}

describe('before another attempt to join', () => {
  test('a token that the cluster signs for is valid', async () => {
    await using server = await cluster({ signed: true, certificates: true });
    await judge(server.endpoint, true);
    assert.deepEqual(server.bearers, [`Bearer ${TOKEN}`]);
  });

  test('a token that the cluster no longer signs for has expired', async () => {
    await using server = await cluster({ signed: false, certificates: true });
    await assert.rejects(judge(server.endpoint, false), { reason: 'BootstrapTokenExpired', retryable: false });
    assert.deepEqual(server.bearers, [], 'and it is shown to nobody');
  });

  test('shared certificates that are missing have expired', async () => {
    await using server = await cluster({ signed: true, certificates: false });
    await assert.rejects(judge(server.endpoint, true), { reason: 'CertificateKeySecretExpired', retryable: false });
    await judge(server.endpoint, false);
  });

  test('the token is sent to no cluster but the pinned one', async () => {
    await using server = await cluster({ signed: true, certificates: false });
    await judge(server.endpoint, true, `sha256:${'0'.repeat(64)}`);
    await using impostor = await cluster({ signed: true, certificates: false, ca: newAuthority().certificate });
    await judge(impostor.endpoint, true);
    assert.deepEqual([...server.bearers, ...impostor.bearers], []);
  });

  test('a cluster that does not answer is left to kubeadm', async () => {
    await judge('127.0.0.1:1', true);
  });
});

describe('a CA on the disk of a joining control plane', () => {
  const other = newAuthority().certificate;
  const require = (pem: string, hash?: string) =>
    requirePinnedAuthority(discoveryOf('x:6443', hash), '/pki/ca.crt', pem);

  test('is left alone where it is of another cluster', () => {
    assert.throws(() => require(other), {
      reason: 'StaleCertificates',
      message: /^\/pki\/ca\.crt belongs to another cluster/,
    });
  });

  test('is accepted where the document pins it, also beside another one, and where nothing can be said', () => {
    require(authority.certificate);
    require(`${other}${authority.certificate}`);
    require('none');
    requirePinnedAuthority({ ...discoveryOf('x:6443'), caCertHashes: [] }, '/pki/ca.crt', other);
  });
});

describe('the name of a joining machine', () => {
  const OWN = { machineId: 'a'.repeat(32) };
  const nodeOf = (machineID: string, ready: string | undefined, systemUUID = '') => ({
    metadata: { name: 'node-1' },
    status: {
      nodeInfo: { machineID, systemUUID },
      conditions: ready === undefined ? [] : [{ type: 'Ready', status: ready }],
    },
  });

  async function requireFree(nodes: Readonly<Record<string, object>>, systemUuid?: string, hash?: string) {
    await using server = await cluster({ signed: true, certificates: true, nodes });
    const machine = {
      machineId: OWN.machineId,
      ...(systemUuid === undefined ? {} : { systemUuid }),
      token: new Secret(TOKEN),
      nodeName: 'node-1',
    };
    await requireFreeNodeName(discoveryOf(server.endpoint, hash), machine, signal);
    return server.bearers.length;
  }

  for (const ready of ['True', 'False']) {
    test(`is taken where the kubelet of another machine reports Ready as ${ready}`, async () => {
      await assert.rejects(requireFree({ 'node-1': nodeOf('b'.repeat(32), ready) }), {
        reason: 'NodeNameConflict',
        retryable: false,
        message: /node-1/,
      });
    });
  }

  test('is taken where a copy of this machine has it', async () => {
    const copied = { 'node-1': nodeOf(OWN.machineId, 'True', 'OTHER') };
    await assert.rejects(requireFree(copied, 'OWN'), { reason: 'NodeNameConflict' });
  });

  test('is free where its kubelet went silent or never reported, where it is our own, and where no Node has it', async () => {
    for (const node of [
      nodeOf('b'.repeat(32), 'Unknown'),
      nodeOf('b'.repeat(32), undefined),
      nodeOf(OWN.machineId, 'True'),
    ]) {
      await requireFree({ 'node-1': node });
    }
    await requireFree({ 'node-1': nodeOf(OWN.machineId, 'True', 'OWN') }, 'OWN');
    await requireFree({ 'node-2': nodeOf('b'.repeat(32), 'True') });
  });

  test('is left to kubeadm where the cluster is not the one that is pinned', async () => {
    assert.equal(await requireFree({ 'node-1': nodeOf('b'.repeat(32), 'True') }, undefined, 'sha256:0'), 0);
  });
});
