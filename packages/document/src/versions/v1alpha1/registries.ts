import * as z from 'zod';
import { absolutePath, allowInsecure, certificatePem, clientCertificate, duration, headers, secret } from './fields.ts';

/** `containerRuntime.containerd.registries`: where the images of a registry come from. */

const endpointUrl = z
  .string()
  .regex(/^https?:\/\/[^\s/?#@]+(?:\/[^\s?#]*)?$/, {
    error: 'not an http or https URL without user and query',
    abort: true,
  })
  .refine((text) => URL.canParse(text), 'not an http or https URL');

/** distribution/reference: host names and addresses, with a port perhaps; `_default` is containerd's. */
const registryHost = z
  .string()
  .regex(
    /^(?:_default|\[[0-9A-Fa-f:.]+\](?::\d{1,5})?|[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::\d{1,5})?)$/,
    'not a registry as image names begin, such as docker.io or registry.example:5000; "_default" stands for all others',
  );

const capability = z.enum(['pull', 'resolve', 'push', 'referrers']);

const endpoint = {
  ca: z
    .union([certificatePem, z.strictObject({ file: absolutePath })], {
      error: 'expected a PEM certificate, or {file: path} of one on the machine',
    })
    .optional(),
  clientCertificate: clientCertificate.optional(),
  skipVerify: z.boolean().optional(),
  overridePath: z.boolean().optional(),
  dialTimeout: duration.optional(),
  headers: headers.optional(),
  credentials: z.strictObject({ username: secret, password: secret }).optional(),
  allowInsecure,
};

const mirror = z.strictObject({
  url: endpointUrl,
  capabilities: z.array(capability).min(1).optional(),
  ...endpoint,
});

export const registries = z.array(
  z.strictObject({
    host: registryHost,
    server: endpointUrl.optional(),
    mirrors: z.array(mirror).optional(),
    fallback: z.boolean().optional(),
    verify: z.string().min(1).optional(),
    ...endpoint,
  }),
);

export type RegistriesSection = z.infer<typeof registries>;
export type RegistrySection = RegistriesSection[number];
export type EndpointSection = Pick<
  RegistrySection,
  | 'ca'
  | 'clientCertificate'
  | 'skipVerify'
  | 'overridePath'
  | 'dialTimeout'
  | 'headers'
  | 'credentials'
  | 'allowInsecure'
>;
