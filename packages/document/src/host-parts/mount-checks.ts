import type { Finding, PathSegment } from '../diagnostics/index.ts';
import { isCriticalPath } from '../ownership/paths.ts';
import { isBelow, mountOrder } from './mount-order.ts';
import { type MountSection, SOURCE_TYPES } from './storage-schema.ts';

/** Without the slash at its end, as the kernel tells it. */
export function mountPoint(path: string): string {
  return path.replace(/(.)\/$/, '$1');
}

/** Mistakes in and between the entries of `host.storage.mounts`. */
export function checkMounts(mounts: readonly MountSection[]): Finding[] {
  const twice = repeated(mounts);
  return [...mounts.flatMap(checkMount), ...twice, ...(twice.length > 0 ? [] : circles(mounts))];
}

function checkMount(mount: MountSection, index: number): Finding[] {
  const place = ['mounts', index];
  const wrong = checkSource(mount, place);
  if (wrong !== undefined) return [wrong];
  const { device, path, type, absent, options, size } = mount;
  const more = Object.entries({ ...(device === undefined ? {} : { type }), options, size }).find(
    ([, value]) => value !== undefined,
  )?.[0];
  if (absent === true && more !== undefined) {
    const message = 'describes what must exist, but absent: true removes it';
    return [{ path: [...place, more], message, hint: 'keep one of them' }];
  }
  if (absent === true && path !== undefined && isCriticalPath(path)) {
    return [{ path: [...place, 'path'], message: `${path} is part of the system and never unmounted` }];
  }
  if (type === 'swap') {
    return path === undefined
      ? []
      : [{ path: [...place, 'path'], message: 'swap has no mount point', hint: 'leave it out' }];
  }
  if (path === undefined) return [{ path: place, message: 'a mount needs a "path"', hint: 'only type: swap has none' }];
  if (path === '/') return [{ path: [...place, 'path'], message: 'the root file system is mounted already' }];
  return checkBind(mount, path, place);
}

/** Whether exactly one of device, source and tmpfs says what is mounted, and fits the type. */
function checkSource(mount: MountSection, place: readonly PathSegment[]): Finding | undefined {
  const { device, source, type, size, absent } = mount;
  const at = (field: keyof MountSection, message: string, hint: string): Finding => ({
    path: [...place, field],
    message,
    hint,
  });
  if (device !== undefined && source !== undefined)
    return at('source', 'a mount has either a "device" or a "source"', 'remove one of them');
  if (type === 'tmpfs' && (device ?? source) !== undefined)
    return at(
      device === undefined ? 'source' : 'device',
      'a tmpfs is in memory: nothing else is mounted',
      'leave it out',
    );
  if (device !== undefined && /^(?:bind|nfs4?)$/.test(type ?? ''))
    return at('device', `a device is not what type: ${type} mounts`, 'write "source" instead');
  if (device === undefined && source === undefined && type !== 'tmpfs')
    return {
      path: place,
      message: 'a mount needs a "device" or a "source"',
      hint: 'only type: tmpfs has neither',
    };
  if (source !== undefined) {
    if (type === undefined || !SOURCE_TYPES.some((one) => one === type))
      return at(
        type === undefined ? 'source' : 'type',
        'the type of a mount with a source is bind, nfs, nfs4 or swap',
        'write one of them',
      );
    const isRemote = !source.startsWith('/');
    if (isRemote !== type.startsWith('nfs'))
      return at(
        'source',
        isRemote ? `type: ${type} needs a path of this machine` : `type: ${type} needs "server:/path"`,
        'correct the type or the source',
      );
  }
  const isSwapFile = type === 'swap' && source !== undefined;
  if (isSwapFile && size === undefined && absent !== true)
    return { path: place, message: 'a swap file needs a "size"', hint: 'for example size: 2Gi' };
  if (!isSwapFile && size !== undefined)
    return at('size', 'only a swap file has a size', 'use options for a tmpfs (size=1g), leave it out otherwise');
  return undefined;
}

/** A directory cannot be mounted over itself or over what it is in. */
function checkBind({ type, source }: MountSection, path: string, place: readonly PathSegment[]): Finding[] {
  if (type !== 'bind' || source === undefined || !isBelow(mountPoint(source), mountPoint(path))) return [];
  const message = `${path} would hide the source of its own mount`;
  return [{ path: [...place, 'source'], message, hint: 'use a directory elsewhere' }];
}

function repeated(mounts: readonly MountSection[]): Finding[] {
  const seen = new Map<string, number>();
  return mounts.flatMap(({ path, source, type }, index) => {
    const field = type === 'swap' ? 'source' : 'path';
    const what = type === 'swap' ? source : path;
    if (what === undefined) return [];
    const key = `${field} ${mountPoint(what)}`;
    const first = seen.get(key);
    if (first === undefined) {
      seen.set(key, index);
      return [];
    }
    const message = `${what} is already the ${field} of`;
    const other = ['mounts', first];
    return [{ code: 'Duplicate', path: ['mounts', index, field], message, other, hint: 'keep one of them' }];
  });
}

/** Mounts of which each needs the other first. */
function circles(mounts: readonly MountSection[]): Finding[] {
  const placed = mounts.flatMap(({ path, source, absent }, index) =>
    absent === true ? [] : [{ path: path === undefined ? 'none' : mountPoint(path), source, index }],
  );
  const { circle } = mountOrder(placed);
  const [first, second] = circle;
  if (first === undefined || second === undefined) return [];
  const message = 'its source is on a mount that needs this one first, through';
  const path = ['mounts', first.index, 'source'];
  return [{ path, message, other: ['mounts', second.index], hint: 'use a source that does not depend on this mount' }];
}
