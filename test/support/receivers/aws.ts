import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { type AwsRole, signatureProblem } from '../aws-server.ts';
import { startServer } from '../http-servers.ts';
import { eventIn, type Received, type Receiver } from './receiver.ts';

export interface AwsReceiver extends Receiver {
  readonly topicARN: string;
  readonly queueURL: (port: number) => string;
  /** Objects of the bucket `reports` by key. */
  readonly objects: ReadonlyMap<string, string>;
  /** Attributes of the messages, beside `received`. */
  readonly attributes: readonly Readonly<Record<string, string>>[];
}

type Answer = { status?: number; headers?: Record<string, string>; body?: string };

export interface AwsReceiverOptions {
  readonly role: AwsRole;
  readonly region: string;
  readonly fifo?: boolean;
  /** How far its clock is from ours. */
  readonly clockOffsetMs?: number;
}

const ACCOUNT = '123456789012';
/** SNS: "Message size"; the same as a queue's usual MaximumMessageSize. */
const MESSAGE_LIMIT = 256 * 1024;

/** SNS, SQS and S3 behind one address, as strict as the references of their APIs: signatures, sizes, characters, forms. */
export async function startAwsReceiver(options: AwsReceiverOptions): Promise<AwsReceiver> {
  const { role, region, fifo = false } = options;
  const suffix = fifo ? '.fifo' : '';
  const topicARN = `arn:aws:sns:${region}:${ACCOUNT}:bootstrap${suffix}`;
  const received: Received[] = [];
  const attributes: Readonly<Record<string, string>>[] = [];
  const objects = new Map<string, string>();
  const deduplicated = new Set<string>();
  const seen: string[] = [];
  const nowMs = (): number => Date.now() + (options.clockOffsetMs ?? 0);

  /** Takes a message, or says what is wrong with it. */
  const take = (message: string, given: Readonly<Record<string, string>>, group?: string, id?: string) => {
    const size = Object.entries(given).reduce(
      (sum, entry) => sum + entry.join('String').length,
      Buffer.byteLength(message),
    );
    if (message === '' || size > MESSAGE_LIMIT) return 'InvalidParameterValue';
    // SQS: #x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF
    if (!/^[\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]*$/u.test(message))
      return 'InvalidMessageContents';
    if (Object.values(given).some((value) => value === '') || Object.keys(given).length > 10)
      return 'InvalidParameterValue';
    if (fifo !== (group !== undefined && id !== undefined)) return 'InvalidParameter';
    if (id !== undefined && !/^[!-~]{1,128}$/.test(id)) return 'InvalidParameter';
    if (id !== undefined && deduplicated.has(id)) return undefined;
    if (id !== undefined) deduplicated.add(id);
    const event = eventIn(message);
    seen.push(message);
    received.push({ id: event.id, event });
    attributes.push(given);
    return undefined;
  };

  const sqs = (request: IncomingMessage, body: string): Answer => {
    const refused = (type: string): Answer => ({
      status: 400,
      body: JSON.stringify({ __type: `com.amazonaws.sqs#${type}`, message: 'refused' }),
    });
    const problem = signatureProblem(request, body, role, region, 'sqs', nowMs());
    if (problem !== undefined) return refused(problem);
    if (request.url !== '/' || request.headers['content-type'] !== 'application/x-amz-json-1.0')
      return refused('SerializationException');
    const given: SqsMessage = JSON.parse(body);
    if (new URL(given.QueueUrl).pathname !== new URL(queueURL(0)).pathname) return refused('QueueDoesNotExist');
    const named = Object.entries(given.MessageAttributes ?? {});
    if (named.some(([, { DataType }]) => DataType !== 'String')) return refused('InvalidParameterValue');
    const texts = Object.fromEntries(named.map(([name, { StringValue }]) => [name, StringValue]));
    const wrong = take(given.MessageBody, texts, given.MessageGroupId, given.MessageDeduplicationId);
    if (wrong !== undefined) return refused(wrong);
    const digest = createHash('md5').update(given.MessageBody).digest('hex');
    return { body: JSON.stringify({ MessageId: crypto.randomUUID(), MD5OfMessageBody: digest }) };
  };

  const sns = (request: IncomingMessage, body: string): Answer => {
    const refused = (status: number, code: string): Answer => ({
      status,
      body: `<ErrorResponse><Error><Type>Sender</Type><Code>${code}</Code><Message>refused</Message></Error></ErrorResponse>`,
    });
    const problem = signatureProblem(request, body, role, region, 'sns', nowMs());
    if (problem !== undefined) return refused(403, problem);
    const form = new URLSearchParams(body);
    if (!request.headers['content-type']?.startsWith('application/x-www-form-urlencoded'))
      return refused(400, 'MalformedInput');
    if (form.get('Action') !== 'Publish' || form.get('Version') !== '2010-03-31') return refused(400, 'InvalidAction');
    if (form.get('TopicArn') !== topicARN) return refused(404, 'NotFound');
    const subject = form.get('Subject') ?? '';
    if (!/^[!-~][ -~]{0,98}$/.test(subject)) return refused(400, 'InvalidParameter');
    const given: Record<string, string> = {};
    for (let index = 1; form.has(`MessageAttributes.entry.${index}.Name`); index += 1) {
      const entry = `MessageAttributes.entry.${index}`;
      if (form.get(`${entry}.Value.DataType`) !== 'String') return refused(400, 'ParameterValueInvalid');
      given[form.get(`${entry}.Name`) ?? ''] = form.get(`${entry}.Value.StringValue`) ?? '';
    }
    const group = form.get('MessageGroupId') ?? undefined;
    const wrong = take(form.get('Message') ?? '', given, group, form.get('MessageDeduplicationId') ?? undefined);
    if (wrong !== undefined) return refused(400, wrong);
    const id = `<MessageId>${crypto.randomUUID()}</MessageId>`;
    return { body: `<PublishResponse><PublishResult>${id}</PublishResult></PublishResponse>` };
  };

  const s3 = (request: IncomingMessage, body: string): Answer => {
    const refused = (status: number, code: string): Answer => ({
      status,
      body: `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>refused</Message></Error>`,
    });
    const problem = signatureProblem(request, body, role, region, 's3', nowMs());
    if (problem !== undefined)
      return refused(403, problem === 'RequestExpired' ? 'RequestTimeTooSkewed' : 'AccessDenied');
    if (request.headers['x-amz-content-sha256'] !== createHash('sha256').update(body).digest('hex'))
      return refused(400, 'XAmzContentSHA256Mismatch');
    const [, bucket, key] = /^\/([^/]+)\/([^?]+)$/.exec(request.url ?? '') ?? [];
    if (bucket !== 'reports' || key === undefined) return refused(404, 'NoSuchBucket');
    if (request.headers['if-none-match'] === '*' && objects.has(key)) return refused(412, 'PreconditionFailed');
    objects.set(key, body);
    return { headers: { etag: `"${createHash('md5').update(body).digest('hex')}"` } };
  };

  const queueURL = (port: number): string => `http://127.0.0.1:${port}/${ACCOUNT}/bootstrap${suffix}`;
  const server = await startServer((request, body) => {
    seen.push(JSON.stringify(withoutCredentials(request)), body);
    const answer =
      request.method === 'PUT'
        ? s3(request, body)
        : request.headers['x-amz-target'] === 'AmazonSQS.SendMessage'
          ? sqs(request, body)
          : sns(request, body);
    return { ...answer, headers: { date: new Date(nowMs()).toUTCString(), ...answer.headers } };
  });
  return {
    port: server.port,
    received,
    attributes,
    objects,
    topicARN,
    queueURL,
    seen: () => seen.join('\n'),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

interface SqsMessage {
  readonly QueueUrl: string;
  readonly MessageBody: string;
  readonly MessageAttributes?: Readonly<Record<string, { readonly DataType: string; readonly StringValue: string }>>;
  readonly MessageGroupId?: string;
  readonly MessageDeduplicationId?: string;
}

/** The session token is AWS's own way of signing: it must be there, and only there. */
function withoutCredentials({ headers }: IncomingMessage): IncomingMessage['headers'] {
  const { authorization: _, 'x-amz-security-token': __, ...rest } = headers;
  return rest;
}
