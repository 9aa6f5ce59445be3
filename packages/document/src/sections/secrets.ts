import { secretOverTls } from '../fields/conditions.ts';
import { headersOf, milliseconds, type ResolveSecret } from '../fields/convert-values.ts';
import { field, object, oneOf } from '../fields/field.ts';
import {
  allowInsecure,
  duration,
  EMPTY_SECRET,
  environmentName,
  headers,
  httpUrl,
  machinePath,
  type SecretField,
  sha256,
} from '../fields/types.ts';
import * as z from '../schema/zod.ts';
import { Secret, type SecretSource, type SecretValue } from '../secrets/secret.ts';

const DEFAULT_EXEC_TIMEOUT_MS = 30_000;

const region = field(
  z.string().regex(/^[a-z]{2}(?:-[a-z]+)+-\d$/, 'not an AWS region'),
  'The AWS region that holds the secret.',
  { absent: 'the region of the machine', example: 'eu-west-1' },
);
const endpoint = field(httpUrl, 'The URL of the service, for a VPC endpoint.', {
  absent: 'the public endpoint of the region',
  example: 'https://vpce-1a2b3c.secretsmanager.eu-west-1.vpce.amazonaws.com',
});

const secretSource = oneOf({
  value: field(
    z.string().min(1, EMPTY_SECRET),
    'The secret itself. It is then part of the user data, which many parties can read; prefer a reference.',
    { example: 'abcdef.0123456789abcdef' },
  ),
  file: field(machinePath, 'A file that holds the secret. One line break at its end is removed.', {
    example: '/run/secrets/token',
  }),
  env: field(environmentName, 'The environment variable of machineadm that holds the secret.', {
    example: 'JOIN_TOKEN',
  }),
  systemdCredential: field(
    z.string().regex(/^[A-Za-z0-9_.-]+$/, 'not the name of a credential'),
    'The name of a systemd credential that the unit of machineadm loads (LoadCredential=).',
    { example: 'join-token' },
  ),
  exec: field(
    object({
      command: field(
        z.array(z.string()).min(1),
        'The program and its arguments. The secret is what it prints to stdout, without one line break at the end.',
        { example: ['/usr/local/bin/get-secret', 'join-token'] },
      ),
      timeout: field(duration, 'How long the program may run.', { default: '30s', example: '10s' }),
    }),
    'A program that prints the secret. `plan` does not run it.',
    { example: { command: ['/usr/local/bin/get-secret', 'join-token'] } },
  ),
  http: field(
    object(
      {
        url: field(
          httpUrl,
          'The URL of the secret. With plain http, allowInsecure is needed unless the server is this machine with a port below 1024.',
          { example: 'https://vault.example/v1/secret/data/node' },
        ),
        headers,
        allowInsecure,
        sha256: field(sha256, 'The SHA-256 digest of the response. A response with another digest is refused.', {
          absent: 'the response is not compared',
          example: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
        }),
        pointer: field(
          z.string().regex(/^(?:\/[^/]*)+$/, 'not a JSON pointer, such as /data/token'),
          'A JSON pointer (RFC 6901) to the secret in a response that is JSON.',
          { absent: 'the whole response is the secret', example: '/data/data/token' },
        ),
      },
      () => [secretOverTls('url')],
    ),
    'A secret that is fetched with an HTTP GET request. `plan` does not fetch it.',
    { example: { url: 'https://vault.example/v1/secret/data/node', pointer: '/data/data/token' } },
  ),
  awsSecretsManager: field(
    object(
      {
        secretId: field(z.string().min(1), 'The name or the ARN of the secret.', { example: 'prod-a/join' }),
        region,
        key: field(z.string().min(1), 'The key to read from a secret that is a JSON object.', {
          absent: 'the whole secret is used',
          example: 'token',
        }),
        endpoint,
        allowInsecure,
      },
      () => [secretOverTls('endpoint')],
    ),
    'A secret of AWS Secrets Manager. The role of the machine must be allowed to read it.',
    { example: { secretId: 'prod-a/join', region: 'eu-west-1' } },
  ),
  awsParameter: field(
    object(
      {
        name: field(z.string().min(1), 'The name of the parameter.', { example: '/prod-a/join-token' }),
        region,
        endpoint,
        allowInsecure,
      },
      () => [secretOverTls('endpoint')],
    ),
    'A parameter of the AWS Systems Manager Parameter Store. The role of the machine must be allowed to read it.',
    { example: { name: '/prod-a/join-token' } },
  ),
});

export const secrets = z.record(z.string().regex(/^[A-Za-z][A-Za-z0-9_-]*$/, 'not a name'), secretSource);

export type SecretsSection = z.infer<typeof secrets>;

/** The value of a field that holds a secret, where the document itself has it. */
export function writtenValue(field: SecretField | undefined, secrets: SecretsSection): string | undefined {
  if (field === undefined || typeof field === 'string') return field;
  const source = secrets[field.secret];
  return source !== undefined && 'value' in source ? source.value : undefined;
}

/** The references of a document by name; a reference inside another's headers is followed, a circle never was valid. */
export function secretResolver(secrets: SecretsSection): ResolveSecret {
  const made = new Map<string, SecretValue>();
  const resolve: ResolveSecret = (field, path) => {
    if (typeof field === 'string') return { name: path, source: { kind: 'value', secret: new Secret(field) } };
    const known = made.get(field.secret);
    if (known !== undefined) return known;
    const section = secrets[field.secret];
    if (section === undefined) throw new TypeError(`secret ${field.secret} was not checked`);
    const value: SecretValue = { name: `secrets.${field.secret}`, source: toSource(section, resolve, field.secret) };
    made.set(field.secret, value);
    return value;
  };
  // Every literal is made a Secret, used or not: from then on it is removed from all output.
  for (const name of Object.keys(secrets)) resolve({ secret: name }, name);
  return resolve;
}

function toSource(section: SecretsSection[string], resolve: ResolveSecret, name: string): SecretSource {
  if ('value' in section) return { kind: 'value', secret: new Secret(section.value) };
  if ('file' in section) return { kind: 'file', path: section.file };
  if ('env' in section) return { kind: 'env', variable: section.env };
  if ('systemdCredential' in section) return { kind: 'systemdCredential', name: section.systemdCredential };
  if ('exec' in section) {
    const { command, timeout } = section.exec;
    return { kind: 'exec', command, timeoutMs: milliseconds(timeout) ?? DEFAULT_EXEC_TIMEOUT_MS };
  }
  if ('http' in section) {
    const { url, headers, sha256, pointer } = section.http;
    return { kind: 'http', url, headers: headersOf(headers, resolve, `secrets.${name}`), sha256, pointer };
  }
  if ('awsSecretsManager' in section) {
    const { secretId, region, key, endpoint } = section.awsSecretsManager;
    return { kind: 'awsSecretsManager', secretId, region, key, endpoint };
  }
  const { name: parameter, region, endpoint } = section.awsParameter;
  return { kind: 'awsParameter', name: parameter, region, endpoint };
}
