import type { Finding, PathSegment } from '../../diagnostics/index.ts';
import { exactlyOne, exclusive } from '../../fields/conditions.ts';
import { field, object } from '../../fields/field.ts';
import { allowInsecure, httpUrl } from '../../fields/types.ts';
import * as z from '../../schema/zod.ts';
import { exactlyOneOf, type RemoteOptions, remoteFields, sinkSchema, toRemoteOptions } from './sink.ts';

/** A topic of SNS or a queue of SQS, and a bucket of S3 for what is too large for them. */
export interface AWSSinkModel extends RemoteOptions {
  readonly kind: 'AWS';
  readonly destination:
    | {
        readonly kind: 'topic';
        readonly arn: string /** Default: the public one. */;
        readonly endpoint: string | undefined;
      }
    | { readonly kind: 'queue'; readonly url: string };
  /** undefined = what the ARN or the URL says, or else the metadata service. */
  readonly region: string | undefined;
  readonly bucket: AWSBucketModel | undefined;
}

export interface AWSBucketModel {
  readonly name: string;
  /** What keys begin with; empty, or with a "/" at its end. */
  readonly prefix: string;
  /** undefined = that of the topic or queue. */
  readonly region: string | undefined;
  /** undefined = the public one. */
  readonly endpoint: string | undefined;
}

const region = z.string().regex(/^[a-z]{2}(?:-[a-z]+)+-\d$/, 'not an AWS region');

const schema = sinkSchema(
  'AWS',
  'A topic of SNS or a queue of SQS, with the role of the machine (IMDSv2).',
  { topicARN: 'arn:aws:sns:eu-west-1:123456789012:bootstrap' },
  {
    topicARN: field(
      z
        .string()
        .regex(
          /^arn:aws(?:-[a-z]+)*:sns:[a-z0-9-]+:\d{12}:[A-Za-z0-9_-]{1,256}(?:\.fifo)?$/,
          'not the ARN of a topic, such as arn:aws:sns:eu-west-1:123456789012:bootstrap',
        ),
      'The ARN of an SNS topic, FIFO or standard. Give this or queueURL.',
      { absent: 'queueURL is the receiver', example: 'arn:aws:sns:eu-west-1:123456789012:bootstrap' },
    ),
    queueURL: field(
      httpUrl.regex(
        /^https?:\/\/[^/?#]+\/\d{12}\/[A-Za-z0-9_-]{1,80}(?:\.fifo)?$/,
        'not the URL of a queue, such as https://sqs.eu-west-1.amazonaws.com/123456789012/bootstrap',
      ),
      'The URL of an SQS queue, FIFO or standard. Give this or topicARN.',
      { absent: 'topicARN is the receiver', example: 'https://sqs.eu-west-1.amazonaws.com/123456789012/bootstrap' },
    ),
    region: field(region, 'The AWS region of the topic or queue.', {
      absent: 'the region in topicARN or queueURL, or else that of the machine',
      example: 'eu-west-1',
    }),
    endpoint: field(httpUrl, 'The URL of SNS, for a VPC endpoint. Not with queueURL, which names the queue.', {
      absent: 'the public endpoint of the region',
      example: 'https://vpce-1a2b3c.sns.eu-west-1.vpce.amazonaws.com',
    }),
    bucket: field(
      object({
        name: field(
          z.string().regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'not the name of a bucket'),
          'The name of the bucket.',
          { example: 'bootstrap-events' },
        ),
        prefix: field(
          z
            .string()
            .regex(/^(?:[A-Za-z0-9._-]+\/)*$/, 'not a prefix: write it with a "/" at its end, such as "reports/"')
            .max(200),
          'The prefix of the object keys, with a "/" at its end.',
          { default: '', example: 'reports/' },
        ),
        region: field(region, 'The AWS region of the bucket.', {
          absent: 'the region of the topic or queue',
          example: 'eu-west-1',
        }),
        endpoint: field(httpUrl, 'The URL of S3, for a VPC endpoint.', {
          absent: 'the public endpoint of the region',
          example: 'https://bucket.vpce-1a2b3c.s3.eu-west-1.vpce.amazonaws.com',
        }),
        allowInsecure,
      }),
      'An S3 bucket for events above 64 KiB.',
      { absent: 'events above 252 KiB are sent shortened', example: { name: 'bootstrap-events', prefix: 'reports/' } },
    ),
    allowInsecure,
    ...remoteFields,
  },
  () => [exactlyOne('topicARN', 'queueURL'), exclusive('endpoint', 'queueURL')],
);

export type AWSSinkSection = z.infer<typeof schema>;

function checkAWSSink(section: AWSSinkSection, path: readonly PathSegment[]): Finding[] {
  const findings = exactlyOneOf(section, ['topicARN', 'queueURL'], path);
  if (section.endpoint !== undefined && section.queueURL !== undefined) {
    const hint = 'remove it: queueURL names the endpoint';
    findings.push({ path: [...path, 'endpoint'], message: 'endpoint is that of SNS', hint });
  }
  return findings;
}

function toAWSSink(section: AWSSinkSection, name: string): AWSSinkModel {
  const { topicARN, queueURL, bucket } = section;
  const destination: AWSSinkModel['destination'] =
    topicARN === undefined
      ? { kind: 'queue', url: queueURL ?? '' }
      : { kind: 'topic', arn: topicARN, endpoint: section.endpoint };
  return {
    kind: 'AWS',
    ...toRemoteOptions(section, name),
    destination,
    region: section.region ?? regionIn(section),
    bucket:
      bucket === undefined
        ? undefined
        : { name: bucket.name, prefix: bucket.prefix ?? '', region: bucket.region, endpoint: bucket.endpoint },
  };
}

function regionIn({ topicARN, queueURL }: AWSSinkSection): string | undefined {
  if (topicARN !== undefined) return topicARN.split(':')[3];
  const host = queueURL === undefined ? '' : new URL(queueURL).hostname;
  // The legacy form is REGION.queue.amazonaws.com; a VPC endpoint is ID.sqs.REGION.vpce.amazonaws.com.
  return /(?:^|\.)sqs(?:-fips)?\.([a-z0-9-]+)\./.exec(host)?.[1] ?? /^([a-z0-9-]+)\.queue\./.exec(host)?.[1];
}

export const aws = { schema, check: checkAWSSink, toModel: toAWSSink };
