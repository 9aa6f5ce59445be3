import type { Finding, PathSegment } from '../../diagnostics.ts';
import { nearestName } from '../../diagnostics.ts';
import { admissionPlugins, NEWEST_KNOWN_PLUGINS_MINOR } from '../../kubernetes-releases/admission-plugins.ts';
import { minorOf } from '../../kubernetes-releases/minor.ts';
import { parseDuration, parseSize } from '../../units.ts';
import type { ApiServerFilesSection } from './api-server.ts';
import { API_SERVER, since } from './api-server-findings.ts';
import { checkAuthentication, checkAuthorization, checkConnection } from './checks-api-server-access.ts';
import { checkArguments, checkVolumes } from './checks-api-server-arguments.ts';
import { checkEncryption } from './checks-encryption.ts';
import type { KubernetesSection } from './kubernetes.ts';
import type { Sections } from './sections.ts';

/** Mistakes of the API server's files: what the API server itself would refuse, by ending again and again. */

const DAY_MS = 86_400_000;
const MI = 2 ** 20;

export function checkApiServer(kubernetes: KubernetesSection, secrets: NonNullable<Sections['secrets']>): Finding[] {
  const section = kubernetes.controlPlane?.apiServer;
  if (section === undefined) return [];
  const minor = minorOf(kubernetes.version);
  return [
    ...checkAudit(section, minor),
    ...checkEncryption(section, minor, secrets),
    ...checkAuthentication(section, minor),
    ...checkAuthorization(section, minor),
    ...checkAdmission(section, minor),
    ...checkArguments(section),
    ...checkVolumes(section),
  ];
}

/** Another program than kubeadm is told of the API server in its own words. */
export function checkApiServerOfExec({ controlPlane }: KubernetesSection): Finding[] {
  const names = ['audit', 'encryptionAtRest', 'authentication', 'authorization', 'admission'] as const;
  return names
    .filter((name) => controlPlane?.apiServer?.[name] !== undefined)
    .map((name) => ({
      path: [...API_SERVER, name],
      message: 'has no effect: the API server of bootstrapper.exec is its own affair',
      hint: 'remove it',
    }));
}

/** What the schema cannot say of audit.k8s.io (k/k staging/src/k8s.io/apiserver/pkg/apis/audit/validation/validation.go). */
function checkAudit({ audit }: ApiServerFilesSection, minor: number): Finding[] {
  if (audit === undefined) return [];
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
    if (rule.omitManagedFields !== undefined && minor < 23) findings.push(since([...at, 'omitManagedFields'], 23));
  });
  if (policy.omitManagedFields !== undefined && minor < 23)
    findings.push(since([...path, 'policy', 'omitManagedFields'], 23));
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

function checkAdmission({ admission }: ApiServerFilesSection, minor: number): Finding[] {
  if (admission === undefined) return [];
  const known = admissionPlugins(minor);
  const path = [...API_SERVER, 'admission'];
  const findings: Finding[] = [];
  const judge = (name: string, at: readonly PathSegment[]) => {
    if (known.includes(name) || minor > NEWEST_KNOWN_PLUGINS_MINOR) return;
    const near = nearestName(name, known);
    const hint = near === undefined ? `known: ${known.join(', ')}` : `did you mean "${near}"?`;
    findings.push({ path: at, message: `no admission plugin of Kubernetes 1.${minor} is called "${name}"`, hint });
  };
  const { enable = [], disable = [], config = [] } = admission;
  enable.forEach((name, index) => {
    judge(name, [...path, 'enable', index]);
    if (disable.includes(name)) {
      findings.push({
        path: [...path, 'enable', index],
        message: `${name} is disabled, too`,
        hint: 'keep one of them',
      });
    }
  });
  disable.forEach((name, index) => {
    judge(name, [...path, 'disable', index]);
  });
  const seen = new Set<string>();
  config.forEach(({ plugin, configuration }, index) => {
    const at = [...path, 'config', index];
    judge(plugin, [...at, 'plugin']);
    if (seen.has(plugin))
      findings.push({ code: 'Duplicate', path: [...at, 'plugin'], message: `a second configuration of ${plugin}` });
    seen.add(plugin);
    const ours = ['PodSecurity', 'EventRateLimit'].includes(plugin);
    if (ours && ('apiVersion' in configuration || 'kind' in configuration)) {
      const message = 'apiVersion and kind are chosen by the Kubernetes version';
      findings.push({ path: [...at, 'configuration'], message, hint: 'remove them' });
    }
  });
  return findings;
}
