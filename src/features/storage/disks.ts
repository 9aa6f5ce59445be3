import type { DiskModel } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { lastLine } from '@machineadm/document/text/printable.ts';
import { type BlockDevice, describeDevice, findDevice, partitionsKnown } from '../../block-devices/device.ts';
import type { Host } from '../../host/seam/host.ts';
import { type FeatureStep, STAYS } from '../../step/feature-step.ts';
import type { Change, Execution, UnmetRequirement } from '../../step/index.ts';
import { type DiskState, decisionOf, inspectDisk, mebibytes } from './disk-state.ts';
import { describeGrowth, growthFailed } from './growth.ts';
import { growPartition, growthOf, NOT_LAST } from './partition-growth.ts';
import { placePartitions, sfdiskScript, spaceFor } from './partition-layout.ts';
import { missingTools } from './tools.ts';
import { deviceBusy, isBusyError } from './usage.ts';
import { absentDevice, settleDevices, waitForDevice } from './wait.ts';

export interface DisksDesired {
  readonly disks: readonly DiskModel[];
}

export interface DisksActual {
  /** undefined: not there (yet). */
  readonly disks: readonly (DiskState | undefined)[];
}

export interface DiskPayload {
  readonly disk: DiskModel;
  readonly place: string;
}

/**
 * Partition tables. A table that matches is reused; a used disk that differs is an error that names what is there,
 * unless the document says `wipe`. `apply` looks again before it writes: the disk may have appeared only now.
 *
 * A kill leaves the old state or the new one: MBR is one sector, and libfdisk writes the protective MBR, without which
 * a GPT is not seen, behind all the rest (gpt.c, gpt_write_disklabel). What may be missing is that the kernel knows.
 */
export const disks: FeatureStep<DisksDesired, DisksActual, DiskPayload> = {
  id: 'disks',
  section: 'host.storage.disks',
  stays: ({ host }, { acted }) =>
    acted !== undefined && host.storage.disks.length === 0 ? [['disks', 'partitions stay: no run deletes data']] : [],
  isRequested: STAYS,
  leaves: 'the partitions, with the sizes that they have now: a reset never wipes a disk',

  desired({ host }) {
    const { disks } = host.storage;
    return disks.length === 0 ? undefined : { disks };
  },

  async preflight(host, desired) {
    const missing: UnmetRequirement[] = [
      ...(await missingTools(host, ['sfdisk', 'wipefs', 'blkid', 'lsblk', 'partx'])),
    ];
    if (missing.length > 0) return missing;
    for (const [index, disk] of desired.disks.entries()) {
      const device = await findDevice(host, disk.device);
      const field = placeOf(index);
      if (device === undefined) {
        missing.push(absentDevice(disk.device, `${field}.device`, changeId(disk)));
        continue;
      }
      const state = await inspectDisk(host, disk, device);
      const fits = decisionOf(disk, state) !== 'create' || placePartitions(disk, device.sizeBytes) !== undefined;
      const refusal = refusalOf(disk, state, field) ?? (fits ? undefined : tooSmall(disk, device, field));
      if (refusal === undefined) continue;
      const { reason, message: what, remedy, evidence } = refusal;
      missing.push({ reason, what, remedy, evidence, field, change: changeId(disk), scope: 'node' });
    }
    return missing;
  },

  async inspect(host, desired) {
    const states: (DiskState | undefined)[] = [];
    for (const disk of desired.disks) {
      const device = await findDevice(host, disk.device);
      states.push(device === undefined ? undefined : await inspectDisk(host, disk, device));
    }
    return { disks: states };
  },

  remarks: ({ disks }, _record, actual) =>
    disks.flatMap((disk, index) => {
      const growth = actual.disks[index]?.growth;
      if (growth?.diskGrew !== true || growthOf(disk, growth) !== 'report') return [];
      const room = mebibytes(growth.toBytes - growth.fromBytes);
      return [
        `${describeDevice(disk.device)} grew: ${room} are behind its partitions; grow: true of the last one takes them`,
      ];
    }),

  plan(desired, actual) {
    const changes: Change<DiskPayload>[] = [];
    desired.disks.forEach((disk, index) => {
      const state = actual.disks[index];
      const summary = state === undefined ? `when it appears: ${describeLayout(disk)}` : summaryOf(disk, state);
      if (summary === undefined) return;
      changes.push({
        id: changeId(disk),
        action: growthOf(disk, state?.growth) === 'grow' ? 'change' : 'add',
        summary: `${describeDevice(disk.device)}: ${summary}`,
        scope: 'node',
        repeatable: false,
        ineffective: 'PartitioningFailed',
        payload: { disk, place: placeOf(index) },
      });
    });
    return changes;
  },

  async apply(host, change, execution) {
    const { disk, place } = change.payload;
    const device = await waitForDevice(host, disk.device, `${place}.device`, execution);
    const state = await inspectDisk(host, disk, device);
    const refusal = refusalOf(disk, state, place);
    if (refusal !== undefined) throw refusal;
    if (decisionOf(disk, state) === 'create') await partition(host, disk, device, place, execution);
    else if (growthOf(disk, state.growth) === 'grow' && state.growth !== undefined)
      await growPartition(host, device, state.growth, place, execution);
    await awaitPartitions(host, disk, device, place, execution);
  },
};

