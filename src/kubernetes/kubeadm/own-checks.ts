import type { KubernetesModel, Model } from '@machineadm/document/model/index.ts';
import type { Reason } from '@machineadm/document/outcomes/reasons.ts';
import {
  BOOTSTRAP_KUBELET_KUBECONFIG,
  DEFAULT_ETCD_DATA_DIRECTORY,
  KUBEADM_PODS,
  staticPodPath,
} from '@machineadm/document/ownership/kubernetes-paths.ts';
import type { Version } from '@machineadm/document/text/program-version.ts';
import { isPreflightIgnored } from '@machineadm/kubeadm/version-skew.ts';
import { missingControllers } from '../../host/linux/cgroups.ts';
import { isOnLoopback, listeners } from '../../host/linux/listeners.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import type { NodeObstacle } from './node-obstacles.ts';

/** What decides which of its checks kubeadm makes, and what the document brings before. */
export interface OwnChecks {
  readonly kubernetes: KubernetesModel;
  readonly model: Model;
  readonly kubeadm: Version | undefined;
  readonly isProvided: (path: string) => boolean;
  /** Where file systems of the document will be mounted: what lies there is seen only then. */
  readonly isMounted: (path: string) => boolean;
}

/** A check by the name under which `ignorePreflightErrors` switches it off; undefined: no switch helps. */
type NamedObstacle = NodeObstacle & { readonly check?: string | undefined };

const FIELD = 'kubernetes';
/** k/k cmd/kubeadm/app/constants: ControlPlaneNumCPU, ControlPlaneMem. */
const CONTROL_PLANE_CPUS = 2;
const CONTROL_PLANE_MIB = 1700;
/** Before a change of anything: is this machine a node already? */
const LOOK =
  'First make sure that this machine is no node that works (machineadm doctor, ls /etc/kubernetes). Move away only what nothing uses.';

/**
 * What kubeadm's own preflight would refuse on this machine: its rules (k/k cmd/kubeadm/app/preflight/checks.go), read without
 * running it. Only on a machine on which no bootstrap of ours has begun: what one left is handled by the steps before kubeadm.
 */
export async function kubeadmChecks(host: QueryHost, asked: OwnChecks): Promise<readonly NodeObstacle[]> {
  const { kubernetes } = asked;
  const found: NamedObstacle[] = [
    ...(await portsInUse(host, asked)),
    ...(await occupiedPlaces(host, asked)),
    ...(await missingExecutables(host, asked)),
    ...(await kernelSettings(host, asked)),
    ...(await capacity(host, kubernetes)),
    ...(await controllers(host)),
  ];
  const isSkipped = kubernetes.kubeadm.skipPhases.some((phase) => phase === 'preflight');
  return found
    .filter(({ check }) => check === undefined || !(isSkipped || isPreflightIgnored(kubernetes, check)))
    .map(({ check: _check, ...obstacle }) => obstacle);
}

async function portsInUse(host: QueryHost, { kubernetes, model }: OwnChecks): Promise<readonly NamedObstacle[]> {
  const { role, controlPlane } = kubernetes;
  const bindPort = controlPlane.apiEndpoint.bindPort ?? 6443;
  const hasEtcd = controlPlane.etcd.kind === 'local';
  const wanted: readonly (readonly [number, string])[] = [
    [10_250, 'the kubelet'],
    ...(role === 'Worker'
      ? []
      : ([
          [bindPort, 'kube-apiserver'],
          [10_259, 'kube-scheduler'],
          [10_257, 'kube-controller-manager'],
          ...(hasEtcd
            ? ([
                [2379, 'etcd'],
                [2380, 'etcd'],
              ] as const)
            : []),
        ] as const)),
  ];
  const all = await listeners(host);
  const taken = new Set(all.map(({ port }) => port));
  const found = wanted.flatMap(([port, program]) => (taken.has(port) ? [portInUse(port, program)] : []));
  // kubeadm does not look at the port of etcd's metrics, which etcd opens at 127.0.0.1.
  const metrics = role !== 'Worker' && hasEtcd && all.some((one) => one.port === 2381 && isOnLoopback(one));
  const both = metrics ? [...found, { ...portInUse(2381, 'etcd'), check: undefined }] : found;
  // The document may stop the listener.
  return model.host.services.length === 0 ? both : both.map((one) => ({ ...one, broughtBy: 'services' as const }));
}

