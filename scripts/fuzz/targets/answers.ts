import { fullReference } from '@machineadm/archives/image-reference.ts';
import { parseEndpoint } from '../../../src/diagnosis/checks/endpoint.ts';
import { awsSecret } from '../../../src/host/cloud/aws-secrets.ts';
import type { MetadataService } from '../../../src/host/cloud/metadata-service.ts';
import { reachedDirectly } from '../../../src/host/http/proxy-bypass.ts';
import type { HttpClient } from '../../../src/host/seam/http.ts';
import { resultOfAws } from '../../../src/reporting/remote/aws-requests.ts';
import { jsonOf } from '../../../src/reporting/remote/http-exchange.ts';
import { resultOfStatus, retryAfterMs } from '../../../src/reporting/remote/remote-sink.ts';
import { parseMarker } from '../../../src/shell/script.ts';
import { looksLikeWebPage } from '../../../src/trust/refusals.ts';
import { sourceAt } from '../../../src/trust/source.ts';
import { json } from '../mutators/json.ts';
import { CANARIES, type FuzzTarget, refusal } from '../target.ts';

const [SECRET] = CANARIES;

async function* pieces(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

/** A client that gets the same response to every request. */
const answering = (status: number, body: string): HttpClient => ({
  request: async () => ({ status, headers: new Map(), body: pieces(body), discard: async () => {} }),
  close: async () => {},
});

const CREDENTIALS = JSON.stringify({ AccessKeyId: 'A', SecretAccessKey: 'S', Token: 'T' });
const METADATA = { lookUp: async () => ({ value: CREDENTIALS, known: [] }) } as unknown as MetadataService;
const SOURCE = {
  kind: 'awsSecretsManager',
  secretId: 'a',
  region: 'eu-central-1',
  endpoint: undefined,
  key: 'password',
} as Parameters<typeof awsSecret>[0];

export const answers: FuzzTarget = {
  name: 'answers',
  reads: 'Responses of secret stores, queues and web servers; locations, endpoints and references',
  seeds: [
    JSON.stringify({ SecretString: JSON.stringify({ password: SECRET }) }),
    JSON.stringify({ SecretBinary: Buffer.from(SECRET).toString('base64') }),
    JSON.stringify({ __type: 'com.amazonaws#ThrottlingException', message: SECRET }),
    '<SendMessageResponse><MessageId>a</MessageId></SendMessageResponse>',
    '<ErrorResponse><Error><Code>InvalidParameter</Code></Error></ErrorResponse>',
    'Wed, 21 Oct 2026 07:28:00 GMT',
    '120',
    'https://user@mirror.example:8443/a%20b/',
    'file:///srv/mirror',
    '[fd00::1]:6443',
    'registry.example:5000/a/b:1@sha256:aaaa',
    'end 3 1',
    '<!DOCTYPE html><html>',
  ],
  tokens: [
    '%',
    '%zz',
    '://',
    '//',
    '@',
    ':',
    '[',
    ']',
    '{',
    '}',
    '"',
    '<',
    '>',
    '/',
    '..',
    '#',
    '?',
    '\\',
    '99999999999999999999',
    ' ',
    'file://',
    'sha256:',
  ],
  grammar: [json],
  run: async (input) => {
    const answer = { status: 200 + (input.length % 4) * 100, headers: new Map([['retry-after', input]]), text: input };
    const words: string[] = [];
    for (const service of ['s3', 'sqs', 'sns'] as const)
      words.push(JSON.stringify(resultOfAws({ service } as Parameters<typeof resultOfAws>[0], answer, 1e12)));
    words.push(JSON.stringify(resultOfStatus(answer.status, answer.headers, 1e12)), `${retryAfterMs(input, 1e12)}`);
    words.push(
      typeof jsonOf(answer),
      await refusal(() => awsSecret(SOURCE, answering(answer.status, input), METADATA)),
    );
    // Messages may contain the location: it is not a secret.
    words.push((await refusal(() => sourceAt(input, answering(200, ''), undefined))).replaceAll(input, ''));
    words.push(`${parseEndpoint(input) === undefined}`, `${parseMarker(input)?.kind}`);
    words.push(`${looksLikeWebPage(Buffer.from(input))} ${fullReference(input).length}`);
    if (URL.canParse(input)) words.push(`${reachedDirectly(new URL(input), ['10.0.0.0/8', '.example', input])}`);
    return words.join('\n');
  },
};
