import type { Finding } from '../../diagnostics/index.ts';
import { all, atMostOne, contains, has, is, must, when, without } from '../../fields/conditions.ts';
import { milliseconds, type ResolveSecret } from '../../fields/convert-values.ts';
import { choice, field, object } from '../../fields/field.ts';
import { dnsSubdomain, duration } from '../../fields/types.ts';
import * as z from '../../schema/zod.ts';
import { parseDuration } from '../../text/units.ts';
import {
  API_SERVER,
  checkConnection,
  connectionObject,
  needs,
  reviewVersion,
  toConnection,
  type WebhookConnection,
} from './connection.ts';

const LONGEST_TIMEOUT_MS = 30_000;
/** Kubernetes' own (k/k staging/src/k8s.io/apiserver/pkg/apis/apiserver/v1/defaults.go). */
const DEFAULT_AUTHORIZED_TTL_MS = 5 * 60_000;
const DEFAULT_UNAUTHORIZED_TTL_MS = 30_000;
/** Kubernetes has none, and asks for one. */
const DEFAULT_AUTHORIZER_TIMEOUT_MS = 3_000;

export type AuthorizationModel =
  | { readonly kind: 'webhook'; readonly modes: readonly string[]; readonly webhook: AuthorizationWebhook }
  | { readonly kind: 'structured'; readonly authorizers: readonly Authorizer[] };

export interface AuthorizationWebhook extends WebhookConnection {
  readonly version: 'v1' | 'v1beta1';
  readonly authorizedTTLMs: number | undefined;
  readonly unauthorizedTTLMs: number | undefined;
}

