import type { SecretValue } from './secret.ts';

/** What the API server is given as files, beside its arguments. undefined = not asked for. */
export interface ApiServerFilesModel {
  readonly audit: AuditModel | undefined;
  readonly encryptionAtRest: EncryptionModel | undefined;
  readonly authentication: AuthenticationModel | undefined;
  readonly authorization: AuthorizationModel | undefined;
  readonly admission: AdmissionModel | undefined;
}

export interface AuditModel {
  readonly policy: AuditPolicy;
  readonly log: AuditLogModel | undefined;
  readonly webhook: (WebhookConnection & { readonly mode: AuditMode | undefined }) | undefined;
}

export type AuditMode = 'Batch' | 'Blocking' | 'BlockingStrict';

export interface AuditLogModel {
  readonly path: string;
  readonly maxAgeDays: number;
  readonly maxBackups: number;
  /** Megabytes of 2^20 bytes, as the API server counts. */
  readonly maxSizeMi: number;
  readonly mode: AuditMode | undefined;
}

/** A policy of audit.k8s.io/v1 without apiVersion and kind; absent keys are not asked for. */
export interface AuditPolicy {
  readonly rules: readonly Readonly<Record<string, unknown>>[];
  readonly omitStages?: readonly string[] | undefined;
  readonly omitManagedFields?: boolean | undefined;
}

/** A server that the API server asks or tells, and how it proves who it is. PEM throughout. */
export interface WebhookConnection {
  /** `https://auth.example:8443/authenticate` */
  readonly server: string;
  readonly tlsServerName: string | undefined;
  /** undefined = the authorities that the API server's image trusts. */
  readonly certificateAuthority: string | undefined;
  readonly clientCertificate: { readonly certificate: string; readonly key: SecretValue } | undefined;
  readonly token: SecretValue | undefined;
}

export interface EncryptionModel {
  /** `secrets`, `configmaps`, `widgets.example.com`. */
  readonly resources: readonly string[];
  /** The first writes, all read. */
  readonly providers: readonly EncryptionProvider[];
}

export type EncryptionProvider =
  | { readonly kind: 'secretbox' | 'aescbc' | 'aesgcm'; readonly keys: readonly EncryptionKey[] }
  | {
      readonly kind: 'kms';
      readonly name: string;
      /** Of the socket, without `unix://`. */
      readonly socket: string;
      readonly timeoutMs: number;
      readonly version: 'v1' | 'v2';
    }
  | { readonly kind: 'identity' };

export interface EncryptionKey {
  readonly name: string;
  /** Base64 of the key's bytes. */
  readonly key: SecretValue;
}

export interface AuthenticationModel {
  readonly webhook:
    | (WebhookConnection & { readonly version: 'v1' | 'v1beta1'; readonly cacheTTLMs: number | undefined })
    | undefined;
  readonly structured: StructuredAuthentication | undefined;
}

/** AuthenticationConfiguration without apiVersion and kind, in its words. */
export interface StructuredAuthentication {
  readonly jwt: readonly Readonly<Record<string, unknown>>[];
  readonly anonymous: { readonly enabled: boolean; readonly paths: readonly string[] } | undefined;
}

export type AuthorizationModel =
  | { readonly kind: 'webhook'; readonly modes: readonly string[]; readonly webhook: AuthorizationWebhook }
  | { readonly kind: 'structured'; readonly authorizers: readonly Authorizer[] };

export interface AuthorizationWebhook extends WebhookConnection {
  readonly version: 'v1' | 'v1beta1';
  readonly authorizedTTLMs: number | undefined;
  readonly unauthorizedTTLMs: number | undefined;
}

export interface Authorizer {
  readonly type: 'Node' | 'RBAC' | 'Webhook';
  readonly name: string;
  readonly webhook: StructuredAuthorizationWebhook | undefined;
}

export interface StructuredAuthorizationWebhook extends WebhookConnection {
  readonly version: 'v1' | 'v1beta1';
  readonly authorizedTTLMs: number;
  readonly unauthorizedTTLMs: number;
  readonly timeoutMs: number;
  readonly failurePolicy: 'NoOpinion' | 'Deny';
  /** CEL expressions. */
  readonly matchConditions: readonly string[];
}

export interface AdmissionModel {
  /** Beside those that the API server and kubeadm switch on. */
  readonly enable: readonly string[];
  readonly disable: readonly string[];
  readonly config: readonly {
    readonly plugin: string;
    readonly configuration: Readonly<Record<string, unknown>>;
  }[];
}
