import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { describe, test } from 'node:test';
import { Secret } from '@machineadm/document/secrets/secret.ts';
import { etcdOutlook, riskOf } from '../../../../src/kubernetes/upgrade/etcd-quorum.ts';
import { takeSnapshot } from '../../../../src/kubernetes/upgrade/etcd-snapshot.ts';
import { newAuthority } from '../../../support/api-server.ts';
import { memoryHost } from '../../../support/memory-host.ts';

const OWN = 'https://10.0.0.1:2380';
const PATH = '/var/lib/machineadm/upgrade/etcd-snapshot.db';
const signal = new AbortController().signal;

/** A member of etcd that answers by path; the others of the cluster have the URLs of further members, or of nothing. */
async function member(answers: Readonly<Record<string, (url: string) => string>>) {
  const authority = newAuthority('etcd-ca');
  const { certificate, key } = authority.issue('etcd', ['127.0.0.1']);
  const server = createServer(
    { cert: certificate, key, ca: authority.certificate, requestCert: true },
    (request, response) => {
      const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const answer = answers[request.url ?? '']?.(url);
      response.writeHead(answer === undefined ? 404 : 200).end(answer ?? '{}');
    },
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const endpoint = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = authority.issue('client');
  return {
    etcd: {
      ...{ endpoints: [endpoint], ownPeerUrl: OWN, name: 'node-1', certificateAuthority: authority.certificate },
      ...{ certificate: client.certificate, key: new Secret(client.key) },
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const STATUS = '/v3/maintenance/status';

async function riskWith(others: number, different: { errors?: readonly string[]; othersAnswer?: boolean } = {}) {
  const { errors = [], othersAnswer = true } = different;
  await using one = await member({
    [STATUS]: () => JSON.stringify({ header: { member_id: '1' }, dbSize: '4096', errors }),
    '/v3/cluster/member/list': (url) =>
      JSON.stringify({
        members: [
          { ID: '1', name: 'node-1', peerURLs: [OWN], clientURLs: [url] },
          // They answer as the same member: an id of their own is what proves that they are there.
          ...Array.from({ length: others }, (_, index) => ({
            ...{ ID: othersAnswer ? '1' : `${index + 2}`, name: `node-${index + 2}` },
            ...{
              peerURLs: [`https://10.0.0.${index + 2}:2380`],
              clientURLs: [othersAnswer ? url : 'https://127.0.0.1:1'],
            },
          })),
        ],
      }),
  });
  return await etcdOutlook(one.etcd);
}

describe('etcd without the member of this machine', () => {
  test('alone it pauses, which is no risk', async () => {
    const outlook = await riskWith(0);
    assert.deepEqual(outlook, { ownId: '1', size: 4096, members: 1, risk: undefined });
  });

  test('with an alarm it must not be stopped', async () => {
    assert.match((await riskWith(0, { errors: ['NOSPACE'] }))?.risk ?? '', /NOSPACE/);
  });

  test('would lose its quorum where the others do not answer', async () => {
    assert.match((await riskWith(2, { othersAnswer: false }))?.risk ?? '', /0 of 3 are healthy, and a quorum is 2/);
  });

  test('a member that does not answer is a risk, even where the others are a quorum', () => {
    const members = Array.from({ length: 5 }, (_, index) => ({
      id: `${index + 1}`,
      name: `node-${index + 1}`,
      isLearner: false,
    }));
    const risk = (...ill: readonly string[]) =>
      riskOf(
        members,
        members.slice(1).map((one) => [one, !ill.includes(one.name)] as const),
      );
    assert.equal(risk(), undefined);
    assert.equal(
      risk('node-3'),
      'node-3 does not answer: without the member of this machine 3 of 5 are healthy, and a quorum is 3, so one more failure could end the API',
    );
    assert.equal(
      risk('node-3', 'node-4'),
      'node-3, node-4 do not answer: without the member of this machine 2 of 5 are healthy, and a quorum is 3',
    );
  });
});

/** The first page of a database of bbolt. */
function database(): Buffer {
  const bytes = Buffer.alloc(8192, 7);
  bytes.writeUInt32LE(0xed_0c_da_ed, 16);
  return bytes;
}

async function snapshotOf(pieces: readonly Buffer[], last = '') {
  const lines = pieces.map((piece) => `${JSON.stringify({ result: { blob: piece.toString('base64') } })}\n`);
  await using one = await member({ '/v3/maintenance/snapshot': () => lines.join('') + last });
  const host = memoryHost({ files: {} });
  const result = await takeSnapshot(host, one.etcd, PATH, signal).catch((error: unknown) => error);
  return { host, result };
}

describe('a snapshot of etcd', () => {
  const bytes = database();
  const digest = createHash('sha256').update(bytes).digest();

  test('is on the disk with the digest that etcd sent', async () => {
    const { host, result } = await snapshotOf([bytes.subarray(0, 5000), bytes.subarray(5000), digest]);
    assert.deepEqual(result, { path: PATH, size: 8224, sha256: digest.toString('hex') });
    assert.equal((await host.stat(PATH))?.mode, 0o600);
  });

  for (const [what, pieces, last, why] of [
    ['that was cut', [bytes, digest.subarray(0, 20)], '', /SHA-256|empty/],
    ['with another content', [Buffer.concat([bytes.subarray(0, 8191), Buffer.from('x')]), digest], '', /SHA-256/],
    ['that is no database', [Buffer.alloc(8192), digest], '', /not a database/],
    ['that etcd ended with an error', [bytes], '{"error":{"message":"no leader"}}', /no leader/],
    ['without anything', [], '', /empty/],
  ] as const) {
    test(`${what} is EtcdSnapshotFailed and removed`, async () => {
      const { host, result } = await snapshotOf(pieces, last);
      assert.equal((result as { reason?: string }).reason, 'EtcdSnapshotFailed');
      assert.match(String((result as Error).message), why);
      assert.equal(await host.stat(PATH), undefined);
    });
  }
});
