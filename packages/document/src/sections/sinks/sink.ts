import type { Finding, PathSegment } from '../../diagnostics/index.ts';
import { certificatePem, clientCertificate, EXAMPLE_CERTIFICATE } from '../../fields/certificates.ts';
import type { JsonSchema } from '../../fields/conditions.ts';
import { milliseconds, type ResolveSecret } from '../../fields/convert-values.ts';
import { choice, define, type Field, type Fields, field, object, type ShapeOf } from '../../fields/field.ts';
import { duration } from '../../fields/types.ts';
import * as z from '../../schema/zod.ts';
import type { SecretValue } from '../../secrets/secret.ts';

/** What every sink has that is reached over a network or through a program. */
export interface RemoteOptions {
  /** Its unique name in messages and tables. Default: its type, with a number from the second sink of a type on. */
  readonly name: string;
  /** The events that it gets. */
  readonly events: readonly EventType[];
  /** How long one delivery may take. */
  readonly timeoutMs: number;
}

/** The client certificate of a TLS sink, and the authorities that it trusts in addition to those of the system and the document. */
export interface SinkTlsModel {
  /** PEM; undefined = only the system's and the document's. */
  readonly certificateAuthority: string | undefined;
  readonly clientCertificate: { readonly certificate: string; readonly key: SecretValue } | undefined;
}

const DEFAULT_TIMEOUT_MS = 10_000;

/** What a machine reports: see `ReportEvent`. */
const eventType = choice({
  started: 'The run began.',
  stepChanged: 'A step began or ended.',
  waiting: 'The run waits, such as for a device or an address.',
  warning: 'Something that does not end the run.',
  concluded: 'The run ended, with its outcome.',
  readinessChanged: 'The node became ready or ceased to be, after the run.',
});

export type EventType = z.infer<typeof eventType>;

export const eventTypes = z.array(eventType).min(1);

/** What a document may say of every remote sink. */
export const remoteFields = {
  name: field(
    z
      .string()
      .max(63)
      .regex(/^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/, 'not a name: use letters, digits, ".", "_" and "-"'),
    'The name of the sink in messages and tables. Two sinks must not have the same name.',
    { absent: 'the type of the sink', example: 'fleet-events' },
  ),
  events: field(eventTypes, 'The events that are delivered.', {
    default: ['started', 'warning', 'concluded', 'readinessChanged'],
    example: ['started', 'concluded'],
  }),
  timeout: field(duration, 'How long one delivery may take.', { default: '10s', example: '5s' }),
};

/** What a document may say of TLS, for a sink that speaks it. */
export const tlsFields = {
  certificateAuthority: field(
    certificatePem,
    'PEM certificates that this sink trusts beside those of the system and of host.certificateAuthorities.',
    { absent: 'none beside those', example: EXAMPLE_CERTIFICATE },
  ),
  clientCertificate: field(clientCertificate, 'The certificate that the sink presents to the receiver (mutual TLS).', {
    absent: 'none is presented',
    example: { certificate: EXAMPLE_CERTIFICATE, key: { secret: 'clientKey' } },
  }),
};

export function toRemoteOptions(
  section: z.infer<z.ZodObject<ShapeOf<typeof remoteFields>>>,
  name: string,
): RemoteOptions {
  return {
    name: section.name ?? name,
    events: section.events ?? ['started', 'warning', 'concluded', 'readinessChanged'],
    timeoutMs: milliseconds(section.timeout) ?? DEFAULT_TIMEOUT_MS,
  };
}

export function toSinkTls(
  section: z.infer<z.ZodObject<ShapeOf<typeof tlsFields>>>,
  resolve: ResolveSecret,
  name: string,
): SinkTlsModel {
  const { certificateAuthority, clientCertificate: client } = section;
  return {
    certificateAuthority,
    clientCertificate:
      client === undefined
        ? undefined
        : { certificate: client.certificate, key: resolve(client.key, `the key of the client certificate of ${name}`) },
  };
}

type WithType<Type extends string, Of extends Fields> = { type: Field<z.ZodLiteral<Type>> } & Of;

/** The schema of a kind of sink, which is published under a name of its own. */
export function sinkSchema<Type extends string, Of extends Fields>(
  type: Type,
  description: string,
  example: Readonly<Record<string, unknown>>,
  fields: Of,
  conditions?: () => readonly JsonSchema[],
): z.ZodObject<ShapeOf<WithType<Type, Of>>, z.core.$strict> {
  const all: WithType<Type, Of> = { type: field(z.literal(type), 'The kind of receiver.'), ...fields };
  return define(`${type}Sink`, object(all, conditions), description, { type, ...example });
}

/** Exactly one of some fields must be there. Not reported if the section has another problem: that may be in one of them. */
export function exactlyOneOf<Name extends string>(
  section: { readonly [Key in Name]?: unknown },
  names: readonly [Name, Name, ...Name[]],
  path: readonly PathSegment[],
): Finding[] {
  const given = names.filter((name) => section[name] !== undefined);
  if (given.length === 1) return [];
  const all = `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
  if (given.length === 0) return [{ path, message: `none of ${all} is given`, hint: 'give one of them' }];
  return [{ path, message: `${given.join(' and ')} exclude each other`, hint: 'keep one of them' }];
}
