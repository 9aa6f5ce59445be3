import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { formatDiagnostic, formatWarning } from '@machineadm/document/diagnostics/index.ts';
import { load, loaded, problemsOf } from '../../support/document.ts';

const init = (more: string, version = 'v1.35.2'): string =>
  `kubernetes: {version: ${version}, role: InitControlPlane, ${more}}\n`;
const cluster = (more: string, version?: string): string => init(`cluster: {${more}}`, version);
const manager = (...args: string[]): string =>
  `controlPlane: {controllerManager: {args: [${args.map((text) => `{name: ${text.split('=')[0]}, value: "${text.split('=')[1]}"}`).join(', ')}]}}`;
const worker = (more: string): string =>
  `kubernetes: {version: v1.35.2, role: Worker, join: {discovery: {token: {token: abcdef.0123456789abcdef, endpoint: "A.example:6443", unsafeSkipCAVerification: true}}}, ${more}}\n`;

/** One refusal: what it is about, the document, and the whole line that is told. */
type Case = readonly [string, string, string];

function refuses(cases: readonly Case[]): void {
  for (const [what, body, expected] of cases) {
    test(`refused: ${what}`, async () => {
      assert.deepEqual(
        (await problemsOf(body)).map((line) => line.replace(/^\S+\s+/, '')),
        [expected],
      );
    });
  }
}

function accepts(cases: readonly (readonly [string, string])[]): void {
  for (const [what, body] of cases) {
    test(`accepted: ${what}`, async () => {
      assert.deepEqual(await problemsOf(body), []);
    });
  }
}

describe('subnets', () => {
  const form = 'is not a subnet (hint: an address and the length of its prefix, at most /32 (IPv4) or /128 (IPv6))';
  const two = '(hint: give one subnet, or one IPv4 and one IPv6 subnet)';
  const service =
    'kubernetes.cluster.serviceSubnets[0]: too large: kubeadm and the API server take a service subnet of at most 20 bits';
  refuses([
    [
      'an impossible address',
      cluster('podSubnets: [999.999.0.0/99]'),
      `kubernetes.cluster.podSubnets[0]: "999.999.0.0/99" ${form}`,
    ],
    [
      'a prefix above /32',
      cluster('serviceSubnets: [10.0.0.0/33]'),
      `kubernetes.cluster.serviceSubnets[0]: "10.0.0.0/33" ${form}`,
    ],
    [
      'a prefix above /128',
      cluster('podSubnets: ["fd00::/129"]'),
      `kubernetes.cluster.podSubnets[0]: "fd00::/129" ${form}`,
    ],
    [
      'two gaps in an address',
      cluster('podSubnets: ["fd00::1::/64"]'),
      `kubernetes.cluster.podSubnets[0]: "fd00::1::/64" ${form}`,
    ],
    [
      'two subnets of one family',
      cluster('podSubnets: [10.0.0.0/16, 10.1.0.0/16]'),
      `kubernetes.cluster.podSubnets[1]: a second IPv4 subnet: kubeadm takes one of each family ${two}`,
    ],
    [
      'three subnets',
      cluster('serviceSubnets: [10.0.0.0/16, "fd00::/112", 10.1.0.0/16]'),
      `kubernetes.cluster.serviceSubnets[2]: kubeadm takes at most two subnets ${two}`,
    ],
    ['a service subnet of /8', cluster('serviceSubnets: [10.0.0.0/8]'), `${service} (hint: a prefix of /12 or longer)`],
    [
      'an IPv6 service subnet of /64',
      cluster('serviceSubnets: ["fd00::/64"]'),
      `${service} (hint: a prefix of /108 or longer)`,
    ],
    [
      'a service subnet of eight addresses',
      cluster('serviceSubnets: [10.0.0.0/29]'),
      'kubernetes.cluster.serviceSubnets[0]: too small: kubeadm wants 10 addresses (hint: a shorter prefix)',
    ],
    [
      "a pod subnet smaller than a node's",
      cluster('podSubnets: [10.0.0.0/25]'),
      'kubernetes.cluster.podSubnets[0]: too small: a node alone takes a /24 (hint: another subnet, or the argument node-cidr-mask-size-ipv4 of kubernetes.controlPlane.controllerManager)',
    ],
    [
      'a pod subnet for more than 65,536 nodes',
      cluster('podSubnets: ["fd00::/47"], serviceSubnets: ["fd01::/112"]'),
      'kubernetes.cluster.podSubnets[0]: too large: the subnets of the nodes are /64, and may be at most 16 bits longer (hint: another subnet, or the argument node-cidr-mask-size-ipv6 of kubernetes.controlPlane.controllerManager)',
    ],
    [
      'an impossible subnet of a cluster that is joined',
      worker('cluster: {podSubnets: [300.0.0.0/16]}'),
      `kubernetes.cluster.podSubnets[0]: "300.0.0.0/16" ${form}`,
    ],
  ]);
  accepts([
    ['the largest', cluster('podSubnets: [10.0.0.0/8, "fd00::/48"], serviceSubnets: [172.16.0.0/12, "fd01::/108"]')],
    ['the smallest', cluster('podSubnets: [10.0.0.0/24, "fd00::/64"], serviceSubnets: [10.1.0.0/28, "fd01::/124"]')],
    [
      'smaller subnets for the nodes',
      init(`cluster: {podSubnets: [10.0.0.0/25]}, ${manager('node-cidr-mask-size-ipv4=26')}`),
    ],
    ['no subnets for the nodes', init(`cluster: {podSubnets: [10.0.0.0/27]}, ${manager('allocate-node-cidrs=false')}`)],
    [
      'the old argument before 1.24',
      init(`cluster: {podSubnets: [10.0.0.0/25]}, ${manager('node-cidr-mask-size=25')}`, 'v1.20.2'),
    ],
    ['host bits', cluster('podSubnets: [10.0.0.5/16]')],
    [
      'neighbours',
      cluster('podSubnets: [10.0.0.0/16, "fd00::/56"], serviceSubnets: [10.1.0.0/16, "fd00:0:0:100::/112"]'),
    ],
    ['of a cluster that another tool made', worker('cluster: {serviceSubnets: [10.0.0.0/8]}')],
  ]);
});

