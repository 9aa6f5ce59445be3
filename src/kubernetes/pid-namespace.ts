import type { QueryHost } from '../host/seam/host.ts';

/**
 * The number of PID namespaces between this machine and a process: 0 for one of its own, 1 for one in a container, 2
 * for one in a container of a machine that is itself a container here (kind, a lab). /proc shows them all; NSpid has an
 * id for each namespace (proc_pid_status(5)). Undefined where the process has ended, or the kernel does not report it
 * (before 4.1).
 */
export async function pidNamespaceDepth(host: QueryHost, pid: string): Promise<number | undefined> {
  const status = await host.readText(`/proc/${pid}/status`).catch(() => undefined);
  const ids = /^NSpid:[ \t]*(\S.*)$/m
    .exec(status ?? '')?.[1]
    ?.trim()
    .split(/\s+/);
  return ids === undefined ? undefined : ids.length - 1;
}

/** Whether a process may belong to this machine and not to a machine in a container. */
export async function sharesPidNamespace(host: QueryHost, pid: string, deepest: 0 | 1): Promise<boolean> {
  return ((await pidNamespaceDepth(host, pid)) ?? 0) <= deepest;
}
