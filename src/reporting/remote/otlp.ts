import type { OTLPSinkModel } from '@machineadm/document/model/index.ts';
import { SIZE_CLASSES } from '@machineadm/status/event.ts';
import { type Exchange, exchange, jsonOf } from './http-exchange.ts';
import { traceOf } from './otlp-trace.ts';
import { type DeliveryResult, type RemoteSink, resultOfStatus } from './remote-sink.ts';

/** Sends the run as a trace: https://opentelemetry.io/docs/specs/otlp/#otlphttp, JSON Protobuf encoding. */
export function otlpSink(model: OTLPSinkModel): RemoteSink {
  const { origin, pathname } = new URL(model.url);
  return {
    kind: 'OTLP',
    target: origin + pathname,
    // Not `truncateEvent`: it would omit the timeline, which is the trace.
    capacity: SIZE_CLASSES.full,
    async deliver(event, { http, secret, clock, signal }) {
      const headers: Record<string, string> = {};
      for (const [name, value] of Object.entries(model.headers)) headers[name] = (await secret(value)).reveal();
      const answer = await exchange(await http(model.tls), {
        url: model.url,
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify(traceOf(event, model.traceparent)),
        signal,
      });
      return resultOfCollector(answer, clock().time);
    },
  };
}

function resultOfCollector(answer: Exchange, nowMs: number): DeliveryResult {
  if (answer.status !== 200) return resultOfStatus(answer.status, answer.headers, nowMs);
  const response = jsonOf(answer);
  // A proxy or portal also answers 200.
  if (response === null || typeof response !== 'object' || Array.isArray(response)) {
    return { kind: 'retry', why: 'the answer is not from a collector' };
  }
  const rejected = rejectedSpans(response);
  // "The client MUST NOT retry the request when it receives a partial success response" (OTLP, Partial Success).
  return rejected === 0 ? { kind: 'delivered' } : { kind: 'refused', why: `the collector rejected ${rejected} spans` };
}

function rejectedSpans(response: object): number {
  if (!('partialSuccess' in response)) return 0;
  const { partialSuccess } = response;
  if (partialSuccess === null || typeof partialSuccess !== 'object' || !('rejectedSpans' in partialSuccess)) return 0;
  // int64 is a string in the JSON of Protobuf, although readers accept numbers as well.
  const rejected = Number(partialSuccess.rejectedSpans);
  return Number.isSafeInteger(rejected) && rejected > 0 ? rejected : 0;
}
