import * as z from 'zod';
import type { Finding, PathSegment } from '../../../diagnostics.ts';
import type { AWSSinkModel } from '../../../model-sinks.ts';
import { allowInsecure, httpUrl } from '../fields.ts';
import { oneOf } from './exclusive.ts';
import { remoteFields, toRemoteOptions } from './fields.ts';

const region = z.string().regex(/^[a-z]{2}(?:-[a-z]+)+-\d$/, 'not an AWS region');

export const awsSink = z.strictObject({
  type: z.literal('AWS'),
  topicARN: z
    .string()
    .regex(
      /^arn:aws(?:-[a-z]+)*:sns:[a-z0-9-]+:\d{12}:[A-Za-z0-9_-]{1,256}(?:\.fifo)?$/,
      'not the ARN of a topic, such as arn:aws:sns:eu-west-1:123456789012:bootstrap',
    )
    .optional(),
  queueURL: httpUrl
    .regex(
      /^https?:\/\/[^/?#]+\/\d{12}\/[A-Za-z0-9_-]{1,80}(?:\.fifo)?$/,
      'not the URL of a queue, such as https://sqs.eu-west-1.amazonaws.com/123456789012/bootstrap',
    )
    .optional(),
  region: region.optional(),
  endpoint: httpUrl.optional(),
  bucket: z
    .strictObject({
      name: z.string().regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'not the name of a bucket'),
      prefix: z
        .string()
        .regex(/^(?:[A-Za-z0-9._-]+\/)*$/, 'not a prefix: write it with a "/" at its end, such as "reports/"')
        .max(200)
        .optional(),
      region: region.optional(),
      endpoint: httpUrl.optional(),
      allowInsecure,
    })
    .optional(),
  allowInsecure,
  ...remoteFields,
});

export type AWSSinkSection = z.infer<typeof awsSink>;

export function checkAWSSink(section: AWSSinkSection, path: readonly PathSegment[]): Finding[] {
  const findings = oneOf(section, ['topicARN', 'queueURL'], path);
  if (section.endpoint !== undefined && section.queueURL !== undefined) {
    const hint = 'leave it out: queueURL says where the queue is';
    findings.push({ path: [...path, 'endpoint'], message: 'endpoint is that of SNS', hint });
  }
  return findings;
}

export function toAWSSink(section: AWSSinkSection, name: string): AWSSinkModel {
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
