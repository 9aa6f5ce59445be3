import type { QueryHost } from '../host/seam/host.ts';

/**
 * Files by which a module without parameters is recognised that is built into the kernel: it has no entry in /sys/module,
 * and containers and Firecracker guests have no /lib/modules to look it up in.
 */
const BUILT_IN_TRACES: Readonly<Record<string, string>> = {
  br_netfilter: '/proc/sys/net/bridge/bridge-nf-call-iptables',
  nf_conntrack: '/proc/sys/net/netfilter/nf_conntrack_max',
  ip_vs: '/proc/net/ip_vs',
};

/** The kernel's own spelling: it reads `-` and `_` as the same and shows `_` (kmod, libkmod-util.c). */
export function canonicalModule(name: string): string {
  return name.replaceAll('-', '_');
}

/** Of these modules, those that are neither loaded nor built in. */
export async function absentModules(host: QueryHost, modules: readonly string[]): Promise<ReadonlySet<string>> {
  const fileSystems = new Set(((await host.readText('/proc/filesystems')) ?? '').split(/\s+/));
  const builtIn = await builtInModules(host);
  const absent = new Set<string>();
  for (const module of modules) {
    if (fileSystems.has(module) || builtIn.has(module) || (await isInKernel(host, module))) continue;
    absent.add(module);
  }
  return absent;
}

export async function isInKernel(host: QueryHost, module: string): Promise<boolean> {
  if ((await host.stat(`/sys/module/${module}`)) !== undefined) return true;
  const trace = BUILT_IN_TRACES[module];
  return trace !== undefined && (await host.stat(trace)) !== undefined;
}

/** Names in `modules.builtin`: lines such as `kernel/net/bridge/br_netfilter.ko`. */
async function builtInModules(host: QueryHost): Promise<ReadonlySet<string>> {
  const release = (await host.readText('/proc/sys/kernel/osrelease'))?.trim();
  const list = release === undefined ? undefined : await host.readText(`/lib/modules/${release}/modules.builtin`);
  return new Set((list ?? '').split('\n').flatMap((line) => moduleOfFile(line.trim()) ?? []));
}

/** The module in a file such as `kernel/net/bridge/br_netfilter.ko.xz`; undefined for another file. */
export function moduleOfFile(path: string): string | undefined {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const end = name.indexOf('.ko');
  return end > 0 ? canonicalModule(name.slice(0, end)) : undefined;
}
