import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import type { Profile, Subject } from '../../../src/diagnosis/conformance/clause.ts';
import { profileOf } from '../../../src/diagnosis/conformance/index.ts';
import { versionsInProgram } from '../../../src/diagnosis/conformance/program-files.ts';
import { UnitFiles } from '../../../src/diagnosis/conformance/unit-files.ts';
import { RootTree, type TreeEntry } from '../../../src/host/local-files/root-tree.ts';

/** What is at a path of an image: the content of a file 0644 of root, a directory, a link, or nothing (`undefined`). */
export type Entry =
  | string
  | Uint8Array
  | undefined
  | { readonly content?: string | Uint8Array; readonly mode?: number; readonly uid?: number; readonly gid?: number }
  | { readonly directory: true; readonly mode?: number; readonly uid?: number; readonly gid?: number }
  | { readonly link: string };

export type Files = Readonly<Record<string, Entry>>;

const PACKAGING = resolve(import.meta.dirname, '../../../packaging/systemd');
const shipped = (name: string): string => readFileSync(join(PACKAGING, name), 'utf8');

const MACHINES = { amd64: 62, arm64: 183, s390x: 22, '386': 3 };

/** The head of an ELF program, and values as `go build -ldflags -X` leaves them. */
export function elf(architecture: keyof typeof MACHINES = 'amd64', ...values: readonly string[]): Entry {
  const head = Buffer.alloc(64);
  const isBigEndian = architecture === 's390x';
  head.set([0x7f, 0x45, 0x4c, 0x46, 2, isBigEndian ? 2 : 1, 1]);
  if (isBigEndian) head.writeUInt16BE(MACHINES[architecture], 18);
  else head.writeUInt16LE(MACHINES[architecture], 18);
  const strings = values.map((value) => `${value}\0`).join('');
  return { content: Buffer.concat([head, Buffer.from(strings)]), mode: 0o755 };
}

/** A PE program of Windows; `build`: the version resource of a kernel. */
export function pe(
  machine = 0x8664,
  { build, values = [] }: { build?: number; values?: readonly string[] } = {},
): Entry {
  const head = Buffer.alloc(128);
  head.write('MZ', 0, 'latin1');
  head.writeUInt32LE(0x40, 0x3c);
  head.write('PE\0\0', 0x40, 'latin1');
  head.writeUInt16LE(machine, 0x44);
  const version = Buffer.alloc(build === undefined ? 0 : 16);
  if (build !== undefined) {
    version.set([0xbd, 0x04, 0xef, 0xfe, 0, 0, 1, 0]);
    version.writeUInt32LE(0x000a_0000, 8);
    version.writeUInt32LE(build * 0x1_0000 + 2700, 12);
  }
  return Buffer.concat([head, version, Buffer.from(values.map((value) => `${value}\0`).join(''))]);
}

const PROGRAMS =
  'findmnt lsblk mount umount sync sh useradd usermod groupadd chpasswd getent setpriv visudo sfdisk partx wipefs blkid udevadm ' +
  'mkfs.ext4 modprobe swapon swapoff update-ca-certificates chronyd logger ip nsenter iptables conntrack ebtables ethtool socat tc touch true';

const KUBELET_DROP_IN = `# Note: this dropin only works with kubeadm and kubelet v1.11+
[Service]
Environment="KUBELET_KUBECONFIG_ARGS=--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf"
Environment="KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml"
# This is a file that "kubeadm init" and "kubeadm join" generates at runtime, populating the KUBELET_KUBEADM_ARGS variable dynamically
EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
EnvironmentFile=-/etc/default/kubelet
ExecStart=
ExecStart=/usr/bin/kubelet $KUBELET_KUBECONFIG_ARGS $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS
`;

const SYSTEM = '/usr/lib/systemd/system';
export const DROP_IN = `${SYSTEM}/kubelet.service.d/10-kubeadm.conf`;
export const PROVISION = `${SYSTEM}/machineadm-provision.service`;
export const RESUME = `${SYSTEM}/machineadm-resume.service`;
export const MODULES = '/usr/lib/modules/6.1.0-18-amd64';

/** The programs of a host, for one architecture. */
export function programsFor(architecture: keyof typeof MACHINES): Files {
  const names = PROGRAMS.split(' ').map((name) => [`/usr/bin/${name}`, elf(architecture)] as const);
  return {
    ...Object.fromEntries(names),
    '/usr/lib/systemd/systemd': elf(architecture),
    '/usr/local/bin/machineadm': elf(architecture),
  };
}

