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

/** Why AWS would refuse the signature of a request, in the words of its error codes; undefined: it is right. */
export function signatureProblem(
  request: IncomingMessage,
  body: string,
  role: AwsRole,
  region: string,
  service: string,
  nowMs = Date.now(),
): string | undefined {
  const parts = /^AWS4-HMAC-SHA256 Credential=([^/]+)\/([^,]+), SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/.exec(
    request.headers.authorization ?? '',
  );
  const [, id, scope = '', signed = '', signature] = parts ?? [];
  if (id !== role.accessKeyId || request.headers['x-amz-security-token'] !== role.token)
    return 'UnrecognizedClientException';
  if (!scope.endsWith(`/${region}/${service}/aws4_request`)) return 'InvalidSignatureException';
  const present = Object.keys(request.headers).filter((name) => name.startsWith('x-amz-'));
  if (!['host', ...present].every((name) => signed.split(';').includes(name))) return 'IncompleteSignatureException';
  if (expectedSignature(request, body, role, scope, signed) !== signature) return 'InvalidSignatureException';
  const [, ...parsed] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(String(request.headers['x-amz-date'])) ?? [];
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parsed.map(Number);
  const at = Date.UTC(year, month - 1, day, hour, minute, second);
  if (!scope.startsWith(String(request.headers['x-amz-date']).slice(0, 8))) return 'InvalidSignatureException';
  return Math.abs(at - nowMs) <= 300_000 ? undefined : 'RequestExpired';
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
    if (request.method !== 'POST' || request.headers['content-type'] !== 'application/x-amz-json-1.1')
      return refused('SerializationException');
    const problem = signatureProblem(request, text, role, region, service);
    if (problem !== undefined) return refused(problem);
    const given = answer(target, JSON.parse(text));
    return { status: given.status ?? 200, body: JSON.stringify(given.body) };
  });
}
