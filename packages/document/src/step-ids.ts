/**
 * The steps of a run, by the words that plan, journal, status, events and documents know them by. They are published: a
 * journal of an older version names them, and so does whatever reads a status. None is ever renamed or taken away;
 * `test/fixtures/step-ids.txt` records them all.
 */
export const STEP_IDS = [
  'active-directory',
  'api-server',
  'certificate-authorities',
  'clock',
  'containerd',
  'control-plane-files',
  'directory-address',
  'directory-logins',
  'disks',
  'exec-bootstrapper',
  'exec-readiness',
  'files',
  'filesystems',
  'groups',
  'hardening',
  'hooks-after-bootstrap',
  'hooks-before-bootstrap',
  'hooks-boot',
  'hooks-early',
  'hostname',
  'images',
  'kernel-modules',
  'kubeadm',
  'kubeadm-config',
  'kubeadm-images',
  'kubeadm-reset',
  'kubelet-arguments',
  'limits',
  'mounts',
  'pki',
  'proxy',
  'readiness',
  'registries',
  'sentinel',
  'services',
  'static-pods',
  'swap',
  'sysctl',
  'time',
  'users',
] as const;

export type StepId = (typeof STEP_IDS)[number];
