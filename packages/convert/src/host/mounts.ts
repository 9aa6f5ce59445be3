import type { StorageSection } from '@machineadm/document/host-parts/storage-schema.ts';
import type { Conversion } from '../inputs/conversion.ts';
import type { MountSpec, Spec } from '../spec/spec.ts';
import { convertDevice, withPartition } from './devices.ts';

type Mount = NonNullable<StorageSection['mounts']>[number];

/** Options that machineadm sets on every entry itself, or that are defaults. */
const LEFT_OUT =
  /^(?:defaults|nofail|_netdev|auto|comment=cloudconfig|x-systemd\.(?:after|requires)=cloud-(?:init|init-network|config)\.service)$/;

/** `host.storage.mounts`, by the columns of fstab(5). cloud-init gives every mount `nofail` (cloudinit/config/cc_mounts.py). */
export function convertMounts(spec: Spec, azure: boolean, conversion: Conversion): Mount[] {
  return spec.mounts.flatMap((mount) => convertMount(mount, spec, azure, conversion) ?? []);
}

function convertMount(mount: MountSpec, spec: Spec, azure: boolean, conversion: Conversion): Mount | undefined {
  const { report } = conversion;
  const { columns, at } = mount;
  const [source = '', target = '', ...rest] = columns;
  const [from, to] = [pathOr(source, 'its device'), pathOr(target, 'its mount point')];
  // In Ignition the type is missing, and the third column is the first option (pkg/ignition/clc/clc.go).
  const [type = 'auto', optionText = ''] =
    spec.flavour === 'ignition' && !spec.resolved ? ['auto', rest.join(',')] : rest;
  const reportColumns = (what: string): void => {
    if (rest.length > 2) report.add('MountColumns', at, `${what}: ${rest.slice(2).map(numberOr).join(' ')}`);
  };
  if (target === '' || target === 'None') {
    report.add('MountRemoved', at, from);
    return undefined;
  }
  const swap = type === 'swap' || target === 'swap';
  const all = optionText.split(',');
  const options = all.filter((option) => option !== '' && !LEFT_OUT.test(option) && !(swap && option === 'sw'));
  if (isNoDevice(source, type, all)) {
    const made = withoutDevice(mount, swap ? 'swap' : type, all);
    if (typeof made === 'string') {
      report.add('MountUnsupported', at, `${from}${swap ? '' : ` on ${to}`}${made}`);
      return undefined;
    }
    report.add('MountRequired', at, swap ? from : to);
    reportColumns(swap ? from : to);
    const own = options.filter((option) => option !== 'bind');
    return { ...made, path: swap ? undefined : target, options: own.length === 0 ? undefined : own };
  }
  const label =
    spec.flavour === 'ignition' && !source.startsWith('/') && !source.includes('=') ? `LABEL=${source}` : source;
  const named = convertDevice(label, at, azure, conversion);
  if (named === undefined) return undefined;
  report.add('MountRequired', at, swap ? from : to);
  reportColumns(swap ? from : to);
  // An alias means its first partition if it has any (cloudinit/config/cc_mounts.py, sanitize_devname).
  const partition = named.partition ?? (/^ephemeral\d+$/.test(source) ? 1 : undefined);
  return {
    device: withPartition(named.device, partition),
    path: swap ? undefined : target,
    type: swap ? 'swap' : type === 'auto' ? undefined : type,
    options: options.length === 0 ? undefined : options,
  };
}

/** Whether something other than a block device is mounted: cloud-init passes these columns to fstab as they are. */
function isNoDevice(source: string, type: string, options: readonly string[]): boolean {
  if (/^(?:tmpfs|ramfs|nfs4?|cifs|smb3|overlay|none|bind|9p|virtiofs|ceph|proc|sysfs)$/.test(type)) return true;
  if (options.some((option) => option === 'bind' || option === 'rbind')) return true;
  if (type === 'swap' && source.startsWith('/') && !source.startsWith('/dev/')) return true;
  return /:|^\/\//.test(source) && !source.startsWith('/dev/');
}

/** What the document has for it, or why it has nothing. */
function withoutDevice(
  { columns: [source = ''], size }: MountSpec,
  type: string,
  options: readonly string[],
): Pick<Mount, 'source' | 'type' | 'size'> | string {
  if (type === 'tmpfs') return { type };
  if (type === 'swap') return size === undefined ? ': the size of the swap file is unknown' : { source, type, size };
  if (options.includes('rbind')) return ': rbind, with the mounts below the directory';
  const isLocal = source.startsWith('/') && !source.startsWith('//');
  if (isLocal && (type === 'bind' || options.includes('bind'))) return { source, type: 'bind' };
  // cloud-init takes whatever has a colon for a network device (cloudinit/config/cc_mounts.py, is_network_device).
  return /^[\w.[\]:-]+:\/[^\s:]*$/.test(source) && /^(?:nfs4?|auto)$/.test(type)
    ? { source, type: type === 'auto' ? 'nfs' : type }
    : '';
}

/**
 * A source that contains a password (`https://user:word@host/share`), or options in the wrong column, are not printed.
 */
function pathOr(text: string, what: string): string {
  return /^[\w./+-]+(?:[:=][\w./+-]+)?$/.test(text) ? text : what;
}

function numberOr(column: string): string {
  return /^\d{1,4}$/.test(column) ? column : '…';
}