function changeId(disk: DiskModel): string {
  return `disks/${describeDevice(disk.device)}`;
}

function placeOf(index: number): string {
  return `host.storage.disks[${index}]`;
}

function summaryOf(disk: DiskModel, state: DiskState): string | undefined {
  switch (decisionOf(disk, state)) {
    case 'reuse':
      if (growthOf(disk, state.growth) === 'grow' && state.growth !== undefined)
        return `grow partition ${state.growth.partition} ${describeGrowth(state.growth)}, and keep its data`;
      if (growthOf(disk, state.growth) === 'refuse GrowthFailed') return NOT_LAST;
      return state.known ? undefined : 'let the kernel read the partition table';
    case 'create':
      return `${state.finding === 'blank' ? '' : `destroy ${state.what}, `}${describeLayout(disk)}`;
    case 'refuse DiskNotEmpty':
      return `holds ${state.what}, and the document does not say "wipe"`;
    case 'refuse DeviceBusy':
      return `is in use: ${state.users.join('; ')}`;
  }
}

function refusalOf(disk: DiskModel, state: DiskState, place: string): MachineadmError | undefined {
  const decision = decisionOf(disk, state);
  if (decision === 'refuse DeviceBusy') return deviceBusy(state.device.path, place, state.users);
  if (growthOf(disk, state.growth) === 'refuse GrowthFailed')
    return growthFailed(state.device.path, `${place}.partitions[${disk.partitions.length - 1}]`, NOT_LAST);
  if (decision !== 'refuse DiskNotEmpty') return undefined;
  return new MachineadmError({
    reason: 'DiskNotEmpty',
    summary: `${state.device.path} (${place}) is not empty: it holds ${state.what}. Nothing on it was changed.`,
    remedy: `Correct the disk, or describe the existing partitions. If its contents may be destroyed, set ${place}.wipe to true.`,
    evidence: [{ source: state.device.path, text: state.what }],
  });
}

async function partition(
  host: Host,
  disk: DiskModel,
  device: BlockDevice,
  place: string,
  execution: Execution,
): Promise<void> {
  const laid = placePartitions(disk, device.sizeBytes);
  if (laid === undefined) throw tooSmall(disk, device, place);
  const wipe = disk.wipe ? 'always' : 'never';
  const result = await host.run({
    program: 'sfdisk',
    // Without `wipe`, signatures at the start of the new partitions are kept: the filesystems step finds them and decides.
    args: ['--quiet', '--wipe', 'always', '--wipe-partitions', wipe, device.path],
    input: sfdiskScript(disk, laid),
    signal: execution.signal,
    supervised: true,
  });
  if (result.status === 0) return;
  if (isBusyError(result.stderr)) throw deviceBusy(device.path, place, [lastLine(result.stderr)]);
  throw partitioningFailed(device, place, 'The partition table could not be written', lastLine(result.stderr));
}

/** Waits until the kernel shows the partitions: it may have refused sfdisk's wish, or nobody was there to tell it. */
async function awaitPartitions(
  host: Host,
  disk: DiskModel,
  device: BlockDevice,
  place: string,
  execution: Execution,
): Promise<void> {
  await settleDevices(host);
  const kernel = await partitionsKnown(host, device.name);
  const grows = disk.partitions.at(-1)?.grow === true;
  if (grows || kernel.size < disk.partitions.length) {
    // BLKRRPART fails on loop devices and on disks in use; adding partitions one by one works there (partx(8)).
    const told = await host.run({ program: 'partx', args: ['--update', device.path], signal: execution.signal });
    if (told.status !== 0) execution.output('partx', lastLine(told.stderr));
  }
  for (const number of disk.partitions.keys()) {
    const partition = { ...disk.device, partition: number + 1 };
    try {
      await waitForDevice(host, partition, place, execution);
    } catch (error) {
      if (!(error instanceof MachineadmError) || error.reason !== 'DeviceMissing') throw error;
      throw partitioningFailed(device, place, 'The kernel does not show the new partitions', error.message);
    }
  }
}

function tooSmall(disk: DiskModel, device: BlockDevice, place: string): MachineadmError {
  return new MachineadmError({
    reason: 'DiskTooSmall',
    summary: `The partitions of ${place} do not fit on ${device.path}, which has room for ${spaceFor(disk.table, device.sizeBytes)} MiB.`,
    remedy:
      'Use smaller sizes, percentages or one "Rest" for the partitions (each at least 1 MiB), or attach a larger disk.',
  });
}

function partitioningFailed(device: BlockDevice, place: string, what: string, text: string): MachineadmError {
  return new MachineadmError({
    reason: 'PartitioningFailed',
    summary: `${what}: ${device.path} (${place}).`,
    remedy: 'Read the line above and the kernel log ("journalctl -k") for errors of the disk, then run again.',
    evidence: [{ source: device.path, text }],
    retryable: true,
  });
}

function describeLayout(disk: DiskModel): string {
  const sizes = disk.partitions.map(({ size, label }) => {
    const amount =
      size.kind === 'rest' ? 'the rest' : size.kind === 'percent' ? `${size.percent} %` : mebibytes(size.bytes);
    return label === undefined ? amount : `${label} ${amount}`;
  });
  return `create a ${disk.table} table with ${sizes.join(', ')}`;
}
