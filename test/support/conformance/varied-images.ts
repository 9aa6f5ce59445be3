import { BASES, type Base, type Entry, elf, type Files, kernel, MODULES, pe, STATUS } from './image.ts';

/** An image of which a fixture says how it keeps the contract. */
export interface VariedImage {
  readonly what: string;
  readonly base: Base;
  readonly change: Files;
}

/** The bases whose files a base has, too: it is varied only where it differs from them. */
const ALSO: Readonly<Record<Base, Base | undefined>> = {
  host: undefined,
  node: 'host',
  crio: 'node',
  ostree: 'node',
  running: 'node',
  windows: undefined,
};

const SYSTEM = '/usr/lib/systemd/system';
const MOUNTINFO = '/proc/self/mountinfo';
const NO_FSTAB: Files = { '/etc/fstab': '' };

/** Each file of each base left out, and empty. */
function withoutAFile(): readonly VariedImage[] {
  return (Object.keys(BASES) as Base[]).flatMap((base) => {
    const files: Files = BASES[base];
    const also: Files = BASES[ALSO[base] ?? base];
    return Object.keys(files)
      .filter((path) => ALSO[base] === undefined || (files[path] !== also[path] && files[path] !== undefined))
      .flatMap((path): VariedImage[] => [
        { what: `no ${path}`, base, change: { [path]: undefined } },
        ...(isFile(files[path]) ? [{ what: `${path} is empty`, base, change: { [path]: '' } }] : []),
      ]);
  });
}

function isFile(entry: Entry): boolean {
  return typeof entry === 'string' || (typeof entry === 'object' && !('link' in entry) && !('directory' in entry));
}

/** Each file of a running machine with the modes and owners that matter. */
function withOtherModes(): readonly VariedImage[] {
  const modes: Files = {
    '/run/machineadm/status.json': { content: JSON.stringify(STATUS) },
    '/run/machineadm/summary.json': {},
    '/run/cluster-api/bootstrap-success.complete': { content: 'success\n' },
    '/var/lib/machineadm/journal': {},
    '/var/lib/machineadm/status.json': {},
    '/var/lib/machineadm/summary.json': {},
    '/var/lib/machineadm/hardening.json': {},
    '/etc/machineadm/bootstrap.yaml': {},
  };
  const varied = Object.entries(modes).flatMap(([path, entry]) => {
    const file = entry as object;
    return [
      ...[0o600, 0o640, 0o644, 0o660].map((mode): [string, Entry] => [mode.toString(8), { ...file, mode }]),
      ['of user 33', { ...file, mode: 0o600, uid: 33 }] as const,
      ['0640 of group 33', { ...file, mode: 0o640, gid: 33 }] as const,
      ['a link', { link: '/etc/fstab' }] as const,
    ].map(
      ([what, change]): VariedImage => ({ what: `${path} is ${what}`, base: 'running', change: { [path]: change } }),
    );
  });
  const directories = ['/run/machineadm', '/run/cluster-api', '/var/lib/machineadm', '/etc/machineadm'].flatMap(
    (path) =>
      [{ mode: 0o700 }, { mode: 0o775 }, { uid: 33 }].map(
        (different): VariedImage => ({
          what: `${path} is a directory with ${JSON.stringify(different)}`,
          base: 'running',
          change: { [path]: { directory: true, ...different } },
        }),
      ),
  );
  const below = [0o700, 0o755, 0o777].map(
    (mode): VariedImage => ({
      what: `a file for all is below /var/lib/machineadm, in a directory with the mode ${mode.toString(8)}`,
      base: 'running',
      change: { '/var/lib/machineadm/a': { directory: true, mode }, '/var/lib/machineadm/a/b': '' },
    }),
  );
  return [...varied, ...directories, ...below];
}

