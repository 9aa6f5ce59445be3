import { parseVersion } from '@machineadm/document/text/program-version.ts';
import type { Facts } from '../../../src/host/seam/facts.ts';
import type { MemoryMachine } from '../memory-host.ts';

/** A machine and a document with which a run would fail; `plan` and `doctor -f` must name the reason. */
export interface Situation {
  readonly what: string;
  /** Below `apiVersion`, `kind` and `metadata`. */
  readonly document: string;
  readonly machine?: MemoryMachine;
  readonly facts?: Partial<Facts>;
  /** The host step whose changes fail with the same reason if they are made all the same; absent: kubeadm or the kubelet fails. */
  readonly step?: string;
  /** True for a warning: something that is not of the document may still correct it. */
  readonly isWarning?: true;
}

const there = () => ({});
const failing = () => ({ status: 1 });
const UNIT = {
  ...{ loadState: 'loaded', activeState: 'inactive', subState: 'dead', result: 'success', environment: '' },
  ...{ environmentFiles: [], memoryMax: undefined, ended: undefined, restarts: 0 },
  command: ['/usr/bin/kubelet', '--config=/var/lib/kubelet/config.yaml'],
} as const;

const PROGRAMS = {
  ...{ crictl: there, conntrack: there, ip: there, iptables: there, nsenter: there },
  getent: () => ({ stdout: '127.0.0.1 STREAM localhost\n' }),
};
const NODE: MemoryMachine = {
  programs: PROGRAMS,
  services: { kubelet: { enabled: true, unit: UNIT }, containerd: { active: true, enabled: true } },
};
const node = (more: MemoryMachine): MemoryMachine => ({
  ...NODE,
  ...more,
  programs: { ...PROGRAMS, ...more.programs },
  services: { ...NODE.services, ...more.services },
});
const OLD: Partial<Facts> = { kubeadm: parseVersion('v1.29.3'), kubelet: parseVersion('v1.29.3') };
const INIT = 'kubernetes: {version: v1.35.2, role: InitControlPlane';
const OLD_INIT = 'kubernetes: {version: v1.29.3, role: InitControlPlane';
const WORKER = `secrets: {t: {value: abcdef.0123456789abcdef}}
kubernetes: {version: v1.35.2, role: Worker, join: {discovery: {token: {token: {secret: t}, endpoint: "127.0.0.1:1", caCertHashes: ["sha256:${'0'.repeat(64)}"]}}}}`;
const kubelet = (config: string) => `${INIT}, node: {kubelet: {config: ${config}}}}`;
const INTERFACES = [{ name: 'eth0', addresses: ['10.0.0.5'] }];
const listening = (port: number) => `heading\n0: 00000000:${port.toString(16)} 00000000:0000 0A\n`;
const mounted = (options: string) => `proc /proc/sys proc ${options} 0 0\n`;
const findmnt = (path: string, free: number, options: string) => ({
  findmnt: ({ args }: { readonly args: readonly string[] }) => {
    const isIt = args.at(-1) === path;
    return args.includes('TARGET,SIZE,AVAIL,OPTIONS')
      ? { stdout: isIt ? `${path} 1000000000 ${free} ${options}\n` : '/ 900000000000 800000000000 rw\n' }
      : { status: 1 };
  },
});