describe('endpoints and names', () => {
  const host =
    'the host is neither an IP address nor a DNS name in lower case (RFC 1123) (hint: such as api.example:6443)';
  const name =
    'neither an IP address nor a DNS name (RFC 1123), with or without "*." before it (hint: write it without scheme and port)';
  refuses([
    ['port 0', cluster('controlPlaneEndpoint: "a:0"'), 'kubernetes.cluster.controlPlaneEndpoint: the port is 0'],
    ['capitals', cluster('controlPlaneEndpoint: "A.example:6443"'), `kubernetes.cluster.controlPlaneEndpoint: ${host}`],
    [
      'no address in brackets',
      cluster('controlPlaneEndpoint: "[1:2]:6443"'),
      `kubernetes.cluster.controlPlaneEndpoint: ${host}`,
    ],
    [
      'a name for a certificate with a blank',
      init('controlPlane: {apiServer: {certSANs: [a, "a b"]}}'),
      `kubernetes.controlPlane.apiServer.certSANs[1]: ${name}`,
    ],
    [
      'a name with a port',
      init('controlPlane: {etcd: {local: {peerCertSANs: ["a:2380"]}}}'),
      `kubernetes.controlPlane.etcd.local.peerCertSANs[0]: ${name}`,
    ],
    [
      'capitals in a name of etcd',
      init('controlPlane: {etcd: {local: {serverCertSANs: [A.example]}}}'),
      `kubernetes.controlPlane.etcd.local.serverCertSANs[0]: ${name}`,
    ],
    [
      'an external etcd over http',
      init(
        'controlPlane: {etcd: {external: {endpoints: ["https://a:2379", "http://b:2379"], caFile: /a, certFile: /b, keyFile: /c}}}',
      ),
      'kubernetes.controlPlane.etcd.external.endpoints[1]: not an https URL (hint: such as https://10.0.0.20:2379)',
    ],
    [
      'an authority that kubeadm join does not take',
      worker('').replace('join: {', 'join: {caCertPath: /srv/ca.pem, ').replace(', }', '}'),
      'kubernetes.join.caCertPath: kubeadm takes only a path that ends in ".crt" (hint: /etc/kubernetes/pki/ca.crt)',
    ],
    [
      'a bootstrap group that ends in a dash',
      cluster('bootstrapTokens: [{token: abcdef.0123456789abcdef, groups: ["system:bootstrappers:a-"]}]'),
      'kubernetes.cluster.bootstrapTokens[0].groups[0]: the name of a bootstrap group ends in a letter or a digit, after at most 255 others',
    ],
    [
      'all preflight checks and one more',
      init('bootstrapper: {kubeadm: {ignorePreflightErrors: [ALL, Swap]}}'),
      'kubernetes.bootstrapper.kubeadm.ignorePreflightErrors[1]: kubeadm takes no other name beside "all" (hint: remove it, or remove "all")',
    ],
  ]);
  accepts([
    ['a name that only looks like an address', cluster('controlPlaneEndpoint: "999.999.0.0:6443"')],
    ['an address in brackets', cluster('controlPlaneEndpoint: "[fd00::1]:6443"')],
    [
      'names for certificates',
      init('controlPlane: {apiServer: {certSANs: [A.example, "*.example", 10.0.0.1, "::1", 999.1.1.1]}}'),
    ],
    ['"all" in two ways of writing', init('bootstrapper: {kubeadm: {ignorePreflightErrors: [all, ALL]}}')],
    ['capitals in the endpoint of a join', worker('')],
  ]);
});

