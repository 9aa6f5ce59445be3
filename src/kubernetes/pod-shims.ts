import type { QueryHost } from '../host/seam/host.ts';
import { sharesPidNamespace } from './pid-namespace.ts';

/** The process that containerd starts for each pod, and that holds the pod's containers. */
export interface PodShim {
  readonly pid: number;
  /** The socket of the containerd that started it. */
  readonly socket: string | undefined;
}

/**
 * The shims of pods' containers: containerd keeps the kubelet's containers in its namespace `k8s.io`
 * (containerd internal/cri/constants) and starts one `containerd-shim-runc-v2 -namespace k8s.io …` for each pod. They
 * outlive the kubelet and containerd, and can be found without a client of the runtime.
 */
export async function podShims(host: QueryHost): Promise<readonly PodShim[]> {
  const shims: PodShim[] = [];
  for (const name of (await host.list('/proc')) ?? []) {
    if (!/^\d+$/.test(name)) continue;
    const words = ((await host.readText(`/proc/${name}/cmdline`)) ?? '').split('\0');
    const isShim = /(^|\/)containerd-shim[^/]*$/.test(words[0] ?? '');
    if (!isShim || words[words.indexOf('-namespace') + 1] !== 'k8s.io') continue;
    // Shims are processes of the machine itself; deeper ones belong to a machine that is a container here.
    if (!(await sharesPidNamespace(host, name, 0))) continue;
    const at = words.indexOf('-address');
    shims.push({ pid: Number(name), socket: at === -1 ? undefined : words[at + 1] });
  }
  return shims;
}

/** The processes below a process, deepest last; undefined if the kernel does not tell (CONFIG_PROC_CHILDREN). */
export async function processesBelow(host: QueryHost, pid: number): Promise<readonly number[] | undefined> {
  const found: number[] = [];
  for (const task of (await host.list(`/proc/${pid}/task`)) ?? []) {
    const children = await host.readText(`/proc/${pid}/task/${task}/children`);
    if (children === undefined) return undefined;
    for (const child of children
      .split(' ')
      .filter((word) => /^\d+$/.test(word))
      .map(Number)) {
      found.push(child, ...((await processesBelow(host, child)) ?? []));
    }
  }
  return found;
}
