import { typeMeta } from '@machineadm/document/kubernetes-releases/configurations.ts';
import { NEWEST_KNOWN_MINOR } from '@machineadm/document/kubernetes-releases/minor.ts';
import type { KubernetesModel } from '@machineadm/document/model/index.ts';
import { omitUndefined } from '@machineadm/document/values/defined.ts';
import type { Fields } from './fields.ts';

export const KUBELET_CONFIGURATION = typeMeta('KubeletConfiguration', NEWEST_KNOWN_MINOR);

/**
 * The KubeletConfiguration that `kubeadm init` takes beside its own kinds and uploads for the whole cluster; undefined
 * when nothing is asked of the kubelet. kubeadm itself assumes the systemd driver from 1.22 on, whatever containerd uses.
 */
export function kubeletConfiguration(
  kubernetes: KubernetesModel,
  cgroupDriver: 'systemd' | 'cgroupfs' | undefined,
): Fields | undefined {
  const fields = omitUndefined({ cgroupDriver, ...kubernetes.node.kubelet.config });
  return Object.keys(fields).length === 0 ? undefined : { ...KUBELET_CONFIGURATION, ...fields };
}

/** The KubeProxyConfiguration that `kubeadm init` takes beside its own kinds; undefined when nothing is asked. */
export function kubeProxyConfiguration({ addons }: KubernetesModel): Fields | undefined {
  const { config, enabled } = addons.proxy;
  if (!enabled || Object.keys(config).length === 0) return undefined;
  return { ...typeMeta('KubeProxyConfiguration', NEWEST_KNOWN_MINOR), ...config };
}
