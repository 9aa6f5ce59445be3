import type { Finding, PathSegment } from '../../diagnostics/index.ts';
import { atLeastOne, is, when, without } from '../../fields/conditions.ts';
import { milliseconds, type ResolveSecret } from '../../fields/convert-values.ts';
import { field, object } from '../../fields/field.ts';
import { duration } from '../../fields/types.ts';
import { FEATURES, type GatedFeature } from '../../kubernetes-releases/features.ts';
import * as z from '../../schema/zod.ts';
import {
  API_SERVER,
  checkConnection,
  connectionObject,
  needs,
  reviewVersion,
  toConnection,
  type WebhookConnection,
} from './connection.ts';
import { checkJwt, jwt } from './token-issuers.ts';

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

export const authentication = object(
  {
    webhook: field(
      connectionObject({
        version: reviewVersion,
        cacheTTL: field(duration, 'How long an answer is cached.', {
          absent: 'the default of Kubernetes, 2m',
          example: '5m',
        }),
      }),
      'A server that checks bearer tokens (TokenReview).',
      { absent: 'no server is called', example: { server: 'https://auth.example:8443/authenticate' } },
    ),
    structured: field(
      object({
        jwt: field(z.array(jwt).max(64), 'Issuers of tokens that are accepted.', {
          default: [],
          example: [
            {
              issuer: { url: 'https://issuer.example', audiences: ['kubernetes'] },
              claimMappings: { username: { claim: 'sub', prefix: '' } },
            },
          ],
        }),
        anonymous: field(
          object(
            {
              enabled: field(z.boolean(), 'Whether such requests are served.', { example: true }),
              paths: field(
                z.array(z.string().regex(/^\//, 'must begin with "/"')).min(1),
                'The only paths at which they are served. kubeadm needs /readyz, /livez and /healthz.',
                { absent: 'all paths', example: ['/livez', '/readyz', '/healthz'] },
              ),
            },
            () => [when(is('enabled', false), without('paths'))],
          ),
          'Requests without a credential. Needs Kubernetes 1.31, or its feature gate.',
          {
            absent: 'the default of Kubernetes, enabled',
            example: { enabled: true, paths: ['/livez', '/readyz', '/healthz'] },
          },
        ),
      }),
      'An AuthenticationConfiguration. Needs Kubernetes 1.30, or 1.29 with its feature gate. It replaces the arguments oidc-*.',
      {
        absent: 'none',
        example: {
          jwt: [
            {
              issuer: { url: 'https://issuer.example', audiences: ['kubernetes'] },
              claimMappings: { username: { claim: 'sub', prefix: '' } },
            },
          ],
        },
      },
    ),
  },
  () => [atLeastOne('webhook', 'structured')],
);

type AuthenticationSection = z.infer<typeof authentication>;
type Arguments = readonly { readonly name: string; readonly value: string }[];

/**
 * Who may prove who they are, as the API server judges it (k/k staging/src/k8s.io/apiserver/pkg/apis/apiserver/
 * validation/validation.go). CEL expressions are left to it.
 */
export function checkAuthentication(
  { webhook, structured }: AuthenticationSection,
  minor: number,
  args: Arguments,
): Finding[] {
  const path = [...API_SERVER, 'authentication'];
  const findings: Finding[] = [];
  if (webhook === undefined && structured === undefined) {
    findings.push({ path, message: 'neither webhook nor structured is given' });
  }
  if (webhook !== undefined) findings.push(...checkConnection(webhook, [...path, 'webhook']));
  if (structured === undefined) return findings;
  const at = [...path, 'structured'];
  const tooOld = needs('structuredAuthentication', at, minor);
  if (tooOld.length > 0) return [...findings, ...tooOld];
  findings.push(...needsGate(args, at, FEATURES.structuredAuthentication, minor));
  if (structured.anonymous !== undefined) {
    const where = [...at, 'anonymous'];
    findings.push(...needs('anonymousConditions', where, minor));
    findings.push(...needsGate(args, where, FEATURES.anonymousConditions, minor));
    if (!structured.anonymous.enabled && structured.anonymous.paths !== undefined) {
      findings.push({ path: [...where, 'paths'], message: 'has no effect: anonymous requests are not enabled' });
    }
  }
  const issuers = new Set<string>();
  structured.jwt?.forEach((jwt, index) => {
    findings.push(...checkJwt(jwt, [...at, 'jwt', index], minor));
    if (issuers.has(jwt.issuer.url)) {
      findings.push({
        code: 'Duplicate',
        path: [...at, 'jwt', index, 'issuer', 'url'],
        message: 'this issuer is given twice',
      });
    }
    issuers.add(jwt.issuer.url);
  });
  return findings;
}

/** A feature that the minor has, switched off. */
function needsGate(
  args: Arguments,
  path: readonly PathSegment[],
  { gate, since, onSince }: GatedFeature,
  minor: number,
): Finding[] {
  if (minor < since || minor >= onSince) return [];
  const gates = args.find(({ name }) => name === 'feature-gates')?.value.split(',') ?? [];
  if (gates.includes(`${gate}=true`)) return [];
  const hint = `add the argument feature-gates ${gate}=true, or use Kubernetes 1.${onSince}`;
  return [{ path, message: `needs the feature gate ${gate} in Kubernetes 1.${minor}`, hint }];
}

export function toAuthentication(
  { webhook, structured }: AuthenticationSection,
  resolve: ResolveSecret,
): AuthenticationModel {
  return {
    webhook:
      webhook === undefined
        ? undefined
        : {
            ...toConnection(webhook, resolve, 'authentication.webhook'),
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
