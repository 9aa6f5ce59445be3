import { member } from '@machineadm/document/values/untyped.ts';
import { parse } from 'smol-toml';
import { unescapeOctal } from '../../host/files/paths.ts';
import type { Subject } from './clause.ts';

/** Whether data written at a path survives a reboot. */
export interface Durability {
  /** `lasting`: on a disk; `volatile`: gone with the next boot; `readOnly`: nothing can be written. */
  readonly state: 'lasting' | 'volatile' | 'readOnly' | 'unknown';
  readonly text: string;
}

interface Mount {
  readonly at: string;
  readonly type: string;
  readonly options: readonly string[];
  /** Where it is written: `/etc/fstab`. */
  readonly source: string;
}

const IN_MEMORY = ['tmpfs', 'ramfs', 'rootfs', 'zram'];
const NEVER_WRITTEN = ['squashfs', 'erofs', 'iso9660', 'cramfs'];
/** Files of boot loaders that have the command line of the kernel in them. */
const BOOT_LOADERS = ['/boot/grub/grub.cfg', '/boot/grub2/grub.cfg', '/etc/kernel/cmdline', '/usr/lib/kernel/cmdline'];
const LOADER_ENTRIES = ['/boot/loader/entries', '/efi/loader/entries', '/usr/lib/bootc/kargs.d'];

/** Whether data written at `path` survives a reboot, on the running machine or on one that boots from this image. */
export function durabilityOf(subject: Subject, path: string): Durability {
  if (subject.isRunning)
    return mountedDurability(subject, mountsOf(subject.tree.readText('/proc/self/mountinfo')), path);
  const kernel = kernelOptions(subject);
  const byBoot = madeVolatileAtBoot(subject, path, kernel);
  if (byBoot !== undefined) return byBoot;
  const mounts = configuredMounts(subject);
  const isOstree = isOstreeRoot(subject);
  const mount = mountOf(mounts, path);
  if (mount !== undefined && (mount.at !== '/' || !isOstree)) return mountedDurability(subject, mounts, path);
  if (isOstree) return { state: 'lasting', text: 'ostree keeps /etc and /var across boots and updates' };
  if (kernel.includes('rw') && kernel.some((option) => /^root=\S/.test(option))) {
    return { state: 'lasting', text: 'the boot loader mounts root= with rw' };
  }
  return {
    state: 'unknown',
    text: `neither fstab nor a mount unit nor a boot loader entry says what is mounted at ${path}`,
  };
}

/** The type of file system that the running machine has at exactly this path, or that the image is to mount there. */
export function mountedAt(
  subject: Subject,
  path: string,
): { readonly type: string; readonly source: string } | undefined {
  const mounts = subject.isRunning
    ? mountsOf(subject.tree.readText('/proc/self/mountinfo'))
    : configuredMounts(subject);
  return mounts.findLast(({ at }) => at === path);
}

function mountedDurability(subject: Subject, mounts: readonly Mount[], path: string, depth = 0): Durability {
  const mount = mountOf(mounts, path);
  if (mount === undefined) return { state: 'unknown', text: `nothing says what is mounted at ${path}` };
  const { at, type, options, source } = mount;
  const what = `${type} at ${at} (${source})`;
  if (IN_MEMORY.includes(type)) return { state: 'volatile', text: `${what} is in memory` };
  if (options.includes('ro') || NEVER_WRITTEN.includes(type))
    return { state: 'readOnly', text: `${what} is read-only` };
  if (type !== 'overlay') {
    return type.startsWith('fuse')
      ? { state: 'unknown', text: `${what}: its storage is unknown` }
      : { state: 'lasting', text: what };
  }
  const upper = options.find((option) => option.startsWith('upperdir='))?.slice('upperdir='.length);
  if (upper === undefined) return { state: 'readOnly', text: `${what} has no upper directory` };
  // The upper directory is a path on the system that made the mount: an initramfs, or the host of a container.
  if (subject.isRunning && subject.tree.stat(upper) === undefined) {
    return { state: 'unknown', text: `${what}: its upper directory ${upper} cannot be seen from here` };
  }
  const below =
    depth < 8 && mountOf(mounts, upper) !== mount ? mountedDurability(subject, mounts, upper, depth + 1) : undefined;
  return below === undefined || below.state === 'unknown'
    ? { state: 'unknown', text: `${what}: nothing says what its upper directory ${upper} is on` }
    : { state: below.state, text: `${what}, whose upper directory is on ${below.text}` };
}

/** The mount that contains a path: the one with the longest target, and the last of several at the same target. */
function mountOf(mounts: readonly Mount[], path: string): Mount | undefined {
  const isAbove = (at: string): boolean => at === '/' || path === at || path.startsWith(`${at}/`);
  return mounts
    .filter(({ at }) => isAbove(at))
    .reduce<Mount | undefined>(
      (best, one) => (best === undefined || one.at.length >= best.at.length ? one : best),
      undefined,
    );
}

/** proc_pid_mountinfo(5). */
function mountsOf(mountinfo = ''): readonly Mount[] {
  return mountinfo.split('\n').flatMap((line) => {
    const [before = '', after = ''] = line.split(' - ');
    const [, , , , at, options = ''] = before.split(' ');
    const [type, , superOptions = ''] = after.split(' ');
    if (at === undefined || type === undefined) return [];
    return [
      {
        at: unescapeOctal(at),
        type,
        options: [...options.split(','), ...superOptions.split(',')].map(unescapeOctal),
        source: 'mounted',
      },
    ];
  });
}

