import type { RemoteOptions } from './remote.ts';

/** A queue of Azure Storage, or a topic of Event Grid. */
export interface AzureSinkModel extends RemoteOptions {
  readonly kind: 'Azure';
  readonly destination:
    | { readonly kind: 'queue' /** Of the queue, without a slash at its end. */; readonly url: string }
    | { readonly kind: 'topic' /** Of the topic: `…/api/events`. */; readonly endpoint: string };
  /** Client id of a user-assigned identity; undefined = the system-assigned one, or the only one. */
  readonly clientID: string | undefined;
}