describe('feature gates of kubeadm', () => {
  const gate = (name: string, version: string, value = true) => cluster(`featureGates: {${name}: ${value}}`, version);
  const field = 'kubernetes.cluster.featureGates';
  refuses([
    [
      'EtcdLearnerMode, removed',
      gate('EtcdLearnerMode', 'v1.33.0', false),
      `${field}.EtcdLearnerMode: kubeadm 1.33 does not know this feature gate: it was removed in 1.33 (hint: remove it)`,
    ],
    [
      'WaitForAllControlPlaneComponents, removed',
      gate('WaitForAllControlPlaneComponents', 'v1.35.0', false),
      `${field}.WaitForAllControlPlaneComponents: kubeadm 1.35 does not know this feature gate: it was removed in 1.35 (hint: remove it)`,
    ],
    [
      'a gate long before its time',
      gate('NodeLocalCRISocket', 'v1.30.0'),
      `${field}.NodeLocalCRISocket: kubeadm 1.30 does not know this feature gate: it came with 1.32 (hint: remove it, or raise kubernetes.version)`,
    ],
    [
      'a mistyped gate',
      gate('EtcdLearnerMod', 'v1.32.0'),
      `${field}.EtcdLearnerMod: kubeadm 1.32 has no such feature gate (hint: did you mean "EtcdLearnerMode"?)`,
    ],
    [
      'a gate of the components',
      gate('SidecarContainers', 'v1.32.0'),
      `${field}.SidecarContainers: kubeadm 1.32 has no such feature gate (hint: write it as the argument feature-gates of the components that have it)`,
    ],
  ]);
  const both = (algorithm: string, value: boolean, version?: string) =>
    cluster(`encryptionAlgorithm: ${algorithm}, featureGates: {PublicKeysECDSA: ${value}}`, version);
  const hides = (algorithm: string, value: boolean, made: string): string =>
    `${field}.PublicKeysECDSA: with ${value}, kubeadm makes ${made} keys, and ignores kubernetes.cluster.encryptionAlgorithm ${algorithm} (hint: remove the gate)`;
  refuses([
    ['no ECDSA keys beside ECDSA', both('ECDSA-P256', false), hides('ECDSA-P256', false, 'RSA-2048')],
    ['ECDSA keys beside RSA', both('RSA-3072', true, 'v1.30.0'), hides('RSA-3072', true, 'ECDSA-P256')],
    ['ECDSA keys of another curve', both('ECDSA-P384', true), hides('ECDSA-P384', true, 'ECDSA-P256')],
  ]);
  accepts([
    ['the gate and the field that say the same', both('ECDSA-P256', true)],
    ['the gate and the field that say the same of RSA', both('RSA-2048', false, 'v1.36.2')],
    ['EtcdLearnerMode in its last minor', gate('EtcdLearnerMode', 'v1.32.9')],
    ['EtcdLearnerMode after it, as kubeadm does anyway', gate('EtcdLearnerMode', 'v1.33.0')],
    ['a gate of the next minor, whose kubeadm may be there', gate('NodeLocalCRISocket', 'v1.31.0')],
    ['PublicKeysECDSA', gate('PublicKeysECDSA', 'v1.36.0')],
    ['RootlessControlPlane', gate('RootlessControlPlane', 'v1.36.3')],
    ['a name after the newest minor that is known', gate('SomethingNew', 'v1.38.0')],
    ['on a machine that joins, where it is not read', worker('cluster: {featureGates: {EtcdLearnerMode: true}}')],
  ]);
});

