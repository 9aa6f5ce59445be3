import type { SecretValue } from '../secret.ts';
import type { RemoteOptions, SinkTlsModel } from './remote.ts';

/** A subject of NATS that a stream of JetStream listens on. */
export interface NATSSinkModel extends RemoteOptions {
  readonly kind: 'NATS';
  readonly servers: readonly NATSServer[];
  readonly subject: string;
  /** The stream that must be the one to store it; undefined = whichever listens. */
  readonly stream: string | undefined;
  readonly credentials: NATSCredentials | undefined;
  /** What the subjects of answers begin with; undefined = `_INBOX`. */
  readonly inboxPrefix: string | undefined;
  readonly tls: SinkTlsModel;
}

export interface NATSServer {
  readonly host: string;
  readonly port: number;
  /** Whether it must speak TLS: `tls://`. */
  readonly secure: boolean;
}

export type NATSCredentials =
  | { readonly kind: 'token'; readonly token: SecretValue }
  | { readonly kind: 'password'; readonly user: string; readonly password: SecretValue }
  /** Content of a `.creds` file: a JWT and a seed. */
  | { readonly kind: 'credentialsFile'; readonly content: SecretValue }
  | { readonly kind: 'nkey'; readonly seed: SecretValue };
