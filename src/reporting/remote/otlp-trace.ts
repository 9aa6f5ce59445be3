import { createHash } from 'node:crypto';
import type { ReportEvent } from '@machineadm/status/event.ts';
import { BOOT_SPANS } from '@machineadm/status/timeline-chart.ts';

/** opentelemetry/proto/trace/v1/trace.proto in the JSON encoding of OTLP: ids in hex, 64-bit numbers as strings. */
export interface Trace {
  readonly resourceSpans: readonly [
    {
      readonly resource: { readonly attributes: readonly Attribute[] };
      readonly scopeSpans: readonly [
        { readonly scope: { readonly name: string; readonly version: string }; readonly spans: readonly Span[] },
      ];
    },
  ];
}

export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  /** SPAN_KIND_INTERNAL */
  readonly kind: 1;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly Attribute[];
  /** STATUS_CODE_OK or STATUS_CODE_ERROR; empty = unset. */
  readonly status: { readonly code?: 1 | 2; readonly message?: string };
}

export interface Attribute {
  readonly key: string;
  readonly value: { readonly stringValue: string } | { readonly intValue: string };
}

/**
 * The trace of a completed run: one span for the run, and below it one for each entry of its timeline. Times are from
 * the monotonic clock, counted back from the end: the wall clock may have been set during the run. Ids are derived from
 * the run's, so that a trace that is sent twice is one trace.
 */
export function traceOf(event: ReportEvent, traceparent: string | undefined): Trace {
  const [, parentTrace, parentSpan] = /^00-([0-9a-f]{32})-([0-9a-f]{16})-/.exec(traceparent ?? '') ?? [];
  const traceId = parentTrace ?? hex(`trace ${event.runId}`, 32);
  const runSpan = hex(`run ${event.id}`, 16);
  const bootedAtMs = Date.parse(event.time) - event.sinceBootMs;
  const nanoseconds = (sinceBootMs: number) => `${Math.max(0, Math.round(bootedAtMs + sinceBootMs))}000000`;
  // For a later run of the same boot, the start of kernel and services is not part of the trace.
  const entries = (event.timeline ?? []).filter(
    ({ name }) => name !== 'concluded' && (event.attempt === 1 || !BOOT_SPANS.has(name)),
  );
  const startMs = Math.min(event.sinceBootMs, ...entries.map(({ sinceBootMs }) => sinceBootMs));
  const failure = event.failure;
  const run: Span = {
    traceId,
    spanId: runSpan,
    ...(parentSpan === undefined ? {} : { parentSpanId: parentSpan }),
    name: `machineadm ${event.command}`,
    kind: 1,
    startTimeUnixNano: nanoseconds(startMs),
    endTimeUnixNano: nanoseconds(event.sinceBootMs),
    attributes: attributes({
      'machineadm.run.id': event.runId,
      'machineadm.event.id': event.id,
      'machineadm.document.sha256': event.document.sha256,
      'machineadm.attempt': event.attempt,
      'machineadm.outcome': event.outcome,
      'machineadm.exit_code': event.exitCode,
      'error.type': failure?.reason,
      'machineadm.failure.step': failure?.step,
      'machineadm.failure.remedy': failure?.remedy,
      'machineadm.test': event.test === true ? 'true' : undefined,
    }),
    status: failure === undefined ? { code: 1 } : { code: 2, message: failure.summary },
  };
  const steps = new Map((event.steps ?? []).map((step) => [step.id, step]));
  const spans = entries.map(({ name, sinceBootMs, durationMs }, index): Span => {
    const step = steps.get(name);
    // A step that was performed again in another attempt has a span for each; its state is that of the last.
    const isLast = !entries.slice(index + 1).some((later) => later.name === name);
    const failed = name.startsWith('attempt ') || (isLast && step?.state === 'Failed');
    const message = failed && failure !== undefined && failure.step === name ? failure.summary : undefined;
    return {
      traceId,
      spanId: hex(`span ${event.id} ${index}`, 16),
      parentSpanId: runSpan,
      name,
      kind: 1,
      startTimeUnixNano: nanoseconds(sinceBootMs),
      endTimeUnixNano: nanoseconds(sinceBootMs + durationMs),
      attributes: attributes({
        'machineadm.step.state': isLast ? step?.state : undefined,
        'machineadm.step.changes': isLast ? step?.changes.length : undefined,
      }),
      status: failed ? { code: 2, ...(message === undefined ? {} : { message }) } : {},
    };
  });
  // Semantic conventions for resources: https://opentelemetry.io/docs/specs/semconv/resource/
  const resource = attributes({
    'service.name': 'machineadm',
    'service.version': event.agent.version,
    'service.instance.id': event.runId,
    'host.id': event.host.machineId,
    'host.name': event.host.hostname,
    'k8s.cluster.name': event.machine.cluster,
    'machineadm.machine.name': event.machine.name,
    'machineadm.machine.namespace': event.machine.namespace,
    'machineadm.machine.uid': event.machine.uid,
  });
  const scope = { name: 'machineadm', version: event.agent.version };
  return {
    resourceSpans: [{ resource: { attributes: resource }, scopeSpans: [{ scope, spans: [run, ...spans] }] }],
  };
}

function attributes(values: Readonly<Record<string, string | number | undefined>>): readonly Attribute[] {
  return Object.entries(values).flatMap(([key, value]): Attribute[] => {
    if (value === undefined || value === '') return [];
    return [{ key, value: typeof value === 'number' ? { intValue: `${value}` } : { stringValue: value } }];
  });
}

function hex(text: string, digits: number): string {
  return createHash('sha256').update(text).digest('hex').slice(0, digits);
}
