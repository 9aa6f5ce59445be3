import type { RemoteOptions } from './remote.ts';

/** A topic of Google Cloud Pub/Sub. */
export interface GCPSinkModel extends RemoteOptions {
  readonly kind: 'GCP';
  /** `projects/PROJECT/topics/TOPIC` */
  readonly topic: string;
  /** Of those attached to the machine; undefined = its default one. */
  readonly serviceAccount: string | undefined;
  /** Without a slash at its end. */
  readonly endpoint: string;
}
