import type { Finding } from '../../diagnostics/index.ts';
import { all, any, atLeastOne, given, has, must, not, textWithout, when } from '../../fields/conditions.ts';
import { milliseconds, type ResolveSecret } from '../../fields/convert-values.ts';
import { choice, field, object } from '../../fields/field.ts';
import { absolutePath, duration } from '../../fields/types.ts';
import * as z from '../../schema/zod.ts';
import { parseDuration, parseSize, SIZE_PATTERN } from '../../text/units.ts';
import {
  API_SERVER,
  checkConnection,
  connectionObject,
  needs,
  toConnection,
  type WebhookConnection,
} from './connection.ts';

/** What the API server writes down of requests. Words of audit.k8s.io are kept; its API version is chosen by us. */

const DEFAULT_AUDIT_LOG = '/var/log/kubernetes/audit/audit.log';
/** CIS Kubernetes 1.2.17 to 1.2.19. Without them a log grows until the disk is full. */
const DEFAULT_MAX_AGE_DAYS = 30;
const DEFAULT_MAX_BACKUPS = 10;
const DEFAULT_MAX_SIZE_MI = 100;

const DAY_MS = 86_400_000;
const MI = 2 ** 20;

export interface AuditModel {
  readonly policy: AuditPolicy;
  readonly log: AuditLogModel | undefined;
  readonly webhook: (WebhookConnection & { readonly mode: AuditMode | undefined }) | undefined;
}

export type AuditMode = z.infer<typeof auditMode>;

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

const size = z
  .string({ error: 'expected a size in quotes' })
  .regex(SIZE_PATTERN, 'not a size: write a number with its unit, such as "100Mi"');

const auditMode = choice({
  Batch: 'Events are collected and written together; requests do not wait.',
  Blocking: 'A request waits until its event is written.',
  BlockingStrict: 'As Blocking, and a request whose event cannot be recorded when it arrives fails.',
});
const stages = z.array(
  choice({
    RequestReceived: 'The request has arrived and is not handled yet.',
    ResponseStarted: 'The headers of a long answer, such as that of a watch, are sent.',
    ResponseComplete: 'The answer is sent.',
    Panic: 'The API server failed while it handled the request.',
  }),
);
const omitStages = field(stages, 'Stages of a request at which no event is recorded.', {
  default: [],
  example: ['RequestReceived'],
});
const omitManagedFields = field(
  z.boolean(),
  'Whether managedFields are left out of recorded objects. Needs Kubernetes 1.23.',
  { default: false, example: true },
);
const words = z.array(z.string());

/** A list that is not empty. */
const some = { type: 'array', minItems: 1 };

