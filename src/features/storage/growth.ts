import type { FilesystemModel } from '@machineadm/document/model/index.ts';
import { evidenceFrom, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { RUN_DIRECTORY } from '@machineadm/document/ownership/paths.ts';
import type { BlockDevice } from '../../block-devices/device.ts';
import { jsonRows } from '../../block-devices/json-rows.ts';
import type { Host, QueryHost } from '../../host/seam/host.ts';
import type { Execution } from '../../step/index.ts';
import { decideGrowth, type GrowthFinding } from './decisions.ts';

const MIB = 2 ** 20;
/** Smaller tails a file system may not be able to use: ext4 leaves out a last block group that is too small (resize2fs). */
const FILESYSTEM_TAIL = 16 * MIB;
/** growpart's fudge: a partition does not grow by less (cloud-utils, bin/growpart). */
const PARTITION_TAIL = MIB;
/** Where a file system is mounted while it grows, if it is not mounted. */
const GROWING = `${RUN_DIRECTORY}/growing`;

type GrowingType = 'ext4' | 'xfs' | 'btrfs';

/** How each kind is measured and grown: dumpe2fs(8), resize2fs(8), xfs_info(8), xfs_growfs(8), btrfs(8). */
const GROWERS: Readonly<
  Record<
    GrowingType,
    {
      readonly size: { readonly program: string; readonly args: readonly string[] };
      readonly bytes: (stdout: string) => number | undefined;
      readonly program: string;
      readonly grow: (device: string, mountPoint: string) => readonly string[];
    }
  >
> = {
  ext4: {
    size: { program: 'dumpe2fs', args: ['-h'] },
    bytes: (stdout) => product(stdout, /^Block count:\s+(\d+)$/m, /^Block size:\s+(\d+)$/m),
    program: 'resize2fs',
    grow: (device) => [device],
  },
  xfs: {
    size: { program: 'xfs_info', args: [] },
    bytes: (stdout) => product(stdout, /^data\s.*\bblocks=(\d+)/m, /^data\s.*\bbsize=(\d+)/m),
    program: 'xfs_growfs',
    grow: (_device, mountPoint) => ['-d', mountPoint],
  },
  btrfs: {
    size: { program: 'btrfs', args: ['inspect-internal', 'dump-super'] },
    bytes: (stdout) => product(stdout, /^dev_item\.total_bytes\s+(\d+)$/m),
    program: 'btrfs',
    grow: (_device, mountPoint) => ['filesystem', 'resize', 'max', mountPoint],
  },
};

/** How a file system stands to the device that it is on. */
export interface FilesystemGrowth {
  readonly finding: GrowthFinding;
  readonly fromBytes: number;
  readonly toBytes: number;
}

/** Programs that growing needs. */
export function growthTools({ type, grow }: FilesystemModel): readonly string[] {
  if (grow !== true || !isGrowing(type)) return [];
  return [GROWERS[type].size.program, GROWERS[type].program, 'mount', 'umount'];
}

/** undefined for a file system of a kind that does not grow, or whose size cannot be read. */
export async function inspectGrowth(
  host: QueryHost,
  type: FilesystemModel['type'],
  device: BlockDevice,
): Promise<FilesystemGrowth | undefined> {
  if (!isGrowing(type)) return undefined;
  const { size, bytes } = GROWERS[type];
  const { status, stdout } = await host.query({ program: size.program, args: [...size.args, device.path] });
  const fromBytes = status === 0 ? bytes(stdout) : undefined;
  if (fromBytes === undefined) return undefined;
  const toBytes = device.sizeBytes;
  const isUnfinished = (await mountPointOf(host, device.path)) === GROWING;
  const hasRoom = isUnfinished || toBytes - fromBytes >= FILESYSTEM_TAIL;
  const finding = fromBytes > toBytes ? 'larger than its device' : hasRoom ? 'room behind it' : 'no room';
  return { finding, fromBytes, toBytes };
}

/**
 * Makes a file system as large as its device, with its data, while it is mounted: none of the three kinds then needs a
 * check before, and the kernel grows it in transactions, so that a kill leaves it at the old size or at one between.
 * Throws `GrowthFailed`.
 */
export async function growFilesystem(
  host: Host,
  { type }: FilesystemModel,
  device: BlockDevice,
  place: string,
  execution: Execution,
): Promise<void> {
  if (!isGrowing(type)) return;
  const mountedOn = await mountPointOf(host, device.path);
  const run = async (program: string, args: readonly string[]): Promise<void> => {
    const onLine = (_stream: string, line: string): void => execution.output(program, line);
    const result = await host.run({ program, args, onLine, signal: execution.signal, supervised: true });
    if (result.status === 0) return;
    const said = `${result.stderr}\n${result.stdout}`.trim().split('\n').slice(0, 5);
    throw growthFailed(device.path, place, `${program} ended with status ${result.status}`, program, said);
  };
  if (mountedOn === undefined) {
    await host.makeDirectory(GROWING, 0o700);
    await run('mount', ['-t', type, '--source', device.path, '--target', GROWING]);
  }
  execution.waitingFor(`${GROWERS[type].program} on ${device.path}`);
  try {
    await run(GROWERS[type].program, GROWERS[type].grow(device.path, mountedOn ?? GROWING));
  } finally {
    execution.waitingFor(undefined);
    if (mountedOn === undefined || mountedOn === GROWING) await run('umount', [GROWING]);
  }
}

/** What a partition could become that is the last one of its table. */
export function partitionGrowth(endOfSpace: number, last: { readonly startBytes: number; readonly sizeBytes: number }) {
  const toBytes = endOfSpace - last.startBytes;
  return toBytes - last.sizeBytes >= PARTITION_TAIL ? toBytes : undefined;
}

/** The error for what does not grow. */
export function growthFailed(
  path: string,
  place: string,
  why: string,
  source = path,
  evidence: readonly string[] = [],
): MachineadmError {
  return new MachineadmError({
    reason: 'GrowthFailed',
    summary: `${path} (${place}) was not enlarged: ${why}. Its data was not changed.`,
    remedy: `Read its message below and the kernel log ("journalctl -k"), or remove ${place}.grow.`,
    evidence: evidenceFrom(source, evidence),
  });
}

/** What becomes of a file system of the document. */
export function filesystemGrowth({ grow }: FilesystemModel, growth: FilesystemGrowth | undefined) {
  return growth === undefined ? 'keep' : decideGrowth(growth.finding, grow === true);
}

/** What a change that grows it does. */
export function growthSummary(
  { type }: FilesystemModel,
  growth: FilesystemGrowth | undefined,
  growsLater: boolean,
): string {
  if (growsLater || growth === undefined) return `grow ${type} with its partition, and keep its data`;
  if (growth.finding === 'larger than its device') return `does not grow: its device is smaller than the file system`;
  return `grow ${type} ${describeGrowth(growth)}, and keep its data`;
}

export function growthRemark(growth: FilesystemGrowth, place: string): string {
  return `is larger than its file system (${describeGrowth(growth)}); ${place}.grow: true makes that as large`;
}

export function describeGrowth({ fromBytes, toBytes }: Pick<FilesystemGrowth, 'fromBytes' | 'toBytes'>): string {
  return `from ${Math.round(fromBytes / MIB)} MiB to ${Math.round(toBytes / MIB)} MiB`;
}

function isGrowing(type: FilesystemModel['type']): type is GrowingType {
  return Object.hasOwn(GROWERS, type);
}

async function mountPointOf(host: QueryHost, path: string): Promise<string | undefined> {
  const args = ['--json', '--nodeps', '--output', 'NAME,MOUNTPOINT', path];
  const { status, stdout } = await host.query({ program: 'lsblk', args });
  return status === 0 ? jsonRows(stdout, 'blockdevices')[0]?.mountpoint : undefined;
}

function product(text: string, ...patterns: readonly RegExp[]): number | undefined {
  const result = patterns.map((pattern) => Number(pattern.exec(text)?.[1])).reduce((all, one) => all * one, 1);
  return Number.isSafeInteger(result) ? result : undefined;
}
