import type { MinorWindow } from './minor.ts';

/** A phase of kubeadm, and the minors in which its name means something. */
interface Phase extends MinorWindow {
  readonly name: string;
}

/**
 * Phases of `kubeadm init`, from `kubeadm init --help` of 1.20 and k/k cmd/kubeadm/app/cmd/phases/init:
 * super-admin (CHANGELOG-1.29), show-join-command k/k#111512 (1.26), enable-client-cert-rotation k/k#124419 (1.31) in
 * place of experimental-cert-rotation (removed in 1.32, k/k#126913). kubeadm refuses a name that it does not know.
 */
export const INIT_PHASES: readonly Phase[] = [
  { name: 'preflight' },
  { name: 'certs' },
  { name: 'certs/ca' },
  { name: 'certs/apiserver' },
  { name: 'certs/apiserver-kubelet-client' },
  { name: 'certs/front-proxy-ca' },
  { name: 'certs/front-proxy-client' },
  { name: 'certs/etcd-ca' },
  { name: 'certs/etcd-server' },
  { name: 'certs/etcd-peer' },
  { name: 'certs/etcd-healthcheck-client' },
  { name: 'certs/apiserver-etcd-client' },
  { name: 'certs/sa' },
  { name: 'kubeconfig' },
  { name: 'kubeconfig/admin' },
  { name: 'kubeconfig/super-admin', since: 29 },
  { name: 'kubeconfig/kubelet' },
  { name: 'kubeconfig/controller-manager' },
  { name: 'kubeconfig/scheduler' },
  { name: 'etcd' },
  { name: 'etcd/local' },
  { name: 'control-plane' },
  { name: 'control-plane/apiserver' },
  { name: 'control-plane/controller-manager' },
  { name: 'control-plane/scheduler' },
  { name: 'kubelet-start' },
  { name: 'wait-control-plane' },
  { name: 'upload-config' },
  { name: 'upload-config/kubeadm' },
  { name: 'upload-config/kubelet' },
  { name: 'upload-certs' },
  { name: 'mark-control-plane' },
  { name: 'bootstrap-token' },
  { name: 'kubelet-finalize' },
  { name: 'kubelet-finalize/experimental-cert-rotation', until: 31 },
  { name: 'kubelet-finalize/enable-client-cert-rotation', since: 31 },
  { name: 'addon' },
  { name: 'addon/coredns' },
  { name: 'addon/kube-proxy' },
  { name: 'show-join-command', since: 26 },
];

/**
 * Phases of `kubeadm join`, from `kubeadm join --help` of 1.20 and k/k cmd/kubeadm/app/cmd/join.go. Where the exact minor
 * of a change is not certain the wider window stands here: kubeadm itself refuses a wrong name before it does anything.
 * control-plane-join/etcd does nothing once ControlPlaneKubeletLocalMode is locked on (1.35), and is gone with 1.36.
 * Compared with the sources of 1.31.14 to 1.36.3 and with a kubeadm 1.36.3, whose help hides check-etcd.
 */
export const JOIN_PHASES: readonly Phase[] = [
  { name: 'preflight' },
  { name: 'control-plane-prepare' },
  { name: 'control-plane-prepare/download-certs' },
  { name: 'control-plane-prepare/certs' },
  { name: 'control-plane-prepare/kubeconfig' },
  { name: 'control-plane-prepare/control-plane' },
  { name: 'check-etcd' },
  { name: 'kubelet-start' },
  { name: 'etcd-join', since: 31 },
  { name: 'kubelet-wait-bootstrap', since: 31 },
  { name: 'control-plane-join' },
  { name: 'control-plane-join/etcd', until: 35 },
  { name: 'control-plane-join/update-status', until: 24 },
  { name: 'control-plane-join/mark-control-plane' },
  { name: 'wait-control-plane', since: 30 },
];

/** One piece of work under the names it had over time: skipping it under any name skips it in every version. */
export const SAME_WORK: readonly (readonly string[])[] = [
  ['kubelet-finalize/experimental-cert-rotation', 'kubelet-finalize/enable-client-cert-rotation'],
  ['control-plane-join/etcd', 'etcd-join'],
];
