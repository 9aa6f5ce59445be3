import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { AWSSinkModel } from '@machineadm/document/model/index.ts';
import { sizeOf } from '@machineadm/status/event.ts';
import { MetadataService } from '../../../../src/host/cloud/metadata-service.ts';
import { awsSink } from '../../../../src/reporting/remote/aws.ts';
import type { AwsRole } from '../../../support/aws-server.ts';
import { deliver } from '../../../support/deliver.ts';
import { attributesOf, concludedEvent } from '../../../support/events.ts';
import { startServer } from '../../../support/http-servers.ts';
import { startAws } from '../../../support/metadata-servers.ts';
import { type AwsReceiver, startAwsReceiver } from '../../../support/receivers/aws.ts';

const role: AwsRole = { accessKeyId: 'ASIAEXAMPLE', secretAccessKey: 'wJalr/XUtn+FEMI', token: 'session//token==' };
const region = 'eu-west-1';
const options = { name: 'AWS', events: ['concluded'], timeoutMs: 5_000 } as const;
const KIB = 1024;

/** A machine with the role, or with what else its metadata service says. */
function startMachine(
  credentials: object = { AccessKeyId: role.accessKeyId, SecretAccessKey: role.secretAccessKey, Token: role.token },
) {
  return startAws({
    'meta-data/placement/region': region,
    'meta-data/iam/security-credentials/nodes': JSON.stringify(credentials),
  });
}

function toTopic(aws: AwsReceiver, more: Partial<AWSSinkModel> = {}): AWSSinkModel {
  const destination = { kind: 'topic', arn: aws.topicARN, endpoint: `http://127.0.0.1:${aws.port}/` } as const;
  return { kind: 'AWS', ...options, destination, region: undefined, bucket: undefined, ...more };
}

function toQueue(aws: AwsReceiver, more: Partial<AWSSinkModel> = {}): AWSSinkModel {
  const destination = { kind: 'queue', url: aws.queueURL(aws.port) } as const;
  return { kind: 'AWS', ...options, destination, region, bucket: undefined, ...more };
}

const bucketOf = (aws: AwsReceiver) => ({
  name: 'reports',
  prefix: 'nodes/',
  region: undefined,
  endpoint: `http://127.0.0.1:${aws.port}`,
});

