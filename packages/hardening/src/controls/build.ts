import {
  ADMIN_KUBECONFIG,
  ADMISSION_DIRECTORY,
  AUDIT_POLICY,
  CONTROLLER_MANAGER_KUBECONFIG,
  DEFAULT_CA_CERTIFICATE,
  DEFAULT_ETCD_DATA_DIRECTORY,
  SCHEDULER_KUBECONFIG,
} from '@machineadm/document/ownership/kubernetes-paths.ts';
import {
  type AppliesTo,
  type Check,
  type Component,
  type Control,
  type KubeletValue,
  type Mount,
  RULES,
  type Rule,
} from './control.ts';

/** The vocabulary of the tables of controls. */

/** kubeadm's default is right. */
export const BY_KUBEADM = { kubeadmLeavesIt: true } as const;

interface Options {
  readonly kubeadmLeavesIt?: true;
  readonly since?: number;
  readonly until?: number;
  readonly off?: string;
}

export function cis(id: string, level: 1 | 2, applies: AppliesTo, check: Check, options: Options = {}): Control {
  const profiles = level === 1 ? (['cis-level-1', 'cis-level-2'] as const) : (['cis-level-2'] as const);
  return { id, level, profiles, applies, check, ...withDefaults(options) };
}

export function stig(
  id: string,
  level: 'CAT I' | 'CAT II',
  applies: AppliesTo,
  check: Check,
  options: Options = {},
): Control {
  return { id, level, profiles: ['stig'], applies, check, ...withDefaults(options) };
}

/** Controls of every node, and Kubernetes' own requirements for its kernel: the kubelet's belong to the STIG. */
export function os(id: string, level: 1 | 2 | 'base', check: Check, options: Options = {}): Control {
  const profiles = id === 'k8s-protect-kernel-defaults' ? (['stig'] as const) : (['cis-os'] as const);
  return { id, level, profiles, applies: 'node', check, ...withDefaults(options) };
}

function withDefaults({ kubeadmLeavesIt, since, until, off }: Options) {
  return { kubeadmLeavesIt: kubeadmLeavesIt === true, since, until, off };
}

export function argument(
  component: Component,
  values: Readonly<Record<string, string>>,
  rule: Rule,
  mount?: Mount,
): Check {
  const named = Object.entries(values).map(([name, value]) => ({ name, value }));
  return { kind: 'argument', component, values: named, rule, ...(mount === undefined ? {} : { mount }) };
}

export function admissionPlugin(plugin: string, must: Extract<Check, { kind: 'admission-plugin' }>['must']): Check {
  return { kind: 'admission-plugin', plugin, must };
}

export function featureGate(gate: string, never: 'true' | 'false', at: readonly (Component | 'kubelet')[]): Check {
  return { kind: 'feature-gate', gate, never, at };
}

export function kubelet(field: string, flag: string, rule: Rule, value: KubeletValue | null | undefined): Check {
  return { kind: 'kubelet', field, flag, rule, value };
}

export function mode(paths: readonly string[], atMost: number, directories?: number): Check {
  return { kind: 'mode', paths, atMost, ...(directories === undefined ? {} : { directories }) };
}

export function owner(paths: readonly string[], user: string, group: string): Check {
  return { kind: 'owner', paths, user, group };
}

export function ownedByRoot(paths: readonly string[]): Check {
  return owner(paths, 'root', 'root');
}

/** Keys in the slash form. */
export function sysctl(values: Readonly<Record<string, string>>, optional: readonly string[] = []): Check {
  return { kind: 'sysctl', values, optional };
}

export function moduleDenied(module: string): Check {
  return { kind: 'module-denied', module };
}

export function unimplementable(wants: string, why: string): Check {
  return { kind: 'impossible', wants, why };
}

export function notApplicableOnNode(what: string): Check {
  return { kind: 'not-on-the-node', what };
}

export const CLUSTER_CA = DEFAULT_CA_CERTIFICATE;
export const ETCD_DATA = DEFAULT_ETCD_DATA_DIRECTORY;

