import { has } from '@machineadm/document/kubernetes-releases/features.ts';
import type { Version } from '@machineadm/document/program-version.ts';
import type { QueryHost } from '../seam/host.ts';

/** True where the machine has the unified hierarchy (kernel, Documentation/admin-guide/cgroup-v2.rst). */
export async function hasCgroupV2(host: Pick<QueryHost, 'stat'>): Promise<boolean> {
  return (await host.stat('/sys/fs/cgroup/cgroup.controllers')) !== undefined;
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