/** By reason. */
export const SITUATIONS: Readonly<Record<string, readonly Situation[]>> = {
  SysctlUnknown: [
    {
      what: 'a key that the kernel does not have',
      document: 'host: {sysctl: {vm.no_such_key: "1"}}',
      step: 'sysctl',
    },
  ],
  SysctlReadOnly: [
    {
      what: '/proc/sys is read-only, as in a container, and a value differs',
      document: 'host: {sysctl: {vm.swappiness: "10"}}',
      machine: {
        kernelFiles: { '/proc/sys/vm/swappiness': '60' },
        files: { '/proc/self/mounts': mounted('ro,nosuid') },
      },
    },
  ],
  ModuleMissing: [
    {
      what: 'a module that modprobe does not find',
      document: 'host: {kernelModules: [nope]}',
      machine: { programs: { modprobe: failing } },
      step: 'kernel-modules',
    },
  ],
  FileOwnerUnknown: [
    {
      what: 'an owner that neither the machine nor the document has',
      document: 'host: {files: [{path: /etc/x, content: x, owner: nobody9}]}',
      step: 'files',
    },
  ],
  FileNotWritten: [
    {
      what: 'a directory in the place of a file',
      document: 'host: {files: [{path: /etc/x, content: x}]}',
      machine: { files: { '/etc/x/y': '' } },
      step: 'files',
    },
  ],
  ServiceMissing: [
    {
      what: 'a service that is not installed',
      document: 'host: {services: [{name: agent, state: Started}]}',
    },
  ],
  ServiceMasked: [
    {
      what: 'a service that is masked',
      document: 'host: {services: [{name: agent, state: Started}]}',
      machine: { services: { agent: { masked: true } } },
    },
  ],
  AccountConflict: [
    {
      what: 'a user with another id',
      document: 'host: {users: [{name: ada, uid: 5001}]}',
      machine: {
        files: {
          '/etc/passwd': 'root:x:0:0::/root:/bin/sh\nada:x:5002:5002::/home/ada:/bin/sh\n',
          '/etc/group': 'root:x:0:\nada:x:5002:\n',
          '/etc/shadow': 'root:*:1::::::\nada:*:1::::::\n',
        },
        programs: { useradd: there, usermod: there, groupadd: there },
      },
    },
  ],
  TimezoneUnknown: [{ what: 'a time zone without data', document: 'host: {timezone: Europe/Zurich}' }],
  SecretUnavailable: [
    {
      what: 'a secret file that does not exist',
      document:
        'secrets: {a: {file: /etc/secret-a}}\nhost: {files: [{path: /etc/x, contentFrom: {secret: a}, mode: "0600"}]}',
    },
    {
      what: 'a join token in a file that does not exist',
      document: WORKER.replace('{value: abcdef.0123456789abcdef}', '{file: /etc/token}'),
      machine: NODE,
    },
    {
      what: 'a join token in a file that does not exist, on a machine without kubeadm',
      document: WORKER.replace('{value: abcdef.0123456789abcdef}', '{file: /etc/token}'),
      machine: NODE,
      facts: { kubeadm: undefined },
    },
  ],
  ModuleDenied: [
    {
      what: 'a module that the configuration of modprobe denies',
      document: 'host: {kernelModules: [overlay]}',
      machine: { programs: { modprobe: () => ({ stdout: 'install overlay /bin/false\n' }) } },
    },
  ],
  SudoersInvalid: [
    {
      what: 'a rule that visudo refuses',
      document: 'host: {files: [{path: /etc/sudoers.d/ops, content: "ops ALL\\n"}]}',
      machine: { programs: { visudo: () => ({ status: 1, stdout: 'stdin:1:8: syntax error\n' }) } },
    },
  ],
  SudoMissing: [
    {
      what: 'a user with a rule for sudo, which is not installed',
      document: 'host: {users: [{name: ada, sudo: "ALL=(ALL) NOPASSWD:ALL"}]}',
      machine: { programs: { useradd: there } },
    },
  ],
  AccountToolMissing: [
    { what: 'a new user, and no useradd', document: 'host: {users: [{name: ada}]}' },
    { what: 'a new group, and no groupadd', document: 'host: {groups: [{name: ops}]}' },
  ],
  ServiceUnsupported: [
    {
      what: 'a unit that cannot be disabled',
      document: 'host: {services: [{name: agent, enabled: false}]}',
      machine: { services: { agent: { enabled: true, fixed: true } } },
    },
  ],
  TimeServiceMissing: [{ what: 'no time service', document: 'host: {time: {servers: [ntp.example]}}' }],
  SwapNotDisabled: [
    {
      what: 'swap is active, and swapoff is not installed',
      document: 'host: {swap: Disabled}',
      machine: {
        files: { '/proc/swaps': 'Filename\tType\tSize\tUsed\tPriority\n/dev/sda2 partition 1 0 -2\n' },
      },
    },
  ],
  RemovalRefused: [
    {
      what: 'the user that is to be removed is root',
      document: 'host: {users: [{name: root, absent: true}]}',
      machine: {
        files: { '/etc/passwd': 'root:x:0:0::/root:/bin/sh\n', '/etc/group': 'root:x:0:\n' },
        programs: { userdel: there },
      },
    },
  ],
  NodeAddressMissing: [
    {
      what: 'no interface of the name, and no time to wait for it',
      document: `${INIT}, node: {addresses: {interface: eth7, timeout: 0s}}}`,
      machine: NODE,
    },
  ],
  NodeAddressAmbiguous: [
    {
      what: 'two addresses of the interface',
      document: `${INIT}, node: {addresses: {interface: eth1}}}`,
      machine: node({
        addresses: [
          { interface: 'eth1', address: '10.0.0.11', prefix: 24 },
          { interface: 'eth1', address: '10.0.1.12', prefix: 24 },
        ],
      }),
    },
  ],
  PortInUse: [
    {
      what: 'another program listens on the port of the API server',
      document: `${INIT}}`,
      machine: node({ files: { '/proc/net/tcp': listening(6443) } }),
    },
    {
      what: 'another program listens on the port of the metrics of etcd',
      document: `${INIT}}`,
      machine: node({ files: { '/proc/net/tcp': listening(2381) } }),
    },
    {
      what: 'another program listens on the port of the kubelet of a worker',
      document: WORKER,
      machine: node({ files: { '/proc/net/tcp': listening(10_250) } }),
    },
  ],
  EtcdDataDirNotEmpty: [
    {
      what: 'data of an earlier etcd',
      document: `${INIT}}`,
      machine: node({ files: { '/var/lib/etcd/member/snap/db': '' } }),
    },
  ],
  StaticPodManifestExists: [
    {
      what: 'the manifest of an earlier API server',
      document: `${INIT}}`,
      machine: node({ files: { '/etc/kubernetes/manifests/kube-apiserver.yaml': '{}' } }),
    },
  ],
  BootstrapKubeconfigExists: [
    {
      what: 'the kubeconfig of an interrupted join',
      document: WORKER,
      machine: node({ files: { '/etc/kubernetes/bootstrap-kubelet.conf': '' } }),
    },
  ],
  CACertificateExists: [
    {
      what: 'the CA of another cluster, as in a restored image',
      document: WORKER,
      machine: node({ files: { '/etc/kubernetes/pki/ca.crt': '' } }),
    },
  ],
  CertificateUnreadable: [
    {
      what: 'a CA on the disk that is no certificate',
      isWarning: true,
      document: `${INIT}}`,
      machine: node({ files: { '/etc/kubernetes/pki/ca.crt': 'nothing' } }),
    },
  ],
  MissingExecutable: [
    {
      what: 'crictl is not installed, and kubeadm 1.29 needs it',
      document: `${OLD_INIT}}`,
      machine: {
        ...NODE,
        programs: { getent: PROGRAMS.getent, conntrack: there, ip: there, iptables: there, nsenter: there },
      },
      facts: OLD,
    },
  ],
  IPForwardDisabled: [
    {
      what: 'forwarding is off, and the document does not set it',
      isWarning: true,
      document: `${INIT}}`,
      machine: node({ files: { '/proc/sys/net/ipv4/ip_forward': '0\n' } }),
    },
  ],
  BrNetfilterNotLoaded: [
    {
      what: 'br_netfilter is not loaded, and kubeadm 1.29 needs it',
      isWarning: true,
      document: `${OLD_INIT}}`,
      machine: node({ files: { '/proc/sys/net/ipv4/ip_forward': '1\n' } }),
      facts: OLD,
    },
  ],
  InsufficientMemory: [
    {
      what: 'a control plane on a machine with 976 MiB',
      document: `${INIT}}`,
      machine: node({ files: { '/proc/meminfo': 'MemTotal: 1000000 kB\nMemAvailable: 900000 kB\n' } }),
    },
  ],
  InsufficientCPU: [
    {
      what: 'a control plane on one processor',
      document: `${INIT}}`,
      machine: node({ files: { '/proc/self/status': 'Cpus_allowed_list:\t0\n' } }),
    },
  ],
  KernelDefaultsMismatch: [
    {
      what: 'protectKernelDefaults, and another value',
      document: kubelet('{protectKernelDefaults: true}'),
      machine: node({ files: { '/proc/sys/vm/overcommit_memory': '0\n' } }),
    },
  ],
  RequiredCgroupsMissing: [
    {
      what: 'a controller of cgroup v2 that the kernel has switched off',
      document: `${INIT}}`,
      machine: node({ files: { '/sys/fs/cgroup/cgroup.controllers': 'cpuset cpu io pids\n' } }),
    },
  ],
  ContainerManagerFailed: [
    {
      what: 'a reserved control group that does not exist',
      document: kubelet(
        '{enforceNodeAllocatable: [pods, system-reserved], systemReservedCgroup: /none, systemReserved: {memory: 100Mi}}',
      ),
      machine: node({ files: { '/sys/fs/cgroup/cgroup.controllers': 'cpu\n' } }),
    },
    {
      what: 'a controller of cgroup v1 that is not mounted',
      document: `${INIT}, node: {kubelet: {config: {failCgroupV1: false}}}, bootstrapper: {kubeadm: {ignorePreflightErrors: [SystemVerification]}}}`,
      machine: node({
        files: {
          '/proc/self/mounts': ['cpu', 'cpuacct', 'memory']
            .map((name) => `c /sys/fs/cgroup/${name} cgroup rw,${name} 0 0`)
            .join('\n'),
        },
      }),
    },
  ],
  AdvertiseAddressNotLocal: [
    {
      what: 'an advertise address that no interface has',
      document: `${INIT}, controlPlane: {apiEndpoint: {advertiseAddress: 192.0.2.9}}}`,
      machine: NODE,
      facts: { interfaces: INTERFACES },
    },
  ],
  NodeIPNotFound: [
    {
      what: 'a node-ip that no interface has',
      document: `${INIT}, node: {kubelet: {args: [{name: node-ip, value: 192.0.2.9}]}}}`,
      machine: NODE,
      facts: { interfaces: INTERFACES },
    },
  ],
  ResolvConfMissing: [
    {
      what: 'resolvConf of the kubelet names a file that does not exist',
      document: kubelet('{resolvConf: /run/none/resolv.conf}'),
      machine: NODE,
    },
  ],
  ComponentFileMissing: [
    {
      what: 'tlsCertFile of the kubelet names a file that does not exist',
      document: kubelet('{tlsCertFile: /srv/none.crt, tlsPrivateKeyFile: /srv/none.key}'),
      machine: NODE,
    },
  ],
  KubeletServiceMissing: [
    {
      what: 'the kubelet is masked',
      document: `${INIT}}`,
      machine: node({ services: { kubelet: { masked: true } } }),
    },
    {
      what: 'the kubelet has no unit',
      document: `${INIT}}`,
      machine: { programs: PROGRAMS, services: { containerd: { active: true } } },
    },
  ],
  KubeletDropInMissing: [
    {
      what: 'the unit of the kubelet lacks the drop-in of kubeadm',
      document: `${INIT}}`,
      machine: node({ services: { kubelet: { unit: { ...UNIT, command: ['/usr/bin/kubelet'] } } } }),
    },
  ],
  LocalhostNotLocal: [
    {
      what: 'localhost leads to another machine, and kubeadm is older than 1.31',
      document: `${OLD_INIT}}`,
      machine: node({ programs: { getent: () => ({ stdout: '192.0.2.7 STREAM localhost\n' }) } }),
      facts: OLD,
    },
  ],
  NodeNameInvalid: [
    {
      what: 'a host name that is too long for the name of a Node',
      document: `${INIT}}`,
      machine: NODE,
      facts: { hostname: 'a'.repeat(64) },
    },
  ],
  KubeadmNotInstalled: [
    { what: 'kubeadm is not installed', document: `${INIT}}`, machine: NODE, facts: { kubeadm: undefined } },
  ],
  KubeletNotInstalled: [
    { what: 'the kubelet is not installed', document: `${INIT}}`, machine: NODE, facts: { kubelet: undefined } },
  ],
  KubeletVersionTooNew: [
    {
      what: 'a kubelet that is newer than the control plane',
      document: `${INIT}}`,
      machine: NODE,
      facts: { kubelet: parseVersion('v1.36.0') },
    },
  ],
  KubeletVersionTooOld: [
    {
      what: 'a kubelet that is too old',
      document: `${INIT}}`,
      machine: NODE,
      facts: { kubelet: parseVersion('v1.30.0') },
    },
  ],
  CgroupV1Unsupported: [
    {
      what: 'cgroup v1, and a kubelet that refuses it',
      document: `${INIT}}`,
      machine: node({ files: { '/sys/fs/cgroup/cpu/tasks': '' } }),
    },
  ],
  MultipleCRISockets: [
    {
      what: 'two container runtimes, and the document names none',
      document: `${INIT}}`,
      machine: NODE,
      facts: { runtimeSockets: ['unix:///run/containerd/containerd.sock', 'unix:///run/crio/crio.sock'] },
    },
  ],
  DiskFull: [
    {
      what: 'no room for the write-ahead log of etcd',
      document: `${INIT}}`,
      machine: node({ programs: findmnt('/var/lib/etcd', 16_000_000, 'rw') }),
    },
  ],
  ReadOnlyFilesystem: [
    {
      what: '/var/lib/kubelet is read-only',
      document: `${INIT}}`,
      machine: node({ programs: findmnt('/var/lib/kubelet', 800_000_000, 'ro') }),
    },
  ],
};
