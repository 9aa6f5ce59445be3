import * as z from 'zod';
import type { RemoteOptions, SinkTlsModel } from '../../../model-sinks.ts';
import { milliseconds, type ResolveSecret } from '../convert-values.ts';
import { certificatePem, clientCertificate, duration } from '../fields.ts';

const DEFAULT_TIMEOUT_MS = 10_000;

/** What a document may say of every remote sink. */
export const remoteFields = {
  name: z
    .string()
    .max(63)
    .regex(/^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/, 'not a name: use letters, digits, ".", "_" and "-"')
    .optional(),
  events: z
    .array(z.enum(['started', 'stepChanged', 'waiting', 'warning', 'concluded', 'readinessChanged']))
    .min(1)
    .optional(),
  timeout: duration.optional(),
};

/** What a document may say of TLS, for a sink that speaks it. */
export const tlsFields = {
  certificateAuthority: certificatePem.optional(),
  clientCertificate: clientCertificate.optional(),
};

export function toRemoteOptions(section: z.infer<z.ZodObject<typeof remoteFields>>, name: string): RemoteOptions {
  return {
    name: section.name ?? name,
    events: section.events ?? ['started', 'warning', 'concluded', 'readinessChanged'],
    timeoutMs: milliseconds(section.timeout) ?? DEFAULT_TIMEOUT_MS,
  };
}

export function toSinkTls(
  section: z.infer<z.ZodObject<typeof tlsFields>>,
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
