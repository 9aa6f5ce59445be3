import { startServer } from '../http-servers.ts';

/** A span as the collector understood it: 64-bit numbers are bigint. */
export interface DecodedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  readonly start: bigint;
  readonly end: bigint;
  readonly attributes: Readonly<Record<string, string | bigint>>;
  readonly status: { readonly code: number; readonly message: string };
}

export interface DecodedTrace {
  readonly resource: Readonly<Record<string, string | bigint>>;
  readonly scope: { readonly name: string; readonly version: string };
  readonly spans: readonly DecodedSpan[];
}

export interface Collector extends AsyncDisposable {
  readonly port: number;
  readonly traces: readonly DecodedTrace[];
  readonly headers: readonly Readonly<Record<string, string | string[] | undefined>>[];
  readonly seen: () => string;
  /** What it answers to a trace that it understood. */
  answer: { readonly status: number; readonly body: string };
}

/** An OTLP/HTTP receiver of traces in JSON that decodes what it gets by the .proto files, and refuses what they do not have. */
export async function startCollector(): Promise<Collector> {
  const traces: DecodedTrace[] = [];
  const headers: Collector['headers'][number][] = [];
  const seen: string[] = [];
  const server = await startServer((request, body) => {
    const { authorization: _, ...shown } = request.headers;
    seen.push(JSON.stringify(shown), body);
    if (request.method !== 'POST' || request.url !== '/v1/traces') return { status: 404 };
    if (request.headers['content-type'] !== 'application/json') return { status: 415 };
    try {
      traces.push(decode(JSON.parse(body)));
    } catch (error) {
      return { status: 400, body: JSON.stringify({ message: String(error) }) };
    }
    headers.push(request.headers);
    return collector.answer;
  });
  const collector: Collector = {
    port: server.port,
    traces,
    headers,
    seen: () => seen.join('\n'),
    answer: { status: 200, body: '{"partialSuccess":{}}' },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
  return collector;
}

function decode(request: unknown): DecodedTrace {
  const { resourceSpans } = fields(request, ['resourceSpans']);
  const [resourceSpan] = list(resourceSpans, 1);
  const { resource, scopeSpans } = fields(resourceSpan, ['resource', 'scopeSpans']);
  const [scopeSpan] = list(scopeSpans, 1);
  const { scope, spans } = fields(scopeSpan, ['scope', 'spans']);
  const { name, version } = fields(scope, ['name', 'version']);
  return {
    resource: attributes(fields(resource, ['attributes']).attributes),
    scope: { name: text(name), version: text(version) },
    spans: list(spans).map(decodeSpan),
  };
}

function decodeSpan(value: unknown): DecodedSpan {
  const names = ['traceId', 'spanId', 'parentSpanId', 'name', 'kind', 'attributes', 'status'] as const;
  const span = fields(value, [...names, 'startTimeUnixNano', 'endTimeUnixNano']);
  if (span.kind !== 1) throw new TypeError('kind is an enum of SpanKind');
  const status = fields(span.status, ['code', 'message']);
  const code = status.code ?? 0;
  if (code !== 0 && code !== 1 && code !== 2) throw new TypeError('code is an enum of StatusCode');
  // "description MUST only be used with the Error StatusCode" (trace API, Set Status)
  if (status.message !== undefined && code !== 2) throw new TypeError('a message without an error');
  return {
    traceId: id(span.traceId, 32),
    spanId: id(span.spanId, 16),
    parentSpanId: span.parentSpanId === undefined ? undefined : id(span.parentSpanId, 16),
    name: text(span.name),
    start: unsigned(span.startTimeUnixNano),
    end: unsigned(span.endTimeUnixNano),
    attributes: attributes(span.attributes),
    status: { code, message: status.message === undefined ? '' : text(status.message) },
  };
}

function attributes(value: unknown): Readonly<Record<string, string | bigint>> {
  const found: Record<string, string | bigint> = {};
  for (const item of list(value)) {
    const { key, value: any } = fields(item, ['key', 'value']);
    const { stringValue, intValue } = fields(any, ['stringValue', 'intValue']);
    if (Object.hasOwn(found, text(key))) throw new TypeError(`${text(key)} is there twice`);
    found[text(key)] = intValue === undefined ? text(stringValue) : unsigned(intValue);
  }
  return found;
}

/** The fields of a message; one that the .proto does not have is a mistake of the sender. */
function fields<Name extends string>(value: unknown, names: readonly Name[]): { readonly [Key in Name]?: unknown } {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) throw new TypeError('not a message');
  const known: readonly string[] = names;
  const unknown = Object.keys(value).filter((name) => !known.includes(name));
  if (unknown.length > 0) throw new TypeError(`no such fields: ${unknown.join(', ')}`);
  return value;
}

function list(value: unknown, length?: number): readonly unknown[] {
  if (!Array.isArray(value) || (length !== undefined && value.length !== length)) throw new TypeError('not that list');
  return value;
}

function text(value: unknown): string {
  if (typeof value !== 'string' || value === '') throw new TypeError('not a text');
  return value;
}

/** OTLP's JSON: "traceId and spanId byte arrays are represented as case-insensitive hex-encoded strings". */
function id(value: unknown, digits: number): string {
  const given = text(value);
  if (!new RegExp(`^[0-9a-f]{${digits}}$`).test(given) || /^0+$/.test(given)) throw new TypeError('not an id');
  return given;
}

/** Protobuf's JSON: 64-bit numbers are strings of decimal digits. */
function unsigned(value: unknown): bigint {
  const given = text(value);
  if (!/^(0|[1-9]\d*)$/.test(given)) throw new TypeError(`not a 64-bit number: ${given}`);
  return BigInt(given);
}
