import assert from 'node:assert/strict';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { describe, test } from 'node:test';
import { callersBy } from '@machineadm/translator/admission/caller.ts';
import { ManagementCluster } from '../../support/management-cluster.ts';

const NEVER = new AbortController().signal;

/** A request with this header. */
function requestWith(authorization: string | undefined): IncomingMessage {
  const request = new IncomingMessage(new Socket());
  if (authorization !== undefined) request.headers.authorization = authorization;
  return request;
}

describe('a caller with a bearer token', () => {
  /** An API server that knows one token. */
  function callers(status: object) {
    const api = new ManagementCluster();
    const asked: unknown[] = [];
    api.request = async ({ path, body }) => {
      assert.equal(path, '/apis/authentication.k8s.io/v1/tokenreviews');
      asked.push(body);
      return { status };
    };
    return { asked, by: callersBy({ proof: 'Token', authorities: undefined, names: ['apiserver'] }, api) };
  }
  const valid = { authenticated: true, audiences: ['machineadm-translator'], user: { username: 'apiserver' } };

  test('is accepted where the API server knows the token, the audience and the name, and is asked once a minute', async () => {
    const { asked, by } = callers(valid);
    for (let count = 0; count < 3; count += 1) {
      assert.equal(await by.refusal(requestWith('Bearer the-token'), NEVER), undefined);
    }
    assert.deepEqual(asked, [
      {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenReview',
        spec: { token: 'the-token', audiences: ['machineadm-translator'] },
      },
    ]);
    assert.deepEqual([by.isProven, await by.authorities()], [true, undefined]);
  });

  for (const [what, status] of [
    ['nobody knows', { authenticated: false }],
    ['is of another user', { ...valid, user: { username: 'somebody' } }],
    ['is for the API server itself', { ...valid, audiences: ['https://kubernetes.default.svc'] }],
    ['an old API server checked without an audience', { ...valid, audiences: undefined }],
    ['has no user', { ...valid, user: undefined }],
  ] as const) {
    test(`is refused where the token ${what}`, async () => {
      const { by } = callers(status);
      assert.equal(
        await by.refusal(requestWith('Bearer the-token'), NEVER),
        'the bearer token is not that of the API server',
      );
    });
  }

  for (const header of [undefined, 'Basic dTpw', 'Bearer', 'Bearer a b']) {
    test(`is refused with ${header ?? 'no header'}, without asking`, async () => {
      const { asked, by } = callers(valid);
      assert.equal(await by.refusal(requestWith(header), NEVER), 'no bearer token');
      assert.deepEqual(asked, []);
    });
  }
});
