import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { describe, test } from 'node:test';
import type { NATSServer, NATSSinkModel } from '@machineadm/document/model/index.ts';
import { Secret, type SecretValue } from '@machineadm/document/secrets/secret.ts';
import { sizeOf } from '@machineadm/status/event.ts';
import { nkeys } from '@nats-io/transport-node';
import { sinkContext } from '../../../../src/reporting/delivery/context.ts';
import { natsSink } from '../../../../src/reporting/remote/nats.ts';
import { newAuthority } from '../../../support/api-server.ts';
import { memoryHost } from '../../../support/memory-host.ts';
import { type NatsModel, startNatsModel } from '../../../support/nats-model.ts';
import { waitUntil } from '../../../support/wait-until.ts';
import { reported } from '../events.ts';

function literal(text: string): SecretValue {
  return { name: 'a secret', source: { kind: 'value', secret: new Secret(text) } };
}

function model(servers: readonly Partial<NATSServer>[], over: Partial<NATSSinkModel> = {}): NATSSinkModel {
  return {
    kind: 'NATS',
    name: 'bus',
    events: ['concluded'],
    timeoutMs: 60_000,
    servers: servers.map((server) => ({ host: '127.0.0.1', port: 4222, secure: false, ...server })),
    subject: 'machines.events',
    stream: undefined,
    credentials: undefined,
    inboxPrefix: undefined,
    tls: { certificateAuthority: undefined, clientCertificate: undefined },
    ...over,
  };
}

const EVENT = reported();

async function deliver(
  sink: NATSSinkModel,
  event = EVENT,
  signal = new AbortController().signal,
  certificateAuthorities: readonly { readonly name: string; readonly pem: string }[] = [],
) {
  const { context, close } = sinkContext({ proxy: undefined, certificateAuthorities }, memoryHost());
  try {
    return await natsSink(sink).deliver(event, { ...context, signal });
  } finally {
    await close();
  }
}

/** What a server got of one client beside what the library says of itself. */
function toldBy({ clients }: NatsModel) {
  return clients.map(({ name, auth_token, user, pass, nkey, jwt, sig }) => {
    const told = { name, auth_token, user, pass, nkey, jwt, sig };
    return Object.fromEntries(Object.entries(told).filter(([, value]) => value !== undefined));
  });
}

describe('an event to a stream of NATS', () => {
  test('is published on its subject with its id, by which the stream drops duplicates', async () => {
    await using server = await startNatsModel();
    assert.deepEqual(await deliver(model([server])), { kind: 'delivered' });
    assert.deepEqual(
      server.published.map(({ subject, headers, body }) => ({ subject, headers, event: JSON.parse(body) })),
      [{ subject: 'machines.events', headers: { 'Nats-Msg-Id': EVENT.id }, event: JSON.parse(JSON.stringify(EVENT)) }],
    );
    assert.match(server.published[0]?.reply ?? '', /^_INBOX\./);
    assert.deepEqual(toldBy(server), [{ name: 'machineadm' }]);
  });

  test('names the stream that must store it, and gets its answer on subjects of the prefix', async () => {
    await using server = await startNatsModel();
    await deliver(model([server], { stream: 'EVENTS', inboxPrefix: 'answers' }));
    assert.deepEqual(server.published[0]?.headers, {
      'Nats-Msg-Id': EVENT.id,
      'Nats-Expected-Stream': 'EVENTS',
    });
    assert.match(server.published[0]?.reply ?? '', /^answers\./);
  });

  test('is shortened to what the server takes, less 4 KiB for the headers', async () => {
    const most = 3_000;
    const long = reported({ message: 'm'.repeat(20_000) });
    await using server = await startNatsModel({ maxPayload: 4 * 1024 + most });
    assert.deepEqual(await deliver(model([server]), long), { kind: 'delivered' });
    const size = Buffer.byteLength(server.published[0]?.body ?? '');
    assert.ok(size > 0 && size <= most, `${size}`);
  });

  test('is refused where the server takes not even the shortest form, and just fits where it does', async () => {
    // It has nothing that could be left out.
    const { timeline: _, steps: __, ...short } = EVENT;
    const event = { ...short, message: '' };
    const least = sizeOf(event);
    await using exact = await startNatsModel({ maxPayload: 4 * 1024 + least });
    assert.deepEqual(await deliver(model([exact]), event), { kind: 'delivered' });
    await using small = await startNatsModel({ maxPayload: 4 * 1024 + 10 });
    assert.deepEqual(await deliver(model([small]), event), {
      kind: 'refused',
      why: 'the server takes no more than 10 bytes',
    });
    assert.deepEqual(small.published, []);
  });

  const error = (err_code: number, description: string) => ({ error: { code: 400, err_code, description } });
  for (const [what, answer, expected] of [
    ['is larger than the stream allows', error(10_054, 'message size exceeds maximum allowed'), 'refused'],
    ['went to another stream', error(10_060, 'expected stream does not match'), 'retry'],
  ] as const)
    test(`that ${what} is ${expected === 'retry' ? 'retried' : 'refused'}`, async () => {
      await using server = await startNatsModel({ answer });
      assert.deepEqual(await deliver(model([server])), { kind: expected, why: answer.error.description });
    });

  test('for which no stream listens is retried', async () => {
    await using server = await startNatsModel({ answer: 'none' });
    assert.deepEqual(await deliver(model([server])), {
      kind: 'retry',
      why: 'no stream listens on machines.events, or JetStream is off',
    });
  });

  test('ends with an error as soon as its delivery is aborted', async () => {
    await using server = await startNatsModel({ answer: 'silence' });
    const stop = new AbortController();
    const delivered = deliver(model([server], { timeoutMs: 600_000 }), EVENT, stop.signal);
    await waitUntil(() => server.published.length > 0, 'the server has the event');
    stop.abort();
    await assert.rejects(delivered);
    await assert.rejects(deliver(model([server]), EVENT, stop.signal), { name: 'AbortError' });
    assert.equal(server.clients.length, 1);
  });
});

