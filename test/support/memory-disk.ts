import type { DeviceSelector, DiskModel, FilesystemModel } from '@machineadm/document/model/index.ts';
import type { CommandResult } from '../../src/host/seam/host.ts';
import { type MemoryHost, type MemoryProgram, memoryHost } from './memory-host.ts';

export const MIB = 2 ** 20;
const SECTOR = 512;

/** What lies on a device. */
export interface OnDevice {
  readonly signatures?: readonly string[];
  readonly type?: string;
  readonly label?: string;
  readonly uuid?: string;
}

interface Partition {
  readonly startMib: number;
  readonly sizeMib: number;
  readonly type: string;
  readonly name?: string;
}

/** One disk in memory, `/dev/sdb`, with the programs of util-linux and mkfs that read and write it. */
export interface MemoryDisk {
  sizeMib: number;
  /** What is on `/dev/sdb` itself and on its partitions, by path. */
  readonly contents: Map<string, OnDevice>;
  table:
    | { readonly kind: 'gpt' | 'dos'; readonly partitions: readonly Partition[]; readonly endMib: number }
    | undefined;
  /** Lines of lsblk after the disk's own. */
  users: readonly { readonly name: string; readonly type: string; readonly mountpoint: string | null }[];
  /** The disk's own mount point. */
  mountpoint: string | null;
  /** False: sfdisk writes the table, and the kernel does not read it. */
  kernelReads: boolean;
  /** What a program answers in place of doing its work. */
  readonly answers: Map<string, Partial<CommandResult>>;
  /** Programs that are not installed. */
  readonly missing: readonly string[];
}

const LINUX = '0FC63DAF-8483-4772-8E79-3D69D8477DE4';
const MAKERS: Readonly<Record<string, string>> = {
  'mkfs.ext4': 'ext4',
  'mkfs.xfs': 'xfs',
  'mkfs.btrfs': 'btrfs',
  'mkfs.vfat': 'vfat',
  mkswap: 'swap',
};

export const SDB: DeviceSelector = { by: { kind: 'path', path: '/dev/sdb' }, partition: undefined, waitMs: 0 };

/** A disk of the document. Without more: a GPT with one partition over all of it. */
export function diskModel(different: Partial<DiskModel> = {}): DiskModel {
  const partitions: DiskModel['partitions'] = [{ label: undefined, size: { kind: 'rest' }, type: 'linux' }];
  return { device: SDB, table: 'gpt', wipe: false, partitions, ...different };
}

/** A file system of the document; without more ext4 on the whole disk. */
export function filesystemModel(different: Partial<FilesystemModel> = {}): FilesystemModel {
  return { device: SDB, type: 'ext4', label: undefined, options: [], overwrite: false, replace: [], ...different };
}

/** What a table of these partitions is: `[1, 511]` begins at 1 MiB and has 511. */
export function gpt(
  endMib: number,
  ...partitions: readonly (readonly [number, number, string?])[]
): MemoryDisk['table'] {
  const laid = partitions.map(([startMib, sizeMib, name]) => ({
    startMib,
    sizeMib,
    type: LINUX,
    ...(name === undefined ? {} : { name }),
  }));
  return { kind: 'gpt', partitions: laid, endMib };
}