/** The modules of a kernel. */
export function kernel(release: string, suffix = 'ko'): Files {
  return {
    [`/usr/lib/modules/${release}/modules.dep`]: `kernel/fs/overlayfs/overlay.${suffix}:\nkernel/net/bridge/br_netfilter.${suffix}: kernel/net/bridge/bridge.${suffix}\n`,
    [`/usr/lib/modules/${release}/modules.builtin`]: 'kernel/fs/ext4/ext4.ko\n',
  };
}

/** Kubernetes of the community's packages. */
export function kubernetes(version: string, architecture: keyof typeof MACHINES = 'amd64'): Files {
  return { '/usr/bin/kubeadm': elf(architecture, version), '/usr/bin/kubelet': elf(architecture, version) };
}

export function libraries(directory: string, glibc: string): Files {
  return {
    [`${directory}/libc.so.6`]: `\x7fELF\0GNU C Library (Debian GLIBC ${glibc}-9) stable release version ${glibc}.\nCopyright (C)`,
    [`${directory}/libstdc++.so.6`]: 'so',
    [`${directory}/libgcc_s.so.1`]: 'so',
  };
}

/** An image that keeps every clause of the profile `host`, shaped like Debian 12 with the packages of machineadm. */
const HOST: Files = {
  '/bin': { link: 'usr/bin' },
  '/sbin': { link: 'usr/sbin' },
  '/lib': { link: 'usr/lib' },
  '/usr/sbin': { directory: true },
  '/tmp': { directory: true, mode: 0o1777 },
  ...programsFor('amd64'),
  ...libraries('/usr/lib/x86_64-linux-gnu', '2.36'),
  ...kernel('6.1.0-18-amd64'),
  '/usr/lib/systemd/libsystemd-shared-252.so': 'so',
  '/usr/lib/os-release': 'ID=debian\nVERSION_ID="12"\n',
  '/etc/os-release': { link: '../usr/lib/os-release' },
  '/etc/machine-id': '',
  '/etc/group': 'root:x:0:\nmachineadm:x:998:\n',
  '/etc/fstab': '# <file system> <mount point> <type> <options>\nUUID=6f2d / ext4 rw,discard,errors=remount-ro 0 1\n',
  [`${SYSTEM}/multi-user.target`]: '[Unit]\nRequires=basic.target\nAfter=basic.target\n',
  [`${SYSTEM}/graphical.target`]: '[Unit]\nRequires=multi-user.target\n',
  [`${SYSTEM}/default.target`]: { link: 'graphical.target' },
  [PROVISION]: shipped('machineadm-provision.service'),
  [RESUME]: shipped('machineadm-resume.service'),
  '/etc/systemd/system/multi-user.target.wants/machineadm-resume.service': { link: RESUME },
};

/** The same with kubeadm, the kubelet and containerd. */
const NODE: Files = {
  ...HOST,
  ...kubernetes('v1.31.2'),
  '/usr/bin/containerd': elf('amd64', 'v1.7.27', '05044ec0a9a75232cad458027ca83437aae3f4da'),
  [`${SYSTEM}/containerd.service`]:
    '[Service]\nType=notify\nExecStart=/usr/bin/containerd\n\n[Install]\nWantedBy=multi-user.target\n',
  [`${SYSTEM}/kubelet.service`]:
    '[Unit]\nDescription=kubelet\n[Service]\nExecStart=/usr/bin/kubelet\nRestart=always\n\n[Install]\nWantedBy=multi-user.target\n',
  [DROP_IN]: KUBELET_DROP_IN,
  '/etc/systemd/system/multi-user.target.wants/containerd.service': { link: `${SYSTEM}/containerd.service` },
  '/etc/systemd/system/multi-user.target.wants/kubelet.service': { link: `${SYSTEM}/kubelet.service` },
};

/** CRI-O in the place of containerd, as OKD and image-builder's CRI-O images have it. */
const CRIO: Files = {
  ...NODE,
  '/usr/bin/containerd': undefined,
  [`${SYSTEM}/containerd.service`]: undefined,
  '/etc/systemd/system/multi-user.target.wants/containerd.service': undefined,
  '/usr/bin/crio': elf('amd64', '1.31.1'),
  [`${SYSTEM}/crio.service`]:
    '[Service]\nExecStart=/usr/bin/crio $CRIO_CONFIG_OPTIONS\n[Install]\nWantedBy=multi-user.target\n',
  '/etc/systemd/system/multi-user.target.wants/crio.service': { link: `${SYSTEM}/crio.service` },
};

