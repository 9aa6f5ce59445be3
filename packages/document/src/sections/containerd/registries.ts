import { certificatePem, clientCertificate, EXAMPLE_CERTIFICATE } from '../../fields/certificates.ts';
import {
  all,
  any,
  atLeastOne,
  contains,
  credentialsOverTls,
  given,
  has,
  is,
  type JsonSchema,
  must,
  not,
  text,
  textWithout,
  VARIABLE,
  when,
  without,
  writtenSecret,
} from '../../fields/conditions.ts';
import { headersOf, milliseconds, type ResolveSecret } from '../../fields/convert-values.ts';
import { choice, field, object } from '../../fields/field.ts';
import { absolutePath, allowInsecure, duration, headers, secret } from '../../fields/types.ts';
import * as z from '../../schema/zod.ts';
import type { SecretValue } from '../../secrets/secret.ts';

/** What a mirror is for. Without `resolve` tags are still looked up in the registry itself. */
const MIRROR_CAPABILITIES: readonly RegistryCapability[] = ['pull', 'resolve'];

/** Where the images of one registry name come from. */
export interface RegistryModel {
  /** As image names begin: `docker.io`, `registry.example:5000`; `_default` = every one without an entry. */
  readonly host: string;
  /** The registry itself, asked after the mirrors; its url is undefined where its name says it. */
  readonly server: RegistryEndpoint;
  /** False: only the mirrors are asked. */
  readonly fallback: boolean;
  /** In the order in which they are tried. */
  readonly mirrors: readonly (RegistryEndpoint & { readonly url: string })[];
  /** An image whose pull proves the whole. */
  readonly verify: string | undefined;
}

export interface RegistryEndpoint {
  readonly url: string | undefined;
  /** Empty = containerd's default, all of them. */
  readonly capabilities: readonly RegistryCapability[];
  readonly ca:
    | { readonly kind: 'pem'; readonly pem: string }
    | { readonly kind: 'file'; readonly path: string }
    | undefined;
  readonly clientCertificate: { readonly certificate: string; readonly key: SecretValue } | undefined;
  readonly skipVerify: boolean;
  /** True: the API begins at the path of the URL, and not at `/v2` below it. */
  readonly overridePath: boolean;
  readonly dialTimeoutMs: number | undefined;
  readonly headers: Readonly<Record<string, SecretValue>>;
  readonly credentials: { readonly username: SecretValue; readonly password: SecretValue } | undefined;
}

/** `containerRuntime.containerd.registries`: where the images of a registry come from. */

const endpointUrl = z
  .string()
  .regex(/^https?:\/\/[^\s/?#@]+(?:\/[^\s?#]*)?$/, {
    error: 'not an http or https URL without user and query',
    abort: true,
  })
  .refine((text) => URL.canParse(text), 'not an http or https URL');

/** distribution/reference: host names and addresses, with a port perhaps; `_default` is containerd's. */
/** What looks like Docker Hub, which image names call docker.io. */
export const NOT_DOCKER_HUB = /^(?:index|registry-1|registry|hub)\.docker\.(?:io|com)$/;

const registryHost = z
  .string()
  .regex(
    /^(?:_default|\[[0-9A-Fa-f:.]+\](?::\d{1,5})?|[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::\d{1,5})?)$/,
    'not a registry as image names begin, such as docker.io or registry.example:5000; "_default" stands for all others',
  );

const capability = choice({
  pull: 'Manifests and layers by their digest.',
  resolve: 'The digest of a tag.',
  push: 'Uploads.',
  referrers: 'Signatures and other objects that refer to an image. Needs containerd 2.2.',
});

