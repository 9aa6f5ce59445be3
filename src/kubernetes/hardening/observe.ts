import {
  ADMIN_KUBECONFIG,
  DEFAULT_CERTIFICATES_DIRECTORY,
  DEFAULT_ETCD_DATA_DIRECTORY,
  KUBELET_CONFIG,
  KUBELET_KUBECONFIG,
} from '@machineadm/document/ownership/kubernetes-paths.ts';
import { member, text } from '@machineadm/document/values/untyped.ts';
import { foreignYaml } from '@machineadm/document/yaml/foreign-yaml.ts';
import type { Component, Control } from '@machineadm/hardening/controls/control.ts';
import { argumentsOf, hostPathOf, type Manifest, readManifest } from '@machineadm/hardening/manifest.ts';
import {
  COMPONENTS,
  type FoundFile,
  manifestPath,
  type NamedFile,
  type Observed,
  usable,
} from '@machineadm/hardening/observed.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import { sharesPidNamespace } from '../pid-namespace.ts';
import { expandPattern } from './found-files.ts';
import { kubeletFlags } from './kubelet-flags.ts';

/** Reads everything that these controls depend on. Read-only. */
export async function observe(
  host: QueryHost,
  controls: readonly Control[],
  minor: number | undefined,
): Promise<Observed> {
  const checks = controls.map(({ check }) => check);
  const manifests = await readManifests(host);
  const kubeletConfig = await parsed(host, KUBELET_CONFIG);
  const apiserver = usable(manifests.get('kube-apiserver'));
  const named = async (argument: string): Promise<NamedFile | undefined> => {
    const inside = apiserver?.args.get(argument);
    if (apiserver === undefined || inside === undefined) return undefined;
    const path = hostPathOf(apiserver, inside) ?? inside;
    return { path, content: await parsed(host, path) };
  };
  const places = placesOf(manifests, kubeletConfig);
  const files = new Map<string, readonly FoundFile[]>();
  const users = new Map<string, number | undefined>();
  const groups = new Map<string, number | undefined>();
  const kernel = new Map<string, string | undefined>();
  const services = new Map<string, { active: boolean; enabled: boolean }>();
  for (const check of checks) {
    if (check.kind === 'mode' || check.kind === 'owner') {
      for (const pattern of check.paths) {
        if (!files.has(pattern)) files.set(pattern, await expandPattern(host, places(pattern)));
      }
    }
    if (check.kind === 'owner') {
      users.set(check.user, await host.userId(check.user));
      groups.set(check.group, await host.groupId(check.group));
    }
    if (check.kind === 'sysctl')
      for (const key of Object.keys(check.values)) kernel.set(key, await kernelValue(host, key));
    if (check.kind === 'services') {
      await Promise.all(check.services.map(async (name) => services.set(name, await host.service(name))));
    }
  }
  const aboutModules = checks.some(({ kind }) => kind === 'module-denied' || kind === 'modules-loaded');
  const aboutProxy = checks.some(({ kind }) => kind === 'kube-proxy-metrics');
  return {
    isNode: (await host.stat(KUBELET_KUBECONFIG)) !== undefined,
    isControlPlane: manifests.size > 0 || (await host.stat(ADMIN_KUBECONFIG)) !== undefined,
    minor,
    manifests,
    processes: await readProcesses(host),
    kubeletConfig,
    kubeletFlags: await kubeletFlags(host),
    files,
    users,
    groups,
    kernel,
    modules: aboutModules ? await modules(host) : { loaded: new Set(), denied: new Set() },
    proxyMetrics: aboutProxy ? await proxyMetrics(host) : [],
    auditPolicy: await named('audit-policy-file'),
    encryption: await named('encryption-provider-config'),
    admission: await named('admission-control-config-file'),
    authentication: await named('authentication-config'),
    authorization: await named('authorization-config'),
    services,
  };
}

/** Arguments of all running control plane components, from /proc. */
export async function readProcesses(host: QueryHost): Promise<Observed['processes']> {
  const found = new Map<Component, ReadonlyMap<string, string>[]>();
  for (const name of (await host.list('/proc')) ?? []) {
    if (!/^\d+$/.test(name)) continue;
    const words = ((await readIfThere(host, `/proc/${name}/cmdline`)) ?? '').split('\0');
    const program = (words[0] ?? '').split('/').at(-1);
    const component = COMPONENTS.find((one) => one === program);
    if (component === undefined || !(await sharesPidNamespace(host, name, 1))) continue;
    found.set(component, [...(found.get(component) ?? []), argumentsOf(words.slice(1))]);
  }
  return found;
}

async function readManifests(host: QueryHost): Promise<ReadonlyMap<Component, Manifest | 'unreadable'>> {
  const manifests = new Map<Component, Manifest | 'unreadable'>();
  for (const component of COMPONENTS) {
    const source = await host.readText(manifestPath(component));
    if (source === undefined) continue;
    try {
      manifests.set(component, await readManifest(source));
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      manifests.set(component, 'unreadable');
    }
  }
  return manifests;
}