/** fstab(5), and the mount units that a boot starts. */
function configuredMounts({ tree, units }: Subject): readonly Mount[] {
  const fstab = (tree.readText('/etc/fstab') ?? '').split('\n').flatMap((line): Mount[] => {
    const [device, at, type, options = ''] = line.trim().split(/\s+/);
    if (device === undefined || device.startsWith('#') || at === undefined || type === undefined) return [];
    // fstab(5): it is mounted when someone asks for it, and not at boot.
    if (options.split(',').includes('noauto')) return [];
    return [
      {
        at: at === '/' ? at : unescapeOctal(at).replace(/\/$/, ''),
        type,
        options: options.split(','),
        source: '/etc/fstab',
      },
    ];
  });
  const mounts = units.names('.mount').flatMap((name): Mount[] => {
    const unit = units.enablement(name) === 'enabled' ? units.load(name) : undefined;
    const at = unit?.last('Mount', 'Where');
    if (unit === undefined || at === undefined) return [];
    const options = unit.last('Mount', 'Options')?.split(',') ?? [];
    return [{ at, type: unit.last('Mount', 'Type') ?? 'auto', options, source: unit.path }];
  });
  // systemd.generator(7): a unit of the administrator wins over what fstab says of the same place.
  return [...fstab, ...mounts];
}

/** What mounts a memory file system over a path at boot without an entry in fstab. */
function madeVolatileAtBoot({ tree }: Subject, path: string, kernel: readonly string[]): Durability | undefined {
  const inMemory = (source: string): Durability => ({ state: 'volatile', text: `${source} keeps ${path} in memory` });
  const value = (name: string): string | undefined =>
    kernel.findLast((option) => option.startsWith(`${name}=`))?.slice(name.length + 1);
  // systemd-volatile-root.service(8): `state` leaves /etc as it is.
  const volatile = value('systemd.volatile') ?? (kernel.includes('systemd.volatile') ? 'yes' : 'no');
  if (/^(1|yes|y|true|t|on|overlay)$/.test(volatile) || (volatile === 'state' && path.startsWith('/var'))) {
    return inMemory(`systemd.volatile=${volatile}`);
  }
  // dracut.cmdline(7), "Booting live images": changes are kept where rd.live.overlay names a device.
  if (kernel.includes('rd.live.image') && value('rd.live.overlay') === undefined) return inMemory('rd.live.image');
  // overlayroot of Ubuntu's cloud-initramfs-tools; the local file wins over the packaged one.
  const configured = ['/etc/overlayroot.local.conf', '/etc/overlayroot.conf']
    .map((file) => /^[ \t]{0,20}overlayroot=["']?([^"'\n]+)/m.exec(tree.readText(file) ?? '')?.[1])
    .find((found) => found !== undefined);
  const overlayroot = value('overlayroot') ?? configured;
  if (overlayroot?.startsWith('tmpfs') === true) return inMemory(`overlayroot=${overlayroot}`);
  return isOstreeRoot({ tree }) && path.startsWith('/etc') && hasTransientEtc({ tree })
    ? inMemory('etc.transient of prepare-root.conf')
    : undefined;
}

/** ostree-prepare-root(1). bootc systems are ostree systems, too. */
const PREPARE_ROOT = ['/etc/ostree/prepare-root.conf', '/usr/lib/ostree/prepare-root.conf'];

/** Root file systems that ostree deploys: /usr is read-only, /etc is merged, /var belongs to the machine. */
export function isOstreeRoot({ tree }: Pick<Subject, 'tree'>): boolean {
  return [...PREPARE_ROOT, '/sysroot/ostree', '/run/ostree-booted'].some((path) => tree.stat(path) !== undefined);
}

function hasTransientEtc({ tree }: Pick<Subject, 'tree'>): boolean {
  const text = PREPARE_ROOT.map((path) => tree.readText(path)).find((one) => one !== undefined) ?? '';
  let section = '';
  for (const line of text.split('\n').map((one) => one.trim())) {
    section = /^\[(.*)\]$/.exec(line)?.[1] ?? section;
    if (section === 'etc' && /^transient\s*=\s*(true|yes|1)$/i.test(line)) return true;
  }
  return false;
}

/** The options of the kernel's command line that the boot loader's files in this image have. */
function kernelOptions({ tree }: Subject): readonly string[] {
  const entries = LOADER_ENTRIES.flatMap((directory) => tree.list(directory).map((name) => `${directory}/${name}`));
  return [...BOOT_LOADERS, ...entries].flatMap((path) => {
    const text = tree.readText(path) ?? '';
    if (path.endsWith('.toml')) return kargsOf(text);
    const lines = text.split('\n');
    const commands = path.endsWith('cmdline') ? lines : lines.filter((line) => /^\s*(linux\w*|options)\s/.test(line));
    return commands.flatMap((line) => line.trim().split(/\s+/));
  });
}

/** `kargs = ["rw"]` of bootc. */
function kargsOf(text: string): readonly string[] {
  try {
    const kargs = member(parse(text), 'kargs');
    return Array.isArray(kargs) ? kargs.filter((one) => typeof one === 'string') : [];
  } catch {
    return [];
  }
}
