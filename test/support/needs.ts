import { spawnSync } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { LAB_DIRECTORY } from '../../scripts/lab/artefacts.ts';
import { isProgram, isThere, type Program, withPackage } from '../../scripts/test-packages.ts';
import { TEMPLATES } from './capi-templates.ts';
import { kubernetesRelease } from './kubernetes-release.ts';

const isFile = (path: string): boolean => existsSync(path);
const read = (path: string): string => (isFile(path) ? readFileSync(path, 'utf8').trim() : '');
const runs = (program: string, ...args: readonly string[]): boolean => spawnSync(program, args).status === 0;

/** What a test can need besides programs and files, and whether it is there. */
const CIRCUMSTANCES = {
  Linux: () => process.platform === 'linux',
  'POSIX files': () => process.platform !== 'win32',
  'x86-64': () => process.arch === 'x64',
  root: () => process.platform === 'linux' && process.getuid?.() === 0,
  'another user than root': () => process.getuid?.() !== 0,
  // Mounts, a network, a host name and processes of its own: root of a container may lack CAP_SYS_ADMIN.
  namespaces: () => runs('unshare', '-m', '-n', '-u', '-p', '-f', 'true'),
  'loop devices': () => runs('losetup', '--find'),
  // Root of a container may lack it, and ext4 grows only with it (fs/ext4/resize.c, ext4_resize_begin).
  CAP_SYS_RESOURCE: () =>
    (BigInt(`0x${/^CapEff:\s*(\w+)$/m.exec(read('/proc/self/status'))?.[1] ?? 0}`) & (1n << 24n)) !== 0n,
  'a kernel that writes core dumps where a program runs': () => /^[^|/%]+$/.test(read('/proc/sys/kernel/core_pattern')),
  'a machine without swap': () => read('/proc/swaps').split('\n').length === 1,
  'another process 1 than systemd': () => !isFile('/run/systemd/system'),
  // A control plane of the lab has about 27 of them, a worker 17, and all their root users are one for the kernel.
  '192 inotify instances (fs.inotify.max_user_instances)': () =>
    Number(read('/proc/sys/fs/inotify/max_user_instances')) >= 192,
  'cgroup v1': () => isFile('/sys/fs/cgroup/memory/cgroup.procs'),
  'the Kubernetes of the lab (npm run lab -- build)': () =>
    globSync(join(LAB_DIRECTORY, 'kubernetes-*/bin/kube-apiserver')).length > 0,
  'a kube-apiserver (npm run lab -- build)': () => kubernetesRelease() !== undefined,
  'published templates of Cluster API': () => isFile(TEMPLATES),
  'MACHINEADM_CAPI=DIRECTORY': () => isFile(join(process.env.MACHINEADM_CAPI ?? '', 'crds')),
  'MACHINEADM_LAB_NEXT=VERSION': () => process.env.MACHINEADM_LAB_NEXT !== undefined,
  'MACHINEADM_CAPI_TEMPLATES=DIRECTORY': () => isFile(process.env.MACHINEADM_CAPI_TEMPLATES ?? ''),
  // Debian has no package of it.
  'terraform in PATH': () => runs('terraform', 'version'),
  // Without it, the end-to-end tests run their core set, one case of each kind.
  'MACHINEADM_E2E=all': () => process.env.MACHINEADM_E2E === 'all',
  'MACHINEADM_TEST_KUBEADM=PATH': () => process.env.MACHINEADM_TEST_KUBEADM !== undefined,
  'npm run test:attacks': () => Number(process.env.MACHINEADM_ATTACK_TRIES ?? 0) >= 10_000,
} as const satisfies Readonly<Record<string, () => boolean>>;

type Circumstance = keyof typeof CIRCUMSTANCES;

/** A program or a file with its Debian package, a circumstance, or what was looked for: it has `unavailable` if it was not found. */
export type Need = Program | Circumstance | object;

const found = new Map<string, boolean>();

function isMet(name: Program | Circumstance): boolean {
  const known = found.get(name) ?? (isProgram(name) ? isThere(name) : CIRCUMSTANCES[name]());
  found.set(name, known);
  return known;
}

/**
 * Declares what a test needs of the machine that it runs on: every program that is not in Debian's required packages, every
 * privilege, every file. The result is for `skip`: false if everything is there, otherwise a reason that names what is
 * missing and the Debian packages that have it. `npm test` lists the reasons at its end.
 *
 *     test('…', { skip: needs('root', 'sfdisk') }, () => { … });
 */
export function needs(...wanted: readonly Need[]): string | false {
  const missing = wanted.flatMap((need) => {
    if (typeof need === 'string') return isMet(need) ? [] : [isProgram(need) ? withPackage(need) : need];
    return 'unavailable' in need ? [String(need.unavailable).replace(/^needs /, '')] : [];
  });
  return missing.length === 0 ? false : `needs ${missing.join(', ')}`;
}

/** Like `needs`, for programs that a test reads from data. A name that is not in the table is an error. */
export function needsPrograms(names: readonly string[]): string | false {
  return needs(
    ...names.map((name) => {
      if (!isProgram(name)) throw new Error(`scripts/test-packages.ts does not list the program ${name}`);
      return name;
    }),
  );
}
