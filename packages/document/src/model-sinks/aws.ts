import type { RemoteOptions } from './remote.ts';

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
