import { has } from '@machineadm/document/kubernetes-releases/features.ts';
import type { Version } from '@machineadm/document/text/program-version.ts';
import type { QueryHost } from '../seam/host.ts';

/** True where the machine has the unified hierarchy (kernel, Documentation/admin-guide/cgroup-v2.rst). */
export async function hasCgroupV2(host: Pick<QueryHost, 'stat'>): Promise<boolean> {
  return (await host.stat('/sys/fs/cgroup/cgroup.controllers')) !== undefined;
}

/** What kubeadm requires of cgroup v2 (k8s.io/system-validators types_unix.go); devices and freezer are no controllers there. */
const REQUIRED_V2 = ['cpu', 'cpuset', 'memory', 'pids'];

/** The controllers of cgroup v2 that a node needs and the kernel does not offer; undefined where it has them, or cgroup v1. */
export async function missingControllers(host: Pick<QueryHost, 'readText'>) {
  const offered = (await host.readText('/sys/fs/cgroup/cgroup.controllers'))?.trim().split(/\s+/);
  const missing = offered === undefined ? [] : REQUIRED_V2.filter((name) => !offered.includes(name));
  if (missing.length === 0) return undefined;
  return {
    reason: 'RequiredCgroupsMissing',
    what: `cgroup v2 of this machine does not have ${missing.join(', ')}, which kubeadm and the kubelet need`,
    remedy: missing.includes('memory')
      ? 'Add cgroup_enable=memory to the kernel command line, remove cgroup_disable from it, and reboot.'
      : 'Remove cgroup_disable from the kernel command line and reboot, or use a kernel with these controllers.',
  } as const;
}

/** Why this kubelet does not run with the machine's cgroups unless it is configured to; undefined where it does. */
export async function cgroupRefusal(host: Pick<QueryHost, 'stat'>, { major, minor }: Version) {
  if (major === 1 && has('cgroupV1', minor)) return undefined;
  if ((await host.stat('/sys/fs/cgroup')) === undefined || (await hasCgroupV2(host))) return undefined;
  return {
    reason: 'CgroupV1Unsupported',
    what: `the machine runs cgroup v1, which kubelet ${major}.${minor} refuses`,
    remedy:
      'Boot with cgroup v2 (systemd.unified_cgroup_hierarchy=1), or set failCgroupV1: false in kubernetes.node.kubelet.config and SystemVerification in ignorePreflightErrors.',
  } as const;
}