/** What is mounted where, by fstab, by units of systemd, by the kernel's command line, and on a running machine. */
function withOtherMounts(): readonly VariedImage[] {
  const root = 'UUID=6f2d / ext4 rw 0 1';
  const types = 'ext4 xfs tmpfs ramfs zram rootfs squashfs erofs iso9660 cramfs fuse.glusterfs fuseblk overlay'.split(
    ' ',
  );
  const fstab = [
    ...types.map((type) => `x /var ${type} rw 0 2`),
    'x /var ext4 ro 0 2',
    'x /var ext4 nosuid,noauto 0 2',
    'x /var',
    '#x /var tmpfs rw 0 2',
    'x /var/ tmpfs rw 0 2',
    'x /variable tmpfs rw 0 2',
    'x /var/lib/machineadm tmpfs rw 0 2',
    'x /var/lib/machineadm/a tmpfs rw 0 2',
    'x /v\\141r tmpfs rw 0 2',
    'overlay /var overlay lowerdir=/a,upperdir=/b 0 2',
    'overlay /var overlay lowerdir=/a,upperdir=/var/b 0 2',
    'overlay /var overlay lowerdir=/a,upperdir=/m/b 0 2\nx /m tmpfs rw 0 0',
    'x /var tmpfs rw 0 2\ny /var ext4 rw 0 2',
    'x /run ramfs rw 0 2',
    'x /run ext4 rw 0 2',
  ].map((lines): [string, Base, Files] => [lines, 'host', { '/etc/fstab': `${root}\n${lines}\n` }]);
  const unit = (text: string): Files => ({
    [`${SYSTEM}/var.mount`]: `[Mount]\n${text}`,
    [`${SYSTEM}/local-fs.target.wants/var.mount`]: { link: '../var.mount' },
    [`${SYSTEM}/basic.target`]: '[Unit]\nRequires=local-fs.target\n',
  });
  const units = ['Type=tmpfs', 'Type=ext4', 'Type=ext4\nOptions=nosuid,ro', 'Options=rw'].map(
    (text): [string, Base, Files] => [`var.mount: ${text}`, 'host', unit(`What=x\nWhere=/var\n${text}\n`)],
  );
  const loaders = [
    ['/boot/grub/grub.cfg', 'menuentry {\n  linux /vmlinuz root=UUID=1 rw\n}\n'],
    ['/boot/grub2/grub.cfg', '\tlinuxefi /vmlinuz root=UUID=1 rw\n'],
    ['/boot/grub/grub.cfg', '# linux /vmlinuz root=UUID=1 rw\n'],
    ['/etc/kernel/cmdline', 'root=UUID=1 rw\n'],
    ['/usr/lib/kernel/cmdline', 'root=UUID=1 rw\n'],
    ['/usr/lib/kernel/cmdline', 'root= rw\n'],
    ['/usr/lib/kernel/cmdline', 'root=UUID=1 ro\n'],
    ['/boot/loader/entries/a.conf', 'title a\noptions root=UUID=1 rw\n'],
    ['/efi/loader/entries/a.conf', 'options root=UUID=1 rw\n'],
    ['/usr/lib/bootc/kargs.d/a.toml', 'kargs = ["root=UUID=1", "rw", 3]\n'],
    ['/usr/lib/bootc/kargs.d/a.toml', 'kargs = "rw"\n'],
    ['/usr/lib/bootc/kargs.d/a.toml', 'kargs = [\n'],
    ...['', '=yes', '=1', '=on', '=true', '=overlay', '=no', '=state', '=state systemd.volatile=no'].map((value) => [
      '/etc/kernel/cmdline',
      `root=UUID=1 rw systemd.volatile${value}\n`,
    ]),
    ['/etc/kernel/cmdline', 'root=live:x rw rd.live.image\n'],
    ['/etc/kernel/cmdline', 'root=live:x rw rd.live.image rd.live.overlay=/dev/sdb\n'],
    ['/etc/kernel/cmdline', 'root=UUID=1 rw overlayroot=tmpfs:recurse=0\n'],
    ['/etc/kernel/cmdline', 'root=UUID=1 rw overlayroot=device:dev=/dev/sdb\n'],
  ].map(([path = '', text = '']): [string, Base, Files] => [`${path}: ${text}`, 'host', { ...NO_FSTAB, [path]: text }]);
  const overlayroot = [
    ['tmpfs', undefined],
    ['""', undefined],
    ['tmpfs', ''],
    ['tmpfs', 'disabled'],
    ['disabled', 'tmpfs'],
  ].map(([packaged, local]): [string, Base, Files] => [
    `overlayroot is ${packaged}, and locally ${local}`,
    'host',
    {
      '/etc/overlayroot.conf': `# overlayroot=x\noverlayroot="${packaged}"\n`,
      '/etc/overlayroot.local.conf': local === undefined ? undefined : `overlayroot=${local}\n`,
    },
  ]);
  const transient = [
    '[etc]\ntransient = true\n',
    '[etc]\nTransient=yes\n',
    '[root]\ntransient=true\n',
    '[etc]\ntransient=false\n',
  ];
  const ostree = transient.flatMap((text): [string, Base, Files][] => [
    [`prepare-root.conf: ${text}`, 'ostree', { '/usr/lib/ostree/prepare-root.conf': text }],
    [`prepare-root.conf of the administrator: ${text}`, 'ostree', { '/etc/ostree/prepare-root.conf': text }],
  ]);
  const line = (at: string, rest: string): string => `30 22 0:40 / ${at} rw - ${rest}\n`;
  const base = `22 1 8:1 / / rw - ext4 /dev/sda1 rw\n${line('/run', 'tmpfs tmpfs rw')}`;
  const running = [
    ...types.map((type) => line('/var', `${type} x rw`)),
    line('/var', 'ext4 x ro'),
    line('/var', 'overlay x rw,upperdir=/nowhere'),
    line('/var', 'overlay x rw,upperdir=/etc'),
    line('/var', 'overlay x rw,upperdir=/run/machineadm'),
    line('/v\\141r', 'tmpfs x rw'),
    line('/run', 'ext4 x rw'),
    'not a mount\n',
  ].map((more): [string, Base, Files] => [`also mounted: ${more}`, 'running', { [MOUNTINFO]: base + more }]);
  return [...fstab, ...units, ...loaders, ...overlayroot, ...ostree, ...running].map(([what, of, change]) => ({
    what: what.trim().replaceAll('\n', '; '),
    base: of,
    change,
  }));
}

