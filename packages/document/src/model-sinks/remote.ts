import type { SecretValue } from '../secret.ts';

/** What a machine reports: see `ReportEvent`. */
export type EventType = 'started' | 'stepChanged' | 'waiting' | 'warning' | 'concluded' | 'readinessChanged';

/** What every sink has that is reached over a network or through a program. */
export interface RemoteOptions {
  /** As it is called in messages and tables; unique. Default: its type, with a number behind it from the second on. */
  readonly name: string;
  /** What it is told. */
  readonly events: readonly EventType[];
  /** How long one delivery may take. */
  readonly timeoutMs: number;
}

/** How a sink that speaks TLS proves who it is, and whom it trusts beside the system and the document. */
export interface SinkTlsModel {
  /** PEM; undefined = only the system's and the document's. */
  readonly certificateAuthority: string | undefined;
  readonly clientCertificate: { readonly certificate: string; readonly key: SecretValue } | undefined;
}
