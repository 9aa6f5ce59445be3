import { choices, type Finding, nearestName, type PathSegment } from '../../diagnostics/index.ts';

/**
 * The configurations of single admission plug-ins, as the API server judges them when it starts: of PodSecurity (k/k
 * staging/src/k8s.io/pod-security-admission/admission/api, decoded strictly), EventRateLimit (plugin/pkg/admission/
 * eventratelimit) and ImagePolicyWebhook (plugin/pkg/admission/imagepolicy). Their rules are the same from 1.22 to 1.36.
 */
export function checkPluginConfiguration(
  plugin: string,
  configuration: Readonly<Record<string, unknown>>,
  path: readonly PathSegment[],
): Finding[] {
  const place = (finding: Finding): Finding => ({ code: 'RefusedByKubernetes', ...finding });
  return (CHECKS[plugin]?.(configuration, path) ?? []).map(place);
}

/** Without their configuration the API server does not start with these. */
export const NEEDS_CONFIGURATION: readonly string[] = ['EventRateLimit', 'ImagePolicyWebhook'];

type Check = (configuration: Readonly<Record<string, unknown>>, path: readonly PathSegment[]) => Finding[];

const CHECKS: Readonly<Record<string, Check>> = {
  PodSecurity: podSecurity,
  EventRateLimit: eventRateLimit,
  ImagePolicyWebhook: imagePolicy,
};

const LEVELS = ['privileged', 'baseline', 'restricted'] as const;
const MODES = ['enforce', 'audit', 'warn'] as const;

function podSecurity(configuration: Readonly<Record<string, unknown>>, path: readonly PathSegment[]): Finding[] {
  const findings = unknownKeys(configuration, ['defaults', 'exemptions', 'apiVersion', 'kind'], path);
  const defaults = part(configuration, 'defaults', path, findings);
  const exemptions = part(configuration, 'exemptions', path, findings);
  const versions = MODES.map((mode) => `${mode}-version`);
  findings.push(...unknownKeys(defaults, [...MODES, ...versions], [...path, 'defaults']));
  for (const mode of MODES) {
    const level = defaults[mode];
    if (level !== undefined && !LEVELS.some((known) => known === level)) {
      findings.push({ path: [...path, 'defaults', mode], message: 'not a level', hint: `one of ${LEVELS.join(', ')}` });
    }
    const version = defaults[`${mode}-version`];
    if (version !== undefined && !(typeof version === 'string' && /^(?:latest|v1\.(?:0|[1-9]\d*))$/.test(version))) {
      const at = [...path, 'defaults', `${mode}-version`];
      findings.push({ path: at, message: 'not a version', hint: 'latest, or such as v1.34' });
    }
  }
  for (const [name, form] of Object.entries(EXEMPTIONS)) {
    findings.push(...exempted(exemptions[name], form, [...path, 'exemptions', name]));
  }
  return [...findings, ...unknownKeys(exemptions, Object.keys(EXEMPTIONS), [...path, 'exemptions'])];
}

