import type { Finding, PathSegment } from '../../diagnostics/index.ts';
import { certificatePem, clientCertificate, EXAMPLE_CERTIFICATE } from '../../fields/certificates.ts';
import { exclusive } from '../../fields/conditions.ts';
import type { ResolveSecret } from '../../fields/convert-values.ts';
import { choice, type Fields, field, object, type ShapeOf } from '../../fields/field.ts';
import { secret, url } from '../../fields/types.ts';
import { FEATURES, has } from '../../kubernetes-releases/features.ts';
import type { MinorWindow } from '../../kubernetes-releases/minor.ts';
import * as z from '../../schema/zod.ts';
import type { SecretValue } from '../../secrets/secret.ts';

/** Where the API server's fields are. */
export const API_SERVER: readonly PathSegment[] = ['kubernetes', 'controlPlane', 'apiServer'];

/** A server that the API server asks or tells, and how it proves who it is. PEM throughout. */
export interface WebhookConnection {
  /** `https://auth.example:8443/authenticate` */
  readonly server: string;
  readonly tlsServerName: string | undefined;
  /** undefined = the authorities that the API server's image trusts. */
  readonly certificateAuthority: string | undefined;
  readonly clientCertificate: { readonly certificate: string; readonly key: SecretValue } | undefined;
  readonly token: SecretValue | undefined;
}

const connection = {
  server: field(
    url('https', 'not an https URL, such as https://auth.example:8443/authenticate'),
    'The URL of the server.',
    { example: 'https://auth.example:8443/authenticate' },
  ),
  tlsServerName: field(z.string().min(1), 'The name that the certificate of the server must have.', {
    absent: 'the host of server',
    example: 'auth.example',
  }),
  certificateAuthority: field(certificatePem, 'The authority that signs for the server, in PEM form.', {
    absent: 'those that the image of the API server trusts',
    example: EXAMPLE_CERTIFICATE,
  }),
  clientCertificate: field(
    clientCertificate,
    'The certificate that the API server presents to the server. Excludes token.',
    { absent: 'none is presented', example: { certificate: EXAMPLE_CERTIFICATE, key: { secret: 'clientKey' } } },
  ),
  token: field(secret, 'The bearer token that the API server sends to the server. Excludes clientCertificate.', {
    absent: 'none is sent',
    example: { secret: 'webhookToken' },
  }),
};

type ConnectionSection = z.infer<z.ZodObject<ShapeOf<typeof connection>>>;

/** A server that the API server calls, and what else is said of it. */
export function connectionObject<Of extends Fields>(fields: Of) {
  return object({ ...connection, ...fields }, () => [exclusive('token', 'clientCertificate')]);
}

export const reviewVersion = field(
  choice({ v1: 'The current version.', v1beta1: 'For servers that do not know v1.' }),
  'The API version of the review object.',
  {
    default: 'v1',
    example: 'v1',
  },
);

/** One proof of who the API server is, at most. */
export function checkConnection(connection: ConnectionSection, path: readonly PathSegment[]): Finding[] {
  if (connection.token === undefined || connection.clientCertificate === undefined) return [];
  return [{ path, message: 'token and clientCertificate exclude each other', hint: 'keep one of them' }];
}

/** @param path of the section, below the API server */
export function toConnection(section: ConnectionSection, resolve: ResolveSecret, path: string): WebhookConnection {
  const { server, tlsServerName, certificateAuthority, clientCertificate, token } = section;
  const where = `${API_SERVER.join('.')}.${path}`;
  return {
    server,
    tlsServerName,
    certificateAuthority,
    clientCertificate:
      clientCertificate === undefined
        ? undefined
        : {
            certificate: clientCertificate.certificate,
            key: resolve(clientCertificate.key, `${where}.clientCertificate.key`),
          },
    token: token === undefined ? undefined : resolve(token, `${where}.token`),
  };
}

/** A field that came later than this minor. */
export function needs(feature: keyof typeof FEATURES, path: readonly PathSegment[], minor: number): Finding[] {
  if (has(feature, minor)) return [];
  const { since = 0 }: MinorWindow = FEATURES[feature];
  const message = `needs Kubernetes 1.${since}`;
  return [{ code: 'UnsupportedVersion', path, message, hint: 'remove it, or raise kubernetes.version' }];
}
