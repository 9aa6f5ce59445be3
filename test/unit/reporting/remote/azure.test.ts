import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { AzureSinkModel } from '@machineadm/document/model/index.ts';
import { sizeOf } from '@machineadm/status/event.ts';
import { MetadataService } from '../../../../src/host/cloud/metadata-service.ts';
import { azureSink } from '../../../../src/reporting/remote/azure.ts';
import { deliver } from '../../../support/deliver.ts';
import { concludedEvent } from '../../../support/events.ts';
import { startServer } from '../../../support/http-servers.ts';
import { startAzure } from '../../../support/metadata-servers.ts';
import { startEventGrid, startStorageQueue } from '../../../support/receivers/azure.ts';

const clientID = '11111111-2222-3333-4444-555555555555';
const audiences = (who: string) => ({
  'https://storage.azure.com/': `${who}-storage`,
  'https://eventgrid.azure.net': `${who}-grid`,
});

function startMachine() {
  return startAzure({}, [{ tokens: audiences('system') }, { clientId: clientID, tokens: audiences('user') }]);
}

function sinkOf(machine: { readonly url: string }, destination: AzureSinkModel['destination'], id?: string) {
  const options = { name: 'Azure', events: ['concluded'], timeoutMs: 5_000 } as const;
  const model: AzureSinkModel = { kind: 'Azure', ...options, destination, clientID: id };
  return azureSink(model, new MetadataService({ address: machine.url }));
}

const queueOf = (port: number) => ({ kind: 'queue', url: `http://127.0.0.1:${port}/bootstrap` }) as const;
const topicOf = (port: number) => ({ kind: 'topic', endpoint: `http://127.0.0.1:${port}/api/events` }) as const;

describe('a queue of Azure Storage', () => {
  test('receives an event in base64, with a token of the managed identity for storage', async () => {
    await using machine = await startMachine();
    await using queue = await startStorageQueue(() => 'system-storage');
    const event = concludedEvent();
    assert.deepEqual(await deliver(sinkOf(machine, queueOf(queue.port)), event), { kind: 'delivered' });
    assert.deepEqual(queue.received, [{ id: event.id, event }]);
  });

  test('receives an event with the user-assigned identity that the document names', async () => {
    await using machine = await startMachine();
    await using queue = await startStorageQueue(() => 'user-storage');
    assert.equal((await deliver(sinkOf(machine, queueOf(queue.port), clientID), concludedEvent())).kind, 'delivered');
  });

  test('receives a shortened event if a message cannot hold it', async () => {
    await using machine = await startMachine();
    await using queue = await startStorageQueue(() => 'system-storage');
    assert.equal(
      (await deliver(sinkOf(machine, queueOf(queue.port)), concludedEvent({ bytes: 100_000 }))).kind,
      'delivered',
    );
    const event = queue.received[0]?.event;
    assert.ok(event !== undefined && sizeOf(event) <= 48 * 1024);
    assert.equal(event.failure?.reason, 'SwapEnabled');
    assert.ok(event.omitted?.includes('failure.evidence'));
  });

  test('that refuses the token is retried later, and the error code of Azure is shown', async () => {
    await using machine = await startMachine();
    await using queue = await startStorageQueue(() => 'expected');
    const result = await deliver(sinkOf(machine, queueOf(queue.port)), concludedEvent());
    assert.deepEqual(result, { kind: 'retry', why: 'HTTP 401 InvalidAuthenticationInfo' });
  });

  test('has not received an event if another server answers 200', async () => {
    await using machine = await startMachine();
    await using portal = await startServer(() => ({ body: '<html>' }));
    const result = await deliver(sinkOf(machine, queueOf(portal.port)), concludedEvent());
    assert.deepEqual(result, { kind: 'retry', why: 'the answer is not from Azure' });
  });
});

describe('a topic of Event Grid', () => {
  test('receives an event in the envelope of CloudEvents, with a token of the managed identity for Event Grid', async () => {
    await using machine = await startMachine();
    await using grid = await startEventGrid(() => 'system-grid');
    const event = concludedEvent({ bytes: 300_000 });
    assert.deepEqual(await deliver(sinkOf(machine, topicOf(grid.port)), event), { kind: 'delivered' });
    assert.deepEqual(grid.received, [{ id: event.id, event }]);
  });

  test('receives a shortened event above 1 MB', async () => {
    await using machine = await startMachine();
    await using grid = await startEventGrid(() => 'system-grid');
    const sink = sinkOf(machine, topicOf(grid.port));
    assert.equal((await deliver(sink, concludedEvent({ bytes: 1_100_000 }))).kind, 'delivered');
    assert.equal(grid.received[0]?.event.failure?.reason, 'SwapEnabled');
  });
});

describe('a machine without that identity', () => {
  test('is reported', async () => {
    await using machine = await startAzure({});
    const result = await deliver(sinkOf(machine, queueOf(9)), concludedEvent());
    assert.match(result.kind === 'retry' ? result.why : '', /azure does not return a token: it answers HTTP 400/);
  });
});
