import {
  ADMIN_KUBECONFIG,
  BOOTSTRAP_KUBELET_KUBECONFIG,
  CONTROLLER_MANAGER_KUBECONFIG,
  DEFAULT_ETCD_DATA_DIRECTORY,
  KUBEADM_PODS,
  KUBELET_DIRECTORY,
  KUBELET_KUBECONFIG,
  SCHEDULER_KUBECONFIG,
  STATIC_PODS_DIRECTORY,
  SUPER_ADMIN_KUBECONFIG,
} from '@machineadm/document/ownership/kubernetes-paths.ts';
import { mountPointsOf } from '../../host/files/paths.ts';
import type { FileStat, QueryHost } from '../../host/seam/host.ts';

/** The places that a reset of a node deletes. */
export interface ResetPlaces {
  readonly certificatesDirectory: string;
  /** Of a local etcd, where it is not the default. */
  readonly etcdDataDirectory?: string | undefined;
}

/** An entry that existed before kubeadm's first start. */
export interface InventoryEntry {
  readonly path: string;
  readonly type: FileStat['type'];
  readonly size: number;
  /** Changes when the file is written or replaced. */
  readonly fingerprint?: string | undefined;
  /** True for a directory that is kept as a whole, with everything added to it later. */
  readonly whole?: true;
}

export type Inventory = readonly InventoryEntry[];

/**
 * k/k cmd/kubeadm/app/cmd/phases/reset/cleanupnode.go: files that are deleted, and directories whose contents are
 * deleted.
 */
export const RESET_FILES: readonly string[] = [
  KUBELET_KUBECONFIG,
  BOOTSTRAP_KUBELET_KUBECONFIG,
  ADMIN_KUBECONFIG,
  SUPER_ADMIN_KUBECONFIG,
  CONTROLLER_MANAGER_KUBECONFIG,
  SCHEDULER_KUBECONFIG,
];
const RESET_DIRECTORIES = [
  STATIC_PODS_DIRECTORY,
  KUBELET_DIRECTORY,
  '/var/run/kubernetes',
  '/var/lib/cni',
  '/var/lib/dockershim',
];
export const CERTIFICATES: readonly string[] = [
  'apiserver',
  'apiserver-etcd-client',
  'apiserver-kubelet-client',
  'ca',
  'etcd/ca',
  'etcd/healthcheck-client',
  'etcd/peer',
  'etcd/server',
  'front-proxy-ca',
  'front-proxy-client',
  'sa',
];
/** Above this number files are not listed individually: their directory then counts as a whole. */
const MOST_ENTRIES = 2_000;

/**
 * Lists everything that a reset could delete. It is taken before kubeadm's first start, and its entries are never
 * removed: an image's certificate authority, a restored etcd snapshot, files of other software.
 */
export async function takeInventory(host: QueryHost, places: ResetPlaces): Promise<Inventory> {
  const entries: InventoryEntry[] = [];
  const mountPoints = new Set(mountPointsOf((await host.readText('/proc/self/mountinfo')) ?? ''));
  const add = (path: string, { type, size, fingerprint }: FileStat, whole: boolean): void => {
    entries.push({ path, type, size, fingerprint, ...(whole ? { whole } : {}) });
  };
  const walk = async (directory: string, areWhole: boolean): Promise<void> => {
    const names = (await host.list(directory)) ?? [];
    const own = names.length + entries.length > MOST_ENTRIES ? await host.stat(directory) : undefined;
    if (own !== undefined) return add(directory, own, true);
    for (const name of names) {
      const path = `${directory}/${name}`;
      const stat = await host.stat(path);
      if (stat === undefined) continue;
      if (stat.type !== 'directory') add(path, stat, false);
      else if (areWhole || mountPoints.has(path)) add(path, stat, true);
      else await walk(path, false);
    }
  };
  for (const path of RESET_FILES) {
    const stat = await host.stat(path);
    if (stat !== undefined) add(path, stat, stat.type === 'directory');
  }
  for (const directory of [...RESET_DIRECTORIES, places.certificatesDirectory]) await walk(directory, false);
  // A part of etcd's files is useless without the others.
  for (const directory of etcdDirectories(places)) await walk(directory, true);
  return entries;
}