/** Kernels, libraries and programs of other versions, and modules that cannot be loaded. */
function withOtherVersions(): readonly VariedImage[] {
  const noKernel: Files = { [`${MODULES}/modules.dep`]: undefined, [`${MODULES}/modules.builtin`]: undefined };
  const kernels = ['4.17.0', '4.18.0', '3.19.1', '5.0.1', '10.2', '6', 'next-6.1'].map(
    (release): [string, Base, Files] => [`Linux ${release}`, 'node', { ...noKernel, ...kernel(release) }],
  );
  const glibc = ['2.27', '2.28', '1.99', '3.0'].map((version): [string, Base, Files] => [
    `glibc ${version}`,
    'host',
    { '/usr/lib/x86_64-linux-gnu/libc.so.6': `GNU C Library (x) stable release version ${version}.\n` },
  ]);
  const elsewhere = ['/lib64', '/usr/lib64', '/usr/lib', '/usr/lib/powerpc64le-linux-gnu', '/opt'].map(
    (directory): [string, Base, Files] => [
      `the C library is in ${directory}`,
      'host',
      {
        '/usr/lib/x86_64-linux-gnu/libc.so.6': undefined,
        [`${directory}/libc.so.6`]: 'GNU C Library (x) stable release version 2.36.\n',
      },
    ],
  );
  const systemd = ['234', '235', '235-1.el7', '99'].map((version): [string, Base, Files] => [
    `systemd ${version}`,
    'host',
    {
      '/usr/lib/systemd/libsystemd-shared-252.so': undefined,
      [`/usr/lib/systemd/libsystemd-shared-${version}.so`]: 'so',
    },
  ]);
  const modprobe = [
    { '/etc/modprobe.d/a.conf': 'install overlay /bin/false\n' },
    { '/usr/lib/modprobe.d/a.conf': 'install br-netfilter /usr/bin/true\n' },
    { '/run/modprobe.d/a.conf': ' install br_netfilter /bin/true\n' },
    { '/etc/modprobe.d/a.conf': 'install overlay /bin/false\ninstall overlay /sbin/modprobe -i overlay\n' },
    { '/etc/modprobe.d/a.conf': '', '/usr/lib/modprobe.d/a.conf': 'install overlay /bin/false\n' },
    { '/etc/modprobe.d/b.conf': 'install overlay /x\n', '/usr/lib/modprobe.d/a.conf': 'install overlay /bin/false\n' },
    { '/etc/modprobe.d/a.txt': 'install overlay /bin/false\n' },
    { '/etc/modprobe.d/a.conf': 'blacklist overlay\n' },
  ].map((change): [string, Base, Files] => [JSON.stringify(change), 'node', change]);
  const modules = ['/sys/module/overlay', '/sys/module/br_netfilter', '/proc/sys/net/bridge'].map(
    (path): [string, Base, Files] => [
      `a kernel without modules, and ${path}`,
      'running',
      {
        ...noKernel,
        '/sys/module/overlay': undefined,
        '/sys/module/br_netfilter': undefined,
        [path]: { directory: true },
      },
    ],
  );
  const filesystems: [string, Base, Files] = [
    'a kernel without modules, and overlay in /proc/filesystems',
    'running',
    { ...noKernel, '/sys/module/overlay': undefined, '/proc/filesystems': 'nodev\tproc\nnodev\toverlay\n' },
  ];
  const programs = ['arm64', 's390x', '386'] as const;
  const foreign = programs.flatMap((architecture) =>
    ['mount', 'visudo', 'kubelet', 'containerd'].map((name): [string, Base, Files] => [
      `${name} is for ${architecture}`,
      'node',
      { [`/usr/bin/${name}`]: elf(architecture, 'v1.31.2') },
    ]),
  );
  const windows: [string, Base, Files][] = [
    ...[17_762, 17_763, 26_100].map((build): [string, Base, Files] => [
      `build ${build}`,
      'windows',
      { '/Windows/System32/ntoskrnl.exe': pe(0x8664, { build }) },
    ]),
    ['a kernel without a version', 'windows', { '/Windows/System32/ntoskrnl.exe': pe() }],
    [
      'a version that is cut off',
      'windows',
      { '/Windows/System32/ntoskrnl.exe': Buffer.from([0xbd, 4, 0xef, 0xfe, 0]) },
    ],
    ['kubelet.exe for arm64', 'windows', { '/k/kubelet.exe': pe(0xaa64) }],
    ['kubelet.exe is cut off', 'windows', { '/k/kubelet.exe': Buffer.from('MZ'.padEnd(70)) }],
    ['kubelet.exe ends at its machine', 'windows', { '/k/kubelet.exe': smallestProgram() }],
    ['kubelet.exe of another version', 'windows', { '/k/kubelet.exe': pe(0x8664, { values: ['v1.25.0'] }) }],
    ['nssm.exe', 'windows', { '/k/RestartKubelet.ps1': undefined, '/k/nssm.exe': pe() }],
    ['nssm.exe of Windows', 'windows', { '/k/RestartKubelet.ps1': undefined, '/Windows/System32/nssm.exe': pe() }],
  ];
  return [
    ...kernels,
    ...glibc,
    ...elsewhere,
    ...systemd,
    ...modprobe,
    ...modules,
    filesystems,
    ...foreign,
    ...windows,
  ].map(([what, base, change]) => ({ what, base, change }));
}

