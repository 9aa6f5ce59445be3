import type { Secret, SecretSource } from '../document/secret.ts';
import { Secret as SecretClass } from '../document/secret.ts';
import { type HttpClient, readBody, shown } from './http.ts';
import { HttpError } from './http-error.ts';
import type { MetadataService } from './metadata-service.ts';

/** A secret of AWS Secrets Manager, or a parameter of Systems Manager. */
export type AwsSource = Extract<SecretSource, { readonly kind: 'awsSecretsManager' | 'awsParameter' }>;

/** The role of this machine, as the metadata service hands it out. */
interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: Secret;
  readonly sessionToken: Secret;
}

const LIMIT_BYTES = 1024 * 1024;
const TOTAL_MS = 10_000;

/**
 * The text of a secret in AWS, asked for with the role of this machine and signed with Signature Version 4. undefined:
 * the answer holds none. Throws `HttpError` (retryable where AWS throttles or is down) and `MetadataUnavailable`.
 */
export async function awsSecret(
  source: AwsSource,
  client: HttpClient,
  metadata: MetadataService,
): Promise<string | undefined> {
  const region = source.region ?? (await metadata.lookUp('aws', 'placement/region')).value?.trim();
  if (region === undefined) {
    throw new HttpError('protocol', 'the metadata service of aws', 'it names no region: give one in the document');
  }
  const credentials = await roleCredentials(metadata);
  if (source.kind === 'awsParameter') {
    // https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_GetParameter.html
    const body = { Name: source.name, WithDecryption: true };
    const answer = await call('ssm', 'AmazonSSM.GetParameter', body, source.endpoint, region, credentials, client);
    return stringAt(answer, 'Parameter', 'Value');
  }
  // https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_GetSecretValue.html
  const body = { SecretId: source.secretId };
  const target = 'secretsmanager.GetSecretValue';
  const answer = await call('secretsmanager', target, body, source.endpoint, region, credentials, client);
  const binary = stringAt(answer, 'SecretBinary');
  const text = stringAt(answer, 'SecretString') ?? (binary === undefined ? undefined : utf8(binary));
  if (source.key === undefined || text === undefined) return text;
  return stringAt(parseJson(text, source.secretId), source.key);
}

/** https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instance-metadata-security-credentials.html */
async function roleCredentials(metadata: MetadataService): Promise<Credentials> {
  const directory = 'iam/security-credentials/';
  const what = 'the metadata service of aws';
  const role = (await metadata.lookUp('aws', directory)).value?.split('\n')[0]?.trim();
  if (role === undefined || role === '') {
    throw new HttpError('protocol', what, 'this machine has no role: attach an instance profile to it');
  }
  const text = (await metadata.lookUp('aws', directory + role)).value;
  const answer = text === undefined ? undefined : parseJson(text, what);
  const accessKeyId = stringAt(answer, 'AccessKeyId');
  const secretAccessKey = stringAt(answer, 'SecretAccessKey');
  const sessionToken = stringAt(answer, 'Token');
  if (accessKeyId === undefined || secretAccessKey === undefined || sessionToken === undefined) {
    const code = stringAt(answer, 'Code') ?? 'no credentials';
    throw new HttpError('protocol', what, `it has no credentials for the role ${role}: ${code}`);
  }
  // Secrets from here on: they are removed from everything that leaves the process.
  return {
    accessKeyId,
    secretAccessKey: new SecretClass(secretAccessKey),
    sessionToken: new SecretClass(sessionToken),
  };
}

async function call(
  service: 'ssm' | 'secretsmanager',
  target: string,
  body: unknown,
  endpoint: string | undefined,
  region: string,
  credentials: Credentials,
  client: HttpClient,
): Promise<unknown> {
  const { AwsV4Signer } = await import('aws4fetch');
  const suffix = region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com';
  const signer = new AwsV4Signer({
    method: 'POST',
    url: endpoint ?? `https://${service}.${region}.${suffix}/`,
    headers: { 'content-type': 'application/x-amz-json-1.1', 'x-amz-target': target },
    body: JSON.stringify(body),
    accessKeyId: credentials.accessKeyId,
    secretAccessKey: credentials.secretAccessKey.reveal(),
    sessionToken: credentials.sessionToken.reveal(),
    service,
    region,
  });
  const signed = await signer.sign();
  const url = signed.url.href;
  const answer = await client.request({
    url,
    method: 'POST',
    headers: Object.fromEntries(signed.headers),
    body: JSON.stringify(body),
    totalMs: TOTAL_MS,
  });
  const what = shown('POST', url);
  const text = new TextDecoder().decode(await readBody(answer, LIMIT_BYTES, what));
  if (answer.status === 200) return parseJson(text, what);
  // The type only (`com.amazonaws…#ResourceNotFoundException`): a message may quote what was asked with.
  const type = errorType(text);
  const again = answer.status === 429 || answer.status >= 500 || /Throttl|TooManyRequests/.test(type);
  throw new HttpError(again ? 'connection' : 'protocol', what, `HTTP ${answer.status} ${type}`.trim());
}

function errorType(text: string): string {
  try {
    return stringAt(JSON.parse(text), '__type')?.split('#').at(-1) ?? '';
  } catch {
    return '';
  }
}

function parseJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's message quotes the text, which may be the secret.
    throw new HttpError('protocol', what, 'it is not JSON');
  }
}

/** A string inside an answer. */
function stringAt(value: unknown, ...path: readonly string[]): string | undefined {
  let node = value;
  for (const name of path) {
    if (node === null || typeof node !== 'object' || !Object.hasOwn(node, name)) return undefined;
    node = Reflect.get(node, name);
  }
  return typeof node === 'string' ? node : undefined;
}

function utf8(base64: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(base64, 'base64'));
  } catch {
    throw new HttpError('protocol', 'the secret in AWS', 'it is not UTF-8 text');
  }
}
