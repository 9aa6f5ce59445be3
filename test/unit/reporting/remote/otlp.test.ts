import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { OTLPSinkModel } from '@machineadm/document/model/index.ts';
import { Secret } from '@machineadm/document/secrets/secret.ts';
import { otlpSink } from '../../../../src/reporting/remote/otlp.ts';
import { deliver } from '../../../support/deliver.ts';
import { concludedEvent } from '../../../support/events.ts';
import { startServer } from '../../../support/http-servers.ts';
import { startCollector } from '../../../support/receivers/otlp.ts';

const model = (port: number, more: Partial<OTLPSinkModel> = {}): OTLPSinkModel => ({
  kind: 'OTLP',
  name: 'OTLP',
  events: ['concluded'],
  timeoutMs: 5_000,
  url: `http://127.0.0.1:${port}/v1/traces`,
  headers: {},
  traceparent: undefined,
  tls: { certificateAuthority: undefined, clientCertificate: undefined },
  ...more,
});

describe('a collector of OpenTelemetry', () => {
  test('receives the run as a trace: a span for the run, and below it one for each step', async () => {
    await using collector = await startCollector();
    const beganMs = Date.parse('2026-11-20T10:00:00Z');
    const event = concludedEvent({ beganMs });
    assert.deepEqual(await deliver(otlpSink(model(collector.port)), event), { kind: 'delivered' });
    const [trace] = collector.traces;
    assert.ok(trace !== undefined);
    assert.equal(trace.resource['service.name'], 'machineadm');
    assert.equal(trace.resource['k8s.cluster.name'], 'prod-a');
    assert.equal(trace.scope.name, 'machineadm');
    assert.deepEqual(
      trace.spans.map(({ name }) => name),
      ['machineadm provision', 'kernel', 'userspace', 'sysctl', 'kubeadm'],
    );

    const [run, kernel, , sysctl, kubeadm] = trace.spans;
    assert.equal(run?.parentSpanId, undefined);
    assert.ok(trace.spans.slice(1).every(({ parentSpanId }) => parentSpanId === run?.spanId));
    assert.equal(new Set(trace.spans.map(({ spanId }) => spanId)).size, trace.spans.length);
    assert.equal(new Set(trace.spans.map(({ traceId }) => traceId)).size, 1);

    // The machine was booted 12 s before the run began; sysctl took the 400 ms before its fifth second.
    assert.equal(run?.start, BigInt(beganMs - 12_000) * 1_000_000n);
    assert.equal(run?.end, BigInt(Date.parse(event.time)) * 1_000_000n);
    assert.equal(kernel?.start, run?.start);
    assert.equal(sysctl?.end, BigInt(beganMs + 5_000) * 1_000_000n);
    assert.equal((sysctl?.end ?? 0n) - (sysctl?.start ?? 0n), 400_000_000n);

    assert.deepEqual(run?.status, { code: 2, message: 'Swap is on.' });
    assert.equal(run?.attributes['error.type'], 'SwapEnabled');
    assert.equal(run?.attributes['machineadm.exit_code'], 11n);
    assert.deepEqual(kubeadm?.status, { code: 2, message: 'Swap is on.' });
    assert.equal(sysctl?.status.code, 0);
    assert.equal(sysctl?.attributes['machineadm.step.changes'], 2n);
  });

  test('receives a successful run as such', async () => {
    await using collector = await startCollector();
    await deliver(otlpSink(model(collector.port)), concludedEvent({ outcome: 'Succeeded' }));
    assert.deepEqual(
      collector.traces[0]?.spans.map(({ status }) => status.code),
      [1, 0, 0, 0, 0],
    );
  });

  test('receives the same trace when it is sent twice', async () => {
    await using collector = await startCollector();
    const event = concludedEvent();
    const sink = otlpSink(model(collector.port));
    await deliver(sink, event);
    await deliver(sink, event);
    assert.deepEqual(collector.traces[0], collector.traces[1]);
  });

  test('receives nothing of the boot from a later attempt', async () => {
    await using collector = await startCollector();
    const event = concludedEvent({ attempt: 2 });
    await deliver(otlpSink(model(collector.port)), event);
    assert.deepEqual(
      collector.traces[0]?.spans.map(({ name }) => name),
      ['machineadm provision', 'sysctl', 'kubeadm'],
    );
  });

  test('finds the run below the span that the document names', async () => {
    await using collector = await startCollector();
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    await deliver(otlpSink(model(collector.port, { traceparent })), concludedEvent());
    const [run] = collector.traces[0]?.spans ?? [];
    assert.deepEqual([run?.traceId, run?.parentSpanId], ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331']);
  });

  test('gets the headers of the document', async () => {
    await using collector = await startCollector();
    const value = { name: 'key', source: { kind: 'value', secret: new Secret('api-key-of-the-collector') } } as const;
    await deliver(otlpSink(model(collector.port, { headers: { 'X-Api-Key': value } })), concludedEvent());
    assert.equal(collector.headers[0]?.['x-api-key'], 'api-key-of-the-collector');
  });

  test('that rejects spans gets no retry', async () => {
    await using collector = await startCollector();
    collector.answer = { status: 200, body: '{"partialSuccess":{"rejectedSpans":"5","errorMessage":"quota"}}' };
    const result = await deliver(otlpSink(model(collector.port)), concludedEvent());
    assert.deepEqual(result, { kind: 'refused', why: 'the collector rejected 5 spans' });
  });

  test('that only warns has accepted them', async () => {
    await using collector = await startCollector();
    collector.answer = { status: 200, body: '{"partialSuccess":{"rejectedSpans":"0","errorMessage":"use gRPC"}}' };
    assert.equal((await deliver(otlpSink(model(collector.port)), concludedEvent())).kind, 'delivered');
  });

  test('has not received an event if another server answers 200', async () => {
    await using portal = await startServer(() => ({ body: '<html>' }));
    const result = await deliver(otlpSink(model(portal.port)), concludedEvent());
    assert.deepEqual(result, { kind: 'retry', why: 'the answer is not from a collector' });
  });
});