describe("the kubelet's configuration", () => {
  const config = (text: string, version = 'v1.36.2') => init(`node: {kubelet: {config: {${text}}}}`, version);
  const patch = (text: string) =>
    init(`bootstrapper: {kubeadm: {patches: [{target: kubeletconfiguration, ${text}}]}}`, 'v1.36.2');
  const at = 'kubernetes.node.kubelet.config';
  const patched = 'kubernetes.bootstrapper.kubeadm.patches[0].patch';
  // A real kubeadm 1.36.2 refused each kind of these: unknown field, or "cannot unmarshal".
  refuses([
    [
      'a mistyped field',
      config('maxPod: 5'),
      `${at}.maxPod: the kubelet 1.36 has no field "maxPod" here (hint: did you mean "maxPods"?)`,
    ],
    [
      'a mistyped field of a part',
      config('authentication: {anonymus: {enabled: false}}'),
      `${at}.authentication.anonymus: the kubelet 1.36 has no field "anonymus" here (hint: did you mean "anonymous"?)`,
    ],
    ['a number in quotes', config('maxPods: "5"'), `${at}.maxPods: must be a whole number (hint: remove the quotes)`],
    [
      'a number as a duration',
      config('syncFrequency: 5'),
      `${at}.syncFrequency: must be a duration, such as "10s" or "1h30m"`,
    ],
    [
      'a day as a duration',
      config('imageMaximumGCAge: 7d'),
      `${at}.imageMaximumGCAge: must be a duration, such as "10s" or "1h30m"`,
    ],
    [
      'a text that is a number',
      config('clusterDomain: 5'),
      `${at}.clusterDomain: must be a text (hint: write it in quotes)`,
    ],
    ['a text instead of a list', config('clusterDNS: 10.96.0.10'), `${at}.clusterDNS: must be a list`],
    [
      'true in quotes',
      config('failSwapOn: "false"'),
      `${at}.failSwapOn: must be true or false (hint: remove the quotes)`,
    ],
    [
      'a number in a map of texts',
      config('evictionHard: {memory.available: 5}'),
      `${at}.evictionHard["memory.available"]: must be a text (hint: write it in quotes)`,
    ],
    [
      'a field that came later',
      config('crashLoopBackOff: {maxContainerRestartPeriod: 10s}', 'v1.31.4'),
      `${at}.crashLoopBackOff: the kubelet has had crashLoopBackOff since 1.32 (hint: remove it, or raise kubernetes.version)`,
    ],
    [
      'a field of a list of objects',
      config('reservedMemory: [{numaNode: "0"}]'),
      `${at}.reservedMemory[0].numaNode: must be a whole number (hint: remove the quotes)`,
    ],
    [
      'a mistyped field in a patch',
      patch('patch: {failcgroupv1: false}'),
      `${patched}.failcgroupv1: the kubelet 1.36 has no field "failcgroupv1" here (hint: did you mean "failCgroupV1"?)`,
    ],
    [
      'a mistyped path in a JSON patch',
      patch('type: json, patch: [{op: add, path: /maxPod, value: 5}]'),
      `${patched}[0].path: the kubelet 1.36 has no field "maxPod" here (hint: did you mean "maxPods"?)`,
    ],
    [
      'a value in a JSON patch',
      patch('type: json, patch: [{op: add, path: /maxPods, value: "5"}]'),
      `${patched}[0].value: must be a whole number (hint: remove the quotes)`,
    ],
  ]);
  accepts([
    [
      'every kind',
      config(
        'maxPods: 5, syncFrequency: 1m30s, clusterDNS: [10.96.0.10], evictionHard: {memory.available: 5%}, failSwapOn: false, memorySwap: {swapBehavior: LimitedSwap}, logging: {format: json, flushFrequency: 5s}, registerWithTaints: [{key: a, effect: NoSchedule}]',
      ),
    ],
    ['a field that a patch removes', patch('patch: {maxPods: null, $patch: merge}')],
    ['what is not known of an old or a new minor', config('somethingOld: 1', 'v1.29.0')],
    ['what a newer minor may have', config('somethingNew: 1', 'v1.37.0')],
  ]);
});

