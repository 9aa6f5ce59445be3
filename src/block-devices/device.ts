import type { DeviceIdentity, DeviceSelector } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { QueryHost } from '../host/seam/host.ts';
import { jsonRows } from './json-rows.ts';
import { readSuperblock } from './signatures.ts';

/** An existing block device, by its canonical name. */
export interface BlockDevice {
  /** `/dev/sdb1`, `/dev/mapper/data`. */
  readonly path: string;
  /** The kernel's name below /sys/class/block: `sdb1`, `dm-0`. */
  readonly name: string;
  readonly sizeBytes: number;
}

interface ListedDevice extends BlockDevice {
  /** `disk`, `part`, `loop`, `lvm`, …, as lsblk(8) calls it. */
  readonly type: string;
  readonly serial: string | undefined;
  readonly model: string | undefined;
}

/**
 * Models of disks that live and die with a cloud machine: AWS (EC2 user guide, "Instance store volumes"), Azure (Learn,
 * "Azure NVMe overview") and Google (Compute Engine, "Local SSD disks": NVMe, then SCSI; persistent disks are
 * `nvme_card-pd` and `PersistentDisk`).
 */
const INSTANCE_STORE_MODELS = [
  'Amazon EC2 NVMe Instance Storage',
  'Microsoft NVMe Direct Disk',
  'Microsoft NVMe Direct Disk v2',
  'nvme_card',
  'EphemeralDisk',
];

/** Names by the udev rules of cloud-init and of Azure's agent (66-azure-ephemeral.rules, 66-azure-storage.rules). */
const AZURE_RESOURCE_LINKS = ['/dev/disk/cloud/azure_resource', '/dev/disk/azure/resource'];

/** The device as the document means it, for people; unique among selectors, so that change ids can be made of it. */
export function describeDevice({ by, partition }: DeviceSelector): string {
  return partition === undefined ? describeIdentity(by) : `${describeIdentity(by)}, partition ${partition}`;
}

function describeIdentity(by: DeviceIdentity): string {
  switch (by.kind) {
    case 'path':
      return by.path;
    case 'id':
      return `/dev/disk/by-id/${by.id}`;
    case 'serial':
      return `serial ${by.serial}`;
    case 'label':
      return `label ${by.label}`;
    case 'partitionLabel':
      return `partition label ${by.label}`;
    case 'instanceStore':
      return `instance store ${by.index}`;
    case 'azureResource':
      return 'Azure resource disk';
  }
}

/**
 * The device now; undefined when it is not there (yet). Throws `DeviceAmbiguous` when several devices answer to the
 * selector: which of two disks of one label udev links is chance.
 */
export async function findDevice(host: QueryHost, selector: DeviceSelector): Promise<BlockDevice | undefined> {
  const path = await pathOf(host, selector.by);
  if (path === undefined) return undefined;
  const [device] = await listDevices(host, ['--nodeps', path]);
  if (device === undefined || device.sizeBytes === 0) return undefined; // no medium in it, or a loop device without a file
  const { path: canonical, name, sizeBytes } = device;
  if (selector.partition === undefined) return { path: canonical, name, sizeBytes };
  return (await partitionsKnown(host, name)).get(selector.partition);
}

/** The partitions of a disk that the kernel knows and that have a node in /dev, by number. */
export async function partitionsKnown(host: QueryHost, disk: string): Promise<ReadonlyMap<number, BlockDevice>> {
  const sysfs = `/sys/class/block/${disk}`;
  const partitions = new Map<number, BlockDevice>();
  for (const child of (await host.list(sysfs)) ?? []) {
    const number = await host.readText(`${sysfs}/${child}/partition`);
    if (number === undefined) continue;
    // A slash in a device name is a `!` in sysfs: cciss!c0d0p1.
    const path = `/dev/${child.replaceAll('!', '/')}`;
    if ((await host.stat(path)) === undefined) continue;
    const sectors = Number(await host.readText(`${sysfs}/${child}/size`));
    partitions.set(Number(number), { path, name: child, sizeBytes: sectors * 512 }); // always units of 512 bytes there
  }
  return partitions;
}

