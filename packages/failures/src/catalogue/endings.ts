import type { TopicEntry } from './entry.ts';
import { BOOT } from './guards.ts';

/** Who ends, what the reason is called, and how the program is named in the text. */
const ENDED: readonly (readonly [string, string, TopicEntry['reason'], string])[] = [
  ['kubelet', 'kubelet', 'KubeletCrashLoop', 'kubelet'],
  ['component', 'etcd|kube-[a-z-]+|container', 'StaticPodCrashLoop', 'kube-apiserver'],
  ['containerd', 'containerd', 'ContainerRuntimeNotRunning', 'containerd'],
];

const LOWEST_CAUSE = 80;

/**
 * A component that ended, by its last error (`endings.ts`): one entry for each class, with the names from the line. What
 * no class describes is named by the component, and the error itself is the summary.
 */
export const ENDINGS: readonly TopicEntry[] = [
  end('end-node-label', 'NodeLabelRefused', 126, {
    pattern:
      /^kubelet exits: .{0,200}unknown 'kubernetes\.io' or 'k8s\.io' labels specified with --node-labels: \[([^\]]{1,400})\]/,
    says: 'The kubelet may not set the label $1 on its own Node, and exits.',
    remedy:
      'Move the label from node-labels of the kubelet to kubernetes.node.labels, which are set after the join, or set it once the node has joined: `kubectl label node NODE LABEL=VALUE`.',
    reference: 'k/k cmd/kubelet/app/options/options.go ValidateKubeletFlags (1.16 to 1.36)',
    example:
      "kubelet exits: failed to validate kubelet flags: unknown 'kubernetes.io' or 'k8s.io' labels specified with --node-labels: [node-role.kubernetes.io/worker]",
  }),
  ...ends('locked-gate', 84, {
    what: /.{0,400}cannot set feature gate (\w+) to (\w+), feature is locked to (\w+)/,
    says: '$1 exits: its feature gate $2 cannot be $3, because this release locks it to $4.',
    remedy: 'Remove the feature gate $2 from the document.',
    reference: 'k/k component-base/featuregate/feature_gate.go (read in 1.34 and 1.36)',
    example: 'cannot set feature gate ImageVolume to false, feature is locked to true',
  }),
  ...ends('credential-provider', 84, {
    what: /.{0,400}plugin binary (?:directory|executable) (\S*) ?did not exist/,
    says: '$1 exits: the program of an image credential provider does not exist ($2).',
    remedy:
      "Install the provider's program, and set both image-credential-provider-bin-dir and image-credential-provider-config of the kubelet.",
    reference: 'k/k pkg/credentialprovider/plugin/plugin.go (read in 1.34 and 1.36)',
    example: 'Failed to register CRI auth plugins: plugin binary directory /opt/providers did not exist',
  }),
  ...ends('limited-swap', 84, {
    what: /.{0,200}swap feature is enabled and LimitedSwap but it is only supported with (cgroupv2)/,
    says: '$1 exits: it supports LimitedSwap only with cgroup v2.',
    remedy: `Take memorySwap out of the kubelet configuration, or boot the machine with cgroup v2. ${BOOT}`,
    reference: 'k/k pkg/kubelet/cm/container_manager_linux.go (read in 1.36)',
    example: 'swap feature is enabled and LimitedSwap but it is only supported with cgroupv2',
  }),
  end('end-reserved-cgroup', 'ContainerManagerFailed', 119, {
    pattern:
      /^kubelet exits: .{0,100}Failed to enforce (System|Kube) Reserved Cgroup Limits on "([^"]{1,200})": (.{1,600})/,
    says: 'The kubelet cannot enforce the resources that are reserved for the cgroup $2, and exits: $3.',
    remedy:
      'Enforce only pods: set enforceNodeAllocatable to [pods] in the kubelet configuration, and remove systemReservedCgroup and kubeReservedCgroup. Or create the cgroup $2 in every controller before the kubelet starts; cgroup v2 has one hierarchy for all.',
    reference: 'k/k pkg/kubelet/cm/node_container_manager_linux.go',
    example:
      'kubelet exits: Failed to start ContainerManager: Failed to enforce System Reserved Cgroup Limits on "/system.slice": cgroup ["system"] has some missing paths: /sys/fs/cgroup/hugetlb/system.slice, /sys/fs/cgroup/cpuset/system.slice',
  }),
  end('end-container-manager', 'ContainerManagerFailed', 82, {
    pattern: /^kubelet exits: Failed to start ContainerManager: (.{1,600})/,
    says: 'The kubelet cannot set up its cgroups, and exits: $1.',
    remedy:
      'Correct what the message names: mount the cgroup controllers that are missing, or create the reserved cgroup.',
    reference: 'k/k pkg/kubelet/kubelet.go initializeRuntimeDependentModules; kubernetes/kubernetes#90710',
    example:
      'kubelet exits: Failed to start ContainerManager: system validation failed - Following Cgroup subsystem not mounted: [cpuset]',
  }),
  ...ends('admission-plugin', 84, {
    what: /.{0,300}(?:failed to initialize admission plugin |enable-admission-plugins plugin )"([\w-]{1,80})":? (.{1,600})/,
    says: '$1 exits: its admission plug-in $2 cannot start: $3.',
    remedy: "Correct the plug-in's name or its configuration (kubernetes.controlPlane.apiServer), as the message says.",
    reference: 'k/k apiserver/pkg/admission/plugins.go; plugin/pkg/admission (read in 1.36)',
    example:
      'failed to apply admission: failed to initialize admission plugin "PodSecurity": PodSecurity configuration error: enforce: must be one of privileged, baseline, restricted',
  }),
  end('end-file-missing', 'ComponentFileMissing', 83, {
    pattern:
      /^(kubelet|etcd|kube-[a-z-]+|container) exits: .{0,600}(?:open|stat|lstat|read|evalsymlink failure on) "?(\/[^\s":]{1,400})"?:? (?:.{0,200})no such file or directory/,
    says: '$1 exits: the file $2 does not exist.',
    remedy:
      'Write $2 with host.files. A component of the control plane also needs it in its volumes (kubernetes.controlPlane).',
    reference: 'Go os.PathError; component-base cli/run.go',
    example:
      'kubelet exits: failed to initialize kubelet: open /etc/kubernetes/kubelet-tls.crt: no such file or directory',
  }),
  end('end-address', 'AdvertiseAddressNotLocal', 117, {
    pattern:
      /^(kubelet|etcd|kube-[a-z-]+|container) exits: .{0,600}listen tcp[46]? (\S{1,80}): bind: cannot assign requested address/,
    says: '$1 exits: no interface of this machine has the address of $2.',
    remedy:
      'Correct the address in the document (the advertise address, or the address of the component), or provision once the interface has it: `ip -brief address`.',
    reference: 'Go net; bind(2) EADDRNOTAVAIL',
    example: 'etcd exits: discovery failed: listen tcp 10.0.0.99:2380: bind: cannot assign requested address',
  }),
  end('end-program-missing', 'MissingExecutable', 83, {
    pattern:
      /^(kubelet|containerd|etcd|kube-[a-z-]+|container) exits: .{0,600}exec: "([^"]{1,200})": executable file not found/,
    says: '$1 exits: the program $2 does not exist.',
    remedy: 'Install $2 in the image, in a directory of the PATH of the service.',
    reference: 'Go os/exec ErrNotFound',
    example: 'kubelet exits: failed to run plugin: exec: "mount.helper": executable file not found in $PATH',
  }),
  {
    ...end('end-component-context-deadline', 'ControlPlaneComponentNotHealthy', 59, {
      pattern: /^(kube-apiserver|container) exits: (?:.{0,200}: )?context deadline exceeded$/,
      says: '$1 exits, because etcd does not answer it in time.',
      remedy:
        'Look at etcd (`crictl ps -a --name etcd`): whether it runs, has a leader and a fast disk, and at packet filters on port 2379.',
      reference: 'k/k apiserver/pkg/storage/storagebackend/factory/etcd3.go (1.20 to 1.36)',
      example: 'kube-apiserver exits: context deadline exceeded',
    }),
    kind: 'generic',
  },
  ...ends('with-error', 57, {
    what: /(?!again and again \(CrashLoopBackOff\))(.+)/,
    says: '$1 exits: $2.',
    remedy: 'Correct what the message of $1 names, then provision again.',
    reference: 'component-base cli/run.go; k/k cmd/kubelet/app/server.go',
    example: 'cannot create listener: permission denied',
  }),
  ...(['etcd', 'kube-[a-z-]+'] as const).map(
    (names): TopicEntry => ({
      ...end(names === 'etcd' ? 'end-etcd-again' : 'end-component-again', 'StaticPodCrashLoop', 52, {
        pattern: new RegExp(`^(${names}) exits again and again \\(CrashLoopBackOff\\)$`),
        says: '$1 exits again and again.',
        remedy:
          'Find how it ended: `crictl ps -a --name $1`, then `crictl inspect ID`. An exit code above 128 is a signal from outside: a failing probe, a lack of memory, a security agent, an administrator.',
        reference: 'k/k pkg/kubelet/kuberuntime; kubernetes/minikube#10013',
        example: `${names === 'etcd' ? 'etcd' : 'kube-apiserver'} exits again and again (CrashLoopBackOff)`,
      }),
      kind: 'generic',
    }),
  ),
];

type Details = Pick<TopicEntry, 'pattern' | 'says' | 'remedy' | 'reference' | 'example'>;

function end(id: string, reason: TopicEntry['reason'], priority: number, details: Details): TopicEntry {
  return {
    id,
    source: 'end',
    only: true,
    kind: 'cause',
    reason,
    priority,
    retryable: false,
    cleanup: 'reset',
    ...details,
  };
}

/** The same error of the kubelet, of a component of the control plane and of containerd. */
function ends(
  id: string,
  priority: number,
  { what, example, ...details }: Omit<Details, 'pattern'> & { readonly what: RegExp },
): readonly TopicEntry[] {
  return ENDED.map(([who, names, reason, name]) => ({
    ...end(`end-${who}-${id}`, reason, priority, {
      ...details,
      pattern: new RegExp(`^(${names}) exits: ${what.source}`),
      example: `${name} exits: ${example}`,
    }),
    kind: priority >= LOWEST_CAUSE ? 'cause' : 'generic',
    cleanup: who === 'containerd' ? 'none' : 'reset',
  }));
}
