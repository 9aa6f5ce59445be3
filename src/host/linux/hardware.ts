import { cpus } from 'node:os';
import type { QueryHost } from '../seam/host.ts';

/** The hardware of the machine, without serial numbers, because these identify the owner. */
export interface Hardware {
  /** From the firmware (SMBIOS); empty where the machine has none. */
  readonly system: Readonly<Record<string, string>>;
  readonly cpu: { readonly model: string; readonly threads: number; readonly isVirtual: boolean };
  /** Bytes. */
  readonly memory: { readonly total: number; readonly available: number; readonly swap: number };
  readonly disks: readonly Disk[];
  readonly network: readonly NetworkDevice[];
}

interface Disk {
  /** The kernel's name: `sda`. */
  readonly name: string;
  readonly model?: string | undefined;
  readonly bytes: number;
  readonly isRotating: boolean;
  readonly isRemovable: boolean;
  readonly isReadOnly: boolean;
}

interface NetworkDevice {
  readonly name: string;
  /** undefined: virtual. */
  readonly driver?: string | undefined;
  readonly mac?: string | undefined;
  readonly mtu: number;
  /** As the kernel reports it: `up`, `down`, `unknown`. */
  readonly state: string;
  readonly megabitsPerSecond?: number | undefined;
}

const FIRMWARE = '/sys/class/dmi/id';
const FIRMWARE_FIELDS = [
  'sys_vendor',
  'product_name',
  'product_version',
  'board_vendor',
  'board_name',
  'bios_vendor',
  'bios_version',
  'bios_date',
];
const MEMORY_DEVICES = /^(loop|ram|zram)\d/;

/**
 * The hardware inventory. systeminformation reads the memory; for other parts it starts shells, so they are read from
 * sysfs (Linux Documentation/ABI) here. Missing hardware is left out.
 */
export async function hardwareOf(host: QueryHost): Promise<Hardware> {
  const line = async (path: string): Promise<string | undefined> => {
    // Some files of sysfs cannot be read in some states: the speed of a device that is down is EINVAL.
    const text = (await host.readText(path).catch(() => undefined))?.trim();
    return text === '' ? undefined : text;
  };
  const names = async (directory: string) => ((await host.list(directory)) ?? []).toSorted();
  const disk = async (name: string): Promise<Disk> => {
    const at = `/sys/block/${name}`;
    return {
      name,
      model: await line(`${at}/device/model`),
      // Sectors of 512 bytes, regardless of the device.
      bytes: Number((await line(`${at}/size`)) ?? 0) * 512,
      isRotating: (await line(`${at}/queue/rotational`)) === '1',
      isRemovable: (await line(`${at}/removable`)) === '1',
      isReadOnly: (await line(`${at}/ro`)) === '1',
    };
  };
  const device = async (name: string): Promise<NetworkDevice> => {
    const at = `/sys/class/net/${name}`;
    const speed = Number((await line(`${at}/speed`)) ?? -1);
    return {
      name,
      driver: /^DRIVER=(.*)$/m.exec((await line(`${at}/device/uevent`)) ?? '')?.[1],
      mac: await line(`${at}/address`),
      mtu: Number((await line(`${at}/mtu`)) ?? 0),
      state: (await line(`${at}/operstate`)) ?? 'unknown',
      megabitsPerSecond: speed > 0 ? speed : undefined,
    };
  };
  const system = FIRMWARE_FIELDS.map(async (field) => [field, await line(`${FIRMWARE}/${field}`)] as const);
  const disks = (await names('/sys/block')).filter((name) => !MEMORY_DEVICES.test(name));
  const { mem } = await import('systeminformation/lib/memory.js');
  const { total, available, swaptotal } = await mem();
  return {
    system: Object.fromEntries((await Promise.all(system)).flatMap(([field, text]) => (text ? [[field, text]] : []))),
    cpu: {
      model: cpus()[0]?.model ?? '',
      threads: cpus().length,
      isVirtual: /^flags\s*:.* hypervisor( |$)/m.test((await line('/proc/cpuinfo')) ?? ''),
    },
    memory: { total, available, swap: swaptotal },
    disks: await Promise.all(disks.map(disk)),
    network: await Promise.all((await names('/sys/class/net')).map(device)),
  };
}
