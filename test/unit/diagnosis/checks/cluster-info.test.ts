import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { describe, test } from 'node:test';
import { Secret } from '@machineadm/document/secrets/secret.ts';
import { checkClusterInfo } from '../../../../src/diagnosis/checks/cluster-info.ts';
import { type EarlyCause, watchForCause } from '../../../../src/diagnosis/early-cause.ts';
import { publicKeyHash } from '../../../../src/host/cluster/cluster-info.ts';
import { newAuthority } from '../../../support/api-server.ts';
import { type ClusterState, startJoinableCluster } from '../../../support/joinable-cluster.ts';
import { memoryHost } from '../../../support/memory-host.ts';

const SECRET = '0123456789abcdef';
const authority = newAuthority();
const HASH = publicKeyHash(authority.certificate);
const signal = new AbortController().signal;

/** As the controller manager signs it (k/k cluster-bootstrap/token/jws). */
function signatureBy(secret: string) {
  return (kubeconfig: string): string => {
    const header = Buffer.from(JSON.stringify({ alg: 'HS256', kid: 'abcdef' })).toString('base64url');
    const payload = Buffer.from(kubeconfig).toString('base64url');
    return `${header}..${createHmac('sha256', secret).update(`${header}.${payload}`).digest('base64url')}`;
  };
}

async function found(state: Partial<ClusterState>, hash = HASH, token = `abcdef.${SECRET}`) {
  await using server = await startJoinableCluster(authority, { signed: true, certificates: false, ...state });
  const join = { endpoint: server.endpoint, caCertHashes: [hash], token: new Secret(token) };
  const findings = await checkClusterInfo(join, signal);
  assert.deepEqual(server.bearers, [], 'the token is not sent');
  assert.doesNotMatch(JSON.stringify(findings), new RegExp(SECRET));
  return findings.map(({ severity, reason }) => reason ?? severity);
}

describe('what a cluster says to a machine that will join it', () => {
  test('it knows the token and its secret', async () => {
    assert.deepEqual(await found({ signature: signatureBy(SECRET) }), ['passed']);
  });

  test('it does not know the token, or another secret of it', async () => {
    assert.deepEqual(await found({ signed: false }), ['BootstrapTokenNotFound']);
    assert.deepEqual(await found({ signature: signatureBy('another') }), ['BootstrapTokenSecretMismatch']);
  });

  test('its CA is not the one of the document', async () => {
    assert.deepEqual(await found({}, `sha256:${'0'.repeat(64)}`), ['CACertHashMismatch']);
  });

  test('an endpoint that does not answer is not judged here', async () => {
    const join = { endpoint: '127.0.0.1:1', caCertHashes: [], token: undefined };
    assert.deepEqual(await checkClusterInfo(join, signal), []);
  });
});

describe('while kubeadm repeats in silence what the cluster refuses', () => {
  const causeOf = async (endpoint: string): Promise<EarlyCause | undefined> => {
    const stop = new AbortController();
    let cause: EarlyCause | undefined;
    const join = { endpoint, caCertHashes: [HASH], token: new Secret(`abcdef.${SECRET}`) };
    const context = {
      since: { realTimeMs: Date.now() },
      role: 'Worker',
      criSocket: 'unix:///run/x.sock',
      join,
    } as const;
    await watchForCause(memoryHost(), context, stop.signal, (seen) => {
      cause = seen;
      stop.abort();
    });
    return cause;
  };

  test('the refused token and the closed endpoint are named, and are not permanent', async () => {
    await using server = await startJoinableCluster(authority, { signed: false, certificates: false });
    const token = await causeOf(server.endpoint);
    assert.deepEqual([token?.failure.reason, token?.isPermanent], ['BootstrapTokenNotFound', false]);
    assert.match(
      token?.failure.summary ?? '',
      /^The cluster at 127\.0\.0\.1:\d+ does not know the bootstrap token with the id abcdef\.$/,
    );
    assert.equal((await causeOf('127.0.0.1:1'))?.failure.reason, 'APIEndpointConnectionRefused');
  });
});
