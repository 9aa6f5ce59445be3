import { availableParallelism } from 'node:os';
import { KUBELET_CONFIG } from '@machineadm/document/ownership/kubernetes-paths.ts';
import type { Version } from '@machineadm/document/text/program-version.ts';
import { member } from '@machineadm/document/values/untyped.ts';
import { foreignYaml } from '@machineadm/document/yaml/foreign-yaml.ts';
import { cgroupRefusal, hasCgroupV2, missingControllers } from '../../host/linux/cgroups.ts';
import { type FileSystemSpace, spaceOf } from '../../host/linux/file-system-space.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import type { Finding } from './finding.ts';

/** k/k cmd/kubeadm/app/constants: ControlPlaneNumCPU, ControlPlaneMem. */
const CONTROL_PLANE_CPUS = 2;
const CONTROL_PLANE_MIB = 1700;

/** A directory in which the kubelet, containerd or etcd store growing data. */
interface Growing {
  readonly path: string;
  /** With less free space the program that writes there fails. */
  readonly leastMiB: number;
  /** Below this share of free space the kubelet evicts pods (k/k pkg/kubelet/eviction/defaults_linux.go); 0: it does not look. */
  readonly evictionPercent: number;
  readonly of: readonly MachineUse[];
}

/** What the machine is, or what it is to become. */
export type MachineUse = 'host' | 'worker' | 'controlPlane';
const NODES: readonly MachineUse[] = ['worker', 'controlPlane'];

/** What the kubelet keeps free by evicting pods (k/k pkg/kubelet/eviction/defaults_linux.go), and twice that on larger machines. */
const EVICTION_MIB = 100;
/** On a machine without a kubelet: the share of free memory below which programs begin to fail. */
const SHARE_OF_HOST = 0.02;
const SHARE_OF_NODE = 0.2;

const GROWING: readonly Growing[] = [
  { path: '/var/lib/kubelet', leastMiB: 32, evictionPercent: 10, of: NODES },
  { path: '/var/lib/containerd', leastMiB: 32, evictionPercent: 15, of: NODES },
  // etcd allocates each segment of its write-ahead log whole, 64 MB (etcd server/storage/wal SegmentSizeBytes), and the
  // next one in advance.
  { path: '/var/lib/etcd', leastMiB: 128, evictionPercent: 0, of: ['controlPlane'] },
  { path: '/var/log', leastMiB: 16, evictionPercent: 0, of: ['host', ...NODES] },
];

/**
 * Free space of the file systems that fill up on a node: of one that serves several, the strictest limit. Queries only.
 * @param use only what grows on such a machine counts
 */
export async function checkDisks(host: QueryHost, use: MachineUse = 'controlPlane'): Promise<readonly Finding[]> {
  const found = new Map<string, { readonly space: FileSystemSpace; readonly limits: Growing }>();
  for (const growing of GROWING.filter((one) => one.of.includes(use))) {
    const space = await spaceOf(host, growing.path);
    if (space === undefined) continue;
    const limits = found.get(space.target)?.limits ?? growing;
    found.set(space.target, {
      space,
      limits: {
        ...limits,
        leastMiB: Math.max(limits.leastMiB, growing.leastMiB),
        evictionPercent: Math.max(limits.evictionPercent, growing.evictionPercent),
      },
    });
  }
  return [...found.values()].map(({ space, limits }) => evaluateSpace(limits, space));
}

function evaluateSpace(
  { path, leastMiB, evictionPercent }: Growing,
  { target, sizeMiB, freeMiB, readOnly }: FileSystemSpace,
): Finding {
  const base = { id: `disk${path}`, title: 'machine' } as const;
  const percent = Math.floor((freeMiB / Math.max(1, sizeMiB)) * 100);
  const figures = `${freeMiB} MiB of ${sizeMiB} MiB free (${percent} %)`;
  if (readOnly) {
    return {
      ...base,
      severity: 'failed',
      reason: 'ReadOnlyFilesystem',
      text: `the file system of ${path} (${target}) is read-only`,
      remedy: `Remount ${target} writable.`,
    };
  }
  if (freeMiB < leastMiB) {
    return {
      ...base,
      severity: 'failed',
      reason: 'DiskFull',
      text: `the file system of ${path} (${target}) is full: ${figures}`,
      remedy: `Free space on ${target}, or mount a larger file system at ${path} (host.storage.mounts).`,
    };
  }
  if (percent < evictionPercent) {
    return {
      ...base,
      severity: 'warning',
      reason: 'NodeDiskPressure',
      text: `the file system of ${path} (${target}) is nearly full: ${figures}`,
      remedy: `Free space: below ${evictionPercent} % the kubelet evicts pods and deletes images.`,
    };
  }
  return { ...base, severity: 'passed', text: `${path} (${target}): ${figures}` };
}