/** Certificate authorities and the service account key; the other certificates can be issued again. */
const AUTHORITIES = ['ca', 'etcd/ca', 'front-proxy-ca', 'sa'];
/** Files below the kubelet's directory that kubeadm and the kubelet write, and can write again. */
const KUBELET_STATE =
  /^\/var\/lib\/kubelet\/((config|instance-config)\.yaml|kubeadm-flags\.env|(cpu|memory|dra)_manager_state|pki\/kubelet[^/]*|(checkpoints|device-plugins|plugins|plugins_registry|pods|pod-resources)\/.*)$/;

/**
 * What counts as existing before, where an older version's journal does not tell: everything except what kubeadm and
 * the kubelet are known to write and can write again. A certificate authority and etcd's data cannot be recreated.
 */
export async function assumedInventory(host: QueryHost, places: ResetPlaces): Promise<Inventory> {
  const pki = places.certificatesDirectory;
  const kept = new Set<string>();
  for (const name of AUTHORITIES) {
    if ((await host.stat(`${pki}/${name}.key`)) === undefined) continue;
    for (const kind of ['crt', 'key', 'pub']) kept.add(`${pki}/${name}.${kind}`);
  }
  const madeAgain = new Set([
    ...RESET_FILES,
    ...KUBEADM_PODS.map((name) => `${STATIC_PODS_DIRECTORY}/${name}.yaml`),
    ...CERTIFICATES.flatMap((name) => ['crt', 'key', 'pub'].map((kind) => `${pki}/${name}.${kind}`)),
  ]);
  const found = await takeInventory(host, places);
  return found.filter(({ path }) => kept.has(path) || (!madeAgain.has(path) && !KUBELET_STATE.test(path)));
}

/** The data directories of a local etcd: since 1.28 kubeadm reset empties the default one, even on a worker. */
function etcdDirectories({ etcdDataDirectory }: ResetPlaces): readonly string[] {
  return [...new Set([DEFAULT_ETCD_DATA_DIRECTORY, etcdDataDirectory ?? DEFAULT_ETCD_DATA_DIRECTORY])];
}

/** Decides which paths a reset must keep. */
export interface Keeper {
  /** The path itself existed before, or is in a directory that is kept as a whole. */
  keeps(path: string): boolean;
  /** It is kept, or contains something that is kept. */
  keepsAnyOf(path: string): boolean;
}

export function keeperOf(inventory: Inventory): Keeper {
  const kept = new Set(inventory.map(({ path }) => path));
  const whole = inventory.filter(({ whole }) => whole === true).map(({ path }) => `${path}/`);
  const ancestors = new Set(inventory.flatMap(({ path }) => ancestorsOf(path)));
  const keeps = (path: string): boolean => kept.has(path) || whole.some((directory) => path.startsWith(directory));
  return { keeps, keepsAnyOf: (path) => keeps(path) || ancestors.has(path) };
}

function ancestorsOf(path: string): string[] {
  const parts = path.split('/');
  return parts.slice(2).map((_, index) => parts.slice(0, index + 2).join('/'));
}

/**
 * The topmost paths that a reset deletes: everything in its places except what is kept or mounted there.
 *
 * @param keeper of the inventory
 */
export async function removablePaths(host: QueryHost, places: ResetPlaces, keeper: Keeper): Promise<readonly string[]> {
  const mountPoints = mountPointsOf((await host.readText('/proc/self/mountinfo')) ?? '');
  const holdsMount = (path: string): boolean =>
    mountPoints.some((point) => point === path || point.startsWith(`${path}/`));
  const found: string[] = [];
  const walk = async (directory: string): Promise<void> => {
    for (const name of (await host.list(directory)) ?? []) {
      const path = `${directory}/${name}`;
      if (keeper.keeps(path) || mountPoints.includes(path)) continue;
      const stat = await host.stat(path);
      if (stat?.type === 'directory' && (keeper.keepsAnyOf(path) || holdsMount(path))) await walk(path);
      else if (stat !== undefined) found.push(path);
    }
  };
  for (const path of RESET_FILES) {
    if (!keeper.keepsAnyOf(path) && (await host.stat(path)) !== undefined) found.push(path);
  }
  const directories = [STATIC_PODS_DIRECTORY, places.certificatesDirectory, KUBELET_DIRECTORY];
  for (const directory of directories) await walk(directory);
  for (const directory of etcdDirectories(places)) {
    const member = `${directory}/member`;
    if (!keeper.keepsAnyOf(member) && (await host.stat(member)) !== undefined) found.push(member);
  }
  return found;
}
