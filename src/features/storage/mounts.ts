import { posix } from 'node:path';
import { mountOrder, needsFirst } from '@machineadm/document/host-parts/mount-order.ts';
import type {
  DeviceSelector,
  DiskModel,
  FilesystemModel,
  Model,
  MountModel,
  SourceMount,
} from '@machineadm/document/model/index.ts';
import type { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { FSTAB } from '@machineadm/document/ownership/paths.ts';
import { describeDevice, findDevice } from '../../block-devices/device.ts';
import { freeBytes } from '../../block-devices/free-space.ts';
import { withoutEntry } from '../../block-devices/fstab.ts';
import { mountArguments } from '../../block-devices/mount-options.ts';
import {
  describeMounted,
  fstabKey,
  inspectDevice,
  type MountState,
  obstacle,
  runningOn,
  swapKey,
} from '../../block-devices/mount-state.ts';
import { inspectSource, swapUnfit } from '../../block-devices/source-state.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import { removedLines } from '../../owned-files/removed-lines.ts';
import { type ChangedByStep, type FeatureStep, STAYS, type Staying } from '../../step/feature-step.ts';
import type { Change, Execution, FollowUp, UnmetRequirement } from '../../step/index.ts';
import type { Memory } from '../../step/memory.ts';
import { namedIn } from '../../step/named-in.ts';
import type { ResetAction } from '../../step/reset-action.ts';
import type { Asked } from '../../step/wants.ts';
import { bringUp, conflicting, mountFailed, nothingToMount, runMount, someOf, writeFstab } from './mount-changes.ts';
import { willBePartitioned } from './pending.ts';
import { createSwapFile, SWAP_FILE_PROGRAMS } from './swap-file.ts';
import { missingTools } from './tools.ts';
import { absentDevice, waitForDevice } from './wait.ts';

/** A mount with its place in the document. */
interface PlacedMount {
  readonly mount: MountModel;
  readonly place: string;
}

export interface MountsDesired {
  /** In the order in which they are made. */
  readonly mounts: readonly PlacedMount[];
  readonly disks: readonly DiskModel[];
  readonly filesystems: readonly FilesystemModel[];
  readonly systemd: boolean;
}

export interface MountsActual {
  readonly mounts: readonly {
    /** undefined: the device or its file system is not there (yet), or the source is on a mount that is not made yet. */
    readonly state: MountState | undefined;
    /** Services that run on what the mount would hide. */
    readonly running: readonly string[];
  }[];
}

/**
 * File systems and directories mounted and swap switched on, now and at every boot. `nofail` is for later boots only: this run fails
 * when one is not mounted, so that etcd never ends up on the root disk unnoticed.
 *
 * A service that works in a directory which the mount hides is stopped before and started after it. That start is owed
 * by a name of this step's own (`restart:containerd.service`): `restart:containerd` is the containerd step's.
 */
export const mounts: FeatureStep<MountsDesired, MountsActual, PlacedMount> = {
  id: 'mounts',
  restoring: {
    keeps: () => [`path:${FSTAB}`],
    withDocument: (host, memory, _name, asked) => linesOfDocument(host, memory, asked),
  },
  section: 'host.storage.mounts',
  stays: mountsThatStay,
  isRequested: STAYS,
  followUps: {
    settles: ['daemon-reload', 'restart:containerd.service', 'restart:kubelet.service'],

    async perform(host, _desired, followUp) {
      if (followUp === 'daemon-reload') return host.services.reload();
      const service = followUp.slice('restart:'.length);
      if (!(await host.service(service)).active) await host.services.start(service);
    },
  },

  desired({ host }, facts) {
    const { mounts, disks, filesystems } = host.storage;
    if (mounts.length === 0) return undefined;
    const placed = mountOrder(mounts).order.map((mount) => ({
      mount,
      place: `host.storage.mounts[${mount.at ?? mounts.indexOf(mount)}]`,
    }));
    const systemd = facts.serviceManager === 'systemd';
    return { mounts: placed, disks, filesystems, systemd };
  },

  async preflight(host, desired) {
    const programs = desired.mounts.flatMap(({ mount }) => programsOf(mount));
    const missing: UnmetRequirement[] = [...(await missingTools(host, ['findmnt', 'blkid', 'lsblk', ...programs]))];
    if (missing.length > 0) return missing;
    const { mounts } = await inspect(host, desired);
    for (const [index, placed] of desired.mounts.entries())
      missing.push(...(await obstaclesOf(host, desired, placed, mounts[index]?.state)));
    return missing;
  },

  inspect,

  plan(desired, actual) {
    const changes: Change<PlacedMount>[] = [];
    desired.mounts.forEach((placed, index) => {
      const { state, running } = actual.mounts[index] ?? { state: undefined, running: [] };
      const summary = summaryOf(placed.mount, state);
      if (summary === undefined) return;
      changes.push({
        id: changeId(placed.mount),
        summary,
        scope: 'node',
        ...(state === undefined ? knownAfter(desired) : {}),
        owes: owedBy(desired, state, running),
        ineffective: 'MountFailed',
        payload: placed,
      });
    });
    return changes;
  },

  async apply(host, change, execution) {
    const { mount, place } = change.payload;
    const look = await lookAt(host, mount, place, execution);
    const state = await look();
    if (state.conflict !== undefined) throw conflicting(place, state.conflict);
    if ('source' in mount && state.creates === 'directory') await host.makeDirectory(mount.source, 0o755);
    if ('source' in mount && state.creates === 'swap file') await createSwapFile(host, mount, place, execution);
    if (!state.inFstab) await writeFstab(host, mount, state);
    if (state.mounted === 'no') await bringUp(host, mount, state, place, execution);
    if (state.mounted === 'with other options') {
      await runMount(host, 'mount', [...mountArguments(mount, true), mount.path], mount, state, place, execution);
    }
    if ((await look()).mounted !== 'yes') throw mountFailed(mount, state, place, 'findmnt does not find it');
  },

  async settled(host, { mounts }) {
    const parents = mounts.map(({ mount: { path } }) => (path === 'none' ? '/etc' : posix.dirname(path)));
    for (const directory of new Set(['/etc', ...parents])) await host.sync(directory);
  },
};

/** The lines in fstab of mounts and swap areas that only this document asks for. */
async function linesOfDocument(
  host: QueryHost,
  memory: Memory,
  asked: Asked | undefined,
): Promise<readonly ResetAction[]> {
  const keys = (asked?.wishes ?? []).flatMap(({ key }) => {
    const [, kind, path = ''] = /^(mount|swap):(\/.*)$/s.exec(key) ?? [];
    if (kind === undefined) return [];
    const isMount = kind === 'mount';
    if (memory.others(isMount ? `mount:${path}` : `swap:${path}`, 'mounts')) return [];
    return [isMount ? path : swapKey(path)];
  });
  return keys.length === 0 ? [] : await removedLines(host, FSTAB, (text) => keys.reduce(withoutEntry, text));
}

/** No run unmounts what programs may use, nor turns off swap that the kernel may need. */
function mountsThatStay({ host }: Model, { resources, memory }: ChangedByStep): readonly Staying[] {
  const mounts = [...host.storage.mounts.map(({ path }) => path), ...namedIn(host, 'mount', [])];
  const swaps = host.storage.mounts.filter(({ path }) => path === 'none');
  const removed = namedIn(host, 'swap-file', []);
  const isSwapFile = (name: string): boolean => memory.before.has(`swap-file:${name}`);
  /** Of a device it is not known whether it is the one that the document names. */
  const isSwapRequested = (name: string): boolean =>
    isSwapFile(name)
      ? removed.includes(name) || swaps.some((one) => 'source' in one && one.source === name)
      : swaps.length > 0;
  return resources.flatMap(({ kind, name, resource }): readonly Staying[] => {
    if (kind === 'mount' && !mounts.includes(name))
      return [[resource, `${name} stays mounted, as programs may use it: absent: true unmounts it`]];
    if (kind !== 'swap' || isSwapRequested(name)) return [];
    const how = isSwapFile(name) ? 'absent: true removes the swap file' : 'swapoff turns it off';
    return [[resource, `swap on ${name} stays on, as the kernel may need the memory: ${how}`]];
  });
}

async function inspect(host: QueryHost, desired: MountsDesired): Promise<MountsActual> {
  const actual: MountsActual['mounts'][number][] = [];
  const unmade: MountModel[] = [];
  for (const { mount } of desired.mounts) {
    const isEarly = 'source' in mount && unmade.some((other) => needsFirst(mount, other));
    const state = isEarly ? undefined : await stateOf(host, desired, mount);
    if (state === undefined || state.mounted === 'no') unmade.push(mount);
    actual.push({ state, running: state === undefined ? await runningOn(host, mount.path) : state.running });
  }
  return { mounts: actual };
}

/** Why a mount will not be made, as far as the machine shows it now. */
async function obstaclesOf(
  host: QueryHost,
  desired: MountsDesired,
  { mount, place }: PlacedMount,
  state: MountState | undefined,
): Promise<readonly UnmetRequirement[]> {
  const change = changeId(mount);
  const failed = ({ reason, message: what, remedy, evidence }: MachineadmError): UnmetRequirement[] => [
    { reason, what, remedy, evidence, field: place, change, scope: 'node' },
  ];
  const there = await obstacle(host, mount.path);
  if (there !== undefined) return failed(conflicting(place, there));
  if (state?.conflict !== undefined) return failed(conflicting(place, state.conflict));
  // A source that is on a mount which is not made yet is looked at when it is.
  if ('source' in mount) {
    const isNew = state?.creates === 'swap file';
    const found = isNew ? await swapFileObstacle(host, mount) : undefined;
    return found === undefined ? [] : [{ ...found, field: place, change, scope: 'node' }];
  }
  if (await willBePartitioned(host, desired.disks, mount.device)) return [];
  const isMade = makesFilesystem(desired.filesystems, mount.device);
  const device = await findDevice(host, mount.device);
  // What is to be formatted is reported by the step before.
  if (device === undefined) return isMade ? [] : [absentDevice(mount.device, `${place}.device`, change)];
  return state === undefined && !isMade ? failed(nothingToMount(mount, place, device.path)) : [];
}

/** Whether the document makes the file system on a device, by the same words or by its label. */
function makesFilesystem(filesystems: readonly FilesystemModel[], device: DeviceSelector): boolean {
  const { by } = device;
  return filesystems.some(
    (one) => describeDevice(one.device) === describeDevice(device) || (by.kind === 'label' && one.label === by.label),
  );
}

/** Why a swap file cannot be created. */
async function swapFileObstacle(
  host: QueryHost,
  { source, sizeBytes = 0 }: SourceMount,
): Promise<Pick<UnmetRequirement, 'reason' | 'what' | 'remedy'> | undefined> {
  const unfit = await swapUnfit(host, source);
  if (unfit !== undefined)
    return { reason: 'MountFailed', what: unfit, remedy: 'Name a file on ext4, xfs or btrfs of a local disk.' };
  const free = await freeBytes(host, source);
  if (free === undefined || free >= sizeBytes) return undefined;
  const mebibytes = (bytes: number): string => `${Math.floor(bytes / 2 ** 20)} MiB`;
  const what = `the swap file ${source} needs ${mebibytes(sizeBytes)}, and ${mebibytes(free)} are free`;
  return { reason: 'DiskFull', what, remedy: 'Free space, or choose a smaller size or another file system.' };
}

function programsOf(mount: MountModel): readonly string[] {
  if (mount.path === 'none') return 'source' in mount ? SWAP_FILE_PROGRAMS : ['swapon'];
  return mount.type === 'nfs' || mount.type === 'nfs4' ? ['mount', `mount.${mount.type}`] : ['mount'];
}

/** undefined: the device or its file system is not there (yet). */
async function stateOf(host: QueryHost, { disks }: MountsDesired, mount: MountModel): Promise<MountState | undefined> {
  if ('source' in mount) return await inspectSource(host, mount);
  const pending = await willBePartitioned(host, disks, mount.device);
  const device = pending ? undefined : await findDevice(host, mount.device);
  return device === undefined ? undefined : await inspectDevice(host, mount, device);
}

/** Waits for the device, and returns how to look at the mount again. */
async function lookAt(
  host: QueryHost,
  mount: MountModel,
  place: string,
  execution: Execution,
): Promise<() => Promise<MountState>> {
  if ('source' in mount) return () => inspectSource(host, mount);
  const device = await waitForDevice(host, mount.device, `${place}.device`, execution);
  return async () => {
    const state = await inspectDevice(host, mount, device);
    if (state === undefined) throw nothingToMount(mount, place, device.path);
    return state;
  };
}

function changeId(mount: MountModel): string {
  return `mounts/${fstabKey(mount)}`;
}

function summaryOf(mount: MountModel, state: MountState | undefined): string | undefined {
  const what = `${describeMounted(mount)} ${mount.path === 'none' ? 'as swap' : `on ${mount.path}`}`;
  if (state === undefined) return `mount ${what}, now and at boot`;
  if (state.conflict !== undefined) return `${mount.path}: ${state.conflict}`;
  const parts: string[] = [];
  if (state.creates !== undefined) parts.push(`create the ${state.creates} ${state.source}`);
  if (state.mounted === 'no') parts.push(`mount ${what} (${mount.type ?? state.entry.type})`);
  if (state.hides.length > 0) parts.push(`hide what ${mount.path} holds (${someOf(state.hides)})`);
  if (state.mounted === 'with other options') parts.push(`remount ${mount.path} with ${mount.options.join(',')}`);
  if (!state.inFstab) parts.push(`${FSTAB}: ${state.entry.source} ${mount.path}`);
  if (state.running.length > 0) parts.push(`meanwhile stop ${state.running.join(' and ')}`);
  return parts.length === 0 ? undefined : parts.join('; ');
}

function knownAfter({ filesystems, disks }: MountsDesired): Pick<Change, 'knownAfter'> {
  if (filesystems.length > 0) return { knownAfter: 'filesystems' };
  return disks.length > 0 ? { knownAfter: 'disks' } : {};
}

function owedBy(
  desired: MountsDesired,
  state: MountState | undefined,
  running: readonly string[],
): readonly FollowUp[] {
  const reload = desired.systemd && (state === undefined || !state.inFstab) ? (['daemon-reload'] as const) : [];
  return [...reload, ...running.map((service) => `restart:${service}` as const)];
}