async function pathOf(host: QueryHost, by: DeviceIdentity): Promise<string | undefined> {
  switch (by.kind) {
    case 'path':
      return present(host, by.path);
    case 'id':
      return present(host, `/dev/disk/by-id/${by.id}`);
    case 'serial':
      return only(
        (await disks(host)).filter((disk) => disk.serial === by.serial),
        by,
      );
    case 'label':
    case 'partitionLabel':
      return only(await labelled(host, by), by);
    case 'instanceStore':
      return (await instanceStores(host))[by.index];
    case 'azureResource':
      for (const link of AZURE_RESOURCE_LINKS) if ((await host.stat(link)) !== undefined) return link;
      return undefined;
  }
}

async function present(host: QueryHost, path: string): Promise<string | undefined> {
  return (await host.stat(path)) === undefined ? undefined : path;
}

function only(found: readonly BlockDevice[], by: DeviceIdentity): string | undefined {
  if (found.length > 1) {
    const names = found.map(({ path }) => path).join(', ');
    throw new MachineadmError({
      reason: 'DeviceAmbiguous',
      summary: `Several devices answer to ${describeIdentity(by)}: ${names}.`,
      remedy:
        'Select one by its path or id. Two disks with the same serial number are often two paths to the same disk.',
    });
  }
  return found[0]?.path;
}

/**
 * Labels are read from the devices themselves: what udev knows may be older than the last mkfs, and there may be no
 * udev at all.
 */
async function labelled(
  host: QueryHost,
  by: Extract<DeviceIdentity, { kind: 'label' | 'partitionLabel' }>,
): Promise<readonly BlockDevice[]> {
  const matching = new Map<string, BlockDevice>();
  for (const device of await listDevices(host, [])) {
    if (device.type === 'rom' || device.sizeBytes === 0) continue;
    const superblock = await readSuperblock(host, device.path);
    const label = by.kind === 'label' ? superblock.label : superblock.partitionLabel;
    if (label === by.label) matching.set(device.name, device); // a device with two parents is listed twice
  }
  return [...matching.values()];
}

async function instanceStores(host: QueryHost): Promise<readonly string[]> {
  const google = ((await host.list('/dev/disk/by-id')) ?? []).filter((name) =>
    /^google-local-(?:nvme-)?ssd-\d+$/.test(name),
  );
  if (google.length > 0) return google.toSorted(byNumber).map((name) => `/dev/disk/by-id/${name}`);
  const stores = (await disks(host)).filter(({ model }) => INSTANCE_STORE_MODELS.includes(model ?? ''));
  return stores.map(({ path }) => path).toSorted(byNumber);
}

/** `nvme2n1` before `nvme10n1`. */
function byNumber(a: string, b: string): number {
  return a.localeCompare(b, 'en', { numeric: true });
}

/** Whole disks with what names them. lsblk knows serial and model from udev; without it the kernel is asked. */
async function disks(host: QueryHost): Promise<readonly ListedDevice[]> {
  const listed = (await listDevices(host, ['--nodeps'])).filter(({ type }) => type === 'disk');
  return Promise.all(
    listed.map(async (disk) => {
      const sysfs = `/sys/class/block/${disk.name}`;
      const serial =
        disk.serial ??
        (await firstText(host, [`${sysfs}/serial`, `${sysfs}/device/serial`])); /* virtio-blk, then NVMe */
      return { ...disk, serial, model: disk.model ?? (await firstText(host, [`${sysfs}/device/model`])) };
    }),
  );
}

async function firstText(host: QueryHost, paths: readonly string[]): Promise<string | undefined> {
  for (const path of paths) {
    const text = (await host.readText(path))?.trim();
    if (text !== undefined && text !== '') return text;
  }
  return undefined;
}

/** What lsblk(8) lists; [] when it finds nothing, or a path is not that of a block device. */
async function listDevices(host: QueryHost, args: readonly string[]): Promise<readonly ListedDevice[]> {
  const columns = 'NAME,KNAME,TYPE,SIZE,SERIAL,MODEL';
  const shown = ['--json', '--list', '--bytes', '--paths', '--output', columns];
  const { status, stdout } = await host.query({ program: 'lsblk', args: [...shown, ...args] });
  if (status !== 0) return [];
  return jsonRows(stdout, 'blockdevices').map((row) => ({
    path: row.name ?? '',
    name: (row.kname ?? '').replace(/^\/dev\//, '').replaceAll('/', '!'),
    type: row.type ?? '',
    sizeBytes: Number(row.size ?? 0),
    serial: row.serial?.trim() || undefined,
    model: row.model?.trim() || undefined,
  }));
}
