import type { Finding, PathSegment } from '../../diagnostics/index.ts';
import type { KubernetesSection } from './index.ts';

/**
 * What YAML forbids (https://yaml.org/spec/1.2.2/#51-character-set) and go-yaml refuses as "control characters are not
 * allowed"; and what only looks allowed: no command line holds NUL, and no name of Kubernetes any of the others.
 */
const FORBIDDEN = /(?![\t\n\r\u0085])[\p{Cc}\ufeff\ufffe\uffff]/u;

/** Of a line in /var/lib/kubelet/kubeadm-flags.env. */
const LINE_BREAK = /[\r\n]/;

/** Control characters in what kubeadm, the components or the API server get. */
export function checkControlCharacters({ bootstrapper, ...kubernetes }: KubernetesSection): Finding[] {
  const findings: Finding[] = [];
  const visit = (value: unknown, path: readonly PathSegment[]): void => {
    if (typeof value === 'string') {
      const at = value.search(FORBIDDEN);
      if (at < 0) return;
      const code = value.charCodeAt(at).toString(16).padStart(4, '0').toUpperCase();
      findings.push({ path, message: `a control character, U+${code}, after ${at} others`, hint: 'remove it' });
    } else if (Array.isArray(value)) {
      for (const [index, item] of value.entries()) visit(item, [...path, index]);
    } else if (value !== null && typeof value === 'object') {
      for (const [key, item] of Object.entries(value)) visit(item, [...path, key]);
    }
  };
  visit({ ...kubernetes, bootstrapper: { kubeadm: bootstrapper?.kubeadm } }, ['kubernetes']);
  kubernetes.node?.kubelet?.args?.forEach(({ value }, index) => {
    if (!LINE_BREAK.test(value)) return;
    const path = ['kubernetes', 'node', 'kubelet', 'args', index, 'value'];
    findings.push({ path, message: 'a line break: kubeadm writes the arguments of the kubelet as one line' });
  });
  return findings;
}
