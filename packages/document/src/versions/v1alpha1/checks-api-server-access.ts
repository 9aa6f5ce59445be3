import type { Finding, PathSegment } from '../../diagnostics.ts';
import { parseDuration } from '../../units.ts';
import type { ApiServerFilesSection, ConnectionSection } from './api-server.ts';
import { API_SERVER, since } from './api-server-findings.ts';
import type { ComponentSection } from './kubernetes.ts';

type Section = ApiServerFilesSection & ComponentSection;
type Jwt = NonNullable<NonNullable<NonNullable<Section['authentication']>['structured']>['jwt']>[number];

const LONGEST_TIMEOUT_MS = 30_000;

/**
 * Who may prove who they are, as the API server judges it (k/k staging/src/k8s.io/apiserver/pkg/apis/apiserver/
 * validation/validation.go). CEL expressions are left to it.
 */
export function checkAuthentication(section: Section, minor: number): Finding[] {
  const { authentication } = section;
  if (authentication === undefined) return [];
  const path = [...API_SERVER, 'authentication'];
  const { webhook, structured } = authentication;
  const findings: Finding[] = [];
  if (webhook === undefined && structured === undefined) {
    findings.push({ path, message: 'neither webhook nor structured is given' });
  }
  if (webhook !== undefined) findings.push(...checkConnection(webhook, [...path, 'webhook']));
  if (structured === undefined) return findings;
  const at = [...path, 'structured'];
  if (minor < 29) return [...findings, since(at, 29)];
  if (minor === 29) findings.push(...needsGate(section, at, 'StructuredAuthenticationConfiguration', 30));
  if (structured.anonymous !== undefined) {
    const where = [...at, 'anonymous'];
    if (minor < 31) findings.push(since(where, 31));
    else if (minor === 31) findings.push(...needsGate(section, where, 'AnonymousAuthConfigurableEndpoints', 32));
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

function checkJwt(
  { issuer, claimMappings, claimValidationRules }: Jwt,
  path: readonly PathSegment[],
  minor: number,
): Finding[] {
  const findings: Finding[] = [];
  if (minor < 30) {
    if (issuer.audiences.length > 1) findings.push(since([...path, 'issuer', 'audiences'], 30));
    if (issuer.discoveryURL !== undefined) findings.push(since([...path, 'issuer', 'discoveryURL'], 30));
  }
  if (issuer.discoveryURL?.replace(/\/+$/, '') === issuer.url.replace(/\/+$/, '')) {
    findings.push({ path: [...path, 'issuer', 'discoveryURL'], message: 'must differ from url', hint: 'remove it' });
  }
  for (const url of ['url', 'discoveryURL'] as const) {
    if (/[?#@]/.test(issuer[url] ?? '')) {
      findings.push({ path: [...path, 'issuer', url], message: 'may hold neither user, query nor fragment' });
    }
  }
  for (const name of ['username', 'groups', 'uid'] as const) {
    const mapping = claimMappings[name];
    if (mapping === undefined) continue;
    const at = [...path, 'claimMappings', name];
    findings.push(...oneOfBoth(mapping, at));
    const prefix = 'prefix' in mapping ? mapping.prefix : undefined;
    if (name !== 'uid' && mapping.claim !== undefined && prefix === undefined) {
      findings.push({ path: at, message: 'a claim needs its prefix', hint: 'prefix: "" for none' });
    }
    if (mapping.expression !== undefined && prefix !== undefined) {
      findings.push({ path: [...at, 'prefix'], message: 'a prefix belongs to a claim, not to an expression' });
    }
  }
  const keys = new Set<string>();
  claimMappings.extra?.forEach(({ key }, index) => {
    const at = [...path, 'claimMappings', 'extra', index, 'key'];
    if (!/^[a-z0-9.-]+\/[^/\s]\S*$/.test(key) || key !== key.toLowerCase()) {
      findings.push({ path: at, message: 'not a key in lower case with its domain', hint: 'such as example.org/team' });
    } else if (/^(?:.*\.)?(?:k8s|kubernetes)\.io\//.test(key)) {
      findings.push({ path: at, message: 'the domains k8s.io and kubernetes.io are reserved' });
    }
    if (keys.has(key)) findings.push({ code: 'Duplicate', path: at, message: 'this key is given twice' });
    keys.add(key);
  });
  claimValidationRules?.forEach((rule, index) => {
    const at = [...path, 'claimValidationRules', index];
    findings.push(...oneOfBoth(rule, at));
    if (rule.claim !== undefined && rule.message !== undefined) {
      findings.push({ path: [...at, 'message'], message: 'belongs to an expression' });
    }
    if (rule.expression !== undefined && rule.requiredValue !== undefined) {
      findings.push({ path: [...at, 'requiredValue'], message: 'belongs to a claim' });
    }
  });
  return findings;
}

function oneOfBoth(
  { claim, expression }: { readonly claim?: string | undefined; readonly expression?: string | undefined },
  path: readonly PathSegment[],
): Finding[] {
  if ((claim === undefined) !== (expression === undefined)) return [];
  const message =
    claim === undefined ? 'neither claim nor expression is given' : 'claim and expression exclude each other';
  return [{ path, message }];
}

/** Who may do what. Without Node and RBAC no kubelet of kubeadm's joins. */
export function checkAuthorization({ authorization }: Section, minor: number): Finding[] {
  if (authorization === undefined) return [];
  const path = [...API_SERVER, 'authorization'];
  const { modes, webhook, structured } = authorization;
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
  if (minor < 30) return [since([...path, 'structured'], 30)];
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

/** One proof of who the API server is, at most. */
export function checkConnection(connection: ConnectionSection, path: readonly PathSegment[]): Finding[] {
  if (connection.token === undefined || connection.clientCertificate === undefined) return [];
  return [{ path, message: 'token and clientCertificate exclude each other', hint: 'keep one of them' }];
}

/** A feature that the minor has, switched off. */
function needsGate(section: Section, path: readonly PathSegment[], gate: string, enabledFrom: number): Finding[] {
  const gates = section.args?.find(({ name }) => name === 'feature-gates')?.value.split(',') ?? [];
  if (gates.includes(`${gate}=true`)) return [];
  const hint = `add the argument feature-gates ${gate}=true, or use Kubernetes 1.${enabledFrom}`;
  return [{ path, message: `needs the feature gate ${gate} in Kubernetes 1.${enabledFrom - 1}`, hint }];
}