export interface Authorizer {
  readonly type: z.infer<typeof authorizerType>;
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

const authorizerType = choice({
  Node: 'Lets kubelets read and write what belongs to their own Node.',
  RBAC: 'Decides by Roles and RoleBindings.',
  Webhook: 'Asks a server.',
});

const matchTTL = {
  authorizedTTL: field(duration, 'How long the answer "allowed" is cached.', { default: '5m', example: '1m' }),
  unauthorizedTTL: field(duration, 'How long the answer "not allowed" is cached.', { default: '30s', example: '10s' }),
};

export const authorization = object(
  {
    modes: field(z.array(authorizerType), 'The authorizers in their order. All three are required.', {
      default: ['Node', 'RBAC', 'Webhook'],
      example: ['Node', 'Webhook', 'RBAC'],
    }),
    webhook: field(
      connectionObject({ version: reviewVersion, ...matchTTL }),
      'A server that decides about requests (SubjectAccessReview). Excludes structured.',
      { absent: 'no server is called', example: { server: 'https://authz.example:8443/authorize' } },
    ),
    structured: field(
      z
        .array(
          object(
            {
              type: field(authorizerType, 'The kind of authorizer. Node and RBAC must be among them.', {
                example: 'RBAC',
              }),
              name: field(dnsSubdomain, 'The name of the authorizer in metrics.', { example: 'rbac' }),
              webhook: field(
                connectionObject({
                  version: reviewVersion,
                  ...matchTTL,
                  timeout: field(duration, 'How long one request may take, at most 30s.', {
                    default: '3s',
                    example: '5s',
                  }),
                  failurePolicy: field(
                    choice({ NoOpinion: 'The next authorizer decides.', Deny: 'The request is refused.' }),
                    'What happens when the server does not answer.',
                    {
                      example: 'Deny',
                    },
                  ),
                  matchConditions: field(
                    z.array(z.string().min(1)).max(64),
                    'CEL expressions. The server is called only if all are true.',
                    { default: [], example: ['has(request.resourceAttributes)'] },
                  ),
                }),
                'The server of an authorizer of type Webhook.',
                {
                  absent: 'the type is not Webhook',
                  example: { server: 'https://authz.example:8443/authorize', failurePolicy: 'Deny' },
                },
              ),
            },
            () => [when(is('type', 'Webhook'), has('webhook'), without('webhook'))],
          ),
        )
        .min(1),
      'An AuthorizationConfiguration, the authorizers in their order. Needs Kubernetes 1.30. Excludes modes and webhook.',
      {
        absent: 'modes',
        example: [
          { type: 'Node', name: 'node' },
          { type: 'RBAC', name: 'rbac' },
        ],
      },
    ),
  },
  () => {
    const mode = (name: string) => contains({ const: name });
    return [
      when(has('structured'), without('webhook', 'modes'), has('webhook')),
      must('modes', all(mode('Node'), mode('RBAC'), mode('Webhook'), { type: 'array', uniqueItems: true })),
      must(
        'structured',
        all(
          contains(is('type', 'Node')),
          contains(is('type', 'RBAC')),
          atMostOne(is('type', 'Node')),
          atMostOne(is('type', 'RBAC')),
        ),
      ),
    ];
  },
);

type AuthorizationSection = z.infer<typeof authorization>;

/** Who may do what. Without Node and RBAC no kubelet of kubeadm's joins. */
export function checkAuthorization({ modes, webhook, structured }: AuthorizationSection, minor: number): Finding[] {
  const path = [...API_SERVER, 'authorization'];
  if (structured !== undefined && (webhook !== undefined || modes !== undefined)) {
    const message = 'structured excludes webhook and modes';
    return [{ path, message, hint: 'write them as authorizers' }];
  }
  if (structured === undefined) {
    if (webhook === undefined) return [{ path, message: 'neither webhook nor structured is given' }];
    const findings = checkConnection(webhook, [...path, 'webhook']);
    const missing = ['Node', 'RBAC', 'Webhook'].filter(
      (mode) => modes !== undefined && !modes.some((one) => one === mode),
    );
    if (missing.length > 0)
      findings.push({ path: [...path, 'modes'], message: `${missing.join(' and ')} must be among them` });
    if (new Set(modes).size !== (modes ?? []).length)
      findings.push({ code: 'Duplicate', path: [...path, 'modes'], message: 'a mode is given twice' });
    return findings;
  }
  const tooOld = needs('structuredAuthorization', [...path, 'structured'], minor);
  if (tooOld.length > 0) return tooOld;
  const findings: Finding[] = [];
  const names = new Set<string>();
  structured.forEach((authorizer, index) => {
    const at = [...path, 'structured', index];
    const { type, name, webhook: asked } = authorizer;
    if (names.has(name))
      findings.push({ code: 'Duplicate', path: [...at, 'name'], message: `a second authorizer "${name}"` });
    names.add(name);
    if (type !== 'Webhook' && structured.findIndex((other) => other.type === type) < index) {
      findings.push({ code: 'Duplicate', path: [...at, 'type'], message: `a second authorizer ${type}` });
    }
    if ((type === 'Webhook') !== (asked !== undefined)) {
      const message = asked === undefined ? 'the type Webhook needs "webhook"' : `the type ${type} has no webhook`;
      findings.push({ path: at, message });
    }
    if (asked === undefined) return;
    findings.push(...checkConnection(asked, [...at, 'webhook']));
    const timeout = parseDuration(asked.timeout ?? '3s') ?? 0;
    if (timeout === 0 || timeout > LONGEST_TIMEOUT_MS) {
      findings.push({ path: [...at, 'webhook', 'timeout'], message: 'must be above 0s and at most 30s' });
    }
  });
  const missing = ['Node', 'RBAC'].filter((type) => !structured.some((one) => one.type === type));
  if (missing.length > 0) {
    findings.push({
      path: [...path, 'structured'],
      message: `${missing.join(' and ')} must be among the authorizers`,
      hint: 'kubeadm and the kubelets need both',
    });
  }
  return findings;
}

export function toAuthorization(section: AuthorizationSection, resolve: ResolveSecret): AuthorizationModel | undefined {
  const { modes, webhook, structured } = section;
  if (structured !== undefined) return { kind: 'structured', authorizers: structured.map(authorizer(resolve)) };
  if (webhook === undefined) return undefined;
  return {
    kind: 'webhook',
    modes: modes ?? ['Node', 'RBAC', 'Webhook'],
    webhook: {
      ...toConnection(webhook, resolve, 'authorization.webhook'),
      version: webhook.version ?? 'v1',
      authorizedTTLMs: milliseconds(webhook.authorizedTTL),
      unauthorizedTTLMs: milliseconds(webhook.unauthorizedTTL),
    },
  };
}

function authorizer(
  resolve: ResolveSecret,
): (section: NonNullable<AuthorizationSection['structured']>[number], index: number) => Authorizer {
  return ({ type, name, webhook }, index) => ({
    type,
    name,
    webhook:
      webhook === undefined
        ? undefined
        : {
            ...toConnection(webhook, resolve, `authorization.structured[${index}].webhook`),
            version: webhook.version ?? 'v1',
            authorizedTTLMs: milliseconds(webhook.authorizedTTL) ?? DEFAULT_AUTHORIZED_TTL_MS,
            unauthorizedTTLMs: milliseconds(webhook.unauthorizedTTL) ?? DEFAULT_UNAUTHORIZED_TTL_MS,
            timeoutMs: milliseconds(webhook.timeout) ?? DEFAULT_AUTHORIZER_TIMEOUT_MS,
            failurePolicy: webhook.failurePolicy,
            matchConditions: webhook.matchConditions ?? [],
          },
  });
}