const SUBDOMAIN = /^(?=.{1,253}$)[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;

const EXEMPTIONS: Readonly<Record<string, { readonly pattern: RegExp; readonly what: string }>> = {
  usernames: { pattern: /./, what: 'a name' },
  runtimeClasses: { pattern: SUBDOMAIN, what: 'the name of a RuntimeClass' },
  namespaces: { pattern: /^(?=.{1,63}$)[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/, what: 'the name of a namespace' },
};

function exempted(
  value: unknown,
  { pattern, what }: { readonly pattern: RegExp; readonly what: string },
  path: readonly PathSegment[],
): Finding[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) return [{ path, message: 'not a list' }];
  return value.flatMap((name: unknown, index): Finding[] => {
    const at = [...path, index];
    if (typeof name !== 'string' || !pattern.test(name)) return [{ path: at, message: `not ${what}` }];
    return value.indexOf(name) < index ? [{ code: 'Duplicate', path: at, message: 'is given twice' }] : [];
  });
}

/**
 * Pods that PodSecurity would forbid in kube-system: kube-proxy and the pod networks are privileged, and the mirror pods of
 * the static pods use the host's network and directories. The namespace has no labels that say otherwise when a cluster
 * begins.
 */
export function lintPodSecurity(
  configuration: Readonly<Record<string, unknown>>,
  path: readonly PathSegment[],
): Finding[] {
  const { enforce } = record(configuration.defaults);
  const { namespaces, usernames } = record(configuration.exemptions);
  if (enforce !== 'baseline' && enforce !== 'restricted') return [];
  if (Array.isArray(namespaces) && namespaces.includes('kube-system')) return [];
  // Who creates these pods may be exempted by name.
  if (Array.isArray(usernames) && usernames.length > 0) return [];
  const message = `${enforce} forbids kube-proxy, pod networks and the mirror pods of the control plane, which are in kube-system`;
  return [{ path: [...path, 'defaults', 'enforce'], message, hint: 'add exemptions: {namespaces: [kube-system]}' }];
}

const LIMIT_TYPES = ['Server', 'Namespace', 'User', 'SourceAndObject'] as const;

function eventRateLimit(configuration: Readonly<Record<string, unknown>>, path: readonly PathSegment[]): Finding[] {
  const { limits } = configuration;
  const findings = unknownKeys(configuration, ['limits', 'apiVersion', 'kind'], path);
  if (!Array.isArray(limits) || limits.length === 0) {
    const hint = 'such as limits: [{type: Server, qps: 5000, burst: 20000}]';
    return [...findings, { path: [...path, 'limits'], message: 'must be a list of limits', hint }];
  }
  return limits.flatMap((limit: unknown, index): Finding[] => {
    const at = [...path, 'limits', index];
    const given = record(limit);
    const wrong = unknownKeys(given, ['type', 'qps', 'burst', 'cacheSize'], at);
    if (!LIMIT_TYPES.some((known) => known === given.type)) {
      wrong.push({ path: [...at, 'type'], message: 'not a type of limit', hint: `one of ${LIMIT_TYPES.join(', ')}` });
    }
    for (const name of ['qps', 'burst']) {
      if (!isInteger(given[name], 1)) wrong.push({ path: [...at, name], message: 'must be a positive whole number' });
    }
    if (given.cacheSize !== undefined && !isInteger(given.cacheSize, 0)) {
      wrong.push({ path: [...at, 'cacheSize'], message: 'must be a whole number from 0 on' });
    }
    return [...findings.splice(0), ...wrong];
  });
}

/** In seconds, but the retry's, which is in milliseconds; 0 is the default, and -1 switches a cache off. */
const POLICY_TIMES: Readonly<Record<string, number>> = { allowTTL: 1800, denyTTL: 1800, retryBackoff: 300_000 };

function imagePolicy(configuration: Readonly<Record<string, unknown>>, path: readonly PathSegment[]): Finding[] {
  const policy = configuration.imagePolicy;
  const at = [...path, 'imagePolicy'];
  if (policy === undefined) {
    return [
      {
        path: at,
        message: 'is missing',
        hint: 'such as imagePolicy: {kubeConfigFile: /etc/kubernetes/image-policy.conf}',
      },
    ];
  }
  const given = record(policy);
  const findings = unknownKeys(given, ['kubeConfigFile', 'defaultAllow', ...Object.keys(POLICY_TIMES)], at);
  const file = given.kubeConfigFile;
  if (typeof file !== 'string' || file === '') {
    findings.push({ path: [...at, 'kubeConfigFile'], message: 'must be the path of a kubeconfig' });
  }
  for (const [name, largest] of Object.entries(POLICY_TIMES)) {
    const value = given[name];
    if (value === undefined || (isInteger(value, -1) && Number(value) <= largest)) continue;
    findings.push({ path: [...at, name], message: `must be a whole number up to ${largest}` });
  }
  const { defaultAllow } = given;
  if (defaultAllow !== undefined && typeof defaultAllow !== 'boolean') {
    findings.push({ path: [...at, 'defaultAllow'], message: 'must be true or false' });
  }
  return findings;
}

function isInteger(value: unknown, least: number): boolean {
  return typeof value === 'number' && Number.isInteger(value) && value >= least && value < 2 ** 31;
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
}

/** A part that is an object, or nothing. */
function part(
  of: Readonly<Record<string, unknown>>,
  name: string,
  path: readonly PathSegment[],
  findings: Finding[],
): Readonly<Record<string, unknown>> {
  const value = of[name];
  if (value !== undefined && value !== null && (typeof value !== 'object' || Array.isArray(value))) {
    findings.push({ path: [...path, name], message: 'must be an object' });
  }
  return record(value);
}

function unknownKeys(
  of: Readonly<Record<string, unknown>>,
  known: readonly string[],
  path: readonly PathSegment[],
): Finding[] {
  return Object.keys(of)
    .filter((key) => !known.includes(key))
    .map((key) => {
      const near = nearestName(key, known);
      const hint = near === undefined ? `known: ${choices(known, key)}` : `did you mean "${near}"?`;
      return { path: [...path, key], key, message: 'unknown key', hint };
    });
}
