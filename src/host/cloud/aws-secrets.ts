import { utf8Text } from '@machineadm/document/encodings/decode.ts';
import type { SecretSource } from '@machineadm/document/secrets/secret.ts';
import { stringAt } from '@machineadm/document/values/untyped.ts';
import { parseJson, readBody, redactedRequest } from '../http/client.ts';
import { HttpError } from '../http/error.ts';
import type { HttpClient } from '../seam/http.ts';
import {
  type AwsCredentials,
  awsDomain,
  awsRegionOfMachine,
  awsRoleCredentials,
  signedForAws,
} from './aws-signature.ts';
import type { MetadataService } from './metadata-service.ts';

/** A secret of AWS Secrets Manager, or a parameter of Systems Manager. */
export type AwsSource = Extract<SecretSource, { readonly kind: 'awsSecretsManager' | 'awsParameter' }>;

const LIMIT_BYTES = 1024 * 1024;
const TOTAL_MS = 10_000;

/**
 * The text of a secret in AWS, requested with this machine's role and signed with Signature Version 4. undefined: the
 * response contains none. Throws `HttpError` (retryable where AWS throttles or is down) and `MetadataUnavailable`.
 */
export async function awsSecret(
  source: AwsSource,
  client: HttpClient,
  metadata: MetadataService,
): Promise<string | undefined> {
  const region = source.region ?? (await awsRegionOfMachine(metadata));
  const credentials = await awsRoleCredentials(metadata);
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

async function call(
  service: 'ssm' | 'secretsmanager',
  target: string,
  body: unknown,
  endpoint: string | undefined,
  region: string,
  credentials: AwsCredentials,
  client: HttpClient,
): Promise<unknown> {
  const signed = await signedForAws(
    {
      service,
      region,
      method: 'POST',
      url: endpoint ?? `https://${service}.${region}.${awsDomain(region)}/`,
      headers: { 'content-type': 'application/x-amz-json-1.1', 'x-amz-target': target },
      body: JSON.stringify(body),
    },
    credentials,
    new Date(),
  );
  const answer = await client.request({ ...signed, totalMs: TOTAL_MS });
  const what = redactedRequest('POST', signed.url);
  const text = new TextDecoder().decode(await readBody(answer, LIMIT_BYTES, what));
  if (answer.status === 200) return parseJson(text, what);
  // Only the type (`com.amazonaws…#ResourceNotFoundException`): a message may quote the request.
  const type = errorType(text);
  const again = answer.status === 429 || answer.status >= 500 || /Throttl|TooManyRequests/.test(type);
  throw new HttpError(again ? 'connection' : 'protocol', what, `HTTP ${answer.status} ${type}`.trim());
}

function errorType(text: string): string {
  try {
    const type = stringAt(JSON.parse(text), '__type')?.split('#').at(-1) ?? '';
    return /^[A-Za-z.]{1,100}$/.test(type) ? type : '';
  } catch {
    return '';
  }
}

function utf8(base64: string): string {
  const text = utf8Text(Buffer.from(base64, 'base64'));
  if (text === undefined) throw new HttpError('protocol', 'the secret in AWS', 'it is not UTF-8 text');
  return text;
}
