import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { EventType, WebhookSinkModel } from '@machineadm/document/model/index.ts';
import { Secret } from '@machineadm/document/secrets/secret.ts';
import { reportEvent } from '@machineadm/status/event.ts';
import { Outbox, type OutboxOptions } from '../../../src/reporting/outbox.ts';
import { Spool } from '../../../src/reporting/spool/spool.ts';
import { memoryHost } from '../../support/memory-host.ts';
import { at, statusAfter } from './runs.ts';

const started = (sequence: number) => reportEvent({ kind: 'started', status: statusAfter() }, sequence, at(1));
const concluded = (sequence: number) =>
  reportEvent(
    {
      kind: 'concluded',
      status: statusAfter({ kind: 'concluded', conclusion: { outcome: 'Succeeded', exitCode: 0 } }),
    },
    sequence,
    at(2),
  );

function plan(name: string, events: readonly EventType[]): OutboxOptions['plans'][number] {
  const model: WebhookSinkModel = {
    kind: 'Webhook',
    name,
    events,
    timeoutMs: 1000,
    url: 'https://receiver.example/hook',
    signingSecrets: [{ name: 'the key', source: { kind: 'value', secret: new Secret('correct horse battery') } }],
    headers: {},
    tls: { certificateAuthority: undefined, clientCertificate: undefined },
  };
  return { model, network: { proxy: undefined, certificateAuthorities: [] }, local: [] };
}

/** An outbox on a machine in memory, and what it did. */
function outbox(options: Partial<OutboxOptions> = {}) {
  const host = memoryHost();
  const spool = new Spool(host, ['/spool']);
  const starts: boolean[] = [];
  const told: string[] = [];
  const box = new Outbox({
    plans: [plan('all', ['started', 'concluded']), plan('last', ['concluded'])],
    spool,
    host,
    startDeliverer: async (last) => {
      starts.push(last);
    },
    onTrouble: (message) => told.push(message),
    ...options,
  });
  return { box, host, spool, starts, told };
}

describe('the outbox of a run', () => {
  test('keeps each event for the sinks that take it, and starts the last delivery when it is closed', async () => {
    const { box, spool, starts, told } = outbox();
    box.push(started(1));
    box.push(concluded(2));
    await box.close(60_000);
    const waiting = async (sink: string) =>
      (await Promise.all((await spool.waiting(sink)).map((one) => spool.read(one)))).map((event) => event?.id);
    assert.deepEqual([await waiting('all'), await waiting('last')], [['run-1.1', 'run-1.2'], ['run-1.2']]);
    assert.deepEqual([...(await spool.plans()).keys()].sort(), ['all', 'last']);
    assert.equal(starts.at(-1), true);
    assert.deepEqual(told, []);
  });

  test('starts the last delivery even while the disk takes longer than a run may wait for it', async () => {
    const host = Object.assign(memoryHost(), { sync: () => new Promise<never>(() => undefined) });
    const spool = new Spool(host, ['/spool']);
    const { box, starts, told } = outbox({ spool });
    box.push(concluded(1));
    await box.close(1);
    assert.deepEqual([starts, told, (await spool.waiting('last')).length], [[true], [], 1]);
  });

  test('leaves the values of secrets in memory, for root only, with one newline', async () => {
    const { box, host } = outbox({ carriedDirectory: '/run/carried' });
    await box.close(60_000);
    const [name = ''] = (await host.list('/run/carried')) ?? [];
    assert.equal(host.text(`/run/carried/${name}`), 'correct horse battery\n');
    assert.equal((await host.stat(`/run/carried/${name}`))?.mode, 0o600);
    assert.equal((await host.stat('/run/carried'))?.mode, 0o700);
  });

  test('reports the same failure once, and another one too', async () => {
    const { box, spool, told } = outbox();
    let [why, lost] = ['the disk is full', 0];
    spool.add = () => (lost > 0 ? Promise.resolve(lost) : Promise.reject(new Error(why)));
    for (const sequence of [1, 2]) box.push(started(sequence));
    await box.close(60_000);
    assert.deepEqual(told, ['sink all: an event could not be spooled: the disk is full']);
    why = 'it is read-only';
    box.push(started(3));
    await box.close(60_000);
    lost = 2;
    for (const sequence of [4, 5]) box.push(started(sequence));
    await box.close(60_000);
    assert.deepEqual(told.slice(1), [
      'sink all: an event could not be spooled: it is read-only',
      'sink all: the queue is full; its oldest events are dropped',
    ]);
  });

  test('does nothing where there is no sink', async () => {
    const { box, starts, host } = outbox({ plans: [] });
    box.push(concluded(1));
    await box.close(60_000);
    assert.deepEqual([starts, await host.list('/spool')], [[], undefined]);
  });

  test('never throws: a deliverer that cannot be started is reported', async () => {
    const { box, told } = outbox({ startDeliverer: () => Promise.reject(new Error('no memory')) });
    await box.close(60_000);
    assert.deepEqual(told, ['the deliverer was not started in time: no memory']);
  });
});