/** Its last bytes are those of the machine type. */
function smallestProgram(): Uint8Array {
  const bytes = Buffer.alloc(0x46);
  bytes.write('MZ', 0, 'latin1');
  bytes.writeUInt32LE(0x40, 0x3c);
  bytes.write('PE\0\0', 0x40, 'latin1');
  bytes.writeUInt16LE(0x8664, 0x44);
  return bytes;
}

/** What each run of machineadm left, as its status says. */
function withOtherStatus(): readonly VariedImage[] {
  const status = (different: object): Files => ({
    '/run/machineadm/status.json': { content: JSON.stringify({ ...STATUS, ...different }), mode: 0o640, gid: 998 },
  });
  const fields = Object.keys(STATUS).map((field): [string, Files] => [
    `a status without ${field}`,
    status({ [field]: undefined }),
  ]);
  const summary = (text: string): Files => ({ '/run/machineadm/summary.json': text });
  const machine: [string, Files][] = [
    ...fields,
    ['a run that goes on', status({ phase: 'Running', outcome: undefined })],
    ['a status that is a list', { '/run/machineadm/status.json': { content: '[]', mode: 0o640 } }],
    ['a status that is null', { '/run/machineadm/status.json': { content: 'null', mode: 0o640 } }],
    ['a status that is damaged', { '/run/machineadm/status.json': { content: '{', mode: 0o640 } }],
    ['a run without conditions', status({ conditions: 'x' })],
    ['a run that did not succeed', status({ conditions: [{ ...STATUS.conditions[0], status: 'False' }] })],
    ['a run without a sentinel', status({ steps: [{ id: 'kubelet' }] })],
    [
      'a summary of another run',
      summary(JSON.stringify({ runId: 's', phase: 'Concluded', outcome: 'Failed', exitCode: 1 })),
    ],
    ['a summary of a run that goes on', summary(JSON.stringify({ runId: 'r', phase: 'Running' }))],
    ['no group machineadm', { '/etc/group': 'root:x:0:\n' }],
    ['the group machineadm of systemd-sysusers', { '/etc/group': undefined, '/usr/lib/group': 'machineadm:x:998:\n' }],
    ['a sentinel of another content', { '/run/cluster-api/bootstrap-success.complete': 'success' }],
    [
      'a disabled sentinel service',
      { '/etc/systemd/system/multi-user.target.wants/machineadm-sentinel.service': undefined },
    ],
    ['a masked sentinel service', { '/etc/systemd/system/machineadm-sentinel.service': { link: '/dev/null' } }],
  ];
  return machine.map(([what, change]) => ({ what, base: 'running', change }));
}

/** Images that differ from a base in one thing each: all that a clause could look at. */
export const VARIED_IMAGES: readonly VariedImage[] = [
  ...withoutAFile(),
  ...withOtherModes(),
  ...withOtherMounts(),
  ...withOtherVersions(),
  ...withOtherStatus(),
];