describe('a client of NATS', () => {
  const USER = nkeys.createUser();
  const SEED = new TextDecoder().decode(USER.getSeed());

  test('authenticates with a token or with a password', async () => {
    await using server = await startNatsModel();
    await deliver(model([server], { credentials: { kind: 'token', token: literal('t1') } }));
    await deliver(model([server], { credentials: { kind: 'password', user: 'ann', password: literal('p1') } }));
    assert.deepEqual(toldBy(server), [
      { name: 'machineadm', auth_token: 't1' },
      { name: 'machineadm', user: 'ann', pass: 'p1' },
    ]);
  });

  test('authenticates by a signature of its key, or of the one of its credentials', async () => {
    await using server = await startNatsModel({ nonce: 'sign-me' });
    const file = `-----BEGIN NATS USER JWT-----\na.b.c\n------END NATS USER JWT------\n\n-----BEGIN USER NKEY SEED-----\n${SEED}\n------END USER NKEY SEED------\n`;
    await deliver(model([server], { credentials: { kind: 'nkey', seed: literal(SEED) } }));
    await deliver(model([server], { credentials: { kind: 'credentialsFile', content: literal(file) } }));
    const [byKey, byFile] = toldBy(server);
    assert.equal(byKey?.nkey, USER.getPublicKey());
    assert.ok(String(byKey?.sig).length > 80);
    assert.equal(byFile?.jwt, 'a.b.c');
    assert.equal(byFile?.sig, byKey?.sig);
  });

  test('tries all its servers, and reports why each failed', async () => {
    const dead = createServer().listen(0, '127.0.0.1');
    await new Promise((done) => dead.once('listening', done));
    const address = dead.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    await new Promise((done) => dead.close(done));
    await using server = await startNatsModel();
    assert.deepEqual(await deliver(model([{ port }, server])), { kind: 'delivered' });
    await assert.rejects(deliver(model([{ port }, { port }])), (error: Error) => {
      const each = `127\\.0\\.0\\.1:${port}: .+`;
      assert.match(error.message, new RegExp(`^${each}; ${each}$`));
      return true;
    });
  });

  const AUTHORITY = newAuthority();
  const identity = AUTHORITY.issue('nats', ['127.0.0.1']);
  const trusted = [{ name: 'own', pem: AUTHORITY.certificate }];
  const tls = { certificateAuthority: AUTHORITY.certificate, clientCertificate: undefined };

  test('checks the certificate of a server that speaks TLS, by the authorities of the sink and of the machine', async () => {
    await using server = await startNatsModel({ identity });
    const { port } = server;
    const secure = [{ port, secure: true }];
    assert.deepEqual(await deliver(model(secure, { tls })), { kind: 'delivered' });
    assert.deepEqual(await deliver(model(secure), EVENT, undefined, trusted), { kind: 'delivered' });
    await assert.rejects(deliver(model(secure)), /^Error: 127\.0\.0\.1:\d+: /);
    const misnamed = AUTHORITY.issue('nats', ['192.0.2.1']);
    await using other = await startNatsModel({ identity: misnamed });
    await assert.rejects(deliver(model([{ port: other.port, secure: true }], { tls })), /does not match|altnames/i);
  });

  test('presents its certificate, and then speaks TLS with every server', async () => {
    await using server = await startNatsModel({ identity });
    const { certificate, key } = AUTHORITY.issue('machine');
    const clientCertificate = { certificate, key: literal(key) };
    const { port } = server;
    assert.deepEqual(await deliver(model([{ port }], { tls: { ...tls, clientCertificate } })), { kind: 'delivered' });
    assert.deepEqual(server.certificates, ['machine']);
  });

  test('refuses a server without TLS where the document demands it', async () => {
    await using server = await startNatsModel();
    await assert.rejects(deliver(model([{ port: server.port, secure: true }], { tls })));
    assert.deepEqual(server.published, []);
  });
});

test('a sink of NATS is named by its servers and its subject', () => {
  const { kind, target, capacity } = natsSink(
    model([{ host: 'a.example' }, { host: '[fd00::1]', port: 1, secure: true }]),
  );
  assert.deepEqual(
    [kind, target, capacity],
    ['NATS', 'nats://a.example:4222, tls://[fd00::1]:1 machines.events', Number.POSITIVE_INFINITY],
  );
});
