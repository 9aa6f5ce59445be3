import { createHash, createHmac } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { startServer, type TestServer } from './http-servers.ts';

export interface AwsRole {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly token: string;
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();

/**
 * The signature that AWS would compute for a request: written from the documentation of Signature Version 4
 * ("Create a signed AWS API request"), independent of the signer that is tested.
 */
function expectedSignature(
  request: IncomingMessage,
  body: string,
  role: AwsRole,
  scope: string,
  signed: string,
): string {
  const url = new URL(request.url ?? '/', 'http://aws');
  const names = signed.split(';');
  const canonical = [
    request.method,
    url.pathname,
    url.searchParams.toString(),
    ...names.map((name) => `${name}:${String(request.headers[name]).trim().replace(/ +/g, ' ')}`),
    '',
    signed,
    String(request.headers['x-amz-content-sha256'] ?? sha256(body)),
  ].join('\n');
  const [date = '', region = '', service = ''] = scope.split('/');
  const toSign = ['AWS4-HMAC-SHA256', request.headers['x-amz-date'], scope, sha256(canonical)].join('\n');
  const key = hmac(hmac(hmac(hmac(`AWS4${role.secretAccessKey}`, date), region), service), 'aws4_request');
  return hmac(key, toSign).toString('hex');
}

/** Secrets Manager and Systems Manager in one: checks every signature, then lets `answer` say what is at a target. */
export function startAwsApi(
  role: AwsRole,
  region: string,
  answer: (target: string, body: Record<string, unknown>) => { status?: number; body: object },
): Promise<TestServer> {
  const refused = (type: string) => ({
    status: 400,
    body: JSON.stringify({ __type: `com.amazon.coral.service#${type}` }),
  });
  return startServer((request, text) => {
    const target = String(request.headers['x-amz-target']);
    const service = target.startsWith('AmazonSSM.') ? 'ssm' : 'secretsmanager';
    const parts =
      /^AWS4-HMAC-SHA256 Credential=([^/]+)\/([^,]+), SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/.exec(
        request.headers.authorization ?? '',
      );
    const [, id, scope = '', signed = '', signature] = parts ?? [];
    if (request.method !== 'POST' || request.headers['content-type'] !== 'application/x-amz-json-1.1')
      return refused('SerializationException');
    if (id !== role.accessKeyId || request.headers['x-amz-security-token'] !== role.token)
      return refused('UnrecognizedClientException');
    if (!scope.endsWith(`/${region}/${service}/aws4_request`)) return refused('InvalidSignatureException');
    if (!['host', 'x-amz-date', 'x-amz-target'].every((name) => signed.split(';').includes(name)))
      return refused('IncompleteSignatureException');
    if (expectedSignature(request, text, role, scope, signed) !== signature)
      return refused('InvalidSignatureException');
    const given = answer(target, JSON.parse(text));
    return { status: given.status ?? 200, body: JSON.stringify(given.body) };
  });
}
