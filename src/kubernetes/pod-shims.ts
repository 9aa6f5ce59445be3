import type { QueryHost } from '../host/seam/host.ts';
import { sharesPidNamespace } from './pid-namespace.ts';

/**
 * Process ids of the shims of pods' containers: containerd keeps the kubelet's containers in its namespace `k8s.io`
 * (containerd internal/cri/constants) and starts one `containerd-shim-runc-v2 -namespace k8s.io …` for each pod. They
 * outlive the kubelet and containerd, and can be found without a client of the runtime.
 */
export async function podShims(host: QueryHost): Promise<readonly number[]> {
  const shims: number[] = [];
  for (const name of (await host.list('/proc')) ?? []) {
    if (!/^\d+$/.test(name)) continue;
    const words = ((await host.readText(`/proc/${name}/cmdline`)) ?? '').split('\0');
    const isShim = /(^|\/)containerd-shim[^/]*$/.test(words[0] ?? '');
    if (!isShim || words[words.indexOf('-namespace') + 1] !== 'k8s.io') continue;
    // Shims are processes of the machine itself; deeper ones belong to a machine that is a container here.
    if (await sharesPidNamespace(host, name, 0)) shims.push(Number(name));
  }
  return shims;
}

/**
 * Those of them that still have a process below them: containerd forgets a shim whose pod it was just creating, and such a
 * shim holds nothing.
 */
export async function withProcesses(host: QueryHost, shims: readonly number[]): Promise<readonly number[]> {
  const busy: number[] = [];
  for (const shim of shims) {
    const tasks = (await host.list(`/proc/${shim}/task`)) ?? [];
    const children = await Promise.all(tasks.map((task) => host.readText(`/proc/${shim}/task/${task}/children`)));
    // A kernel without CONFIG_PROC_CHILDREN does not tell.
    const isEmpty = children.length > 0 && children.every((ids) => ids !== undefined && ids.trim() === '');
    if (!isEmpty) busy.push(shim);
  }
  return busy;
}