/** Memory and processors, by kubeadm's own limits for a control plane. */
export async function checkCapacity(
  host: QueryHost,
  use: MachineUse,
  cpus = availableParallelism(),
): Promise<readonly Finding[]> {
  const text = (await host.readText('/proc/meminfo')) ?? '';
  const kib = (field: string): number => Number(new RegExp(`^${field}: +(\\d+) kB`, 'm').exec(text)?.[1] ?? Number.NaN);
  const total = Math.floor(kib('MemTotal') / 1024);
  const available = Math.floor(kib('MemAvailable') / 1024);
  const figures = `${available} MiB of ${total} MiB available`;
  const isControlPlane = use === 'controlPlane';
  // A small machine has less free memory than a large one even when nothing is wrong.
  const scarce = use === 'host' ? total * SHARE_OF_HOST : Math.min(2 * EVICTION_MIB, total * SHARE_OF_NODE);
  const memory: Finding =
    isControlPlane && total < CONTROL_PLANE_MIB
      ? {
          id: 'memory',
          title: 'machine',
          severity: 'failed',
          reason: 'InsufficientMemory',
          text: `the machine has ${total} MiB of memory, a control plane needs ${CONTROL_PLANE_MIB} MiB`,
          remedy: 'Use a larger machine, or name Mem in ignorePreflightErrors.',
        }
      : available < scarce
        ? {
            id: 'memory',
            title: 'machine',
            severity: 'warning',
            reason: 'OutOfMemory',
            text: `memory is nearly used up: ${figures}`,
            remedy: 'Stop other programs, or use a larger machine.',
          }
        : { id: 'memory', title: 'machine', severity: 'passed', text: `memory: ${figures}` };
  const processors: Finding =
    isControlPlane && cpus < CONTROL_PLANE_CPUS
      ? {
          id: 'cpu',
          title: 'machine',
          severity: 'failed',
          reason: 'InsufficientCPU',
          text: `the machine has ${cpus} processor, a control plane needs ${CONTROL_PLANE_CPUS}`,
          remedy: 'Use a larger machine, or name NumCPU in ignorePreflightErrors.',
        }
      : { id: 'cpu', title: 'machine', severity: 'passed', text: `${cpus} processors` };
  return Number.isNaN(total) ? [processors] : [memory, processors];
}

/** Checks whether swap is on. `willBeDisabled`: the document turns it off. */
export async function checkSwap(host: QueryHost, willBeDisabled: boolean): Promise<readonly Finding[]> {
  const devices = ((await host.readText('/proc/swaps')) ?? '')
    .split('\n')
    .slice(1)
    .flatMap((line) => line.split(/\s/)[0] || []);
  const base = { id: 'swap', title: 'machine' } as const;
  if (devices.length === 0) return [{ ...base, severity: 'passed', text: 'swap is off' }];
  if (willBeDisabled)
    return [{ ...base, severity: 'passed', text: `swap is on (${devices.join(', ')}); provision turns it off` }];
  return [
    {
      ...base,
      severity: 'warning',
      reason: 'SwapEnabled',
      text: `swap is on: ${devices.join(', ')}`,
      remedy: 'Set host.swap to Disabled, or failSwapOn: false in kubernetes.node.kubelet.config.',
    },
  ];
}

/** Whether the installed kubelet supports the cgroup version. */
export async function checkCgroups(
  host: QueryHost,
  kubelet: Version | undefined,
  hasDocument = false,
): Promise<readonly Finding[]> {
  const base = { id: 'cgroup', title: 'machine' } as const;
  const passed = (text: string): readonly Finding[] => [{ ...base, severity: 'passed', text }];
  const missing = await missingControllers(host);
  if (missing !== undefined && kubelet !== undefined && !hasDocument) {
    const { what: text, ...lacking } = missing;
    return [{ ...base, ...lacking, severity: 'failed', text }];
  }
  const refusal = kubelet && (await cgroupRefusal(host, kubelet));
  if (refusal === undefined) return passed((await hasCgroupV2(host)) ? 'cgroup v2' : 'cgroup v1');
  if (await runsOnCgroupV1(host)) return passed('cgroup v1, which the kubelet is configured to accept (failCgroupV1)');
  if (hasDocument) return passed('cgroup v1');
  const { what, ...refused } = refusal;
  return [{ ...base, ...refused, severity: 'failed', text: what }];
}

/** Whether the configuration with which this machine's kubelet starts lets it run with cgroup v1. */
async function runsOnCgroupV1(host: QueryHost): Promise<boolean> {
  const config = await foreignYaml((await host.readText(KUBELET_CONFIG)) ?? '');
  return member(config, 'failCgroupV1') === false;
}

/** The time source. Queries only. */
export async function checkTimeSource(host: QueryHost): Promise<readonly Finding[]> {
  const { status, stdout } = await host.query({
    program: 'timedatectl',
    args: ['show', '-p', 'NTPSynchronized', '--value'],
    timeoutMs: 5000,
  });
  if (status !== 0) return [];
  const synchronized = stdout.trim() === 'yes';
  return [
    synchronized
      ? { id: 'clock/source', title: 'machine', severity: 'passed', text: 'the clock is synchronised' }
      : {
          id: 'clock/source',
          title: 'machine',
          severity: 'warning',
          reason: 'ClockSkew',
          text: 'no time source has set the clock since the boot',
          remedy: 'Set time servers in host.time. Certificates are refused if the clock of a machine is wrong.',
        },
  ];
}
