/**
 * The steps by id, with the title that users see. Plans, journals, statuses, events and documents contain the ids. They are
 * published: older journals and readers of a status use them. None is ever renamed or removed; `test/fixtures/step-ids.txt`
 * records them all.
 */
export const STEP_TITLES = {
  'active-directory': 'Active Directory',
  'api-server': 'configuration of the API server',
  apparmor: 'AppArmor profiles',
  archives: 'archives',
  'certificate-authorities': 'certificate authorities',
  clock: 'clock',
  containerd: 'container runtime',
  'control-plane-files': 'files of the API server',
  directories: 'directories',
  'directory-address': 'address in the domain',
  'directory-logins': 'logins of the domain',
  disks: 'disks',
  'exec-bootstrapper': 'bootstrapper of the document',
  'exec-readiness': 'proof that the node works',
  files: 'files',
  filesystems: 'file systems',
  groups: 'groups',
  hardening: 'hardening',
  'hooks-after-bootstrap': 'hooks after the bootstrap',
  'hooks-before-bootstrap': 'hooks before the bootstrap',
  'hooks-boot': 'hooks at every boot',
  'hooks-early': 'early hooks',
  hostname: 'host name',
  hosts: 'hosts file',
  images: 'container images',
  'kernel-modules': 'kernel modules',
  kubeadm: 'kubeadm',
  'kubeadm-config': 'kubeadm configuration',
  'kubeadm-images': 'images that kubeadm needs',
  'kubeadm-reset': 'clean up after an earlier attempt',
  'kubelet-arguments': "the kubelet's arguments",
  limits: 'limits of processes',
  links: 'links',
  mounts: 'mounts',
  network: 'network',
  'node-addresses': 'addresses of the node',
  'node-labels': 'labels and taints of the node',
  pki: 'cluster certificates and keys',
  proxy: 'proxy',
  readiness: 'proof that the node works',
  registries: 'image registries',
  removals: 'removals',
  restarts: 'restarts',
  selinux: 'SELinux',
  sentinel: 'bootstrap sentinel',
  services: 'services',
  'static-pods': 'static pods of the document',
  swap: 'swap',
  sysctl: 'kernel settings',
  time: 'time service',
  timezone: 'time zone',
  'upgrade-certificates': 'renewal of certificates',
  'upgrade-containerd': 'upgrade of containerd',
  'upgrade-containerd-state': 'containerd before the upgrade',
  'upgrade-control-plane': 'settings of the control plane',
  'upgrade-drain': 'drain of this node',
  'upgrade-kubeadm': 'upgrade by kubeadm',
  'upgrade-kubelet': 'upgrade of the kubelet',
  'upgrade-kubelet-settings': 'settings of the kubelet',
  'upgrade-proof': 'proof of the upgrade',
  'upgrade-state': 'state before the upgrade',
  users: 'users',
} as const;

export type StepId = keyof typeof STEP_TITLES;

export const STEP_IDS: readonly string[] = Object.keys(STEP_TITLES);

/** The title of a step; its id if this version does not have the step. */
export function stepTitle(id: string): string {
  return new Map<string, string>(Object.entries(STEP_TITLES)).get(id) ?? id;
}
