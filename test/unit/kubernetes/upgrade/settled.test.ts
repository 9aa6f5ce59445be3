import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Secret } from '@machineadm/document/secrets/secret.ts';
import { askSettled } from '../../../../src/kubernetes/upgrade/settled.ts';
import { type ApiAnswer, newAuthority, startApiServer } from '../../../support/api-server.ts';
import { shortPauses } from '../../../support/short-pauses.ts';

const NODES = '/api/v1/nodes';

/** The statuses of answers in their order; the last one for good. */
async function asked(answers: Readonly<Record<string, readonly number[]>>, patienceMs?: number) {
  const authority = newAuthority();
  const left = new Map(Object.entries(answers).map(([path, statuses]) => [path, [...statuses]]));
  const next = (path: string): ApiAnswer => {
    const statuses = left.get(path) ?? [];
    const status = (statuses.length > 1 ? statuses.shift() : statuses[0]) ?? 404;
    return status === 200 ? { gitVersion: 'v1.35.2', items: [] } : { status };
  };
  await using server = await startApiServer(authority, next);
  const { certificate, key } = authority.issue('kubernetes-admin');
  const credential = {
    ...{ server: new URL(server.url), certificateAuthority: authority.certificate, certificate },
    ...{ key: new Secret(key), serverName: undefined },
  };
  const answer = await askSettled(credential, { path: NODES }, patienceMs);
  return { answer, requests: [...server.requests] };
}

describe('an API server that refuses with 403', () => {
  shortPauses();
  test('for everything has just started: it is asked again until it has read the rights', async () => {
    const { answer, requests } = await asked({ [NODES]: [403, 403, 200], '/version': [403, 403] });
    assert.equal(answer.kind, 'found');
    assert.deepEqual(requests, [NODES, '/version', NODES, '/version', NODES]);
  });

  test('may have read them between two requests', async () => {
    const { answer } = await asked({ [NODES]: [403, 200], '/version': [200] });
    assert.equal(answer.kind, 'found');
  });

  test('for this alone means it: nothing waits', async () => {
    const { answer, requests } = await asked({ [NODES]: [403], '/version': [200] });
    assert.deepEqual([answer.kind, 'status' in answer && answer.status], ['refused', 403]);
    assert.deepEqual(requests, [NODES, '/version', NODES]);
  });

  test('for ever is asked until the end of the time', async () => {
    const { answer, requests } = await asked({ [NODES]: [403], '/version': [403] }, 600);
    assert.equal(answer.kind, 'refused');
    assert.ok(requests.length >= 3, requests.join());
  });
});