/** A tree as ostree deploys it: no fstab entry for /, a configuration for the merge of /etc. */
const OSTREE: Files = {
  ...NODE,
  '/etc/fstab': 'LABEL=boot /boot ext4 defaults 0 2\n',
  '/usr/lib/ostree/prepare-root.conf': '[composefs]\nenabled = yes\n[sysroot]\nreadonly = true\n',
  '/usr/libexec/kubernetes/kubelet-plugins/volume/exec': { directory: true },
  '/usr/lib/tmpfiles.d/cni-plugins.conf': 'd /var/opt/cni/bin 0755\n',
};

export const STATUS = {
  apiVersion: 'machineadm.dev/status/v1',
  kind: 'BootstrapStatus',
  runId: 'r',
  command: 'provision',
  phase: 'Concluded',
  outcome: 'Succeeded',
  startedAt: 't',
  updatedAt: 't',
  steps: [{ id: 'sentinel', state: 'Unchanged' }],
  document: {},
  exitCode: 0,
  conditions: [{ type: 'machineadm.dev/BootstrapSucceeded', status: 'True' }],
};
export const SUMMARY = JSON.stringify({ runId: 'r', phase: 'Concluded', outcome: 'Succeeded', exitCode: 0 });

const MOUNTS = `22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro
23 22 0:21 / /proc rw,nosuid - proc proc rw
25 22 0:23 / /run rw,nosuid,nodev shared:5 - tmpfs tmpfs rw,size=401928k
`;

/** A node after its bootstrap, running. */
const RUNNING: Files = {
  ...NODE,
  '/etc/machine-id': '0123456789abcdef0123456789abcdef\n',
  '/proc/self/mountinfo': MOUNTS,
  '/proc/self/fd': { directory: true },
  '/proc/sys/kernel/osrelease': '6.1.0-18-amd64\n',
  '/sys/module/overlay': { directory: true },
  '/sys/module/br_netfilter': { directory: true },
  '/run/systemd/system': { directory: true },
  '/run/machineadm/status.json': { content: JSON.stringify(STATUS), mode: 0o640, gid: 998 },
  '/run/machineadm/summary.json': SUMMARY,
  '/run/cluster-api/bootstrap-success.complete': 'success\n',
  '/var/lib/machineadm/journal': { mode: 0o600 },
  '/var/lib/machineadm/status.json': { mode: 0o640, gid: 998 },
  '/var/lib/machineadm/summary.json': SUMMARY,
  '/etc/machineadm/bootstrap.yaml': { mode: 0o600 },
  '/etc/systemd/system/machineadm-sentinel.service':
    '[Service]\nExecStart=/usr/local/bin/machineadm sentinel restore\n',
  '/etc/systemd/system/multi-user.target.wants/machineadm-sentinel.service': { link: '../machineadm-sentinel.service' },
};

/** Drive C: of a node by image-builder. */
const WINDOWS: Files = {
  '/Windows/System32/ntoskrnl.exe': pe(0x8664, { build: 20_348 }),
  '/Windows/System32/WindowsPowerShell/v1.0/powershell.exe': pe(),
  '/k/kubeadm.exe': pe(0x8664, { values: ['v1.31.2'] }),
  '/k/kubelet.exe': pe(0x8664, { values: ['v1.31.2'] }),
  '/k/RestartKubelet.ps1': '',
  '/Program Files/containerd/containerd.exe': pe(),
};

export const BASES = { host: HOST, node: NODE, crio: CRIO, ostree: OSTREE, running: RUNNING, windows: WINDOWS };
export type Base = keyof typeof BASES;

/** A file of a base image in which one text is replaced; throws where it has no such text, so that no case is empty. */
export function replaced(base: Base, path: string, before: string | RegExp, after: string): Files {
  const entry = BASES[base][path];
  if (typeof entry !== 'string' || !(typeof before === 'string' ? entry.includes(before) : before.test(entry))) {
    throw new Error(`${base}: ${path} has no ${before}`);
  }
  return { [path]: entry.replace(before, after) };
}

/** Writes an image into a new directory, gives it to `action`, and removes it. */
export function withImage<T>(
  base: Base,
  changes: Files,
  profile: Profile | undefined,
  action: (subject: Subject, root: string) => T,
): T {
  const root = mkdtempSync(join(tmpdir(), 'machineadm-image-'));
  const umask = process.umask(0o022);
  try {
    const files = { ...BASES[base], ...changes };
    const made = new Set<string>();
    for (const [path, entry] of Object.entries(files)) put(root, path, entry, made);
    return action(subjectOf(root, base, files, profile), root);
  } finally {
    process.umask(umask);
    rmSync(root, { recursive: true, force: true });
  }
}