describe('feature gates and flags of components', () => {
  const args = (component: string, name: string, value: string, version = 'v1.35.2') =>
    init(`controlPlane: {${component}: {args: [{name: ${name}, value: "${value}"}]}}`, version);
  const kubelet = (name: string, value: string, version = 'v1.35.2') =>
    init(`node: {kubelet: {args: [{name: ${name}, value: "${value}"}]}}`, version);
  const kubeletArgument = 'kubernetes.node.kubelet.args[0]';
  refuses([
    [
      'a gate that was removed',
      args('apiServer', 'feature-gates', 'SizeMemoryBackedVolumes=true'),
      'kubernetes.controlPlane.apiServer.args[0].value: kube-apiserver 1.35 does not start with this: the feature gate SizeMemoryBackedVolumes was removed in 1.35 (hint: remove it)',
    ],
    [
      'a gate that is not there yet, as the second one',
      args('scheduler', 'feature-gates', 'LoggingBetaOptions=true,GangScheduling=true', 'v1.34.0'),
      'kubernetes.controlPlane.scheduler.args[0].value: kube-scheduler 1.34 does not start with this: the feature gate GangScheduling came with 1.35 (hint: remove it, or raise kubernetes.version)',
    ],
    [
      'a gate that is locked',
      init('node: {kubelet: {config: {featureGates: {NodeSwap: false}}}}'),
      'kubernetes.node.kubelet.config.featureGates.NodeSwap: kubelet 1.35 does not start with this: the feature gate NodeSwap is locked to true since 1.34 (hint: remove it)',
    ],
    [
      'a mistyped gate',
      init('addons: {proxy: {config: {featureGates: {NFTablesProxymode: true}}}}', 'v1.30.0'),
      'kubernetes.addons.proxy.config.featureGates.NFTablesProxymode: kube-proxy 1.30 does not start with this: there is no feature gate NFTablesProxymode (hint: did you mean "NFTablesProxyMode"?)',
    ],
    [
      'a gate that the minor before had',
      args('controllerManager', 'feature-gates', 'TopologyAwareHints=true', 'v1.36.0'),
      'kubernetes.controlPlane.controllerManager.args[0].value: kube-controller-manager 1.36 does not start with this: the feature gate TopologyAwareHints was removed in 1.36 (hint: remove it)',
    ],
    [
      'a gate of which only the latest end is known',
      args('controllerManager', 'feature-gates', 'CronJobTimeZone=true', 'v1.31.0'),
      'kubernetes.controlPlane.controllerManager.args[0].value: kube-controller-manager 1.31 does not start with this: the feature gate CronJobTimeZone was removed in 1.31 or before (hint: remove it)',
    ],
    // The sources of 1.36.3; a real API server 1.36.2 refused each of these.
    ...[
      ...[
        'DRAAdminAccess',
        'DeclarativeValidation',
        'DisableNodeKubeProxyVersion',
        'ExternalServiceAccountTokenSigner',
      ],
      ...['ImageVolume', 'KubeletPSI', 'KubeletPodResourcesDynamicResources', 'KubeletPodResourcesGet'],
      ...['MutableCSINodeAllocatableCount', 'NodeLogQuery', 'ProcMountType', 'SELinuxChangePolicy'],
      ...['SELinuxMountReadWriteOncePod', 'UserNamespacesSupport'],
    ].map((name): [string, string, string] => [
      `${name}, which 1.36 locks`,
      args('apiServer', 'feature-gates', `${name}=false`, 'v1.36.2'),
      `kubernetes.controlPlane.apiServer.args[0].value: kube-apiserver 1.36 does not start with this: the feature gate ${name} is locked to true since 1.36 (hint: remove it)`,
    ]),
    ...['HonorPVReclaimPolicy', 'InPlacePodVerticalScalingAllocatedStatus'].map((name): [string, string, string] => [
      `${name}, which 1.36 removed`,
      args('apiServer', 'feature-gates', `${name}=true`, 'v1.36.2'),
      `kubernetes.controlPlane.apiServer.args[0].value: kube-apiserver 1.36 does not start with this: the feature gate ${name} was removed in 1.36 (hint: remove it)`,
    ]),
    ...['GitRepoVolumeDriver', 'SeparateCacheWatchRPC'].map((name): [string, string, string] => [
      `${name}, which 1.36 locks to false`,
      init(`node: {kubelet: {config: {featureGates: {${name}: true}}}}`, 'v1.36.2'),
      `kubernetes.node.kubelet.config.featureGates.${name}: kubelet 1.36 does not start with this: the feature gate ${name} is locked to false since 1.36 (hint: remove it)`,
    ]),
    [
      'a gate without a value',
      kubelet('feature-gates', 'NodeSwap'),
      `${kubeletArgument}.value: not feature gates, such as "A=true,B=false"`,
    ],
    [
      'a gate in a patch',
      init(
        'bootstrapper: {kubeadm: {patches: [{target: kubeletconfiguration, patch: {featureGates: {AppArmor: true}}}]}}',
      ),
      'kubernetes.bootstrapper.kubeadm.patches[0].patch.featureGates.AppArmor: kubelet 1.35 does not start with this: the feature gate AppArmor was removed in 1.33 (hint: remove it)',
    ],
    [
      "the kubelet's pause image",
      kubelet('pod-infra-container-image', 'registry.example/pause:3.10'),
      `${kubeletArgument}.name: kubelet 1.35 does not start with --pod-infra-container-image: it was removed in 1.35 (hint: remove it, and write containerRuntime.containerd.sandboxImage)`,
    ],
    [
      'the container runtime of old',
      kubelet('container-runtime', 'remote', 'v1.27.0'),
      `${kubeletArgument}.name: kubelet 1.27 does not start with --container-runtime: it was removed in 1.27 (hint: remove it)`,
    ],
    [
      'logging to files',
      args('scheduler', 'logtostderr', 'true', 'v1.26.0'),
      'kubernetes.controlPlane.scheduler.args[0].name: kube-scheduler 1.26 does not start with --logtostderr: it was removed in 1.26 (hint: remove it: components log to stderr)',
    ],
    [
      'the cloud provider aws',
      kubelet('cloud-provider', 'aws', 'v1.27.0'),
      `${kubeletArgument}.value: kubelet 1.27 has no built-in cloud providers: they were removed in 1.27 (hint: write external, and run its controller manager)`,
    ],
    [
      'another cloud provider',
      kubelet('cloud-provider', 'gce', 'v1.29.0'),
      `${kubeletArgument}.value: kubelet 1.29 has no built-in cloud providers: they were removed in 1.29 (hint: write external, and run its controller manager)`,
    ],
  ]);
  accepts([
    ['a gate in its last minor', args('apiServer', 'feature-gates', 'SizeMemoryBackedVolumes=true', 'v1.34.0')],
    ['a locked gate, as it is locked', args('apiServer', 'feature-gates', 'kube:NodeSwap=true, AllAlpha=T,')],
    ['a gate that 1.20 had', args('apiServer', 'feature-gates', 'IPv6DualStack=true', 'v1.20.2')],
    ['a gate of a minor that may have new ones', args('apiServer', 'feature-gates', 'SomethingNew=true', 'v1.37.0')],
    ['the pause image before 1.35', kubelet('pod-infra-container-image', 'registry.example/pause:3.9', 'v1.34.0')],
    ['an external cloud provider', kubelet('cloud-provider', 'external')],
    [
      'a cloud provider that is switched on again',
      init(
        'node: {kubelet: {args: [{name: cloud-provider, value: gce}, {name: feature-gates, value: DisableCloudProviders=false}]}}',
        'v1.30.0',
      ),
    ],
    ['the argument of another component', args('apiServer', 'pod-infra-container-image', 'a')],
  ]);
});

