import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { GCPSinkModel } from '@machineadm/document/model/index.ts';
import { MetadataService } from '../../../../src/host/cloud/metadata-service.ts';
import { gcpSink } from '../../../../src/reporting/remote/gcp.ts';
import { deliver } from '../../../support/deliver.ts';
import { attributesOf, concludedEvent } from '../../../support/events.ts';
import { startServer } from '../../../support/http-servers.ts';
import { startGcp } from '../../../support/metadata-servers.ts';
import { startPubSub } from '../../../support/receivers/gcp.ts';

const topic = 'projects/my-project/topics/bootstrap';
const account = 'nodes@my-project.iam.gserviceaccount.com';
const tokenOf = (token: string): string =>
  JSON.stringify({ access_token: token, expires_in: 3599, token_type: 'Bearer' });

function startMachine() {
  return startGcp({
    'instance/service-accounts/default/token': tokenOf('ya29.default'),
    [`instance/service-accounts/${account}/token`]: tokenOf('ya29.nodes'),
  });
}

const model = (endpoint: string, more: Partial<GCPSinkModel> = {}): GCPSinkModel => ({
  kind: 'GCP',
  name: 'GCP',
  events: ['concluded'],
  timeoutMs: 5_000,
  topic,
  serviceAccount: undefined,
  endpoint,
  ...more,
});

describe('a topic of Pub/Sub', () => {
  test("receives an event whole, with the token of the machine's service account", async () => {
    await using machine = await startMachine();
    await using pubsub = await startPubSub(topic, () => 'ya29.default');
    const sink = gcpSink(model(`http://127.0.0.1:${pubsub.port}`), new MetadataService({ address: machine.url }));
    const event = concludedEvent({ bytes: 300_000 });
    assert.deepEqual(await deliver(sink, event), { kind: 'delivered' });
    assert.deepEqual(pubsub.received, [{ id: event.id, event }]);
    assert.deepEqual(pubsub.attributes, [attributesOf(event)]);
  });

  test('receives an event with the token of another account that the machine has', async () => {
    await using machine = await startMachine();
    await using pubsub = await startPubSub(topic, () => 'ya29.nodes');
    const to = model(`http://127.0.0.1:${pubsub.port}`, { serviceAccount: account });
    assert.equal(
      (await deliver(gcpSink(to, new MetadataService({ address: machine.url })), concludedEvent())).kind,
      'delivered',
    );
  });

  test('that refuses the token is retried later: the permission may be granted', async () => {
    await using machine = await startMachine();
    await using pubsub = await startPubSub(topic, () => 'ya29.expected');
    const sink = gcpSink(model(`http://127.0.0.1:${pubsub.port}`), new MetadataService({ address: machine.url }));
    assert.deepEqual(await deliver(sink, concludedEvent()), { kind: 'retry', why: 'HTTP 401' });
    assert.deepEqual(pubsub.received, []);
  });

  test('has not received an event if another server answers 200', async () => {
    await using machine = await startMachine();
    await using portal = await startServer(() => ({ body: '{"welcome":true}' }));
    const sink = gcpSink(model(portal.url), new MetadataService({ address: machine.url }));
    const result = await deliver(sink, concludedEvent());
    assert.deepEqual(result, { kind: 'retry', why: 'the answer is not from Pub/Sub' });
  });
});

describe('a machine without that service account', () => {
  test('is reported', async () => {
    await using machine = await startGcp({});
    const sink = gcpSink(model('http://127.0.0.1:9'), new MetadataService({ address: machine.url }));
    const result = await deliver(sink, concludedEvent());
    assert.match(
      result.kind === 'retry' ? result.why : '',
      /gcp does not return a token: this machine has no such identity/,
    );
  });
});
