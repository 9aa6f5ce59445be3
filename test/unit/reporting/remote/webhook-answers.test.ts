import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { WebhookSinkModel } from '@machineadm/document/model/index.ts';
import { Secret, type SecretValue } from '@machineadm/document/secrets/secret.ts';
import { SIZE_CLASSES, sizeOf } from '@machineadm/status/event.ts';
import type { HttpRequest } from '../../../../src/host/seam/http.ts';
import type { DeliveryContext } from '../../../../src/reporting/remote/remote-sink.ts';
import { webhookSink } from '../../../../src/reporting/remote/webhook.ts';
import { reported } from '../events.ts';
import { at, BEGAN } from '../runs.ts';

interface Answer {
  readonly status: number;
  readonly body?: readonly string[];
  /** How far the clock of the receiver is ahead, in seconds. */
  readonly ahead?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

const SIGNING: SecretValue = {
  name: 'signing',
  source: { kind: 'value', secret: new Secret(`whsec_${Buffer.alloc(32, 7).toString('base64')}`) },
};

/** A delivery to a receiver that answers as told, its last answer again and again. */
async function delivered(answers: readonly Answer[], over: Partial<WebhookSinkModel> = {}, event = reported()) {
  const requests: HttpRequest[] = [];
  let discarded = 0;
  const context: DeliveryContext = {
    signal: new AbortController().signal,
    certificateAuthorities: [],
    secret: async ({ source }) => {
      assert.ok(source.kind === 'value');
      return source.secret;
    },
    run: () => assert.fail('a webhook runs nothing'),
    clock: () => at(0),
    http: async () => ({
      async request(request) {
        const {
          status,
          body = [],
          ahead,
          headers = {},
        } = answers[Math.min(requests.length, answers.length - 1)] ?? {
          status: 200,
        };
        requests.push(request);
        const date = ahead === undefined ? {} : { date: new Date(BEGAN + ahead * 1000).toUTCString() };
        async function* pieces(): AsyncGenerator<Uint8Array> {
          for (const piece of body) yield new TextEncoder().encode(piece);
        }
        const discard = async (): Promise<void> => {
          discarded += 1;
        };
        return { status, headers: new Map(Object.entries({ ...headers, ...date })), body: pieces(), discard };
      },
      async close() {},
    }),
  };
  const sink = webhookSink({
    kind: 'Webhook',
    name: 'hook',
    events: ['concluded'],
    timeoutMs: 60_000,
    url: 'https://user:pass@hooks.example.com/in?token=x',
    signingSecrets: [SIGNING],
    headers: {},
    tls: { certificateAuthority: undefined, clientCertificate: undefined },
    ...over,
  });
  const result = await sink.deliver(event, context);
  const seconds = requests.map(({ headers }) => Number(headers?.['webhook-timestamp']) - BEGAN / 1000);
  const sizes = requests.map(({ body }) => JSON.parse(String(body)).data).map((data) => sizeOf(data));
  return { result, sink, requests, seconds, sizes, discarded };
}

describe('the answer of a webhook', () => {
  for (const [what, answer, result] of [
    ['200 is delivered', { status: 200, body: ['thanks'] }, { kind: 'delivered' }],
    ['299 is delivered', { status: 299 }, { kind: 'delivered' }],
    ['300 is tried again', { status: 300 }, { kind: 'retry', why: 'HTTP 300, a redirect to another path' }],
    [
      'a redirect names the other server, and not the path',
      { status: 399, headers: { location: 'https://b.example.com/secret' } },
      { kind: 'retry', why: 'HTTP 399, a redirect to https://b.example.com' },
    ],
    [
      'a redirect to a path names none',
      { status: 302, headers: { location: '/x' } },
      { kind: 'retry', why: 'HTTP 302, a redirect to another path' },
    ],
    [
      '400 is refused, with what was said',
      { status: 400, body: [' bad\n'] },
      { kind: 'refused', why: 'HTTP 400: bad' },
    ],
    ['404 is tried again', { status: 404 }, { kind: 'retry', why: 'HTTP 404' }],
    ['500 is tried again', { status: 500, body: ['a', 'b'] }, { kind: 'retry', why: 'HTTP 500: ab' }],
    ['503 asks for a pause', { status: 503 }, { kind: 'retry', why: 'HTTP 503', afterMs: 0 }],
    [
      'names its own pause',
      { status: 429, headers: { 'retry-after': '7' } },
      { kind: 'retry', why: 'HTTP 429', afterMs: 7000 },
    ],
    [
      'is shortened to 200 characters',
      { status: 422, body: ['x'.repeat(150), 'y'.repeat(150), 'z'] },
      { kind: 'refused', why: `HTTP 422: ${'x'.repeat(150)}${'y'.repeat(50)}` },
    ],
  ] as const) {
    test(what, async () => {
      const { result: found, requests } = await delivered([answer]);
      assert.deepEqual(found, result);
      assert.equal(requests.length, 1);
    });
  }
});

describe('a webhook whose receiver has another time', () => {
  for (const [what, answers, seconds] of [
    [
      'is signed again with that time',
      [
        { status: 400, ahead: 600 },
        { status: 200, ahead: 600 },
      ],
      [0, 600],
    ],
    ['that is behind, too', [{ status: 499, ahead: -600 }, { status: 200 }], [0, -600]],
    [
      'is signed again once',
      [
        { status: 401, ahead: 600 },
        { status: 401, ahead: 1200 },
      ],
      [0, 600],
    ],
    ['is not signed again for a minute', [{ status: 401, ahead: 60 }], [0]],
    ['is signed again for more than a minute', [{ status: 401, ahead: 61 }, { status: 200 }], [0, 61]],
    ['is not signed again where it took the event', [{ status: 200, ahead: 600 }], [0]],
    ['is not signed again for a redirect', [{ status: 399, ahead: 600 }], [0]],
    ['is not signed again where it is overloaded', [{ status: 500, ahead: 600 }], [0]],
    ['is not signed again where it names no time', [{ status: 401 }], [0]],
  ] as const) {
    test(what, async () => {
      const found = await delivered(answers);
      assert.deepEqual(found.seconds, seconds);
      assert.equal(found.discarded, seconds.length - 1);
    });
  }

  test('is not asked again where nothing is signed', async () => {
    const { requests } = await delivered([{ status: 401, ahead: 600 }], { signingSecrets: [] });
    assert.equal(requests.length, 1);
  });

  test('may name a pause until a time of its own clock', async () => {
    const until = new Date(BEGAN + 630_000).toUTCString();
    const { result } = await delivered([
      { status: 401, ahead: 600 },
      { status: 429, headers: { 'retry-after': until } },
    ]);
    assert.deepEqual(result, { kind: 'retry', why: 'HTTP 429', afterMs: 30_000 });
  });
});

describe('a webhook', () => {
  test('posts a CloudEvent with the headers of the document', async () => {
    const { sink, requests } = await delivered([{ status: 200 }], { headers: { 'x-team': SIGNING } });
    assert.equal(sink.kind, 'Webhook');
    assert.equal(sink.target, 'https://hooks.example.com/in');
    const [{ method, url, headers } = {}] = requests;
    assert.deepEqual([method, url], ['POST', 'https://user:pass@hooks.example.com/in?token=x']);
    assert.match(headers?.['content-type'] ?? '', /^application\/cloudevents\+json/);
    assert.match(headers?.['x-team'] ?? '', /^whsec_/);
    assert.match(headers?.['webhook-signature'] ?? '', /^v1,/);
  });

  test('sends a smaller event where that is too large, and no more than it has to', async () => {
    const warnings = Array.from({ length: 4000 }, (_, index) => `warning ${index} ${'w'.repeat(100)}`);
    const event = reported({ warnings });
    assert.ok(sizeOf(event) > SIZE_CLASSES.large);
    const tooLarge = { status: 413 };
    const never = await delivered([tooLarge], {}, event);
    assert.equal(never.requests.length, 3);
    assert.ok((never.sizes[1] ?? 0) <= SIZE_CLASSES.large && (never.sizes[2] ?? 0) <= SIZE_CLASSES.small);
    assert.deepEqual(never.result, { kind: 'refused', why: 'HTTP 413' });
    assert.equal((await delivered([tooLarge, { status: 200 }], {}, event)).requests.length, 2);
    assert.equal((await delivered([{ status: 422, body: ['HTTP 413'] }], {}, event)).requests.length, 1);
    assert.equal((await delivered([tooLarge])).requests.length, 1, 'a small event cannot be made smaller');
  });
});
