import * as z from 'zod';
import { certificatePem, clientCertificate, EXAMPLE_CERTIFICATE } from '../../sections/certificates.ts';
import { field, object } from '../../sections/field.ts';
import { absolutePath, allowInsecure, duration, headers, secret } from './fields.ts';

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
  ca: field(
    z.union(
      [
        certificatePem,
        object({
          file: field(absolutePath, 'A file with PEM certificates on the machine.', {
            example: '/etc/ssl/registry-ca.pem',
          }),
        }),
      ],
      {
        error: 'expected a PEM certificate, or {file: path} of one on the machine',
      },
    ),
    'The authority that signs for the server, as PEM or as a file on the machine, beside those that the operating system trusts.',
    { absent: 'those that the operating system trusts', example: { file: '/etc/ssl/registry-ca.pem' } },
  ),
  clientCertificate: field(clientCertificate, 'The certificate that containerd presents to the server (mutual TLS).', {
    absent: 'none is presented',
    example: { certificate: EXAMPLE_CERTIFICATE, key: { secret: 'clientKey' } },
  }),
  skipVerify: field(
    z.boolean(),
    'Accepts any certificate of the server, so that anybody on the network path can replace images.',
    { default: false, example: true },
  ),
  overridePath: field(z.boolean(), 'Whether the API begins at the path of the URL itself instead of at /v2 below it.', {
    default: false,
    example: true,
  }),
  dialTimeout: field(duration, 'How long to try to connect. Needs containerd 2.0.', {
    absent: 'that of containerd, 30s',
    example: '5s',
  }),
  headers,
  credentials: field(
    object({
      username: field(secret, 'The user name.', { example: 'robot' }),
      password: field(secret, 'The password or token.', { example: { secret: 'registryPassword' } }),
    }),
    'User name and password (basic authentication) for every pull on this machine.',
    { absent: 'none', example: { username: 'robot', password: { secret: 'registryPassword' } } },
  ),
  allowInsecure,
};

const mirror = object({
  url: field(endpointUrl, 'The URL of the mirror, without user and query.', { example: 'https://mirror.example' }),
  capabilities: field(z.array(capability).min(1), 'What the mirror may do. referrers needs containerd 2.2.', {
    default: ['pull', 'resolve'],
    example: ['pull'],
  }),
  ...endpoint,
});

export const registries = z.array(
  object({
    host: field(registryHost, 'The registry, as image names begin with it. _default stands for all others.', {
      example: 'docker.io',
    }),
    server: field(endpointUrl, 'The URL of the registry itself, which is asked after the mirrors.', {
      absent: 'https:// and the host',
      example: 'https://registry-1.docker.io',
    }),
    mirrors: field(z.array(mirror), 'Mirrors, asked first and in this order.', {
      default: [],
      example: [{ url: 'https://mirror.example' }],
    }),
    fallback: field(z.boolean(), 'Whether the registry itself is asked when no mirror has an image.', {
      default: true,
      example: false,
    }),
    verify: field(
      z.string().min(1),
      'An image of this registry that is pulled to prove addresses, certificates and credentials.',
      { absent: 'nothing is pulled', example: 'docker.io/library/busybox:1.37' },
    ),
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
