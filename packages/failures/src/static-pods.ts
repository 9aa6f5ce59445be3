import { KUBEADM_PODS, type KubeadmPod } from '@machineadm/document/ownership/kubernetes-paths.ts';

/** The component that a failure found not healthy; undefined: it is about something else. */
export function unhealthyComponent(summary: string): KubeadmPod | undefined {
  return KUBEADM_PODS.find((component) => summary.includes(`${component} is not healthy`));
}

/**
 * Whether a line is about the ends of a component that is healthy again. A run asks the components in the order of their needs
 * and names the first that is not healthy, so those before it are healthy, and those after it are no cause. Only one before it
 * that ended three times in the same pod may be in a loop all the same: a change of the API server restarts it once, in a new pod.
 */
export function isOfAnother(text: string, unhealthy: KubeadmPod | undefined): boolean {
  if (unhealthy === undefined) return false;
  const [, component = '', how = ''] = /^(etcd|kube-[a-z-]+) (ended \d+ times|exits again and again)/.exec(text) ?? [];
  const order: readonly string[] = KUBEADM_PODS;
  const [at, of] = [order.indexOf(component), order.indexOf(unhealthy)];
  if (at === -1 || at === of) return false;
  return at > of || how === 'ended 2 times';
}