/**
 * The unit of the kubelet and kubeadm's drop-in: packages since 2019 keep them below /usr, image builders and older packages
 * below /etc (kubernetes/release cmd/krel/templates).
 */
export const KUBELET_UNIT = [
  '/etc/systemd/system/kubelet.service',
  '/etc/systemd/system/kubelet.service.d/10-kubeadm.conf',
  '/usr/lib/systemd/system/kubelet.service',
  '/usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf',
  '/lib/systemd/system/kubelet.service',
  '/lib/systemd/system/kubelet.service.d/10-kubeadm.conf',
];

export const KUBECONFIGS = [ADMIN_KUBECONFIG, SCHEDULER_KUBECONFIG, CONTROLLER_MANAGER_KUBECONFIG];

/** The pod network's configuration and its allocated addresses. */
export const CNI_FILES = ['/etc/cni/net.d/*', '/var/lib/cni/networks/**'];

/**
 * The plug-in host-local writes a file with mode 0644 for each pod, so that no mode of these files lasts
 * (containernetworking/plugins plugins/ipam/host-local/backend/disk). Nobody reaches them in a directory of mode 0700.
 */
export const CNI_MODES = ['/etc/cni/net.d/*', '/var/lib/cni/networks'];

export const EVERYWHERE: readonly (Component | 'kubelet')[] = [
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'kubelet',
];

/** Satisfies CIS 1.2.29, CIS 4.2.12 and STIG V-242418 together. Go does not allow choosing the suites of TLS 1.3. */
export const CIPHERS = [
  'TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256',
  'TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256',
  'TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384',
  'TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384',
];
export const CIPHERS_ARGUMENT = CIPHERS.join(',');

/** Further permitted suites: as strong, or of TLS 1.3. */
export const STRONG_CIPHERS = [
  ...CIPHERS,
  'TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305',
  'TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256',
  'TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305',
  'TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256',
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
];

/** The kubelet's kernel requirements with protectKernelDefaults (k/k pkg/util/sysctl/sysctl.go). */
export const KUBELET_KERNEL_SETTINGS: Readonly<Record<string, string>> = {
  'vm/overcommit_memory': '1',
  'vm/panic_on_oom': '0',
  'kernel/panic': '10',
  'kernel/panic_on_oops': '1',
  'kernel/keys/root_maxkeys': '1000000',
  'kernel/keys/root_maxbytes': '25000000',
};

const AUDIT_LOG_DIRECTORY = '/var/log/kubernetes/audit';

/** The directory instead of the file: rotation renames the file. */
export const AUDIT_LOG_MOUNT: Mount = {
  name: 'audit-log',
  path: AUDIT_LOG_DIRECTORY,
  readOnly: false,
  pathType: 'DirectoryOrCreate',
};
export const AUDIT_POLICY_MOUNT: Mount = {
  name: 'audit-policy',
  path: AUDIT_POLICY,
  readOnly: true,
  pathType: 'File',
};
/** The API server has a policy for its audit log. */
export const AUDIT_POLICY_FILE = argument(
  'kube-apiserver',
  { 'audit-policy-file': AUDIT_POLICY },
  RULES.set,
  AUDIT_POLICY_MOUNT,
);
export const ADMISSION_MOUNT: Mount = {
  name: 'admission',
  path: ADMISSION_DIRECTORY,
  readOnly: true,
  pathType: 'Directory',
};

export const ANONYMOUS =
  "The kubelet's health probes and the token discovery of joining machines are anonymous: kubeadm's API server restarts forever and nothing joins by token.";
export const SERVING_CERTIFICATES =
  'Needs serving certificates of the cluster for all kubelets, and something in the cluster that approves them; until then kubectl logs and exec fail.';
export const ENCRYPTION = 'Needs a key that all control planes share, which only the document can set.';
export const SSH = 'Cuts off the people who look after the machine by ssh.';
