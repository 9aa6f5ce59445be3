import {
  DEFAULT_CERTIFICATES_DIRECTORY,
  DEFAULT_ETCD_DATA_DIRECTORY,
  STATIC_PODS_DIRECTORY,
} from '@machineadm/document/ownership/kubernetes-paths.ts';
import { ORIGINAL_SUFFIX } from '@machineadm/document/ownership/paths.ts';
import { member, text } from '@machineadm/document/untyped.ts';
import { mountPointsOf } from '../../host/files/paths.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import { attemptOf } from '../../kubernetes/kubeadm/attempt.ts';
import { assumedInventory, type Inventory } from '../../kubernetes/kubeadm/inventory.ts';
import type { ResetOrder, UndoNote } from '../../kubernetes/kubeadm/reset-order.ts';
import { type NodeMounts, nodeMounts } from '../../kubernetes/mounts.ts';
import type { LeaveOrder } from '../active-directory/leave.ts';

/** What a step keeps of a file that it replaces whole (`steps/containerd/configuration.ts`). */

/** Where hooks leave what they did; the next node starts without it. */
export const HOOKS_DIRECTORY = '/var/lib/machineadm/hooks';

/** So many paths that stay are listed. */
const MOST_KEPT = 50;

/** What the journal knows of what the runs of this machine made. */
export interface Made {
  /** What was at each path before we wrote there for the first time, in that order. */
  readonly wrote: ReadonlyMap<string, 'absent' | 'present'>;
  /** Services that start at boot because of us. */
  readonly enabled: ReadonlySet<string>;
  /** What was there before the bootstrap; undefined where none is on record. */
  readonly inventory: Inventory | undefined;
  /** The last note that a change left for itself (`Execution.remember`). */
  note(step: string, change: string): unknown;
}

/** What a reset will do, from the journal and with questions only. */
export interface ResetPlan {
  /** Set where kubeadm was run. */
  readonly kubeadm: Omit<ResetOrder, 'offline' | 'automatic'> | undefined;
  /** What was there before the bootstrap, where a reset deletes everything else. */
  readonly keep: readonly string[];
  /** The command that undoes a program in kubeadm's place; [] where the document gave none. */
  readonly exec: readonly string[] | undefined;
  /** The membership in a domain that is given up. */
  readonly domain: LeaveOrder | undefined;
  readonly mounts: NodeMounts;
  /** Services that start at boot because of us. */
  readonly disable: readonly string[];
  /** Files put back as they were. */
  readonly restore: readonly { readonly path: string; readonly original: string }[];
  /** Files and directories that we created, the latest first. */
  readonly remove: readonly string[];
  /** Files that were there before, and that we changed: they stay as they are. */
  readonly left: readonly string[];
  /** The sentinel; undefined where there was none. */
  readonly sentinel: string | undefined;
}

/** How to take away again what was made. */
export async function planReset(
  host: QueryHost,
  made: Made,
  options: { readonly leaveFiles: boolean },
): Promise<ResetPlan> {
  const kubeadm = await kubeadmOrder(host, made);
  const mountinfo = (await host.readText('/proc/self/mountinfo')) ?? '';
  const directories = [DEFAULT_ETCD_DATA_DIRECTORY, kubeadm?.certificatesDirectory ?? DEFAULT_CERTIFICATES_DIRECTORY];
  const latestFirst = [...made.wrote].reverse().filter(([path]) => !isOfHooks(path));
  const restore = originals(made);
  const spared = new Set(restore.flatMap(({ path, original }) => [path, original]));
  const present: string[] = [];
  for (const [path, before] of latestFirst) {
    if (before === 'absent' && !spared.has(path) && (await host.stat(path)) !== undefined) present.push(path);
  }
  const domain = leaveOrder(made);
  if (domain !== undefined && (await host.stat(domain.keytab)) !== undefined) present.push(domain.keytab);
  const changed = latestFirst
    .filter(([path, before]) => before === 'present' && !spared.has(path) && !isOfKubeadm(path, kubeadm))
    .map(([path]) => path);
  return {
    kubeadm,
    keep: kubeadm?.inventory.map(({ path }) => path) ?? [],
    exec: execReset(made),
    domain: options.leaveFiles ? undefined : domain,
    mounts: nodeMounts(mountPointsOf(mountinfo), directories),
    disable: options.leaveFiles ? [] : [...made.enabled],
    restore: options.leaveFiles ? [] : restore,
    remove: options.leaveFiles ? [] : present,
    left: options.leaveFiles ? [...present, ...changed] : changed,
    sentinel: text(member(made.note('sentinel', 'sentinel/file'), 'path')),
  };
}

