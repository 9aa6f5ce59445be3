import type { StorageSection } from '@machineadm/document/host-parts/storage-schema.ts';
import type { Conversion } from '../conversion.ts';
import type { MountSpec, Spec } from '../spec.ts';
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
  if (target === '' || target === 'None') {
    report.add('MountRemoved', at, from);
    return undefined;
  }
  if (
    /^(?:tmpfs|nfs4?|cifs|overlay|none|bind)$/.test(type) ||
    (/:|^\/\//.test(source) && !source.startsWith('/dev/'))
  ) {
    report.add('MountUnsupported', at, `${from} on ${to}`);
    return undefined;
  }
  const label =
    spec.flavour === 'ignition' && !source.startsWith('/') && !source.includes('=') ? `LABEL=${source}` : source;
  const named = convertDevice(label, at, azure, conversion);
  if (named === undefined) return undefined;
  const swap = type === 'swap' || target === 'swap';
  const options = optionText
    .split(',')
    .filter((option) => option !== '' && !LEFT_OUT.test(option) && !(swap && option === 'sw'));
  report.add('MountRequired', at, swap ? from : to);
  if (rest.length > 2) report.add('MountColumns', at, `${swap ? from : to}: ${rest.slice(2).map(numberOr).join(' ')}`);
  // An alias means its first partition if it has any (cloudinit/config/cc_mounts.py, sanitize_devname).
  const partition = named.partition ?? (/^ephemeral\d+$/.test(source) ? 1 : undefined);
  return {
    device: withPartition(named.device, partition),
    path: swap ? undefined : target,
    type: swap ? 'swap' : type === 'auto' ? undefined : type,
    options: options.length === 0 ? undefined : options,
  };
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