export type RegistryCapability = z.infer<typeof capability>;

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
    'The certificate authority of the server, as PEM or as a file on the machine, in addition to those that the operating system trusts.',
    { absent: 'those that the operating system trusts', example: { file: '/etc/ssl/registry-ca.pem' } },
  ),
  clientCertificate: field(clientCertificate, 'The certificate that containerd presents to the server (mutual TLS).', {
    absent: 'none is presented',
    example: { certificate: EXAMPLE_CERTIFICATE, key: { secret: 'clientKey' } },
  }),
  skipVerify: field(
    z.boolean(),
    'Accepts any certificate of the server, so that anyone on the network path can replace images.',
    { default: false, example: true },
  ),
  overridePath: field(z.boolean(), 'Whether the API begins at the path of the URL itself instead of at /v2 below it.', {
    default: false,
    example: true,
  }),
  dialTimeout: field(duration, 'How long to try to connect. Needs containerd 2.0.', {
    absent: 'the default of containerd, 30s',
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

const mirror = object(
  {
    url: field(endpointUrl, 'The URL of the mirror, without user and query.', { example: 'https://mirror.example' }),
    capabilities: field(z.array(capability).min(1), 'What the mirror may do. referrers needs containerd 2.2.', {
      default: ['pull', 'resolve'],
      example: ['pull'],
    }),
    ...endpoint,
  },
  () => endpointConditions('url'),
);

export const registries = z.array(
  object(
    {
      host: field(registryHost, 'The registry, as in the names of its images. _default stands for all others.', {
        example: 'docker.io',
      }),
      server: field(endpointUrl, 'The URL of the registry itself, which is used after the mirrors.', {
        absent: 'https:// and the host',
        example: 'https://registry-1.docker.io',
      }),
      mirrors: field(z.array(mirror), 'Mirrors, which are tried first and in this order.', {
        default: [],
        example: [{ url: 'https://mirror.example' }],
      }),
      fallback: field(z.boolean(), 'Whether the registry itself is used if no mirror has an image.', {
        default: true,
        example: false,
      }),
      verify: field(
        z.string().min(1),
        'An image of this registry that is pulled to prove addresses, certificates and credentials.',
        { absent: 'nothing is pulled', example: 'docker.io/library/busybox:1.37' },
      ),
      ...endpoint,
    },
    () => {
      const mirrors = given('mirrors', { type: 'array', minItems: 1 });
      const pullsAlone = any(
        not(has('capabilities')),
        given('capabilities', all(contains({ const: 'pull' }), contains({ const: 'resolve' }))),
      );
      return [
        must('host', textWithout(NOT_DOCKER_HUB)),
        when(
          is('fallback', false),
          all(mirrors, must('mirrors', contains({ type: 'object', ...pullsAlone })), without(...OF_THE_SERVER)),
          when(not(mirrors), all(atLeastOne(...OF_THE_SERVER), when(is('host', '_default'), has('server')))),
        ),
        ...endpointConditions('server'),
      ];
    },
  ),
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

/** What is about the server of the registry itself. */
export const OF_THE_SERVER = [
  'server',
  'ca',
  'clientCertificate',
  'skipVerify',
  'overridePath',
  'dialTimeout',
  'headers',
  'credentials',
  'allowInsecure',
] as const;

/** What a mirror and a registry have in common. */
function endpointConditions(url: string): readonly JsonSchema[] {
  return [
    when(given(url, all(text(/^http:\/\//), not(VARIABLE))), without('ca', 'clientCertificate', 'skipVerify')),
    when(is('skipVerify', true), without('ca')),
    credentialsOverTls(url, 'credentials'),
    when(
      has('credentials'),
      must('headers', {
        type: 'object',
        propertyNames: textWithout(/^[Aa][Uu][Tt][Hh][Oo][Rr][Ii][Zz][Aa][Tt][Ii][Oo][Nn]$/),
      }),
    ),
    must('clientCertificate.key', writtenSecret(/-----BEGIN [A-Z ]*PRIVATE KEY-----/)),
  ];
}

export function toRegistry(section: RegistrySection, index: number, resolve: ResolveSecret): RegistryModel {
  const name = `containerRuntime.containerd.registries[${index}]`;
  return {
    host: section.host,
    server: { url: section.server, capabilities: [], ...toEndpoint(section, name, resolve) },
    fallback: section.fallback ?? true,
    mirrors: (section.mirrors ?? []).map((mirror, at) => ({
      url: mirror.url,
      capabilities: mirror.capabilities ?? MIRROR_CAPABILITIES,
      ...toEndpoint(mirror, `${name}.mirrors[${at}]`, resolve),
    })),
    verify: section.verify,
  };
}

function toEndpoint(
  section: EndpointSection,
  name: string,
  resolve: ResolveSecret,
): Omit<RegistryEndpoint, 'url' | 'capabilities'> {
  const { ca, clientCertificate, credentials } = section;
  return {
    ca:
      ca === undefined
        ? undefined
        : typeof ca === 'string'
          ? { kind: 'pem', pem: ca }
          : { kind: 'file', path: ca.file },
    clientCertificate:
      clientCertificate === undefined
        ? undefined
        : {
            certificate: clientCertificate.certificate,
            key: resolve(clientCertificate.key, `${name}.clientCertificate.key`),
          },
    skipVerify: section.skipVerify ?? false,
    overridePath: section.overridePath ?? false,
    dialTimeoutMs: milliseconds(section.dialTimeout),
    headers: headersOf(section.headers, resolve, name),
    credentials:
      credentials === undefined
        ? undefined
        : {
            username: resolve(credentials.username, `${name}.credentials.username`),
            password: resolve(credentials.password, `${name}.credentials.password`),
          },
  };
}
