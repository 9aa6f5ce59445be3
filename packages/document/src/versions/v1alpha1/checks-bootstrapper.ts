import type { Finding } from '../../diagnostics.ts';
import { QUIET } from '../../foreign-yaml.ts';
import { acceptsPatches } from '../../kubernetes-releases/kubeadm.ts';
import type { KubernetesSection } from './kubernetes.ts';
import type { Sections } from './sections.ts';

/** Mistakes across fields that belong to one bootstrapper. */

/**
 * kubeadm fills in what is not given before it validates, in every version (k/k
 * cmd/kubeadm/app/apis/bootstraptoken/v1/defaults.go): a ttl stands beside every `expires`, and a group beside every
 * token, which is refused without the usage authentication.
 */
export function checkBootstrapTokens({ cluster }: KubernetesSection): Finding[] {
  const findings: Finding[] = [];
  cluster?.bootstrapTokens?.forEach((token, index) => {
    const path = ['kubernetes', 'cluster', 'bootstrapTokens', index];
    // With a ttl beside it, that is told already.
    if (token.expires !== undefined && token.ttl === undefined) {
      const message = 'kubeadm takes only a time to live in its configuration';
      findings.push({ path: [...path, 'expires'], message, hint: 'write ttl, such as "24h"' });
    }
    if (token.usages !== undefined && token.usages.length > 0 && !token.usages.includes('authentication')) {
      const message = 'kubeadm gives every token a group, and refuses that without the usage authentication';
      findings.push({ path: [...path, 'usages'], message, hint: 'add authentication' });
    }
  });
  return findings;
}

/** kubeadm refuses a kind that comes twice in its file, so each configuration is said in one place. */
export function checkExtraConfiguration({ bootstrapper, node, addons }: KubernetesSection): Finding[] {
  const findings: Finding[] = [];
  const seen = new Set<string>();
  bootstrapper?.kubeadm?.extraDocuments?.forEach(({ kind }, index) => {
    const path = ['kubernetes', 'bootstrapper', 'kubeadm', 'extraDocuments', index];
    const elsewhere = kind === 'KubeletConfiguration' ? node?.kubelet?.config : addons?.proxy?.config;
    const place = kind === 'KubeletConfiguration' ? 'kubernetes.node.kubelet.config' : 'kubernetes.addons.proxy.config';
    if (seen.has(kind))
      findings.push({ code: 'Duplicate', path, message: `a second ${kind}`, hint: 'keep one of them' });
    else if (elsewhere !== undefined) {
      findings.push({ path, message: `${place} says the same`, hint: 'keep one of them' });
    }
    seen.add(kind);
  });
  return findings;
}

/** A worker has neither static pods of the control plane nor, as every joining machine, an addon to patch. */
export function checkPatches({ role, bootstrapper }: KubernetesSection): Finding[] {
  const patches = bootstrapper?.kubeadm?.patches;
  if (!Array.isArray(patches)) return [];
  return patches.flatMap(({ target }, index): Finding[] => {
    if (acceptsPatches(target, role)) return [];
    const path = ['kubernetes', 'bootstrapper', 'kubeadm', 'patches', index, 'target'];
    return [{ path, message: `${target} has no effect for the role ${role}`, hint: 'remove it' }];
  });
}

/** kubeadm's own names (k/k cmd/kubeadm/app/constants/constants.go). */
const KUBEADM_PODS = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'];

export function checkStaticPods({ controlPlane }: KubernetesSection): Finding[] {
  const seen = new Set<string>();
  return (controlPlane?.staticPods ?? []).flatMap(({ name }, index): Finding[] => {
    const path = ['kubernetes', 'controlPlane', 'staticPods', index, 'name'];
    const twice = seen.has(name);
    seen.add(name);
    if (KUBEADM_PODS.includes(name)) {
      const hint = 'change it through kubernetes.bootstrapper.kubeadm.patches';
      return [{ path, message: `kubeadm itself writes ${name}.yaml`, hint }];
    }
    return twice ? [{ code: 'Duplicate', path, message: `a second static pod of the name "${name}"` }] : [];
  });
}

/** A static pod that is no Pod stops the kubelet from nothing: it is only logged there, and the API never answers. */
export async function checkManifests({ kubernetes }: Sections): Promise<Finding[]> {
  const findings: Finding[] = [];
  const pods = kubernetes?.controlPlane?.staticPods ?? [];
  if (pods.length === 0) return findings;
  const { parseAllDocuments } = await import('yaml');
  for (const [index, { manifest }] of pods.entries()) {
    const documents = parseAllDocuments(manifest, QUIET);
    const [only, second] = Array.isArray(documents) ? documents : [];
    const path = ['kubernetes', 'controlPlane', 'staticPods', index, 'manifest'];
    if (only === undefined || only.errors.length > 0) findings.push({ path, message: 'not YAML' });
    else if (second !== undefined || only.get('kind') !== 'Pod' || only.get('apiVersion') !== 'v1') {
      findings.push({ path, message: 'not one Pod (apiVersion: v1, kind: Pod)' });
    }
  }
  return findings;
}

export function checkReady({ ready }: KubernetesSection): Finding[] {
  if (ready?.require !== 'Command') return [];
  const path = ['kubernetes', 'ready', 'require'];
  return [{ path, message: 'Command is the success test of bootstrapper.exec, which is not given' }];
}

/** A program of one's own: what it is not asked for would be lost. */
export function checkExec({ bootstrapper, ready, controlPlane }: KubernetesSection): Finding[] {
  const findings: Finding[] = [];
  const require = ready?.require;
  const path = ['kubernetes', 'ready', 'require'];
  if (require === 'NodeRegistered' || require === 'NodeReady') {
    const message = `${require} is seen with kubeadm's kubeconfigs only`;
    findings.push({ path, message, hint: 'write Command with bootstrapper.exec.successTest, or KubeletHealthy' });
  }
  if (require === 'Command' && bootstrapper?.exec?.successTest === undefined) {
    const message = 'Command is bootstrapper.exec.successTest, which is not given';
    findings.push({ path, message, hint: 'add the test, or write KubeletHealthy' });
  }
  if (controlPlane?.staticPods !== undefined) {
    const message = 'has no effect: the manifests directory is known of kubeadm only';
    findings.push({ path: ['kubernetes', 'controlPlane', 'staticPods'], message, hint: 'write them with host.files' });
  }
  return findings;
}
