import * as z from 'zod';
import { absolutePath, certificatePem, duration, secret } from './fields.ts';

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
    .optional()
    .describe('What proves the server, beside what the operating system trusts.'),
  clientCertificate: z.strictObject({ certificate: certificatePem, key: secret }).optional(),
  skipVerify: z.boolean().optional().describe('Believe any certificate. Default false.'),
  overridePath: z
    .boolean()
    .optional()
    .describe('The API begins at the path of the URL, and not at /v2 below it. Default false.'),
  dialTimeout: duration.optional().describe('How long to try to connect; needs containerd 2.0.'),
  headers: z
    .record(z.string().regex(/^[A-Za-z0-9-]+$/, 'not the name of a header'), secret)
    .optional()
    .describe('Sent with every request.'),
  credentials: z
    .strictObject({ username: secret, password: secret })
    .optional()
    .describe('Sent with every request (basic authentication), for every pull on this machine.'),
};

const mirror = z.strictObject({
  url: endpointUrl,
  capabilities: z
    .array(capability)
    .min(1)
    .optional()
    .describe('Default [pull, resolve]; referrers needs containerd 2.2.'),
  ...endpoint,
});

export const registries = z.array(
  z
    .strictObject({
      host: registryHost.describe('As image names begin: docker.io, registry.example:5000; _default = all others.'),
      server: endpointUrl.optional().describe('The registry itself, asked after the mirrors. Default: what host says.'),
      mirrors: z.array(mirror).optional().describe('Asked first, in this order.'),
      fallback: z
        .boolean()
        .optional()
        .describe('Whether the registry itself is asked when no mirror has an image. Default true.'),
      verify: z
        .string()
        .min(1)
        .optional()
        .describe('An image of this registry, pulled to prove addresses, certificates and credentials.'),
      ...endpoint,
    })
    .describe('Beside mirrors, the settings of a registry are those of its server.'),
);

export type RegistriesSection = z.infer<typeof registries>;
export type RegistrySection = RegistriesSection[number];
export type EndpointSection = Pick<
  RegistrySection,
  'ca' | 'clientCertificate' | 'skipVerify' | 'overridePath' | 'dialTimeout' | 'headers' | 'credentials'
>;
