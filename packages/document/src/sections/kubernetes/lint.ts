import type { Finding } from '../../diagnostics/index.ts';
import { minorOf, NEWEST_KNOWN_MINOR } from '../../kubernetes-releases/minor.ts';
import { refusedByKubelet } from '../../kubernetes-releases/node-labels.ts';
import { lintAdmission } from '../api-server/admission.ts';
import { API_SERVER } from '../api-server/connection.ts';
import { lintAmongServices } from './checks-cluster-addresses.ts';
import { lintComponentGates } from './checks-components.ts';
import { lintKubeadmGates } from './checks-kubeadm-cluster.ts';
import { lintSaidTwice } from './checks-said-twice.ts';
import type { KubernetesSection } from './index.ts';

/** What `kubernetes` may ask for and will hurt. */
export function lintKubernetes(kubernetes: KubernetesSection): Finding[] {
  if (kubernetes.bootstrapper?.exec !== undefined) return [];
  return [
    ...newerVersion(kubernetes),
    ...tokensWithoutAnonymous(kubernetes),
    ...servingCertificates(kubernetes),
    ...labelsOfOthers(kubernetes),
    ...lintSaidTwice(kubernetes),
    ...lintAmongServices(kubernetes),
    ...lintAdmission(kubernetes.controlPlane?.apiServer?.admission ?? {}),
    ...lintComponentGates(kubernetes),
    ...lintKubeadmGates(kubernetes),
  ];
}

/** A mistyped version also looks like a new one. */
function newerVersion({ version }: KubernetesSection): Finding[] {
  if (minorOf(version) <= NEWEST_KNOWN_MINOR) return [];
  const message = `Kubernetes ${version} is newer than 1.${NEWEST_KNOWN_MINOR}, the newest minor that this machineadm knows: it is treated like that one, and its images are not known`;
  return [{ path: ['kubernetes', 'version'], message, hint: 'correct the version, or use a newer machineadm' }];
}

/** What a machine that joins by token reads before it can prove who it is (k/k cmd/kubeadm/app/discovery/token/token.go). */
const CLUSTER_INFO = '/api/v1/namespaces/kube-public/configmaps/cluster-info';

function tokensWithoutAnonymous({ cluster, controlPlane }: KubernetesSection): Finding[] {
  if ((cluster?.bootstrapTokens ?? []).length === 0) return [];
  const { authentication, args = [] } = controlPlane?.apiServer ?? {};
  const anonymous = authentication?.structured?.anonymous;
  const flag = args.findLastIndex(({ name }) => name === 'anonymous-auth');
  const message =
    'no machine can join with kubernetes.cluster.bootstrapTokens: their discovery is an anonymous request';
  if (anonymous !== undefined) {
    if (anonymous.enabled && anonymous.paths?.includes(CLUSTER_INFO) !== false) return [];
    const path = [...API_SERVER, 'authentication', 'structured', 'anonymous', anonymous.enabled ? 'paths' : 'enabled'];
    const hint = anonymous.enabled ? `add ${CLUSTER_INFO}` : 'use kubernetes.join.discovery.file';
    return [{ path, message, hint }];
  }
  if (args[flag]?.value !== 'false') return [];
  const hint = 'use kubernetes.join.discovery.file';
  return [{ path: [...API_SERVER, 'args', flag, 'value'], message, hint }];
}

/** Only an administrator may set them, whose credential a worker does not have. */
function labelsOfOthers({ role, node }: KubernetesSection): Finding[] {
  if (role !== 'Worker') return [];
  return Object.keys(node?.labels ?? {})
    .filter(refusedByKubelet)
    .map((key) => ({
      path: ['kubernetes', 'node', 'labels', key],
      key,
      message: 'no worker may set this label on its Node: the report of the run names it, until it is set',
      hint: 'set it from the management side (kubectl label node, or a label of the Machine in Cluster API)',
    }));
}

/** Kubernetes has no approver of these requests: k/k pkg/controller/certificates/approver approves those of clients only. */
function servingCertificates({ node }: KubernetesSection): Finding[] {
  if (node?.kubelet?.config?.serverTLSBootstrap !== true) return [];
  const message =
    'nothing in Kubernetes approves the request of the kubelet for a serving certificate: without it, kubectl logs and exec fail';
  const path = ['kubernetes', 'node', 'kubelet', 'config', 'serverTLSBootstrap'];
  return [{ path, message, hint: 'run an approver in the cluster, or approve it with "kubectl certificate approve"' }];
}
