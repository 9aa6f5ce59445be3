import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { NATSSinkModel } from '@machineadm/document/model/index.ts';
import { Secret, type SecretValue } from '@machineadm/document/secrets/secret.ts';
import { sizeOf } from '@machineadm/status/event.ts';
import { credsAuthenticator, nkeyAuthenticator, nkeys, type TlsOptions } from '@nats-io/transport-node';
import { natsSink } from '../../../src/reporting/remote/nats.ts';
import { newAuthority } from '../../support/api-server.ts';
import { deliver } from '../../support/deliver.ts';
import { concludedEvent } from '../../support/events.ts';
import { needs } from '../../support/needs.ts';
import { natsPackage, startNats } from '../../support/receivers/nats.ts';
import { newOperator } from '../../support/receivers/nats-operator.ts';
import { startTcpFront } from '../../support/receivers/tcp-front.ts';

const SUBJECT = 'machines.bootstrap';
const NO_TLS = { certificateAuthority: undefined, clientCertificate: undefined };

function sinkTo(port: number | readonly number[], more: Partial<NATSSinkModel> = {}, secure = false) {
  const ports = typeof port === 'number' ? [port] : port;
  return natsSink({
    kind: 'NATS',
    name: 'NATS',
    events: ['concluded'],
    timeoutMs: 2_000,
    servers: ports.map((one) => ({ host: '127.0.0.1', port: one, secure })),
    subject: SUBJECT,
    stream: undefined,
    credentials: undefined,
    inboxPrefix: undefined,
    tls: NO_TLS,
    ...more,
  });
}

const secret = (text: string): SecretValue => ({ name: 'test', source: { kind: 'value', secret: new Secret(text) } });

describe('a real nats-server', { skip: needs(natsPackage()) }, () => {
  test('stores an event in its stream, once for each id', async () => {
    await using nats = await startNats();
    await nats.addStream({ subjects: ['machines.>'] });
    const [first, second] = [concludedEvent(), concludedEvent({ bytes: 300_000 })];
    for (const event of [first, second, first]) {
      assert.deepEqual(await deliver(sinkTo(nats.port), event), { kind: 'delivered' });
    }
    assert.deepEqual(await nats.stored('EVENTS'), [
      { id: first.id, event: first },
      { id: second.id, event: second },
    ]);
  });

  test('without a stream for the subject has not stored it: again later', async () => {
    await using nats = await startNats();
    const event = concludedEvent();
    const result = await deliver(sinkTo(nats.port), event);
    assert.deepEqual(result, { kind: 'retry', why: 'no stream listens on machines.bootstrap, or JetStream is off' });
    await nats.addStream({ subjects: [SUBJECT] });
    assert.deepEqual(await deliver(sinkTo(nats.port), event), { kind: 'delivered' });
    assert.deepEqual(
      (await nats.stored('EVENTS')).map(({ id }) => id),
      [event.id],
    );
  });

  test('stores nothing in another stream than the document names', async () => {
    await using nats = await startNats();
    await nats.addStream({ subjects: [SUBJECT] });
    const result = await deliver(sinkTo(nats.port, { stream: 'AUDIT' }), concludedEvent());
    assert.equal(result.kind, 'retry');
    assert.match(result.kind === 'retry' ? result.why : '', /expected stream/);
    assert.equal((await deliver(sinkTo(nats.port, { stream: 'EVENTS' }), concludedEvent())).kind, 'delivered');
  });

  test('whose stream is full is retried later', async () => {
    await using nats = await startNats();
    await nats.addStream({ subjects: [SUBJECT], max_msgs: 1, discard: 'new' });
    assert.equal((await deliver(sinkTo(nats.port), concludedEvent())).kind, 'delivered');
    const event = concludedEvent();
    assert.deepEqual(await deliver(sinkTo(nats.port), event), { kind: 'retry', why: 'maximum messages exceeded' });
    await nats.deleteStream('EVENTS');
    await nats.addStream({ subjects: [SUBJECT] });
    assert.equal((await deliver(sinkTo(nats.port), event)).kind, 'delivered');
  });

  test('whose stream takes no message of that size refuses it for good', async () => {
    await using nats = await startNats();
    await nats.addStream({ subjects: [SUBJECT], max_msg_size: 100 });
    const result = await deliver(sinkTo(nats.port), concludedEvent());
    assert.deepEqual(result, { kind: 'refused', why: 'message size exceeds maximum allowed' });
  });

  test('that accepts small messages only gets a shortened event', async () => {
    await using nats = await startNats({ configuration: 'max_payload: 16384' });
    await nats.addStream({ subjects: [SUBJECT] });
    assert.equal((await deliver(sinkTo(nats.port), concludedEvent({ bytes: 100_000 }))).kind, 'delivered');
    const [stored] = await nats.stored('EVENTS');
    assert.ok(stored !== undefined && sizeOf(stored.event) <= 12 * 1024);
    assert.equal(stored.event.failure?.reason, 'SwapEnabled');
  });

  test('is found among servers that are down or silent', async () => {
    await using nats = await startNats();
    await nats.addStream({ subjects: [SUBJECT] });
    await using down = await startTcpFront(nats.port);
    await down.become({ kind: 'refuses' });
    await using silent = await startTcpFront(nats.port);
    await silent.become({ kind: 'silent' });
    for (let attempt = 0; attempt < 4; attempt += 1) {
      assert.equal((await deliver(sinkTo([down.port, nats.port, silent.port]), concludedEvent())).kind, 'delivered');
    }
  });
});