function portInUse(port: number, program: string): NodeObstacle & { readonly check: string } {
  return {
    reason: 'PortInUse',
    what: `port ${port}, which ${program} needs, is in use`,
    remedy: `Find the listener (ss -ltnp sport = :${port}). If it is a component of Kubernetes, this machine is a node already. Otherwise stop it once nothing needs it, or give it another port.`,
    field: FIELD,
    check: `Port-${port}`,
  };
}

/** Files and directories that an earlier cluster left. */
async function occupiedPlaces(
  host: QueryHost,
  { kubernetes, isProvided, isMounted }: OwnChecks,
): Promise<readonly NamedObstacle[]> {
  const { role, cluster, controlPlane } = kubernetes;
  const files: (readonly [string, Reason])[] = [];
  if (role !== 'Worker') {
    for (const name of KUBEADM_PODS) files.push([staticPodPath(name), 'StaticPodManifestExists']);
  }
  if (role !== 'InitControlPlane') files.push([BOOTSTRAP_KUBELET_KUBECONFIG, 'BootstrapKubeconfigExists']);
  if (role === 'Worker') files.push([`${cluster.certificatesDirectory}/ca.crt`, 'CACertificateExists']);
  const found: NamedObstacle[] = [];
  for (const [path, reason] of files) {
    if (isProvided(path) || (await host.stat(path)) === undefined) continue;
    const remedy = `Find out who wrote it. ${LOOK}`;
    found.push({ reason, what: `${path} already exists`, remedy, field: FIELD, check: `FileAvailable${named(path)}` });
  }
  const { etcd } = controlPlane;
  if (role === 'Worker' || etcd.kind !== 'local') return found;
  const directory = etcd.dataDirectory ?? DEFAULT_ETCD_DATA_DIRECTORY;
  const entries = isMounted(directory) ? [] : ((await host.list(directory)) ?? []);
  if (entries.length === 0 || isProvided(directory)) return found;
  const isDisk = entries.join() === 'lost+found';
  found.push({
    reason: 'EtcdDataDirNotEmpty',
    what: `${directory} is not empty: it has ${entries.slice(0, 3).join(', ')}`,
    remedy: isDisk
      ? 'Set kubernetes.controlPlane.etcd.local.dataDirectory to a directory below it.'
      : `Keep it where it is restored data. ${LOOK}`,
    field: 'kubernetes.controlPlane.etcd.local.dataDirectory',
    check: `DirAvailable${named(directory)}`,
  });
  return found;
}

/** `-etc-kubernetes-manifests`, as kubeadm names a check by its path. */
function named(path: string): string {
  return `-${path.replaceAll('/', '-')}`;
}

/**
 * What every kubeadm up to 1.30 requires and a minimal system may lack (k/k cmd/kubeadm/app/preflight/checks.go, addCommonChecks).
 * From 1.31 on, kubeadm needs only what every system has (mount, losetup, cp).
 */
const EXECUTABLES = ['crictl', 'conntrack', 'ip', 'iptables', 'nsenter'];
const LAST_WITH_EXECUTABLES = 30;

async function missingExecutables(host: QueryHost, { kubeadm }: OwnChecks): Promise<readonly NamedObstacle[]> {
  if (kubeadm === undefined || kubeadm.minor > LAST_WITH_EXECUTABLES) return [];
  const found: NamedObstacle[] = [];
  for (const program of EXECUTABLES) {
    if ((await host.which(program)) !== undefined) continue;
    found.push({
      reason: 'MissingExecutable',
      what: `${program} is not installed, and kubeadm ${kubeadm.major}.${kubeadm.minor} needs it`,
      remedy: `Install ${program} in the image or in an early hook.`,
      field: FIELD,
      check: `FileExisting-${program}`,
    });
  }
  return found;
}

const IP_FORWARD = 'net/ipv4/ip_forward';
const BRIDGE_CALLS = 'net/bridge/bridge-nf-call-iptables';
/** Since then kubeadm looks at the bridge no longer, and at a join only at the family of the endpoint (k/k#123464). */
const WITHOUT_BRIDGE = 30;

