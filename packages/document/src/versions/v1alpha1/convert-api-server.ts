import type {
  ApiServerFilesModel,
  AuditModel,
  AuthenticationModel,
  AuthorizationModel,
  Authorizer,
  EncryptionModel,
  EncryptionProvider,
  WebhookConnection,
} from '../../model-api-server.ts';
import { parseSize } from '../../units.ts';
import type { ApiServerFilesSection, ConnectionSection } from './api-server.ts';
import { milliseconds, type ResolveSecret } from './convert-values.ts';

/** The API server's files. Defaults that the documentation promises. */

const DEFAULT_AUDIT_LOG = '/var/log/kubernetes/audit/audit.log';
/** CIS Kubernetes 1.2.17 to 1.2.19. Without them a log grows until the disk is full. */
const DEFAULT_MAX_AGE_DAYS = 30;
const DEFAULT_MAX_BACKUPS = 10;
const DEFAULT_MAX_SIZE_MI = 100;
/** Kubernetes' own (k/k staging/src/k8s.io/apiserver/pkg/apis/apiserver/v1/defaults.go). */
const DEFAULT_KMS_TIMEOUT_MS = 3_000;
const DEFAULT_AUTHORIZED_TTL_MS = 5 * 60_000;
const DEFAULT_UNAUTHORIZED_TTL_MS = 30_000;
/** Kubernetes has none, and asks for one. */
const DEFAULT_AUTHORIZER_TIMEOUT_MS = 3_000;

const DAY_MS = 86_400_000;
const MI = 2 ** 20;
const WHERE = 'kubernetes.controlPlane.apiServer';

type Section<Name extends keyof ApiServerFilesSection> = NonNullable<ApiServerFilesSection[Name]>;

export function toApiServerFiles(
  section: ApiServerFilesSection | undefined,
  resolve: ResolveSecret,
): ApiServerFilesModel {
  const { audit, encryptionAtRest, authentication, authorization, admission } = section ?? {};
  return {
    audit: audit === undefined ? undefined : toAudit(audit, resolve),
    encryptionAtRest: encryptionAtRest === undefined ? undefined : toEncryption(encryptionAtRest, resolve),
    authentication: authentication === undefined ? undefined : toAuthentication(authentication, resolve),
    authorization: authorization === undefined ? undefined : toAuthorization(authorization, resolve),
    admission:
      admission === undefined
        ? undefined
        : { enable: admission.enable ?? [], disable: admission.disable ?? [], config: admission.config ?? [] },
  };
}

function toConnection(section: ConnectionSection, resolve: ResolveSecret, path: string): WebhookConnection {
  const { server, tlsServerName, certificateAuthority, clientCertificate, token } = section;
  return {
    server,
    tlsServerName,
    certificateAuthority,
    clientCertificate:
      clientCertificate === undefined
        ? undefined
        : {
            certificate: clientCertificate.certificate,
            key: resolve(clientCertificate.key, `${path}.clientCertificate.key`),
          },
    token: token === undefined ? undefined : resolve(token, `${path}.token`),
  };
}

function toAudit({ policy, log, webhook }: Section<'audit'>, resolve: ResolveSecret): AuditModel {
  const maxAgeMs = milliseconds(log?.maxAge);
  return {
    policy,
    log:
      log === undefined
        ? undefined
        : {
            path: log.path ?? DEFAULT_AUDIT_LOG,
            maxAgeDays: maxAgeMs === undefined ? DEFAULT_MAX_AGE_DAYS : maxAgeMs / DAY_MS,
            maxBackups: log.maxBackups ?? DEFAULT_MAX_BACKUPS,
            maxSizeMi: log.maxSize === undefined ? DEFAULT_MAX_SIZE_MI : (parseSize(log.maxSize) ?? 0) / MI,
            mode: log.mode,
          },
    webhook:
      webhook === undefined
        ? undefined
        : { ...toConnection(webhook, resolve, `${WHERE}.audit.webhook`), mode: webhook.mode },
  };
}

function toEncryption({ resources, providers }: Section<'encryptionAtRest'>, resolve: ResolveSecret): EncryptionModel {
  return {
    resources: resources ?? ['secrets'],
    providers: providers.map((provider, index): EncryptionProvider => {
      const { kms } = provider;
      if (kms !== undefined) {
        return {
          kind: 'kms',
          name: kms.name,
          socket: kms.endpoint.slice('unix://'.length),
          timeoutMs: milliseconds(kms.timeout) ?? DEFAULT_KMS_TIMEOUT_MS,
          version: kms.version ?? 'v2',
        };
      }
      for (const kind of ['secretbox', 'aescbc', 'aesgcm'] as const) {
        const keys = provider[kind]?.keys;
        if (keys === undefined) continue;
        const path = `${WHERE}.encryptionAtRest.providers[${index}].${kind}.keys`;
        return {
          kind,
          keys: keys.map(({ name, key }, place) => ({ name, key: resolve(key, `${path}[${place}].key`) })),
        };
      }
      return { kind: 'identity' };
    }),
  };
}

function toAuthentication(
  { webhook, structured }: Section<'authentication'>,
  resolve: ResolveSecret,
): AuthenticationModel {
  return {
    webhook:
      webhook === undefined
        ? undefined
        : {
            ...toConnection(webhook, resolve, `${WHERE}.authentication.webhook`),
            version: webhook.version ?? 'v1',
            cacheTTLMs: milliseconds(webhook.cacheTTL),
          },
    structured:
      structured === undefined
        ? undefined
        : {
            jwt: structured.jwt ?? [],
            anonymous:
              structured.anonymous === undefined
                ? undefined
                : { enabled: structured.anonymous.enabled, paths: structured.anonymous.paths ?? [] },
          },
  };
}

function toAuthorization(section: Section<'authorization'>, resolve: ResolveSecret): AuthorizationModel | undefined {
  const { modes, webhook, structured } = section;
  if (structured !== undefined) return { kind: 'structured', authorizers: structured.map(authorizer(resolve)) };
  if (webhook === undefined) return undefined;
  return {
    kind: 'webhook',
    modes: modes ?? ['Node', 'RBAC', 'Webhook'],
    webhook: {
      ...toConnection(webhook, resolve, `${WHERE}.authorization.webhook`),
      version: webhook.version ?? 'v1',
      authorizedTTLMs: milliseconds(webhook.authorizedTTL),
      unauthorizedTTLMs: milliseconds(webhook.unauthorizedTTL),
    },
  };
}

function authorizer(
  resolve: ResolveSecret,
): (section: NonNullable<Section<'authorization'>['structured']>[number], index: number) => Authorizer {
  return ({ type, name, webhook }, index) => ({
    type,
    name,
    webhook:
      webhook === undefined
        ? undefined
        : {
            ...toConnection(webhook, resolve, `${WHERE}.authorization.structured[${index}].webhook`),
            version: webhook.version ?? 'v1',
            authorizedTTLMs: milliseconds(webhook.authorizedTTL) ?? DEFAULT_AUTHORIZED_TTL_MS,
            unauthorizedTTLMs: milliseconds(webhook.unauthorizedTTL) ?? DEFAULT_UNAUTHORIZED_TTL_MS,
            timeoutMs: milliseconds(webhook.timeout) ?? DEFAULT_AUTHORIZER_TIMEOUT_MS,
            failurePolicy: webhook.failurePolicy,
            matchConditions: webhook.matchConditions ?? [],
          },
  });
}
