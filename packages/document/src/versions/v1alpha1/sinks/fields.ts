import * as z from 'zod';
import type { RemoteOptions, SinkTlsModel } from '../../../model-sinks.ts';
import { certificatePem, clientCertificate, EXAMPLE_CERTIFICATE } from '../../../sections/certificates.ts';
import { field, type ShapeOf } from '../../../sections/field.ts';
import { milliseconds, type ResolveSecret } from '../convert-values.ts';
import { duration } from '../fields.ts';

const DEFAULT_TIMEOUT_MS = 10_000;

export const eventTypes = z
  .array(z.enum(['started', 'stepChanged', 'waiting', 'warning', 'concluded', 'readinessChanged']))
  .min(1);

/** What a document may say of every remote sink. */
export const remoteFields = {
  name: field(
    z
      .string()
      .max(63)
      .regex(/^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/, 'not a name: use letters, digits, ".", "_" and "-"'),
    'The name of the sink in messages and tables. Two sinks may not have the same name.',
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
