import type { SecretValue } from '../secret.ts';
import type { RemoteOptions, SinkTlsModel } from './remote.ts';

/** An HTTP endpoint that takes CloudEvents, signed as Standard Webhooks. */
export interface WebhookSinkModel extends RemoteOptions {
  readonly kind: 'Webhook';
  readonly url: string;
  /** `whsec_` and base64; each makes a signature, so that a receiver can change to a new one. [] = unsigned. */
  readonly signingSecrets: readonly SecretValue[];
  readonly headers: Readonly<Record<string, SecretValue>>;
  readonly tls: SinkTlsModel;
}
