import type { AWSBucketModel, AWSSinkModel } from '@machineadm/document/model/index.ts';
import { stringAt } from '@machineadm/document/values/untyped.ts';
import { eventLine, type ReportEvent, SIZE_CLASSES, sizeOf, truncateEvent } from '@machineadm/status/event.ts';
import { type AwsRequest, awsDomain } from '../../host/cloud/aws-signature.ts';
import { attributesOf } from './attributes.ts';
import { type Exchange, jsonOf } from './http-exchange.ts';
import { type DeliveryResult, retryAfter, retryAfterMs } from './remote-sink.ts';

/**
 * The size limit of a message: 256 KiB with its attributes for SNS (quota "Message size"), and by default for a queue.
 * 4 KiB are reserved for the attributes.
 */
export const MESSAGE_BYTES = 252 * 1024;

/** The location of the complete event, where the message is shortened. */
export interface StoredEvent {
  readonly bucket: string;
  readonly key: string;
}

/** The location of an event that is too large for a message; the same event always has the same key. */
export function storedAt(bucket: AWSBucketModel, event: ReportEvent): StoredEvent {
  const machine = event.machine.name.replace(/[^A-Za-z0-9._-]/g, '_');
  return { bucket: bucket.name, key: `${bucket.prefix}${machine}/${event.id}.json` };
}

/** https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutObject.html */
export function putObject(
  bucket: AWSBucketModel,
  region: string,
  { key }: StoredEvent,
  event: ReportEvent,
): AwsRequest {
  const endpoint = bucket.endpoint?.replace(/(?<!\/)\/+$/, '');
  // The certificate of *.s3.… does not cover names with dots, and custom endpoints use paths.
  const url =
    endpoint !== undefined
      ? `${endpoint}/${bucket.name}/${key}`
      : bucket.name.includes('.')
        ? `https://s3.${region}.${awsDomain(region)}/${bucket.name}/${key}`
        : `https://${bucket.name}.s3.${region}.${awsDomain(region)}/${key}`;
  return {
    service: 's3',
    region,
    method: 'PUT',
    url,
    // An existing object is this same event, from a delivery whose answer was lost (conditional writes).
    headers: { 'content-type': 'application/json', 'if-none-match': '*' },
    body: messageOf(event),
  };
}

/**
 * The message for an event: SNS's Publish (Query protocol) or SQS's SendMessage (JSON protocol).
 * https://docs.aws.amazon.com/sns/latest/api/API_Publish.html,
 * https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html
 */
export function sendMessage(
  destination: AWSSinkModel['destination'],
  region: string,
  event: ReportEvent,
  stored: StoredEvent | undefined,
): AwsRequest {
  const body = messageOf(stored === undefined ? event : truncateEvent(event, SIZE_CLASSES.large));
  const whole = stored === undefined ? {} : { whole: `s3://${stored.bucket}/${stored.key}` };
  const attributes = { ...attributesOf(event), ...whole };
  if (destination.kind === 'queue') {
    return {
      service: 'sqs',
      region,
      method: 'POST',
      url: new URL('/', destination.url).href,
      headers: { 'content-type': 'application/x-amz-json-1.0', 'x-amz-target': 'AmazonSQS.SendMessage' },
      body: JSON.stringify({
        QueueUrl: destination.url,
        MessageBody: body,
        MessageAttributes: Object.fromEntries(
          Object.entries(attributes).map(([name, value]) => [name, { DataType: 'String', StringValue: value }]),
        ),
        ...(destination.url.endsWith('.fifo') ? fifoOf(event) : {}),
      }),
    };
  }
  const form = new URLSearchParams({
    Action: 'Publish',
    Version: '2010-03-31',
    TopicArn: destination.arn,
    // For subscribers by mail: at most 99 characters of ASCII without control characters.
    Subject: eventLine(event, 99).replace(/[^ -~]/g, '?'),
    Message: body,
    ...(destination.arn.endsWith('.fifo') ? fifoOf(event) : {}),
  });
  Object.entries(attributes).forEach(([name, value], index) => {
    const entry = `MessageAttributes.entry.${index + 1}`;
    form.set(`${entry}.Name`, name);
    form.set(`${entry}.Value.DataType`, 'String');
    form.set(`${entry}.Value.StringValue`, value);
  });
  return {
    service: 'sns',
    region,
    method: 'POST',
    url: destination.endpoint ?? `https://sns.${region}.${awsDomain(region)}/`,
    headers: { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' },
    body: form.toString(),
  };
}

/** Whether an event goes into the bucket, if there is one: above 64 KiB AWS bills several messages. */
export function targetsBucket(event: ReportEvent): boolean {
  return sizeOf(event) > SIZE_CLASSES.large;
}

/** The result of a request, from its response. */
export function resultOfAws(request: AwsRequest, answer: Exchange, nowMs: number): DeliveryResult {
  const { status, headers } = answer;
  if (request.service === 's3' && status === 412) return { kind: 'delivered' };
  if (status === 200) {
    // A proxy or portal also answers 200.
    if (hasReceipt(request, answer)) return { kind: 'delivered' };
    return { kind: 'retry', why: 'the answer is not from AWS' };
  }
  const code = errorCode(request, answer);
  const why = `HTTP ${status}${code === '' ? '' : ` ${code}`}`;
  if (REFUSED.has(code)) return { kind: 'refused', why };
  return { kind: 'retry', why, ...retryAfter(status, retryAfterMs(headers.get('retry-after'), nowMs)) };
}

/**
 * Error codes for an invalid message. AWS also answers 400 to problems that can be fixed elsewhere: a missing queue, no
 * permission, a wrong clock, too many requests.
 */
const REFUSED: ReadonlySet<string> = new Set([
  'InvalidMessageContents',
  'InvalidParameter',
  'InvalidParameterValue',
  'ParameterValueInvalid',
  'ValidationError',
  'EntityTooLarge',
]);

function hasReceipt(request: AwsRequest, answer: Exchange): boolean {
  switch (request.service) {
    case 's3':
      return answer.headers.has('etag');
    case 'sqs':
      return stringAt(jsonOf(answer), 'MessageId') !== undefined;
    default:
      return /<MessageId>[^<]+<\/MessageId>/.test(answer.text);
  }
}

/** Only the error's name: its message may quote the request. */
function errorCode(request: AwsRequest, answer: Exchange): string {
  if (request.service === 'sqs') return stringAt(jsonOf(answer), '__type')?.split('#').at(-1) ?? '';
  return /<Code>([A-Za-z.]{1,100})<\/Code>/.exec(answer.text)?.[1] ?? '';
}

/** In order within a run, and delivered once (FIFO; five minutes). */
function fifoOf(event: ReportEvent): Readonly<Record<'MessageGroupId' | 'MessageDeduplicationId', string>> {
  return { MessageGroupId: event.runId, MessageDeduplicationId: event.id };
}

/** SQS accepts the characters of XML; these two are the only others that JSON leaves unescaped. */
function messageOf(event: ReportEvent): string {
  return JSON.stringify(event).replace(/[\ufffe\uffff]/g, (character) =>
    character === '\ufffe' ? '\\ufffe' : '\\uffff',
  );
}
