import type { DeviceSection } from '@machineadm/document/host-parts/storage-device.ts';
import type { Conversion } from '../inputs/conversion.ts';
import type { Placed } from '../report/report.ts';

/** A device in cloud-init's notation: `/dev/sdb`, `sdb`, `LABEL=x`, `ephemeral0.1`. */
export interface NamedDevice {
  readonly device: DeviceSection;
  /** From the name itself: `ephemeral0.1`, `/dev/sdb.1`. */
  readonly partition: number | undefined;
}

/**
 * Converts a device of cloud-init to one of a document.
 *
 * @param mentionsAzure whether another device of the input is an Azure path, which identifies the provider if nothing else does
 */
export function convertDevice(
  name: string,
  at: Placed,
  mentionsAzure: boolean,
  conversion: Conversion,
): NamedDevice | undefined {
  const { report } = conversion;
  const plain = (device: DeviceSection): NamedDevice => ({ device, partition: undefined });
  const [, tag, value = ''] = /^(LABEL|UUID|PARTLABEL|PARTUUID)=(.+)$/.exec(name) ?? [];
  switch (tag) {
    case 'LABEL':
      return plain({ label: unquoted(value) });
    case 'PARTLABEL':
      return plain({ partitionLabel: unquoted(value) });
    case 'UUID':
      return plain({ path: `/dev/disk/by-uuid/${unquoted(value)}` });
    case 'PARTUUID':
      return plain({ path: `/dev/disk/by-partuuid/${unquoted(value)}` });
  }
  // util.expand_dotted_devname (cloudinit/util.py) splits at the last dot, whatever precedes it.
  const [, base = name, dotted] = /^(.+)\.(\d+)$/.exec(name) ?? [];
  const partition = dotted === undefined ? undefined : Number(dotted);
  const alias = /^ephemeral(\d+)$/.exec(base)?.[1];
  if (alias !== undefined) {
    const device = ephemeral(Number(alias), mentionsAzure, conversion);
    if (device === undefined) {
      report.add('DeviceUnknown', at, `${base} is another disk with every provider: name the device`);
      return undefined;
    }
    report.add('DeviceAlias', at, `${name} is taken for ${describeDevice(device)}`);
    return { device, partition };
  }
  if (base.startsWith('/dev/')) return { device: { path: base }, partition };
  if (/^[shv]d[a-z]+\d*$|^xvd[a-z]+\d*$|^nvme\d+n\d+(?:p\d+)?$/.test(base)) {
    return { device: { path: `/dev/${base}` }, partition };
  }
  report.add('DeviceUnknown', at, 'no path below /dev, no LABEL= or UUID=, and no alias that is known');
  return undefined;
}

/** Azure: cloudinit/sources/DataSourceAzure.py, BUILTIN_DS_CONFIG (disk_aliases); EC2: the block device mapping. */
function ephemeral(number: number, mentionsAzure: boolean, { related }: Conversion): DeviceSection | undefined {
  const { infrastructure } = related;
  if (infrastructure?.startsWith('Azure') === true || (infrastructure === undefined && mentionsAzure)) {
    return number === 0 ? { azureResource: true } : undefined;
  }
  return infrastructure?.startsWith('AWS') === true ? { instanceStore: number } : undefined;
}

function describeDevice(device: DeviceSection): string {
  return 'azureResource' in device ? "Azure's resource disk" : 'the local disk of the machine';
}

function unquoted(text: string): string {
  return text.replace(/^"(.*)"$/, '$1');
}

/** A partition of the same device; a device by label has none. */
export function withPartition(device: DeviceSection, partition: number | undefined): DeviceSection {
  if (partition === undefined || 'label' in device || 'partitionLabel' in device) return device;
  return { ...device, partition };
}
