import {
  DEFAULT_CERTIFICATES_DIRECTORY,
  DEFAULT_ETCD_DATA_DIRECTORY,
  KUBELET_DIRECTORY,
  STATIC_PODS_DIRECTORY,
} from '@machineadm/document/ownership/kubernetes-paths.ts';
import { HOOKS_DIRECTORY } from '@machineadm/document/ownership/paths.ts';
import { member, text } from '@machineadm/document/values/untyped.ts';
import { describeLeave, type LeaveOrder, leaveOrder } from '../../features/active-directory/leave.ts';
import { resetCommand } from '../../features/exec-bootstrapper/reset-command.ts';
import { sentinelPath } from '../../features/sentinel/file.ts';
import { mountPointsOf } from '../../host/files/paths.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import { partsOf, type Resource } from '../../host/seam/resource.ts';
import { attemptOf } from '../../kubernetes/kubeadm/attempt.ts';
import { assumedInventory, type Inventory, keeperOf, RESET_FILES } from '../../kubernetes/kubeadm/inventory.ts';
import type { ResetOrder, UndoNote } from '../../kubernetes/kubeadm/reset-order.ts';
import { type NodeMounts, nodeMounts } from '../../kubernetes/mounts.ts';
import { upgradeRemains } from '../../kubernetes/upgrade/kubeadm-copies.ts';
import type { StepsById } from '../../step/feature-step.ts';
import type { Memory } from '../../step/memory.ts';
import type { PriorState } from '../../step/recorded-state.ts';
import type { ResetAction } from '../../step/reset-action.ts';
import { planRestore } from '../restore.ts';

/** So many paths that stay are listed. */
const MOST_KEPT = 50;

/** The journal's memory of what the runs of this machine made. */
export interface Made extends Memory {
  /** What was there before the bootstrap; undefined where none is on record. */
  readonly inventory: Inventory | undefined;
  /** What the steps that changed something leave to others (`FeatureStep.leaves`). */
  readonly leaves: readonly string[];
  /** What else goes with a document that is reset alone; absent: everything is reset. */
  readonly lines?: readonly ResetAction[];
}

/** What a reset will do, from the journal and with questions only. */
export interface ResetPlan {
  /** False where one document of several is reset. */
  readonly isWhole: boolean;
  /** Set where kubeadm was run. */
  readonly kubeadm: Omit<ResetOrder, 'offline' | 'automatic'> | undefined;
  /** What was there before the bootstrap, where a reset deletes everything else. */
  readonly keep: readonly string[];
  /** The command that undoes a program in kubeadm's place; [] where the document gave none. */
  readonly exec: readonly string[] | undefined;
  /** The membership in a domain that is given up. */
  readonly domain: LeaveOrder | undefined;
  readonly mounts: NodeMounts;
  /** What upgrades of the node left. */
  readonly upgradeRemains: readonly string[];
  /** How all else becomes again what it was before the first run. */
  readonly restore: readonly ResetAction[];
  /** The sentinel; undefined where there was none. */
  readonly sentinel: string | undefined;
}