export const audit = object(
  {
    policy: field(
      object({
        rules: field(
          z
            .array(
              object(
                {
                  level: field(
                    choice({
                      None: 'Nothing is recorded.',
                      Metadata: 'User, time, resource and verb, without bodies.',
                      Request: 'Metadata and the body of the request.',
                      RequestResponse: 'Metadata and the bodies of request and answer.',
                    }),
                    'How much of a matching request is recorded.',
                    { example: 'Metadata' },
                  ),
                  users: field(words, 'Users that the rule is about.', {
                    absent: 'all users',
                    example: ['system:kube-proxy'],
                  }),
                  userGroups: field(words, 'Groups of users that the rule is about.', {
                    absent: 'all groups',
                    example: ['system:nodes'],
                  }),
                  verbs: field(words, 'Verbs that the rule is about.', {
                    absent: 'all verbs',
                    example: ['get', 'list', 'watch'],
                  }),
                  resources: field(
                    z.array(
                      object(
                        {
                          group: field(
                            z
                              .string()
                              .regex(
                                /^(?:|[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)$/,
                                'not an API group; write it without its version',
                              ),
                            'The API group, without its version.',
                            { default: '', example: 'apps' },
                          ),
                          resources: field(words, 'The resources of the group. pods/log names a subresource.', {
                            absent: 'all resources of the group',
                            example: ['secrets', 'configmaps'],
                          }),
                          resourceNames: field(words, 'Names of objects. They need resources.', {
                            absent: 'all objects',
                            example: ['ingress-leader'],
                          }),
                        },
                        () => [when(given('resourceNames', some), given('resources', some))],
                      ),
                    ),
                    'Resources that the rule is about. Excludes nonResourceURLs.',
                    { absent: 'all resources', example: [{ group: '', resources: ['secrets'] }] },
                  ),
                  namespaces: field(words, 'Namespaces that the rule is about. Excludes nonResourceURLs.', {
                    absent: 'all namespaces',
                    example: ['kube-system'],
                  }),
                  nonResourceURLs: field(
                    z.array(
                      z.string().regex(/^(?:\*|\/[^*]*\*?)$/, 'not a URL path: it begins with "/", and "*" comes last'),
                    ),
                    'URL paths that the rule is about. "*" may be the last character. Excludes resources and namespaces.',
                    { absent: 'the rule is not about URL paths', example: ['/healthz*'] },
                  ),
                  omitStages,
                  omitManagedFields,
                },
                () => [
                  when(
                    given('nonResourceURLs', some),
                    all(not(given('resources', some)), any(has('resources'), not(given('namespaces', some)))),
                  ),
                ],
              ),
            )
            .min(1, 'a policy without rules: the API server refuses it'),
          'The rules. The first that matches a request decides.',
          { example: [{ level: 'Metadata' }] },
        ),
        omitStages,
        omitManagedFields,
      }),
      'The audit policy, without apiVersion and kind.',
      { example: { rules: [{ level: 'None', users: ['system:kube-proxy'] }, { level: 'Metadata' }] } },
    ),
    log: field(
      object({
        path: field(absolutePath, 'The path of the file. Its directory is mounted into the pod.', {
          default: '/var/log/kubernetes/audit/audit.log',
          example: '/var/log/kubernetes/audit/audit.log',
        }),
        maxAge: field(duration, 'How long rotated files are kept, in whole days.', { default: '30d', example: '7d' }),
        maxBackups: field(z.int().min(0), 'How many rotated files are kept.', { default: 10, example: 5 }),
        maxSize: field(size, 'The size at which the file is rotated, in whole Mi.', {
          default: '100Mi',
          example: '200Mi',
        }),
        mode: field(auditMode, 'Whether events are batched, or a request waits until they are written.', {
          default: 'Blocking',
          example: 'Batch',
        }),
      }),
      'Writes events to a file. At least log or webhook is required.',
      { absent: 'no file', example: { maxAge: '30d' } },
    ),
    webhook: field(
      connectionObject({
        mode: field(auditMode, 'Whether events are batched, or a request waits until they are sent.', {
          default: 'Batch',
          example: 'Batch',
        }),
      }),
      'Sends events to a server. At least log or webhook is required.',
      { absent: 'no server', example: { server: 'https://audit.example/events' } },
    ),
  },
  () => [atLeastOne('log', 'webhook'), must('log.path', textWithout(/^\/[^/]*$/))],
);

export type AuditSection = z.infer<typeof audit>;

/** What the schema cannot say of audit.k8s.io (k/k staging/src/k8s.io/apiserver/pkg/apis/audit/validation/validation.go). */
export function checkAudit(audit: AuditSection, minor: number): Finding[] {
  const findings: Finding[] = [];
  const path = [...API_SERVER, 'audit'];
  const { policy, log, webhook } = audit;
  policy.rules.forEach((rule, index) => {
    const at = [...path, 'policy', 'rules', index];
    if ((rule.nonResourceURLs ?? []).length > 0 && (rule.resources ?? rule.namespaces ?? []).length > 0) {
      const hint = 'make two rules of it';
      findings.push({ path: at, message: 'nonResourceURLs exclude resources and namespaces', hint });
    }
    rule.resources?.forEach(({ resources, resourceNames }, place) => {
      if ((resourceNames ?? []).length === 0 || (resources ?? []).length > 0) return;
      const message = 'resourceNames need the resources that have them';
      findings.push({ path: [...at, 'resources', place], message, hint: 'add resources' });
    });
    if (rule.omitManagedFields !== undefined)
      findings.push(...needs('auditOmitManagedFields', [...at, 'omitManagedFields'], minor));
  });
  if (policy.omitManagedFields !== undefined) {
    findings.push(...needs('auditOmitManagedFields', [...path, 'policy', 'omitManagedFields'], minor));
  }
  if (log === undefined && webhook === undefined) {
    const message = 'events would go nowhere: neither log nor webhook is given';
    findings.push({ path, message, hint: 'log: {} writes them to /var/log/kubernetes/audit/audit.log' });
  }
  if (webhook !== undefined) findings.push(...checkConnection(webhook, [...path, 'webhook']));
  const days = log?.maxAge === undefined ? undefined : (parseDuration(log.maxAge) ?? 0) / DAY_MS;
  if (days !== undefined && !Number.isInteger(days)) {
    findings.push({
      path: [...path, 'log', 'maxAge'],
      message: 'the API server counts whole days',
      hint: 'such as 30d',
    });
  }
  const size = log?.maxSize === undefined ? undefined : (parseSize(log.maxSize) ?? 0) / MI;
  if (size !== undefined && (!Number.isInteger(size) || size === 0)) {
    const message = 'the API server counts whole Mi';
    findings.push({ path: [...path, 'log', 'maxSize'], message, hint: 'such as 100Mi' });
  }
  if (log?.path?.lastIndexOf('/') === 0) {
    const message = 'its directory is mounted into the pod, and "/" cannot be';
    findings.push({ path: [...path, 'log', 'path'], message, hint: '/var/log/kubernetes/audit/audit.log' });
  }
  return findings;
}

export function toAudit({ policy, log, webhook }: AuditSection, resolve: ResolveSecret): AuditModel {
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
      webhook === undefined ? undefined : { ...toConnection(webhook, resolve, 'audit.webhook'), mode: webhook.mode },
  };
}