async function kernelSettings(host: QueryHost, asked: OwnChecks): Promise<readonly NamedObstacle[]> {
  const { kubernetes, model, kubeadm } = asked;
  if (kubeadm === undefined || !usesIPv4(kubernetes, kubeadm)) return [];
  const { sysctl, kernelModules } = model.host;
  const isSet = (key: string) => sysctl.some((setting) => setting.key.replaceAll('.', '/') === key);
  const now = async (key: string) => (await host.readText(`/proc/sys/${key}`))?.trim();
  // A warning, because a service (docker, a packet filter) or a container runtime may set both before kubeadm looks.
  const after = { severity: 'warning' as const };
  const found: NamedObstacle[] = [];
  if (!isSet(IP_FORWARD) && (await now(IP_FORWARD)) === '0') {
    found.push({
      reason: 'IPForwardDisabled',
      what: 'net.ipv4.ip_forward is 0, and kubeadm needs 1',
      remedy: 'Add to host.sysctl: {net.ipv4.ip_forward: "1"}.',
      field: 'host.sysctl',
      check: 'FileContent--proc-sys-net-ipv4-ip_forward',
      ...after,
    });
  }
  const knowsKernel = (await host.stat(`/proc/sys/${IP_FORWARD}`)) !== undefined;
  if (kubeadm.minor >= WITHOUT_BRIDGE || !knowsKernel || isSet(BRIDGE_CALLS)) return found;
  const bridge = await now(BRIDGE_CALLS);
  if (bridge === '1' || (bridge === undefined && kernelModules.includes('br_netfilter'))) return found;
  found.push({
    reason: 'BrNetfilterNotLoaded',
    what:
      bridge === undefined
        ? 'the kernel module br_netfilter is not loaded, and kubeadm needs it'
        : `net.bridge.bridge-nf-call-iptables is ${bridge}, and kubeadm needs 1`,
    remedy: 'Add br_netfilter to host.kernelModules, and to host.sysctl: {net.bridge.bridge-nf-call-iptables: "1"}.',
    field: 'host.kernelModules',
    check: 'FileContent--proc-sys-net-bridge-bridge-nf-call-iptables',
    ...after,
  });
  return found;
}

/** Whether kubeadm looks at the settings for IPv4. */
function usesIPv4({ role, cluster, join, controlPlane }: KubernetesModel, { minor }: Version): boolean {
  const { podSubnets = [], serviceSubnets = [] } = cluster;
  if (role === 'InitControlPlane') {
    const { advertiseAddress } = controlPlane.apiEndpoint;
    const said = [...podSubnets, ...serviceSubnets, ...(advertiseAddress === undefined ? [] : [advertiseAddress])];
    return said.length === 0 || said.some((one) => !one.includes(':'));
  }
  if (minor < WITHOUT_BRIDGE) return true;
  return /^\d+\.\d+\.\d+\.\d+:\d+$/.test(join?.discovery.endpoint ?? '');
}

/** kubeadm asks this of control planes only. */
async function capacity(host: QueryHost, { role }: KubernetesModel): Promise<readonly NamedObstacle[]> {
  if (role === 'Worker') return [];
  const found: NamedObstacle[] = [];
  const kib = Number(/^MemTotal:\s+(\d+) kB$/m.exec((await host.readText('/proc/meminfo')) ?? '')?.[1] ?? Number.NaN);
  const mib = Math.floor(kib / 1024);
  if (mib < CONTROL_PLANE_MIB) {
    found.push({
      reason: 'InsufficientMemory',
      what: `the machine has ${mib} MiB of memory, and a control plane needs ${CONTROL_PLANE_MIB} MiB`,
      remedy: 'Use a larger machine, or name Mem in kubernetes.bootstrapper.kubeadm.ignorePreflightErrors.',
      field: FIELD,
      check: 'Mem',
    });
  }
  const allowed = /^Cpus_allowed_list:\s+(\S+)$/m.exec((await host.readText('/proc/self/status')) ?? '')?.[1];
  const cpus = allowed === undefined ? undefined : countOf(allowed);
  if (cpus !== undefined && cpus < CONTROL_PLANE_CPUS) {
    found.push({
      reason: 'InsufficientCPU',
      what: `the machine has ${cpus} processor, and a control plane needs ${CONTROL_PLANE_CPUS}`,
      remedy: 'Use a larger machine, or name NumCPU in kubernetes.bootstrapper.kubeadm.ignorePreflightErrors.',
      field: FIELD,
      check: 'NumCPU',
    });
  }
  return found;
}

async function controllers(host: QueryHost): Promise<readonly NamedObstacle[]> {
  const missing = await missingControllers(host);
  return missing === undefined ? [] : [{ ...missing, field: FIELD, check: 'SystemVerification' }];
}

/** `0-3,8` are five. */
function countOf(list: string): number {
  return list
    .split(',')
    .map((range) => range.split('-').map(Number))
    .reduce((sum, [first = 0, last = first]) => sum + last - first + 1, 0);
}
