import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { documentSecrets } from '@machineadm/document/loading/secrets-of.ts';
import type { SinkModel } from '@machineadm/document/model/index.ts';
import { loaded, problemsOf } from '../../support/document.ts';

async function sinkOf(sink: string): Promise<SinkModel> {
  const [first] = (await loaded(`reporting: {sinks: [${sink}]}\n`)).model.reporting.sinks;
  assert.ok(first !== undefined);
  return first;
}

async function problemOf(sink: string): Promise<string> {
  const problems = await problemsOf(`reporting: {sinks: [${sink}]}\n`);
  assert.equal(problems.length, 1, problems.join('\n'));
  return problems[0] ?? '';
}

const TOLD = { events: ['started', 'warning', 'concluded', 'readinessChanged'], timeoutMs: 10_000 };

describe('a sink of AWS', () => {
  test('is a topic or a queue, in the region that its name says', async () => {
    assert.deepEqual(await sinkOf('{type: AWS, topicARN: "arn:aws:sns:eu-west-1:123456789012:bootstrap"}'), {
      kind: 'AWS',
      name: 'AWS',
      ...TOLD,
      destination: { kind: 'topic', arn: 'arn:aws:sns:eu-west-1:123456789012:bootstrap', endpoint: undefined },
      region: 'eu-west-1',
      bucket: undefined,
    });
    for (const [host, region] of [
      ['sqs.us-gov-west-1.amazonaws.com', 'us-gov-west-1'],
      ['vpce-1-a.sqs.eu-north-1.vpce.amazonaws.com', 'eu-north-1'],
      ['eu-central-1.queue.amazonaws.com', 'eu-central-1'],
      ['10.0.0.5', undefined],
    ]) {
      const sink = await sinkOf(`{type: AWS, queueURL: "https://${host}/123456789012/bootstrap.fifo"}`);
      assert.equal(sink.kind === 'AWS' ? sink.region : '', region);
    }
  });

  test('may store large events in a bucket', async () => {
    const sink = await sinkOf(
      '{type: AWS, topicARN: "arn:aws:sns:eu-west-1:123456789012:b", bucket: {name: reports, prefix: nodes/, region: eu-north-1}}',
    );
    assert.deepEqual(sink.kind === 'AWS' ? sink.bucket : undefined, {
      name: 'reports',
      prefix: 'nodes/',
      region: 'eu-north-1',
      endpoint: undefined,
    });
  });

  for (const [what, sink, message] of [
    ['is one of them', '{type: AWS}', /sinks\[0\]: none of topicARN and queueURL is given \(hint: give one of them\)/],
    [
      'is not both',
      '{type: AWS, topicARN: "arn:aws:sns:eu-west-1:123456789012:b", queueURL: "https://sqs.eu-west-1.amazonaws.com/123456789012/b"}',
      /topicARN and queueURL exclude each other/,
    ],
    [
      'has an ARN of SNS',
      '{type: AWS, topicARN: "arn:aws:sqs:eu-west-1:123456789012:b"}',
      /not the ARN of a topic, such as arn:/,
    ],
    [
      'has the URL of a queue',
      '{type: AWS, queueURL: "https://sqs.eu-west-1.amazonaws.com/b"}',
      /not the URL of a queue/,
    ],
    [
      'has an endpoint for a topic only',
      '{type: AWS, queueURL: "https://sqs.eu-west-1.amazonaws.com/123456789012/b", endpoint: "https://vpce.example.com/"}',
      /endpoint is that of SNS \(hint: remove it: queueURL names the endpoint\)/,
    ],
    [
      'has a prefix with a slash at its end',
      '{type: AWS, topicARN: "arn:aws:sns:eu-west-1:123456789012:b", bucket: {name: reports, prefix: nodes}}',
      /not a prefix: write it with a "\/" at its end/,
    ],
  ] as const) {
    test(what, async () => assert.match(await problemOf(sink), message));
  }
});