describe('modes of kube-proxy', () => {
  const mode = (text: string, version: string, more = '') =>
    init(`addons: {proxy: {config: {mode: "${text}"${more}}}}`, version);
  const field = 'kubernetes.addons.proxy.config.mode';
  refuses([
    [
      'nftables before 1.29',
      mode('nftables', 'v1.28.0'),
      `${field}: kube-proxy 1.28 has no mode "nftables" on Linux (hint: one of iptables, ipvs)`,
    ],
    [
      'nftables without its gate',
      mode('nftables', 'v1.30.0'),
      `${field}: kube-proxy 1.30 has the mode nftables only with its feature gate (hint: add featureGates: {NFTablesProxyMode: true}, or use Kubernetes 1.31)`,
    ],
    [
      'userspace from 1.26 on',
      mode('userspace', 'v1.26.0'),
      `${field}: kube-proxy 1.26 has no mode "userspace" on Linux (hint: one of iptables, ipvs)`,
    ],
    [
      'the mode of Windows',
      mode('kernelspace', 'v1.33.0'),
      `${field}: kube-proxy 1.33 has no mode "kernelspace" on Linux (hint: one of iptables, ipvs, nftables)`,
    ],
  ]);
  accepts([
    ['nftables from 1.31 on', mode('nftables', 'v1.31.0')],
    ['nftables with its gate', mode('nftables', 'v1.29.0', ', featureGates: {NFTablesProxyMode: true}')],
    ['userspace in 1.20', mode('userspace', 'v1.20.2')],
    ['the default', mode('', 'v1.35.0')],
  ]);
});

describe('nodes', () => {
  const refused = 'the kubelet does not start with labels of kubernetes.io and k8s.io that are not its own';
  const outside = '(hint: move it to kubernetes.node.labels, which are set after the join)';
  const value = '(hint: at most 63 letters, digits, "-", "_" and ".", with a letter or digit at both ends)';
  refuses([
    [
      'a restricted label',
      worker('node: {kubelet: {args: [{name: node-labels, value: "a=b,node-restriction.kubernetes.io/x=1"}]}}'),
      `kubernetes.node.kubelet.args[0].value: node-restriction.kubernetes.io/x: ${refused} ${outside}`,
    ],
    [
      'a taint without a name',
      worker('node: {taints: [{key: "example.org/", effect: NoSchedule}]}'),
      'kubernetes.node.taints[0].key: not a valid taint key (hint: such as example.org/dedicated)',
    ],
    [
      'a taint with a blank in its value',
      worker('node: {taints: [{key: a, value: "b c", effect: NoSchedule}]}'),
      `kubernetes.node.taints[0].value: not a valid taint value ${value}`,
    ],
    [
      'a taint twice',
      worker('node: {taints: [{key: a, effect: NoSchedule}, {key: a, value: b, effect: NoSchedule}]}'),
      'kubernetes.node.taints[1]: the same key and effect as kubernetes.node.taints[0] (doc.yaml:4:184) (hint: keep one of them)',
    ],
    [
      'a volume with a dot in its name',
      init('controlPlane: {scheduler: {volumes: [{name: a.b, hostPath: /a, mountPath: /a}]}}'),
      'kubernetes.controlPlane.scheduler.volumes[0].name: not the name of a volume (hint: at most 63 lower-case letters, digits and "-")',
    ],
  ]);
  accepts([
    [
      'labels that a kubelet may have',
      worker(
        'node: {labels: {node.kubernetes.io/pool: a, topology.kubernetes.io/zone: b, example.org/x: c, a.kubelet.kubernetes.io/y: d, xk8s.io/z: e}}',
      ),
    ],
    [
      'one key with two effects',
      worker('node: {taints: [{key: example.org/a, effect: NoSchedule}, {key: example.org/a, effect: NoExecute}]}'),
    ],
  ]);
});