for (const [what, model] of [
  ['a topic of SNS', toTopic],
  ['a queue of SQS', toQueue],
] as const) {
  describe(what, () => {
    test('receives an event whole, signed with the role of the machine, with attributes to filter by', async () => {
      await using machine = await startMachine();
      await using aws = await startAwsReceiver({ role, region });
      const sink = awsSink(model(aws), new MetadataService({ address: machine.url }));
      const event = concludedEvent();
      assert.deepEqual(await deliver(sink, event), { kind: 'delivered' });
      assert.deepEqual(aws.received, [{ id: event.id, event }]);
      assert.deepEqual(aws.attributes, [attributesOf(event)]);
    });

    test('that is FIFO receives a group and an id: duplicates count once', async () => {
      await using machine = await startMachine();
      await using aws = await startAwsReceiver({ role, region, fifo: true });
      const sink = awsSink(model(aws), new MetadataService({ address: machine.url }));
      const event = concludedEvent();
      assert.equal((await deliver(sink, event)).kind, 'delivered');
      assert.equal((await deliver(sink, event)).kind, 'delivered');
      assert.deepEqual(
        aws.received.map(({ id }) => id),
        [event.id],
      );
    });

    test('receives a shortened event if it is too large and there is no bucket', async () => {
      await using machine = await startMachine();
      await using aws = await startAwsReceiver({ role, region });
      const sink = awsSink(model(aws), new MetadataService({ address: machine.url }));
      const event = concludedEvent({ bytes: 400 * KIB });
      assert.equal((await deliver(sink, event)).kind, 'delivered');
      assert.equal(aws.received[0]?.event.failure?.reason, 'SwapEnabled');
      assert.ok(aws.received[0]?.event.omitted?.includes('failure.evidence'));
      assert.equal(aws.objects.size, 0);
    });

    test('receives the place of an event that is too large, after the event was stored there', async () => {
      await using machine = await startMachine();
      await using aws = await startAwsReceiver({ role, region });
      const sink = awsSink(model(aws, { bucket: bucketOf(aws) }), new MetadataService({ address: machine.url }));
      const event = concludedEvent({ bytes: 100 * KIB });
      assert.equal((await deliver(sink, event)).kind, 'delivered');
      const key = `nodes/prod-a-md-0/${event.id}.json`;
      assert.deepEqual(JSON.parse(aws.objects.get(key) ?? ''), event);
      assert.equal(aws.attributes[0]?.whole, `s3://reports/${key}`);
      assert.ok(sizeOf(aws.received[0]?.event ?? event) <= 64 * KIB);
      // The same again: the object is there (HTTP 412), which is as good.
      assert.equal((await deliver(sink, event)).kind, 'delivered');
      assert.equal(aws.objects.size, 1);
    });

    test('receives nothing about an object that could not be stored', async () => {
      await using machine = await startMachine();
      await using aws = await startAwsReceiver({ role, region });
      const bucket = { ...bucketOf(aws), name: 'another' };
      const sink = awsSink(model(aws, { bucket }), new MetadataService({ address: machine.url }));
      const result = await deliver(sink, concludedEvent({ bytes: 100 * KIB }));
      assert.deepEqual(result, { kind: 'retry', why: 'the bucket another: HTTP 404 NoSuchBucket' });
      assert.deepEqual(aws.received, []);
    });

    test('gets a new signature with the clock of AWS if ours is wrong', async () => {
      await using machine = await startMachine();
      await using aws = await startAwsReceiver({ role, region, clockOffsetMs: -3 * 3_600_000 });
      const sink = awsSink(model(aws), new MetadataService({ address: machine.url }));
      assert.equal((await deliver(sink, concludedEvent())).kind, 'delivered');
      assert.equal(aws.received.length, 1);
    });

    test('refuses the signature of another role, which may be repaired', async () => {
      await using machine = await startMachine({
        AccessKeyId: role.accessKeyId,
        SecretAccessKey: 'other',
        Token: role.token,
      });
      await using aws = await startAwsReceiver({ role, region });
      const sink = awsSink(model(aws), new MetadataService({ address: machine.url }));
      const result = await deliver(sink, concludedEvent());
      assert.equal(result.kind, 'retry');
      assert.match(result.kind === 'retry' ? result.why : '', /^HTTP 40[03] InvalidSignatureException$/);
    });
  });
}

describe('an answer that is not from AWS', () => {
  test('delivers nothing, though it is a 200', async () => {
    await using machine = await startMachine();
    await using portal = await startServer(() => ({ body: '<html>Please sign in</html>' }));
    await using aws = await startAwsReceiver({ role, region });
    const destination = { kind: 'topic', arn: aws.topicARN, endpoint: portal.url } as const;
    const sink = awsSink(toTopic(aws, { destination }), new MetadataService({ address: machine.url }));
    const result = await deliver(sink, concludedEvent());
    assert.deepEqual(result, { kind: 'retry', why: 'the answer is not from AWS' });
  });
});

describe('a machine without a role', () => {
  test('is reported, and may get a role later', async () => {
    await using machine = await startAws({ 'meta-data/placement/region': region });
    await using aws = await startAwsReceiver({ role, region });
    const sink = awsSink(toTopic(aws), new MetadataService({ address: machine.url }));
    const result = await deliver(sink, concludedEvent());
    assert.equal(result.kind, 'retry');
    assert.match(result.kind === 'retry' ? result.why : '', /this machine has no role: attach an instance profile/);
  });
});