/** Writes a base image once, and gives it to `action` with each of the changes in turn: far fewer files than `withImage` writes. */
export async function withEachChange(
  base: Base,
  changes: readonly Files[],
  action: (subject: Subject, change: Files) => Promise<void>,
): Promise<void> {
  const root = mkdtempSync(join(tmpdir(), 'machineadm-image-'));
  const umask = process.umask(0o022);
  /** Returns what it made that was not there before: the path, or the first of the directories above it. */
  const replace = (path: string, entry: Entry): string | undefined => {
    const at = join(root, path);
    const isDirectory = remove(at);
    if (isDirectory && (entry === undefined || typeof entry !== 'object' || !('directory' in entry))) return undefined;
    const above = mkdirSync(dirname(at), { recursive: true });
    put(root, path, entry, new Set([dirname(at)]));
    return isDirectory ? undefined : (above ?? at);
  };
  try {
    const files: Files = BASES[base];
    for (const [path, entry] of Object.entries(files)) replace(path, entry);
    for (const change of changes) {
      const made = Object.entries(change).map(([path, entry]) => replace(path, entry));
      await action(subjectOf(root, base, { ...files, ...change }, undefined), change);
      for (const path of made) if (path !== undefined) rmSync(path, { recursive: true, force: true });
      for (const path of Object.keys(change)) replace(path, files[path]);
    }
  } finally {
    process.umask(umask);
    rmSync(root, { recursive: true, force: true });
  }
}

/** Removes a file, or an empty directory. Whether a directory stays: it has files of the base, and its usual mode again. */
function remove(path: string): boolean {
  if (lstatSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) {
    rmSync(path, { force: true });
    return false;
  }
  if (readdirSync(path).length === 0) rmdirSync(path);
  else chmodSync(path, 0o755);
  return existsSync(path);
}

function subjectOf(root: string, base: Base, files: Files, profile: Profile | undefined): Subject {
  const tree = new FixtureTree(root, files, base === 'windows');
  return {
    tree,
    profile: profile ?? profileOf({ tree }),
    isRunning: base === 'running',
    program: tree.which('machineadm'),
    versions: (program) => {
      const path = tree.which(program);
      return path === undefined ? [] : versionsInProgram(tree, path);
    },
    units: new UnitFiles(tree),
  };
}

function put(root: string, path: string, entry: Entry, made: Set<string>): void {
  if (entry === undefined) return;
  const at = join(root, path);
  if (!made.has(dirname(at))) mkdirSync(dirname(at), { recursive: true, mode: 0o755 });
  made.add(dirname(at));
  if (typeof entry === 'object' && 'link' in entry) symlinkSync(entry.link, at);
  else if (typeof entry === 'object' && 'directory' in entry) {
    mkdirSync(at, { recursive: true });
    chmodSync(at, entry.mode ?? 0o755);
  } else {
    const file = typeof entry === 'string' || entry instanceof Uint8Array ? { content: entry } : entry;
    // Within the umask of `withImage` the mode of a new file is this one, unless others may write to it: they may after a chmod.
    writeFileSync(at, file.content ?? '', { mode: file.mode ?? 0o644 });
    if (((file.mode ?? 0) & 0o022) !== 0) chmodSync(at, file.mode ?? 0);
  }
}

/** A tree whose owners are those of the fixture: only root can give files away. */
class FixtureTree extends RootTree {
  readonly #files: Files;

  constructor(root: string, files: Files, ignoresCase: boolean) {
    super(root, ignoresCase);
    this.#files = files;
  }

  override stat(path: string): TreeEntry | undefined {
    return this.#owned(super.stat(path));
  }

  override lstat(path: string): TreeEntry | undefined {
    return this.#owned(super.lstat(path));
  }

  #owned(entry: TreeEntry | undefined): TreeEntry | undefined {
    if (entry === undefined) return undefined;
    const wanted = this.#files[entry.path];
    const isOwned = typeof wanted === 'object' && ('uid' in wanted || 'gid' in wanted);
    const { uid = 0, gid = 0 }: { readonly uid?: number; readonly gid?: number } = isOwned ? wanted : {};
    // The directory that mkdtemp makes is closed.
    return { ...entry, uid, gid, ...(entry.path === '/' ? { mode: 0o755 } : {}) };
  }
}
