import { hash } from 'node:crypto';
import { Secret } from '@machineadm/document/secrets/secret.ts';
import { stringAt } from '@machineadm/document/values/untyped.ts';
import { parseJson } from '../http/client.ts';
import { HttpError } from '../http/error.ts';
import type { HttpRequest } from '../seam/http.ts';
import type { MetadataService } from './metadata-service.ts';

/** Credentials of this machine's role from the metadata service, valid for some hours. */
export interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: Secret;
  readonly sessionToken: Secret;
}

/** A request to a service of AWS, not yet signed. */
export interface AwsRequest {
  readonly service: 'ssm' | 'secretsmanager' | 'sns' | 'sqs' | 's3';
  readonly region: string;
  readonly method: 'POST' | 'PUT';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The region of this machine. Throws `HttpError` where the metadata service has none, and `MetadataUnavailable`. */
export async function awsRegionOfMachine(metadata: MetadataService, until?: AbortSignal): Promise<string> {
  const region = (await metadata.lookUp('aws', 'placement/region', until)).value?.trim();
  if (region !== undefined && region !== '') return region;
  throw new HttpError('protocol', 'the metadata service of aws', 'it names no region: give one in the document');
}

/**
 * https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instance-metadata-security-credentials.html
 * Throws `HttpError` where the machine has no role, and `MetadataUnavailable`.
 */
export async function awsRoleCredentials(metadata: MetadataService, until?: AbortSignal): Promise<AwsCredentials> {
  const directory = 'iam/security-credentials/';
  const what = 'the metadata service of aws';
  const role = (await metadata.lookUp('aws', directory, until)).value?.split('\n')[0]?.trim();
  if (role === undefined || role === '') {
    throw new HttpError('protocol', what, 'this machine has no role: attach an instance profile to it');
  }
  const text = (await metadata.lookUp('aws', directory + role, until)).value;
  const answer = text === undefined ? undefined : parseJson(text, what);
  const accessKeyId = stringAt(answer, 'AccessKeyId');
  const secretAccessKey = stringAt(answer, 'SecretAccessKey');
  const sessionToken = stringAt(answer, 'Token');
  if (accessKeyId === undefined || secretAccessKey === undefined || sessionToken === undefined) {
    const code = stringAt(answer, 'Code') ?? 'no credentials';
    throw new HttpError('protocol', what, `it has no credentials for the role ${role}: ${code}`);
  }
  // Secrets from here on: redacted in all output of the process.
  return { accessKeyId, secretAccessKey: new Secret(secretAccessKey), sessionToken: new Secret(sessionToken) };
}

/** Loads the library for signatures, which the first signature does otherwise. */
export async function loadSigner(): Promise<void> {
  await import('aws4fetch');
}

/**
 * The request with a Signature Version 4 that covers its body.
 * @param at the time of signing by AWS's clock: AWS refuses signatures that are some minutes off
 */
export async function signedForAws(request: AwsRequest, credentials: AwsCredentials, at: Date): Promise<HttpRequest> {
  const { AwsV4Signer } = await import('aws4fetch');
  const signer = new AwsV4Signer({
    method: request.method,
    url: request.url,
    headers: {
      ...request.headers,
      // S3 requires it explicitly; without it the signer would not sign the body of an S3 request.
      ...(request.service === 's3' ? { 'x-amz-content-sha256': hash('sha256', request.body) } : {}),
    },
    body: request.body,
    accessKeyId: credentials.accessKeyId,
    secretAccessKey: credentials.secretAccessKey.reveal(),
    sessionToken: credentials.sessionToken.reveal(),
    service: request.service,
    region: request.region,
    datetime: at.toISOString().replace(/[:-]|\.\d{3}/g, ''),
  });
  const { url, headers } = await signer.sign();
  return { url: url.href, method: request.method, headers: Object.fromEntries(headers), body: request.body };
}

/** The parent domain of a region's services. */
export function awsDomain(region: string): string {
  return region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com';
}
