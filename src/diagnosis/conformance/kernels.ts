import type { RootTree } from '../../host/local-files/root-tree.ts';
import type { Subject } from './clause.ts';

const MODULES = '/lib/modules';

/** The kernels that matter: the running one, or all that the image can boot. */
export function kernelsOf({ tree, isRunning }: Subject): readonly string[] {
  if (isRunning) {
    const release = tree.readText('/proc/sys/kernel/osrelease')?.trim();
    return release === undefined || release === '' ? [] : [release];
  }
  const installed = tree
    .list(MODULES)
    .filter((release) =>
      ['modules.dep', 'modules.builtin', 'kernel', 'vmlinuz'].some((name) => isThere(tree, release, name)),
    );
  const bootable = tree.list('/boot').flatMap((name) => /^vmlinu[xz]-(\d.*)$/.exec(name)?.[1] ?? []);
  return [...new Set([...installed, ...bootable])];
}

/** Major and minor of a kernel release, whatever its distribution appends: `5.14.0-427.el9.x86_64`. */
export function kernelVersion(release: string): readonly [number, number] | undefined {
  const [, major, minor] = /^(\d{1,4})\.(\d{1,4})(?![\d])/.exec(release) ?? [];
  return major === undefined || minor === undefined ? undefined : [Number(major), Number(minor)];
}

/** Why a kernel cannot load a module; undefined where it can, or where the module is built in. */
export function whyWithoutModule({ tree, isRunning }: Subject, release: string, module: string): string | undefined {
  const loaded =
    isRunning &&
    (tree.stat(`/sys/module/${module}`) !== undefined ||
      new RegExp(`\\s${module}$`, 'm').test(tree.readText('/proc/filesystems') ?? '') ||
      (module === 'br_netfilter' && tree.stat('/proc/sys/net/bridge') !== undefined));
  if (loaded) return undefined;
  const file = new RegExp(`(^|/)${module.replaceAll('_', '[-_]')}\\.ko`, 'm');
  if (file.test(tree.readText(`${MODULES}/${release}/modules.builtin`) ?? '')) return undefined;
  if (!file.test(firstColumn(tree.readText(`${MODULES}/${release}/modules.dep`) ?? '')))
    return `${release} has no ${module}`;
  const disabled = disabledBy(tree, module);
  return disabled === undefined ? undefined : `${disabled} keeps ${module} from being loaded`;
}

/** In modules.dep the module stands before the colon, and what it needs after it. */
function firstColumn(text: string): string {
  return text
    .split('\n')
    .map((line) => line.split(':')[0])
    .join('\n');
}

/** modprobe.d(5): `install overlay /bin/false`, as benchmarks for hardening have it. The last command counts. */
function disabledBy(tree: RootTree, module: string): string | undefined {
  const files = new Map<string, string>();
  for (const directory of ['/etc/modprobe.d', '/run/modprobe.d', '/usr/lib/modprobe.d', '/lib/modprobe.d']) {
    for (const name of tree.list(directory)) {
      if (name.endsWith('.conf') && !files.has(name)) files.set(name, `${directory}/${name}`);
    }
  }
  const command = new RegExp(
    `^[ \\t]{0,20}install[ \\t]{1,20}${module.replaceAll('_', '[-_]')}[ \\t]{1,20}(\\S+)`,
    'gm',
  );
  let last: string | undefined;
  for (const path of [...files].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one)) {
    for (const [, program = ''] of (tree.readText(path) ?? '').matchAll(command)) {
      last = /\/(true|false)$/.test(program) ? path : undefined;
    }
  }
  return last;
}

function isThere(tree: RootTree, release: string, name: string): boolean {
  return tree.stat(`${MODULES}/${release}/${name}`) !== undefined;
}