/** A machine with this disk, and the disk, which tests change and look at. */
export function machineWithDisk(disk: Partial<MemoryDisk> = {}): {
  host: MemoryHost;
  disk: MemoryDisk;
  inputs: string[];
} {
  const state: MemoryDisk = {
    sizeMib: 1024,
    contents: new Map(),
    table: undefined,
    users: [],
    mountpoint: null,
    kernelReads: true,
    answers: new Map(),
    missing: [],
    ...disk,
  };
  const inputs: string[] = [];
  const on = (path: string): OnDevice => state.contents.get(path) ?? {};
  const sizeOf = (path: string): number =>
    path === '/dev/sdb' ? state.sizeMib : (state.table?.partitions[Number(path.slice(8)) - 1]?.sizeMib ?? 0);
  const json = (value: unknown) => ({ stdout: JSON.stringify(value) });
  const tellKernel = (): void => {
    state.table?.partitions.forEach(({ sizeMib }, index) => {
      const name = `sdb${index + 1}`;
      host.put(`/dev/${name}`, { type: 'other' });
      host.put(`/sys/class/block/sdb/${name}/partition`, `${index + 1}\n`);
      host.put(`/sys/class/block/sdb/${name}/size`, `${(sizeMib * MIB) / SECTOR}\n`);
    });
  };
  const written = (input: string): NonNullable<MemoryDisk['table']> => {
    const partitions = [
      ...input.matchAll(/^(?:\S+ : )?start= *(\S+?), *size= *(\S+?), *type=([^,\n]+)(?:.*name="(.*)")?/gm),
    ];
    return {
      kind: input.includes('label: gpt') ? 'gpt' : 'dos',
      endMib: state.sizeMib,
      partitions: partitions.map(([, start = '', size = '', type = '', name]) => ({
        startMib: mib(start),
        sizeMib: mib(size),
        type: type.trim(),
        ...(name === undefined ? {} : { name }),
      })),
    };
  };
  const programs: Record<string, MemoryProgram> = {
    lsblk: ({ args = [] }) => {
      const path = args.at(-1) ?? '';
      if (args.includes('--noheadings')) return { stdout: '/dev/sda disk 10G\n  /dev/sdz rom 1G\n' };
      if (args.includes('NAME,TYPE,MOUNTPOINT')) {
        const own = { name: path, type: 'disk', mountpoint: path === '/dev/sdb' ? state.mountpoint : null };
        return json({ blockdevices: [own, ...state.users] });
      }
      if (args.includes('NAME,MOUNTPOINT'))
        return json({ blockdevices: [{ name: path, mountpoint: state.mountpoint }] });
      return json({ blockdevices: [{ name: path, kname: path, type: 'disk', size: sizeOf(path) * MIB }] });
    },
    wipefs: ({ args = [] }) => {
      const path = args.at(-1) ?? '';
      if (args.includes('--all')) state.contents.delete(path);
      const lines = (on(path).signatures ?? []).map((name) => `0x0,,,${name}`);
      return { stdout: ['# offset,uuid,label,type', ...lines, ''].join('\n') };
    },
    blkid: ({ args = [] }) => {
      const { type, label, uuid } = on(args.at(-1) ?? '');
      const tags = { TYPE: type, LABEL: label, UUID: uuid };
      return {
        stdout: Object.entries(tags)
          .flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}\n`]))
          .join(''),
      };
    },
    sfdisk: ({ args = [], input }) => {
      if (args[0] === '--json') {
        const { table } = state;
        if (table === undefined)
          return { status: 1, stderr: 'sfdisk: /dev/sdb: does not contain a recognized partition table' };
        return json({
          partitiontable: {
            label: table.kind,
            sectorsize: SECTOR,
            ...(table.kind === 'gpt' ? { lastlba: (table.endMib * MIB) / SECTOR - 34 } : {}),
            partitions: table.partitions.map(({ startMib, sizeMib, type, name }) => ({
              start: (startMib * MIB) / SECTOR,
              size: (sizeMib * MIB) / SECTOR,
              type,
              name,
            })),
          },
        });
      }
      if (args[0] === '--dump') {
        const lines = (state.table?.partitions ?? []).map(
          ({ startMib, sizeMib, type }, index) =>
            `/dev/sdb${index + 1} : start= ${(startMib * MIB) / SECTOR}, size= ${(sizeMib * MIB) / SECTOR}, type=${type}`,
        );
        return { stdout: ['label: gpt', 'last-lba: 99', '', ...lines, ''].join('\n') };
      }
      inputs.push(String(input));
      state.table = written(String(input));
      state.contents.set('/dev/sdb', { signatures: state.table.kind === 'gpt' ? ['gpt', 'PMBR'] : ['dos'] });
      if (state.kernelReads) tellKernel();
      return {};
    },
    partx: () => {
      tellKernel();
      return {};
    },
    udevadm: () => ({}),
    mount: () => ({}),
    umount: () => ({}),
    dumpe2fs: () => ({ stdout: 'Block count: 131072\nBlock size: 4096\n' }),
    resize2fs: () => ({}),
  };
  for (const [program, type] of Object.entries(MAKERS)) {
    programs[program] = ({ args = [] }) => {
      const path = args.at(-1) ?? '';
      const after = (option: string): string | undefined =>
        args.includes(option) ? args[args.indexOf(option) + 1] : undefined;
      const [uuid, label] = [after('-U') ?? 'made-by-mkfs', after('-L')];
      state.contents.set(path, { signatures: [type], type, uuid, ...(label === undefined ? {} : { label }) });
      return {};
    };
  }
  const host: MemoryHost = memoryHost({
    files: { '/dev/sdb': { type: 'other' }, '/sys/class/block/sdb': { type: 'directory' } },
    programs: Object.fromEntries(
      Object.entries(programs)
        .filter(([name]) => !state.missing.includes(name))
        .map(([name, program]): [string, MemoryProgram] => [
          name,
          (command, machine) => state.answers.get(name) ?? program(command, machine),
        ]),
    ),
  });
  if (state.table !== undefined) {
    if (!state.contents.has('/dev/sdb')) state.contents.set('/dev/sdb', { signatures: ['PMBR', state.table.kind] });
    if (state.kernelReads) tellKernel();
  }
  return { host, disk: state, inputs };
}

/** `1MiB`, or sectors. */
function mib(text: string): number {
  return text.endsWith('MiB') ? Number(text.slice(0, -3)) : (Number(text) * SECTOR) / MIB;
}