describe('control characters', () => {
  refuses([
    [
      'NUL in an argument',
      init('controlPlane: {scheduler: {args: [{name: a, value: "b\\0c"}]}}'),
      'kubernetes.controlPlane.scheduler.args[0].value: a control character, U+0000, after 1 others (hint: remove it)',
    ],
    [
      'DEL in a name, which go-yaml refuses',
      cluster('name: "a\\x7f"'),
      'kubernetes.cluster.name: a control character, U+007F, after 1 others (hint: remove it)',
    ],
    [
      'a line break in an argument of the kubelet',
      worker('node: {kubelet: {args: [{name: a, value: "b\\nc"}]}}'),
      'kubernetes.node.kubelet.args[0].value: a line break: kubeadm writes the arguments of the kubelet as one line',
    ],
  ]);
  accepts([
    ['line breaks and tabs elsewhere', init('controlPlane: {scheduler: {args: [{name: a, value: "b\\n\\tc"}]}}')],
  ]);
});

describe('a warning is given', () => {
  const HEADER = 'apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\nmetadata: {name: n1}\n';
  const warningsOf = async (body: string): Promise<string[]> => {
    const result = await load(HEADER + body);
    if (!result.ok) assert.fail(result.problems.map(formatDiagnostic).join('\n'));
    return result.document.warnings.map((warning) => formatWarning(warning).replace(/^warning: \S+\s+/, ''));
  };
  const tokens = 'cluster: {bootstrapTokens: [{token: abcdef.0123456789abcdef}]}';
  const anonymous = (text: string) =>
    `controlPlane: {apiServer: {authentication: {structured: {anonymous: {${text}}}}}}`;
  const field = 'kubernetes.controlPlane.apiServer';
  const message =
    'no machine can join with kubernetes.cluster.bootstrapTokens: their discovery is an anonymous request';
  const cases: readonly (readonly [string, string, readonly string[]])[] = [
    [
      'anonymous paths without cluster-info beside bootstrap tokens',
      init(`${tokens}, ${anonymous('enabled: true, paths: [/livez, /readyz, /healthz]')}`),
      [
        `${field}.authentication.structured.anonymous.paths: ${message} (hint: add /api/v1/namespaces/kube-public/configmaps/cluster-info)`,
      ],
    ],
    [
      'no anonymous requests beside bootstrap tokens',
      init(`${tokens}, controlPlane: {apiServer: {args: [{name: anonymous-auth, value: "false"}]}}`),
      [`${field}.args[0].value: ${message} (hint: use kubernetes.join.discovery.file)`],
    ],
    [
      'serving certificates that something in the cluster must approve',
      init('node: {kubelet: {config: {serverTLSBootstrap: true}}}'),
      [
        'kubernetes.node.kubelet.config.serverTLSBootstrap: nothing in Kubernetes approves the request of the kubelet for a serving certificate: without it, kubectl logs and exec fail (hint: run an approver in the cluster, or approve it with "kubectl certificate approve")',
      ],
    ],
    [
      'a label that a worker may not set',
      worker('node: {labels: {rack: a, node-role.kubernetes.io/worker: ""}}'),
      [
        'kubernetes.node.labels["node-role.kubernetes.io/worker"]: no worker may set this label on its Node: the report of the run names it, until it is set (hint: set it from the management side (kubectl label node, or a label of the Machine in Cluster API))',
      ],
    ],
    ['a label that a control plane sets after the join', init('node: {labels: {node-role.kubernetes.io/a: ""}}'), []],
    [
      'a gate that a newer minor may have',
      init('node: {kubelet: {config: {featureGates: {SomethingNew: true}}}}', 'v1.37.0'),
      [
        'kubernetes.node.kubelet.config.featureGates.SomethingNew: it is not known whether kubelet 1.37 has the feature gate SomethingNew; without it, kubelet does not start (hint: see "kubelet --help")',
      ],
    ],
    [
      'a gate that a newer kubeadm may have',
      cluster('featureGates: {SomethingNew: true}', 'v1.38.0'),
      [
        'kubernetes.version: Kubernetes v1.38.0 is newer than 1.37, the newest minor that this machineadm knows: it is treated like that one, and its images are not known (hint: correct the version, or use a newer machineadm)',
        'kubernetes.cluster.featureGates.SomethingNew: it is not known whether kubeadm 1.38 has this feature gate; without it, kubeadm refuses to run (hint: see "kubeadm init --help")',
      ],
    ],
    ['anonymous paths without bootstrap tokens', init(anonymous('enabled: true, paths: [/livez]')), []],
    [
      'anonymous paths with cluster-info',
      init(
        `${tokens}, ${anonymous('enabled: true, paths: [/livez, /api/v1/namespaces/kube-public/configmaps/cluster-info]')}`,
      ),
      [],
    ],
  ];
  for (const [what, body, expected] of cases) {
    test(`${expected.length === 0 ? 'not for' : 'for'} ${what}`, async () => {
      assert.deepEqual(await warningsOf(body), expected);
    });
  }
});