/** Each thing that will be done, one line for people. */
export function describeReset(plan: ResetPlan): readonly string[] {
  return [
    ...plan.mounts.kubelet.map((point) => `unmount ${point}`),
    ...describeKubeadm(plan),
    ...(plan.exec === undefined || plan.exec.length === 0 ? [] : [`run ${plan.exec.join(' ')}`]),
    ...(plan.domain === undefined ? [] : [`delete ${plan.domain.computer} from ${plan.domain.domain}`]),
    ...(plan.sentinel === undefined ? [] : [`remove ${plan.sentinel}`]),
    ...plan.disable.map((service) => `disable ${service}`),
    ...plan.restore.map(({ path }) => `restore ${path} as it was`),
    ...plan.remove.map((path) => `remove ${path}`),
    ...plan.left.map((path) => `leave ${path}`),
  ];
}

/** kubeadm reset empties whole directories, so it is run only where nothing in them stays. */
function describeKubeadm({ kubeadm, keep }: ResetPlan): readonly string[] {
  if (kubeadm === undefined) return [];
  if (keep.length === 0) return ['kubeadm reset'];
  const shown = keep.length > MOST_KEPT ? keep.slice(0, MOST_KEPT - 1) : keep;
  return [
    'remove what kubeadm and the kubelet wrote, the etcd member and the pods',
    ...shown.map((path) => `keep ${path}: it was there before the bootstrap`),
    ...(shown.length < keep.length ? [`keep ${keep.length - shown.length} more paths that were there before`] : []),
  ];
}

/** Its manifests go with it, whoever wrote into one last. */
function isOfKubeadm(path: string, kubeadm: ResetPlan['kubeadm']): boolean {
  return kubeadm !== undefined && path.startsWith(`${STATIC_PODS_DIRECTORY}/`);
}

function isOfHooks(path: string): boolean {
  return path === HOOKS_DIRECTORY || path.startsWith(`${HOOKS_DIRECTORY}/`);
}

/** Where kubeadm was run or begun; the note is left before it starts. */
async function kubeadmOrder(host: QueryHost, made: Made): Promise<ResetPlan['kubeadm']> {
  const notes = ['kubeadm/init', 'kubeadm/join'].map((change) => made.note('kubeadm', change));
  const undo = notes.map(undoOf).find((found) => found !== undefined);
  if (undo === undefined) return undefined;
  const attempt = attemptOf(notes.filter((note) => note !== undefined));
  return { ...undo, attempt, inventory: await inventoryOf(host, undo, made), leftovers: [] };
}

/** Older versions noted whether there is a member of etcd, and not who made the cluster. */
function undoOf(note: unknown, index: number): UndoNote | undefined {
  const undo = member(note, 'undo');
  const criSocket = text(member(undo, 'criSocket'));
  const certificatesDirectory = text(member(undo, 'certificatesDirectory'));
  const nodeName = text(member(undo, 'nodeName'));
  if (criSocket === undefined || certificatesDirectory === undefined || nodeName === undefined) return undefined;
  return {
    criSocket,
    certificatesDirectory,
    nodeName,
    etcdDataDirectory: text(member(undo, 'etcdDataDirectory')),
    advertiseAddress:
      text(member(undo, 'advertiseAddress')) ?? text(member(member(undo, 'etcdMember'), 'advertiseAddress')),
    founded: index === 0,
  };
}

/** An older version left no inventory: then what cannot be made again stays, but for what we wrote. */
async function inventoryOf(host: QueryHost, undo: UndoNote, { inventory, wrote }: Made): Promise<Inventory> {
  if (inventory !== undefined) return inventory;
  return (await assumedInventory(host, undo)).filter(({ path }) => wrote.get(path) !== 'absent');
}

/** The membership in a domain, where the document asked that a reset ends it and no other keys were there. */
function leaveOrder(made: Made): LeaveOrder | undefined {
  const note = made.note('active-directory', 'active-directory/join');
  const keytab = text(member(member(note, 'undo'), 'keytab'));
  const domain = text(member(note, 'domain'));
  const computer = text(member(note, 'computer'));
  if (keytab === undefined || domain === undefined || computer === undefined) return undefined;
  return { keytab, domain, computer };
}

function execReset(made: Made): readonly string[] | undefined {
  const note = made.note('exec-bootstrapper', 'exec-bootstrapper/run');
  if (note === undefined) return undefined;
  const command = member(note, 'reset');
  return Array.isArray(command) ? command.filter((word) => typeof word === 'string') : [];
}

function originals({ wrote }: Made): ResetPlan['restore'] {
  return [...wrote]
    .filter(([path, before]) => path.endsWith(ORIGINAL_SUFFIX) && before === 'absent')
    .map(([original]) => ({ path: original.slice(0, -ORIGINAL_SUFFIX.length), original }));
}