/** How to take away again what was made. */
export async function planReset(
  steps: StepsById,
  host: QueryHost,
  made: Made,
  options: { readonly leaveFiles: boolean; readonly osId: string },
): Promise<ResetPlan> {
  const kubeadm = await kubeadmOrder(host, made);
  const mountinfo = (await host.readText('/proc/self/mountinfo')) ?? '';
  const directories = [DEFAULT_ETCD_DATA_DIRECTORY, kubeadm?.certificatesDirectory ?? DEFAULT_CERTIFICATES_DIRECTORY];
  const domain = await leaveOrder(host, made);
  const before = new Map(
    [...made.before].filter(([resource, { was }]) => !isOfHooks(resource) && !isOfTheNode(resource, was, kubeadm)),
  );
  const restore = [
    ...(domain === undefined ? [] : [removeKeytab(domain)]),
    ...withLines(await planRestore(steps, host, { ...made, before }, options.osId), made.lines ?? []),
    ...made.leaves.map((what) => ({ summary: `leave ${what}` })),
  ];
  const isWhole = made.lines === undefined;
  const hasNode = isWhole || kubeadm !== undefined;
  return {
    isWhole,
    kubeadm,
    keep: kubeadm?.inventory.map(({ path }) => path) ?? [],
    exec: resetCommand(made),
    domain: options.leaveFiles ? undefined : domain,
    mounts: hasNode ? nodeMounts(mountPointsOf(mountinfo), directories) : { kubelet: [], foreign: [] },
    upgradeRemains: hasNode ? await upgradeRemains(host) : [],
    restore: options.leaveFiles ? restore.map(left) : restore,
    sentinel: sentinelPath(made),
  };
}

/** Lines in a file that is restored as a whole need no action of their own. */
function withLines(restore: readonly ResetAction[], lines: readonly ResetAction[]): readonly ResetAction[] {
  const isWhole = ({ resource }: ResetAction): boolean =>
    restore.some((action) => action.resource === resource && action.perform !== undefined);
  return [...restore, ...lines.filter((line) => !isWhole(line))];
}

/** With --leave-files, what would be done is only said. */
function left({ summary, resource }: ResetAction): ResetAction {
  if (summary === undefined || summary.startsWith('leave ')) return summary === undefined ? {} : { summary };
  return { summary: resource === undefined ? `leave out: ${summary}` : `leave ${partsOf(resource).name}` };
}

function removeKeytab({ keytab }: LeaveOrder): ResetAction {
  return {
    summary: `remove ${keytab}`,
    resource: `path:${keytab}`,
    perform: (changing) => changing.removeFile(keytab),
  };
}

/** Each thing that will be done, one line for people. */
export function describeReset(plan: ResetPlan): readonly string[] {
  return [
    ...plan.mounts.kubelet.map((point) => `unmount ${point}`),
    ...describeKubeadm(plan),
    ...plan.upgradeRemains.map((path) => `remove ${path}, which an upgrade of the node left`),
    ...(plan.exec === undefined || plan.exec.length === 0 ? [] : [`run ${plan.exec.join(' ')}`]),
    ...(plan.domain === undefined ? [] : [describeLeave(plan.domain)]),
    ...(plan.sentinel === undefined ? [] : [`remove ${plan.sentinel}`]),
    ...plan.restore.flatMap(({ summary }) => summary ?? []),
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

/**
 * A step's change to a file of kubeadm or the kubelet is removed with the node; files that existed before them are in
 * the inventory.
 */
function isOfTheNode(resource: Resource, was: PriorState, kubeadm: ResetPlan['kubeadm']): boolean {
  const { kind, name } = partsOf(resource);
  if (kubeadm === undefined || was === null || (kind !== 'path' && kind !== 'attributes')) return false;
  const { certificatesDirectory, etcdDataDirectory = DEFAULT_ETCD_DATA_DIRECTORY, inventory } = kubeadm;
  const directories = [STATIC_PODS_DIRECTORY, KUBELET_DIRECTORY, certificatesDirectory, etcdDataDirectory];
  const isBelow = directories.some((directory) => name.startsWith(`${directory}/`)) || RESET_FILES.includes(name);
  return isBelow && !keeperOf(inventory).keeps(name);
}

/** As earlier versions recorded it: their directory is removed as a whole. */
function isOfHooks(resource: Resource): boolean {
  return `${resource}/`.startsWith(`path:${HOOKS_DIRECTORY}/`);
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
async function inventoryOf(host: QueryHost, undo: UndoNote, { inventory, before }: Made): Promise<Inventory> {
  if (inventory !== undefined) return inventory;
  return (await assumedInventory(host, undo)).filter(({ path }) => before.get(`path:${path}`)?.was !== null);
}
