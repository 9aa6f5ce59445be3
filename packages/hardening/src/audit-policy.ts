import type { AuditPolicy } from '@machineadm/document/model/index.ts';
import { member, text } from '@machineadm/document/values/untyped.ts';

/**
 * Audit policies (audit.k8s.io/v1): the two that benchmarks require, and the evaluation of any other. The first
 * matching rule decides (k/k staging/src/k8s.io/apiserver/pkg/audit/policy/checker.go).
 */

const LEVELS = ['None', 'Metadata', 'Request', 'RequestResponse'] as const;
type Level = (typeof LEVELS)[number];

/**
 * The minimal policy of CIS 3.2.1 that also covers 3.2.2: bodies of Secrets and tokens are never logged; changes of
 * workloads are logged with their body; access to pods is logged.
 */
const KEY_CONCERNS: AuditPolicy = {
  omitStages: ['RequestReceived'],
  rules: [
    {
      level: 'Metadata',
      resources: [
        { group: '', resources: ['secrets', 'configmaps', 'serviceaccounts/token'] },
        { group: 'authentication.k8s.io', resources: ['tokenreviews'] },
      ],
    },
    {
      level: 'Metadata',
      resources: [
        { group: '', resources: ['pods/exec', 'pods/attach', 'pods/portforward', 'pods/proxy', 'services/proxy'] },
      ],
    },
    {
      level: 'RequestResponse',
      verbs: ['create', 'update', 'patch', 'delete', 'deletecollection'],
      resources: [
        { group: '', resources: ['pods'] },
        { group: 'apps', resources: ['deployments'] },
      ],
    },
    { level: 'Metadata' },
  ],
};

/** The literal requirement of STIG V-242403: all bodies, including those of Secrets. */
const EVERYTHING: AuditPolicy = { rules: [{ level: 'RequestResponse' }] };

export type AuditCoverage = 'key-concerns' | 'everything';

/** The policy that satisfies a required coverage. */
export function auditPolicyFor(coverage: AuditCoverage): AuditPolicy {
  return coverage === 'everything' ? EVERYTHING : KEY_CONCERNS;
}

interface Asked {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly atLeast: Level;
}

/** CIS 3.2.2, its list of key security concerns. */
const CONCERNS: readonly Asked[] = [
  { verb: 'get', group: '', resource: 'secrets', atLeast: 'Metadata' },
  { verb: 'update', group: '', resource: 'configmaps', atLeast: 'Metadata' },
  { verb: 'create', group: 'authentication.k8s.io', resource: 'tokenreviews', atLeast: 'Metadata' },
  { verb: 'create', group: '', resource: 'serviceaccounts/token', atLeast: 'Metadata' },
  { verb: 'create', group: '', resource: 'pods', atLeast: 'Request' },
  { verb: 'update', group: 'apps', resource: 'deployments', atLeast: 'Request' },
  { verb: 'create', group: '', resource: 'pods/exec', atLeast: 'Metadata' },
  { verb: 'create', group: '', resource: 'pods/portforward', atLeast: 'Metadata' },
  { verb: 'get', group: '', resource: 'pods/proxy', atLeast: 'Metadata' },
  { verb: 'get', group: '', resource: 'services/proxy', atLeast: 'Metadata' },
];

/** The gaps of a policy, in words; [] = it covers everything. `policy` is parsed YAML. */
export function findUncovered(policy: unknown, coverage: AuditCoverage): readonly string[] {
  const rules = member(policy, 'rules');
  if (!Array.isArray(rules) || rules.length === 0) return ['the policy has no rules'];
  return CONCERNS.flatMap((concern) => {
    const needed = coverage === 'everything' ? 'RequestResponse' : concern.atLeast;
    const level = levelOf(rules, concern);
    if (LEVELS.indexOf(level) >= LEVELS.indexOf(needed)) return [];
    return [`${concern.verb} ${concern.resource} is logged at ${level}, not at ${needed}`];
  });
}

/** Rules for particular users, groups or namespaces are skipped: others make the same requests, too. */
function levelOf(rules: readonly unknown[], asked: Asked): Level {
  const narrowed = (rule: unknown): boolean =>
    ['users', 'userGroups', 'namespaces'].some((field) => items(member(rule, field)).length > 0);
  const matching = rules.find((rule) => !narrowed(rule) && matches(rule, asked));
  return LEVELS.find((level) => level === text(member(matching, 'level'))) ?? 'None';
}

function matches(rule: unknown, { verb, group, resource }: Asked): boolean {
  const verbs = items(member(rule, 'verbs'));
  if (verbs.length > 0 && !verbs.includes(verb) && !verbs.includes('*')) return false;
  const resources = items(member(rule, 'resources'));
  if (resources.length === 0) return items(member(rule, 'nonResourceURLs')).length === 0;
  return resources.some((entry) => {
    if ((text(member(entry, 'group')) ?? '') !== group || items(member(entry, 'resourceNames')).length > 0)
      return false;
    const names = items(member(entry, 'resources'));
    const [main = '', sub] = resource.split('/');
    return (
      names.length === 0 ||
      names.some((name) => name === '*' || name === resource || name === `${main}/*` || (sub && name === `*/${sub}`))
    );
  });
}

function items(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