/** Controls name kubeadm's default paths; this machine may use others. */
function placesOf(
  manifests: ReadonlyMap<Component, Manifest | 'unreadable'>,
  kubeletConfig: unknown,
): (pattern: string) => string {
  const etcd = usable(manifests.get('etcd'))?.args.get('data-dir') ?? DEFAULT_ETCD_DATA_DIRECTORY;
  const ca =
    usable(manifests.get('kube-apiserver'))?.args.get('client-ca-file') ??
    text(member(member(member(kubeletConfig, 'authentication'), 'x509'), 'clientCAFile'));
  const certificates = ca === undefined ? DEFAULT_CERTIFICATES_DIRECTORY : ca.slice(0, ca.lastIndexOf('/'));
  return (pattern) => {
    for (const [usual, actual] of [
      [DEFAULT_ETCD_DATA_DIRECTORY, etcd],
      [DEFAULT_CERTIFICATES_DIRECTORY, certificates],
    ] as const) {
      if (pattern === usual || pattern.startsWith(`${usual}/`)) return `${actual}${pattern.slice(usual.length)}`;
    }
    return pattern;
  };
}

async function parsed(host: QueryHost, path: string): Promise<unknown> {
  const source = await host.readText(path);
  return source === undefined ? undefined : await foreignYaml(source);
}

async function kernelValue(host: QueryHost, key: string): Promise<string | undefined> {
  return (await readIfThere(host, `/proc/sys/${key}`))?.trim().replace(/\s+/g, ' ');
}

/** Processes may end and kernel keys may refuse in the meantime: what cannot be read counts as missing. */
const readIfThere = (host: QueryHost, path: string): Promise<string | undefined> =>
  host.readText(path).catch(() => undefined);

/**
 * Loaded in the kernel, and disabled according to `modprobe -c` by a command that loads nothing (modprobe.d(5),
 * `install`).
 */
async function modules(host: QueryHost): Promise<Observed['modules']> {
  const plain = (name: string): string => name.replaceAll('-', '_');
  const loaded = ((await host.readText('/proc/modules')) ?? '').split('\n').map((line) => line.split(' ')[0] ?? '');
  const inKernel = (await host.list('/sys/module')) ?? [];
  const types = ((await host.readText('/proc/filesystems')) ?? '').split(/\s+/);
  const bridge = (await host.stat('/proc/sys/net/bridge')) === undefined ? [] : ['br_netfilter'];
  const configuration = (await host.query({ program: 'modprobe', args: ['-c'] })).stdout;
  const denied = configuration.split('\n').flatMap((line) => {
    const [word, name = '', program = ''] = line.trim().split(/\s+/);
    return word === 'install' && /^(\/usr)?\/s?bin\/(false|true|nologin)$/.test(program) ? [plain(name)] : [];
  });
  return {
    loaded: new Set([...loaded, ...inKernel, ...types, ...bridge].map(plain)),
    denied: new Set(denied),
  };
}

/** k/k pkg/proxy/apis/config/v1alpha1/defaults.go: metricsBindAddress */
const PROXY_METRICS_PORT = 10_249;

/**
 * Where each kube-proxy that runs here serves its metrics: a flag of it, or else the addresses at which the default port
 * listens. kube-proxy uses the network of the machine. Its configuration is not read: the volume of its ConfigMap has mode
 * 0777, so that its content proves nothing.
 */
async function proxyMetrics(host: QueryHost): Promise<readonly string[]> {
  const found: string[] = [];
  for (const pid of (await host.list('/proc')) ?? []) {
    if (!/^\d+$/.test(pid)) continue;
    const [program = '', ...words] = ((await readIfThere(host, `/proc/${pid}/cmdline`)) ?? '').split('\0');
    if (program.split('/').at(-1) !== 'kube-proxy' || !(await sharesPidNamespace(host, pid, 1))) continue;
    const flag = argumentsOf(words).get('metrics-bind-address');
    if (flag !== undefined) found.push(flag);
    else found.push(...((await listeningAt(host, PROXY_METRICS_PORT)) ?? ['']));
  }
  return found;
}

/** `127.0.0.1:10249`; undefined where nothing listens at the port (proc_net(5): state 0A, addresses in hexadecimal). */
async function listeningAt(host: QueryHost, port: number): Promise<readonly string[] | undefined> {
  const tables = await Promise.all(['/proc/net/tcp', '/proc/net/tcp6'].map((path) => readIfThere(host, path)));
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  const found = tables.flatMap((table) =>
    [...(table ?? '').matchAll(/^ *\d+: ([0-9A-F]{8}|[0-9A-F]{32}):([0-9A-F]{4}) \S+ 0A /gm)]
      .filter(([, , at]) => at === hex)
      .map(([, address = '']) => `${printedAddress(address)}:${port}`),
  );
  return found.length === 0 ? undefined : found;
}

/** Four bytes are an address of IPv4, each group of four in the byte order of the processor (little-endian everywhere here). */
function printedAddress(hex: string): string {
  const bytes = (hex.match(/.{8}/g) ?? []).flatMap((group) =>
    (group.match(/../g) ?? []).reverse().map((byte) => Number.parseInt(byte, 16)),
  );
  if (bytes.length === 4) return bytes.join('.');
  if (bytes.every((byte) => byte === 0)) return '[::]';
  const words = Array.from({ length: 8 }, (_, index) =>
    ((bytes[index * 2] ?? 0) * 256 + (bytes[index * 2 + 1] ?? 0)).toString(16),
  );
  return words.slice(0, 7).every((word) => word === '0') && words[7] === '1' ? '[::1]' : `[${words.join(':')}]`;
}
