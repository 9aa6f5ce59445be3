import type { Finding } from '../../diagnostics/index.ts';
import { acceptsPatches } from '../../kubernetes-releases/kubeadm.ts';
import type { KubernetesSection } from './index.ts';

/** Mistakes across fields that belong to one bootstrapper. */

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

export function checkReady({ ready }: KubernetesSection): Finding[] {
  if (ready?.require !== 'Command') return [];
  const path = ['kubernetes', 'ready', 'require'];
  return [{ path, message: 'Command is the success test of bootstrapper.exec, which is not given' }];
}

/** A program of one's own: what it is not asked for would be lost. */
export function checkExec({ bootstrapper, ready, controlPlane, node }: KubernetesSection): Finding[] {
  const findings: Finding[] = [];
  const require = ready?.require;
  const path = ['kubernetes', 'ready', 'require'];
  if (require === 'NodeRegistered' || require === 'NodeReady') {
    const message = `${require} can be checked only with kubeadm's kubeconfigs`;
    findings.push({ path, message, hint: 'write Command with bootstrapper.exec.successTest, or KubeletHealthy' });
  }
  if (require === 'Command' && bootstrapper?.exec?.successTest === undefined) {
    const message = 'Command is bootstrapper.exec.successTest, which is not given';
    findings.push({ path, message, hint: 'add the test, or write KubeletHealthy' });
  }
  if (ready?.endpoint !== undefined) {
    const message = 'has no effect with bootstrapper.exec';
    findings.push({
      path: ['kubernetes', 'ready', 'endpoint'],
      message,
      hint: 'check the endpoint in its successTest',
    });
  }
  if (node?.addresses !== undefined) {
    const message = 'has no effect: only kubeadm gets the addresses of its node from machineadm';
    findings.push({
      path: ['kubernetes', 'node', 'addresses'],
      message,
      hint: 'set them in the arguments of the program',
    });
  }
  if (controlPlane?.certificates !== undefined) {
    const message = 'has no effect: machineadm renews the certificates of kubeadm only';
    const at = ['kubernetes', 'controlPlane', 'certificates'];
    findings.push({ path: at, message, hint: 'let the program renew its certificates' });
  }
  if (controlPlane?.staticPods !== undefined) {
    const message = 'has no effect: only kubeadm has a known manifests directory';
    findings.push({ path: ['kubernetes', 'controlPlane', 'staticPods'], message, hint: 'write them with host.files' });
  }
  return findings;
}