describe('a nats-server that requires authentication', { skip: needs(natsPackage()) }, () => {
  const authority = newAuthority('authority of nats');
  const identity = authority.issue('nats', ['127.0.0.1']);
  const tls = { ...NO_TLS, certificateAuthority: authority.certificate };
  const stream = { subjects: [SUBJECT] };
  // Without `host` the certificate of an address would be checked for "localhost" (node tls.js, onConnectSecure).
  const trusting = (host = '127.0.0.1'): TlsOptions & { readonly host: string } => ({
    ca: authority.certificate,
    host,
  });

  test('accepts a token, over TLS', async () => {
    const configuration = 'authorization { token: "t0ken-of-machines" }';
    const admin = { token: 't0ken-of-machines', tls: trusting() };
    await using nats = await startNats({ configuration, identity, admin });
    await nats.addStream(stream);
    const token = (value: string) => ({ credentials: { kind: 'token', token: secret(value) }, tls }) as const;
    assert.deepEqual(await deliver(sinkTo(nats.port, token('t0ken-of-machines'), true), concludedEvent()), {
      kind: 'delivered',
    });
    const result = await deliver(sinkTo(nats.port, token('another-token-it-is'), true), concludedEvent());
    assert.equal(result.kind, 'retry');
    assert.match(result.kind === 'retry' ? result.why : '', /authorization violation/i);
    assert.doesNotMatch(JSON.stringify(result), /t0ken|another-token/);
  });

  test('gets nothing if its certificate is of an unknown authority', async () => {
    const admin = { tls: trusting() };
    await using nats = await startNats({ identity, admin });
    await nats.addStream(stream);
    const event = concludedEvent();
    const result = await deliver(sinkTo(nats.port, {}, true), event);
    assert.equal(result.kind, 'retry');
    assert.match(result.kind === 'retry' ? result.why : '', /certificate/);
    // Trusted by the document, for all its sinks.
    const certificateAuthorities = [authority.certificate];
    assert.equal((await deliver(sinkTo(nats.port, {}, true), event, { certificateAuthorities })).kind, 'delivered');
    assert.deepEqual(
      (await nats.stored('EVENTS')).map(({ id }) => id),
      [event.id],
    );
  });

  test('gets nothing if its certificate is for another address', async () => {
    await using nats = await startNats({
      identity: authority.issue('nats', ['10.9.8.7']),
      admin: { tls: trusting('10.9.8.7') },
    });
    await nats.addStream(stream);
    const result = await deliver(sinkTo(nats.port, { tls }, true), concludedEvent());
    assert.equal(result.kind, 'retry');
    assert.match(result.kind === 'retry' ? result.why : '', /127\.0\.0\.1 is not in the cert's list/);
    assert.deepEqual(await nats.stored('EVENTS'), []);
  });

  test('gets nothing if it has no TLS and the document requires it', async () => {
    await using nats = await startNats();
    await nats.addStream(stream);
    const result = await deliver(sinkTo(nats.port, { tls }, true), concludedEvent());
    assert.match(result.kind === 'retry' ? result.why : '', /does not support 'tls'/);
    assert.deepEqual(await nats.stored('EVENTS'), []);
  });

  test('accepts a client certificate', async () => {
    const machine = authority.issue('machine');
    const admin = { tls: { ...trusting(), cert: machine.certificate, key: machine.key } };
    await using nats = await startNats({ identity, clientAuthority: authority.certificate, admin });
    await nats.addStream(stream);
    const clientCertificate = { certificate: machine.certificate, key: secret(machine.key) };
    assert.equal(
      (await deliver(sinkTo(nats.port, { tls: { ...tls, clientCertificate } }, true), concludedEvent())).kind,
      'delivered',
    );
    assert.equal((await deliver(sinkTo(nats.port, { tls }, true), concludedEvent())).kind, 'retry');
  });

  test('accepts a password, with the right to publish to that subject only', async () => {
    const configuration = `authorization { users: [
      {user: admin, password: "the-password-of-admin"},
      {user: machine, password: "the-password-of-it", permissions: {publish: "${SUBJECT}", subscribe: "_INBOX_machine.>"}}
    ]}`;
    const admin = { user: 'admin', pass: 'the-password-of-admin' };
    await using nats = await startNats({ configuration, admin });
    await nats.addStream({ subjects: ['machines.>'] });
    const credentials = { kind: 'password', user: 'machine', password: secret('the-password-of-it') } as const;
    const own = { credentials, inboxPrefix: '_INBOX_machine' };
    assert.deepEqual(await deliver(sinkTo(nats.port, own), concludedEvent()), { kind: 'delivered' });
    const result = await deliver(sinkTo(nats.port, { ...own, subject: 'machines.other' }), concludedEvent());
    assert.equal(result.kind, 'retry');
    assert.match(result.kind === 'retry' ? result.why : '', /permissions violation/i);
    assert.equal((await nats.stored('EVENTS')).length, 1);
  });

  test('accepts an nkey, whose seed is never sent', async () => {
    const user = nkeys.createUser();
    const seed = new TextDecoder().decode(user.getSeed());
    const configuration = `authorization { users: [{nkey: ${user.getPublicKey()}}] }`;
    await using nats = await startNats({ configuration, admin: { authenticator: nkeyAuthenticator(user.getSeed()) } });
    await nats.addStream(stream);
    assert.equal(
      (await deliver(sinkTo(nats.port, { credentials: { kind: 'nkey', seed: secret(seed) } }), concludedEvent())).kind,
      'delivered',
    );
  });

  test('accepts a credentials file', async () => {
    const operator = newOperator();
    const admin = { authenticator: credsAuthenticator(new TextEncoder().encode(operator.newUser())) };
    await using nats = await startNats({ configuration: operator.configuration, admin });
    await nats.addStream(stream);
    const credentials = { kind: 'credentialsFile', content: secret(operator.newUser()) } as const;
    assert.deepEqual(await deliver(sinkTo(nats.port, { credentials }), concludedEvent()), { kind: 'delivered' });
    const stranger = { kind: 'credentialsFile', content: secret(newOperator().newUser()) } as const;
    assert.equal((await deliver(sinkTo(nats.port, { credentials: stranger }), concludedEvent())).kind, 'retry');
  });
});