describe('a sink of GCP', () => {
  test('is a topic', async () => {
    assert.deepEqual(await sinkOf('{type: GCP, topic: projects/my-project/topics/bootstrap, events: [concluded]}'), {
      kind: 'GCP',
      name: 'GCP',
      events: ['concluded'],
      timeoutMs: 10_000,
      topic: 'projects/my-project/topics/bootstrap',
      serviceAccount: undefined,
      endpoint: 'https://pubsub.googleapis.com',
    });
  });

  test('has the whole name of a topic, and the address of an account', async () => {
    assert.match(await problemOf('{type: GCP, topic: bootstrap}'), /not a topic, such as projects\//);
    const account = '{type: GCP, topic: projects/p1/topics/bootstrap, serviceAccount: ../default}';
    assert.match(await problemOf(account), /not the address of a service account/);
  });
});

describe('a sink of Azure', () => {
  test('is a queue or a topic', async () => {
    const queue = await sinkOf('{type: Azure, queueURL: "https://account.queue.core.windows.net/bootstrap/"}');
    assert.deepEqual(queue.kind === 'Azure' ? queue.destination : undefined, {
      kind: 'queue',
      url: 'https://account.queue.core.windows.net/bootstrap',
    });
    const endpoint = 'https://bootstrap.westeurope-1.eventgrid.azure.net/api/events';
    const topic = await sinkOf(
      `{type: Azure, topicEndpoint: "${endpoint}", clientID: 11111111-2222-4333-8444-555555555555}`,
    );
    assert.deepEqual(topic.kind === 'Azure' ? [topic.destination, topic.clientID] : undefined, [
      { kind: 'topic', endpoint },
      '11111111-2222-4333-8444-555555555555',
    ]);
  });

  test('is one of them, by its right address', async () => {
    assert.match(await problemOf('{type: Azure}'), /none of queueURL and topicEndpoint is given/);
    const topic = '{type: Azure, topicEndpoint: "https://bootstrap.westeurope-1.eventgrid.azure.net"}';
    assert.match(await problemOf(topic), /not the endpoint of a topic, such as https:\/\/bootstrap/);
    assert.match(
      await problemOf('{type: Azure, queueURL: "https://account.queue.core.windows.net/"}'),
      /not the URL of a queue/,
    );
  });
});

describe('a sink of OTLP', () => {
  test('receives only conclusions, which are traces', async () => {
    const sink = await sinkOf('{type: OTLP, url: "https://collector:4318/v1/traces"}');
    assert.deepEqual(sink.kind === 'OTLP' ? sink.events : [], ['concluded']);
    assert.match(await problemOf('{type: OTLP, url: "https://collector:4318/v1/traces", events: [started]}'), /events/);
  });

  test('has headers that may be secrets', async () => {
    const document = await loaded(
      'secrets: {key: {file: /run/key}}\nreporting: {sinks: [{type: OTLP, url: "https://c/v1/traces", headers: {X-Api-Key: {secret: key}}}]}\n',
    );
    assert.deepEqual(
      documentSecrets(document).map(({ name }) => name),
      ['secrets.key'],
    );
  });

  test('has a traceparent as the standard writes it', async () => {
    for (const traceparent of [
      '00-0-0-01',
      `00-${'0'.repeat(32)}-b7ad6b7169203331-01`,
      `00-${'A'.repeat(32)}-b7ad6b7169203331-01`,
    ]) {
      const sink = `{type: OTLP, url: "https://c/v1/traces", traceparent: "${traceparent}"}`;
      assert.match(await problemOf(sink), /not a traceparent \(W3C Trace Context\)/);
    }
  });
});

describe('a sink of NATS', () => {
  test('has servers, with a port of their own or the usual one', async () => {
    const sink = await sinkOf(
      '{type: NATS, servers: ["tls://nats.example.com", "nats://[2001:db8::1]:4333"], subject: machines.bootstrap}',
    );
    assert.deepEqual(sink.kind === 'NATS' ? sink.servers : [], [
      { host: 'nats.example.com', port: 4222, secure: true },
      { host: '[2001:db8::1]', port: 4333, secure: false },
    ]);
  });

  test('has credentials that are secrets of the document, of each kind', async () => {
    for (const credentials of [
      '{token: {secret: s}}',
      '{user: m, password: {secret: s}}',
      '{credentialsFile: {secret: s}}',
      '{nkey: {secret: s}}',
    ]) {
      const sink = `{type: NATS, servers: ["tls://n"], subject: a, credentials: ${credentials}}`;
      const document = await loaded(`secrets: {s: {file: /run/s}}\nreporting: {sinks: [${sink}]}\n`);
      assert.deepEqual(
        documentSecrets(document).map(({ name }) => name),
        ['secrets.s'],
      );
    }
  });

  test('sends no token and no password over an unencrypted connection', async () => {
    const open = (credentials: string, server: string) =>
      `{type: NATS, servers: ["${server}"], subject: a, credentials: ${credentials}}`;
    assert.match(
      await problemOf(open('{token: t0ken-of-mine}', 'nats://nats.example.com')),
      /servers\[0\]: the token would be readable on the way, and the connection is not encrypted \(hint: write tls:\/\/, or use credentialsFile or nkey/,
    );
    assert.match(
      await problemOf(open('{user: m, password: p4ssword}', 'nats://10.0.0.1')),
      /the password would be readable/,
    );
    await sinkOf(open('{token: t0ken-of-mine}', 'nats://127.0.0.1:422'));
    await sinkOf(open('{nkey: seed-of-mine}', 'nats://nats.example.com'));
  });

  test('has a subject without wildcards, and valid servers', async () => {
    assert.match(
      await problemOf('{type: NATS, servers: ["tls://n"], subject: "machines.>"}'),
      /not a subject without wildcards/,
    );
    assert.match(await problemOf('{type: NATS, servers: ["http://n"], subject: a}'), /not a server, such as "tls:/);
    assert.match(await problemOf('{type: NATS, servers: ["tls://n:70000"], subject: a}'), /not a port: 1 to 65535/);
  });
});

describe('a sink of guestinfo', () => {
  test('has no settings of its own', async () => {
    assert.deepEqual(await sinkOf('{type: Guestinfo, timeout: 3s}'), {
      kind: 'Guestinfo',
      name: 'Guestinfo',
      events: TOLD.events,
      timeoutMs: 3_000,
    });
  });
});
