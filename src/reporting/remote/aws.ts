import type { AWSSinkModel } from '@machineadm/document/model/index.ts';
import { SIZE_CLASSES } from '@machineadm/status/event.ts';
import {
  type AwsCredentials,
  type AwsRequest,
  awsRegionOfMachine,
  awsRoleCredentials,
  signedForAws,
} from '../../host/cloud/aws-signature.ts';
import { MetadataService } from '../../host/cloud/metadata-service.ts';
import type { HttpClient } from '../../host/seam/http.ts';
import { MESSAGE_BYTES, putObject, resultOfAws, sendMessage, storedAt, targetsBucket } from './aws-requests.ts';
import { type Exchange, exchange } from './http-exchange.ts';
import type { DeliveryContext, DeliveryResult, RemoteSink } from './remote-sink.ts';

/** AWS accepts signatures up to five minutes off its clock, S3 up to fifteen. */
const TOLERATED_SKEW_MS = 4 * 60_000;

/**
 * Publishes to an SNS topic or sends to an SQS queue, signed with this machine's role. An event that is too large for a
 * message is stored in the bucket first.
 */
export function awsSink(model: AWSSinkModel, metadata: MetadataService = new MetadataService()): RemoteSink {
  const { destination, bucket } = model;
  return {
    kind: 'AWS',
    target: destination.kind === 'topic' ? destination.arn : destination.url,
    capacity: bucket === undefined ? MESSAGE_BYTES : SIZE_CLASSES.full,
    async deliver(event, context) {
      const region = model.region ?? (await awsRegionOfMachine(metadata, context.signal));
      const caller: Caller = {
        client: await context.http(),
        credentials: await awsRoleCredentials(metadata, context.signal),
        context,
      };
      const stored = bucket !== undefined && targetsBucket(event) ? storedAt(bucket, event) : undefined;
      if (bucket !== undefined && stored !== undefined) {
        const put = await call(putObject(bucket, bucket.region ?? region, stored, event), caller);
        if (put.kind !== 'delivered') return { ...put, why: `the bucket ${bucket.name}: ${put.why}` };
      }
      return await call(sendMessage(destination, region, event, stored), caller);
    },
  };
}

interface Caller {
  readonly client: HttpClient;
  readonly credentials: AwsCredentials;
  readonly context: DeliveryContext;
}

/** Signs and sends; a second time where AWS refuses it and its clock shows that ours is wrong. */
async function call(request: AwsRequest, { client, credentials, context }: Caller): Promise<DeliveryResult> {
  const send = async (atMs: number): Promise<Exchange> => {
    const signed = await signedForAws(request, credentials, new Date(atMs));
    return await exchange(client, { ...signed, signal: context.signal });
  };
  const now = context.clock().time;
  const answer = await send(now);
  const theirs = Date.parse(answer.headers.get('date') ?? '');
  const refused = answer.status === 400 || answer.status === 403;
  const late = refused && Math.abs(theirs - now) > TOLERATED_SKEW_MS;
  return resultOfAws(request, late ? await send(theirs) : answer, now);
}
