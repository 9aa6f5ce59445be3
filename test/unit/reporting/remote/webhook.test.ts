import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { describe, test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import type { SinkTlsModel, WebhookSinkModel } from '@machineadm/document/model/index.ts';
import { Secret, type SecretValue } from '@machineadm/document/secrets/secret.ts';
import { sinkContext } from '../../../../src/reporting/delivery/context.ts';
import { attempt } from '../../../../src/reporting/delivery/sink-delivery.ts';
import { remoteSinkOf } from '../../../../src/reporting/remote/registry.ts';
import { signatureHeaders } from '../../../../src/reporting/remote/webhook-signature.ts';
import type { NetworkModel } from '../../../../src/reporting/spool/serialized-plan.ts';
import { newAuthority } from '../../../support/api-server.ts';
import { startProxy, startServer } from '../../../support/http-servers.ts';
import { memoryHost } from '../../../support/memory-host.ts';
import { startWebhookReceiver, WEBHOOK_SECRET } from '../../../support/webhook-receiver.ts';
import { reported } from '../events.ts';

const DIRECT: NetworkModel = { proxy: undefined, certificateAuthorities: [] };
const NO_TLS: SinkTlsModel = { certificateAuthority: undefined, clientCertificate: undefined };

function literal(text: string): SecretValue {
  return { name: 'a secret', source: { kind: 'value', secret: new Secret(text) } };
}

function model(url: string, more: Partial<WebhookSinkModel> = {}): WebhookSinkModel {
  return {
    kind: 'Webhook',
    name: 'hook',
    events: ['concluded'],
    timeoutMs: 60_000,
    url,
    signingSecrets: [literal(WEBHOOK_SECRET)],
    headers: {},
    tls: NO_TLS,
    ...more,
  };
}

/** One delivery of an event, as the deliverer makes it. */
async function deliver(sink: WebhookSinkModel, event = reported(), network = DIRECT) {
  const { context, close } = sinkContext(network, memoryHost());
  const remote = await remoteSinkOf(sink);
  try {
    const signal = new AbortController().signal;
    return await attempt(event, { sink: remote, timeoutMs: sink.timeoutMs, context, signal }, 5000);
  } finally {
    await close();
  }
}

describe('the signature of a webhook', () => {
  test('is that of the example in the specification of Standard Webhooks', () => {
    const secret = new Secret('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw');
    const headers = signatureHeaders('msg_p5jXN8AQM9LWM0D4loKWxJek', 1614265330, '{"test": 2432232314}', [secret]);
    assert.deepEqual(headers, {
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    });
  });

  test('is made with each secret, while a receiver changes to a new one', () => {
    const [one, two] = [new Secret(WEBHOOK_SECRET), new Secret(`whsec_${Buffer.alloc(24, 7).toString('base64')}`)];
    const { 'webhook-signature': both } = signatureHeaders('id', 1, 'body', [one, two]);
    assert.equal(
      both,
      [one, two].map((secret) => signatureHeaders('id', 1, 'body', [secret])['webhook-signature']).join(' '),
    );
  });

  for (const [what, secret] of [
    ['no base64', 'whsec_not base64 at all, but long enough'],
    ['too short', `whsec_${Buffer.alloc(23).toString('base64')}`],
    ['too long', `whsec_${Buffer.alloc(65).toString('base64')}`],
  ] as const) {
    test(`is not made with a secret that is ${what}`, async () => {
      await using receiver = await startWebhookReceiver();
      const result = await deliver(model(receiver.url, { signingSecrets: [literal(secret)] }));
      assert.deepEqual(result, {
        kind: 'retry',
        why: 'the secret of the webhook does not have the form of Standard Webhooks',
      });
      assert.deepEqual(receiver.heard, []);
    });
  }
});

describe('a delivery to a webhook', () => {
  test('is a CloudEvent of its own, verifiable, with the headers of the document', async () => {
    await using receiver = await startWebhookReceiver();
    const event = reported({ type: 'concluded', sequence: 4 });
    const result = await deliver(model(receiver.url, { headers: { Authorization: literal('Bearer x-y-z') } }), event);
    assert.deepEqual(result, { kind: 'delivered' });
    const { data, ...attributes } = receiver.taken[0] ?? assert.fail();
    assert.deepEqual(attributes, {
      specversion: '1.0',
      id: 'run-1.4',
      source: '/machineadm/machines/node-1',
      type: 'dev.machineadm.bootstrap.concluded',
      subject: 'node-1',
      time: event.time,
      datacontenttype: 'application/json',
      dataschema: 'https://machineadm.dev/schema/event.v1.json',
    });
    assert.deepEqual(data, event);
    assert.match(receiver.heard[0] ?? '', /"authorization":"Bearer x-y-z"/);
  });

  test('is marked as a test where it is one', async () => {
    await using receiver = await startWebhookReceiver();
    await deliver(model(receiver.url), reported({ test: true }));
    assert.equal(receiver.taken[0]?.type, 'dev.machineadm.bootstrap.test');
  });

  for (const hours of [-30, 30]) {
    test(`is signed again by the receiver's clock where ours is off by ${hours} hours`, async () => {
      await using receiver = await startWebhookReceiver({ seconds: () => Date.now() / 1000 + hours * 3600 });
      assert.deepEqual(await deliver(model(receiver.url)), { kind: 'delivered' });
      assert.deepEqual(receiver.refusals, ['timestamp']);
      assert.equal(receiver.taken.length, 1);
    });
  }

  test('is signed again once only: a wrong secret stays wrong', async () => {
    await using receiver = await startWebhookReceiver({ seconds: () => Date.now() / 1000 + 7200 });
    const wrong = literal(`whsec_${Buffer.alloc(32, 1).toString('base64')}`);
    const result = await deliver(model(receiver.url, { signingSecrets: [wrong] }));
    assert.deepEqual(result, { kind: 'retry', why: 'HTTP 401' });
    assert.deepEqual(receiver.refusals, ['timestamp', 'signature']);
  });

  test('is made smaller for a receiver that finds it too large', async () => {
    const lengths: number[] = [];
    await using server = await startServer((_, body) => {
      lengths.push(body.length);
      return { status: body.length > 6000 ? 413 : 200 };
    });
    const warnings = Array.from({ length: 900 }, (_, index) => `${index} ${'w'.repeat(100)}`);
    const result = await deliver(model(server.url), reported({ type: 'concluded', warnings }));
    assert.deepEqual(result, { kind: 'delivered' });
    const [first = 0, second = 0] = lengths;
    assert.ok(first > 6000 && second <= 6000, `${lengths}`);
    assert.equal(lengths.length, 2);
  });

  test('is refused permanently if the shortest form is too large', async () => {
    await using server = await startServer(() => ({ status: 413, body: 'too much' }));
    assert.deepEqual(await deliver(model(server.url)), { kind: 'refused', why: 'HTTP 413: too much' });
  });

  test('follows no redirect: the event goes where the document says, or nowhere', async () => {
    await using other = await startServer(() => ({ status: 200 }));
    await using server = await startServer(() => ({ status: 307, headers: { location: `${other.url}/there` } }));
    const result = await deliver(model(server.url));
    assert.deepEqual(result, { kind: 'retry', why: `HTTP 307, a redirect to ${other.url}` });
    assert.deepEqual(other.requests, []);
  });

  test("reports the receiver's message, but not its secrets and not all of it", async () => {
    await using server = await startServer(() => ({ status: 500, body: `it broke ${'x'.repeat(5000)}` }));
    const result = await deliver(model(server.url));
    assert.equal(result.kind, 'retry');
    assert.match(result.kind === 'retry' ? result.why : '', /^HTTP 500: it broke x{100,200}$/);
  });

  test('goes through the proxy of the document', async () => {
    await using receiver = await startServer(() => ({ status: 204 }));
    await using proxy = await startProxy(() => receiver.port);
    const network: NetworkModel = {
      proxy: { http: literal(proxy.url), https: undefined, no: [], for: ['agent'] },
      certificateAuthorities: [],
    };
    assert.deepEqual(await deliver(model('http://receiver.example/hook'), reported(), network), { kind: 'delivered' });
    assert.match(proxy.requests[0] ?? '', /receiver\.example/);
    assert.deepEqual(receiver.requests, ['POST /hook']);
  });

  test('trusts the authority of the sink, and shows its client certificate', async () => {
    const servers = newAuthority('servers');
    const clients = newAuthority('clients');
    const own = clients.issue('machine');
    const identity = servers.issue('receiver', ['127.0.0.1']);
    const names: string[] = [];
    const server = createTlsServer(
      {
        cert: identity.certificate,
        key: identity.key,
        ca: clients.certificate,
        requestCert: true,
        rejectUnauthorized: true,
      },
      (request, response) => {
        names.push(`${(request.socket as TLSSocket).getPeerCertificate().subject.CN}`);
        request.resume();
        response.end();
      },
    ).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const clientCertificate = { certificate: own.certificate, key: literal(own.key) };
    try {
      const tls = { certificateAuthority: servers.certificate, clientCertificate };
      assert.deepEqual(await deliver(model(url, { tls })), { kind: 'delivered' });
      assert.deepEqual(names, ['machine']);
      for (const less of [
        { ...tls, clientCertificate: undefined },
        { ...tls, certificateAuthority: undefined },
      ])
        assert.equal((await deliver(model(url, { tls: less }))).kind, 'retry');
      assert.deepEqual(names, ['machine']);
    } finally {
      server.close();
      server.closeAllConnections();
    }
  });
});