describe('fields that later versions added', () => {
  const external =
    '{endpoints: ["https://a:2379"], httpEndpoints: ["https://a:2378"], caFile: /a, certFile: /b, keyFile: /c}';
  const etcd = (version: string) => init(`controlPlane: {etcd: {external: ${external}}}`, version);
  const patch = (target: string, version: string) =>
    init(`bootstrapper: {kubeadm: {patches: [{target: ${target}, patch: {a: b}}]}}`, version);
  const hint = '(hint: remove it, or raise kubernetes.version)';
  refuses([
    [
      'HTTP endpoints of etcd',
      etcd('v1.33.0'),
      `kubernetes.controlPlane.etcd.external.httpEndpoints: kubeadm 1.33 does not have this: it came with 1.35 ${hint}`,
    ],
    [
      'patches of kube-proxy',
      patch('kubeproxydaemonset', 'v1.34.0'),
      `kubernetes.bootstrapper.kubeadm.patches[0].target: kubeadm 1.34 does not have this: it came with 1.37 ${hint}`,
    ],
    [
      'an algorithm',
      cluster('encryptionAlgorithm: ECDSA-P384', 'v1.32.0'),
      `kubernetes.cluster.encryptionAlgorithm: kubeadm 1.32 does not have this: it came with 1.34 ${hint}`,
    ],
    [
      'patches of an addon on a machine that joins',
      worker('bootstrapper: {kubeadm: {patches: [{target: corednsdeployment, patch: {a: b}}]}}'),
      'kubernetes.bootstrapper.kubeadm.patches[0].target: corednsdeployment has no effect for the role Worker (hint: remove it)',
    ],
  ]);
  accepts([
    ['of the next minor, whose kubeadm may be there', etcd('v1.34.0')],
    ['of this minor', patch('kubeproxydaemonset', 'v1.37.0')],
  ]);
});

test('each refusal names its place', async () => {
  const body = `kubernetes:
  version: v1.35.2
  role: InitControlPlane
  cluster:
    podSubnets:
      - 10.0.0.0/33
    featureGates:
      EtcdLearnerMode: false
  controlPlane:
    apiServer:
      args:
        - {name: a, value: b}
        - {name: feature-gates, value: AppArmor=true}
`;
  assert.deepEqual(
    (await problemsOf(body)).map((line) => line.split('  ')[0]),
    ['doc.yaml:9:9', 'doc.yaml:11:7', 'doc.yaml:16:40'],
  );
});

test('programs can distinguish an invalid value from one of another version', async () => {
  const codes = async (body: string) => {
    const result = await load(
      `apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\nmetadata: {name: n1}\n${body}`,
    );
    return result.ok ? [] : result.problems.map(({ code }) => code);
  };
  assert.deepEqual(await codes(cluster('podSubnets: [10.0.0.0/33]')), ['RefusedByKubernetes']);
  assert.deepEqual(await codes(cluster('podSubnets: [10.0.0.0/16, 10.1.0.0/16]')), ['RefusedByKubernetes']);
  assert.deepEqual(await codes(cluster('featureGates: {EtcdLearnerMode: false}')), ['UnsupportedVersion']);
  assert.deepEqual(await codes(init('node: {kubelet: {args: [{name: container-runtime, value: remote}]}}')), [
    'UnsupportedVersion',
  ]);
  assert.deepEqual(
    await codes(worker('node: {taints: [{key: a, effect: NoSchedule}, {key: a, effect: NoSchedule}]}')),
    ['Duplicate'],
  );
});

test('thousands of unknown gates cost no more than their suggestions', async () => {
  const flag = (count: number) =>
    init(
      `controlPlane: {scheduler: {args: [{name: feature-gates, value: "${Array.from({ length: count }, (_, at) => `NoGate${at}=true`).join(',')}"}]}}`,
    );
  const problems = await problemsOf(flag(5000));
  assert.equal(problems.filter((line) => line.includes('hint: known: ')).length, 20);
});

test('HTTP endpoints of etcd and patches of addons are in the model', async () => {
  const external =
    '{endpoints: ["https://a:2379"], httpEndpoints: ["https://a:2378"], caFile: /a, certFile: /b, keyFile: /c}';
  const patches = '[{target: corednsdeployment, patch: {metadata: {labels: {a: b}}}}]';
  const body = init(`controlPlane: {etcd: {external: ${external}}}, bootstrapper: {kubeadm: {patches: ${patches}}}`);
  const { kubernetes } = (await loaded(body)).model;
  const etcd = kubernetes?.controlPlane.etcd;
  assert.deepEqual(etcd?.kind === 'external' && etcd.httpEndpoints, ['https://a:2378']);
  assert.equal(kubernetes?.kubeadm.patches[0]?.target, 'corednsdeployment');
});
