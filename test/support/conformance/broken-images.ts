import {
  type Base,
  DROP_IN,
  elf,
  type Files,
  kernel,
  kubernetes,
  libraries,
  MODULES,
  PROVISION,
  pe,
  RESUME,
  replaced,
  STATUS,
  SUMMARY,
} from './image.ts';

/** An image with one thing wrong, and the clauses that must say so; no other may. */
export interface BrokenImage {
  readonly what: string;
  readonly base: Base;
  readonly change: Files;
  readonly broken: readonly string[];
  readonly profile?: 'host' | 'kubernetes';
}

const ETC = '/etc/systemd/system';
const SYSTEM = '/usr/lib/systemd/system';
const MOUNTINFO = '/proc/self/mountinfo';
const MACHINEADM_UNITS = [PROVISION, RESUME];
const dropIn = (unit: string, text: string): Files => ({ [`${ETC}/${unit}.service.d/50-site.conf`]: text });
const status = (different: object): Files => ({
  '/run/machineadm/status.json': { content: JSON.stringify({ ...STATUS, ...different }), mode: 0o640, gid: 998 },
});
const summary = (content: string): Files => ({ '/run/machineadm/summary.json': content });
const containerdConfig = (text: string): Files => ({ '/etc/containerd/config.toml': text });
const OVERLAY_IN_MEMORY = `22 1 0:30 / / rw - overlay overlay rw,lowerdir=/lower,upperdir=/run/overlay/upper,workdir=/run/overlay/work
25 22 0:23 / /run rw - tmpfs tmpfs rw
`;
const ETC_IN_MEMORY = `22 1 8:1 / / rw - ext4 /dev/sda1 rw
25 22 0:23 / /run rw - tmpfs tmpfs rw
26 22 0:31 / /etc rw - overlay overlay rw,lowerdir=/etc,upperdir=/run/etc/upper,workdir=/run/etc/work
`;

export const BROKEN_IMAGES: readonly BrokenImage[] = [
  // What the image must have.
  {
    what: 'the only kernel is Linux 4.14',
    base: 'host',
    change: {
      [`${MODULES}/modules.dep`]: undefined,
      [`${MODULES}/modules.builtin`]: undefined,
      ...kernel('4.14.336-257.562.amzn2.x86_64'),
    },
    broken: ['IMG-01'],
  },
  {
    what: 'a second kernel, 4.9, is in /boot',
    base: 'host',
    change: { '/boot/vmlinuz-4.9.0-19-amd64': '' },
    broken: ['IMG-01'],
  },
  {
    what: 'the running kernel is Linux 3.10',
    base: 'running',
    change: { '/proc/sys/kernel/osrelease': '3.10.0-1160.el7.x86_64\n', ...kernel('3.10.0-1160.el7.x86_64') },
    broken: ['IMG-01'],
  },
  { what: 'glibc is 2.26', base: 'host', change: libraries('/usr/lib/x86_64-linux-gnu', '2.26'), broken: ['IMG-02'] },
  {
    what: 'libstdc++ is missing',
    base: 'host',
    change: { '/usr/lib/x86_64-linux-gnu/libstdc++.so.6': undefined },
    broken: ['IMG-02'],
  },
  {
    what: 'the C library is musl',
    base: 'host',
    change: { '/usr/lib/x86_64-linux-gnu/libc.so.6': undefined, '/usr/lib/ld-musl-x86_64.so.1': 'so' },
    broken: ['IMG-02'],
  },
  {
    what: 'there is no init system',
    base: 'host',
    change: {
      '/usr/lib/systemd/systemd': undefined,
      '/run': { directory: true },
      '/etc/fstab': 'UUID=6f2d / ext4 rw 0 1\ntmpfs /run tmpfs rw 0 0\n',
    },
    broken: ['IMG-03'],
  },
  {
    what: 'systemd is 219',
    base: 'host',
    change: {
      '/usr/lib/systemd/libsystemd-shared-252.so': undefined,
      '/usr/lib/systemd/libsystemd-shared-219.so': 'so',
    },
    broken: ['IMG-03'],
  },
  { what: 'lsblk is missing', base: 'host', change: { '/usr/bin/lsblk': undefined }, broken: ['IMG-04'] },
  {
    what: 'lsblk is for another architecture',
    base: 'host',
    change: { '/usr/bin/lsblk': elf('arm64') },
    broken: ['IMG-04'],
  },
  {
    what: 'findmnt cannot be executed',
    base: 'host',
    change: { '/usr/bin/findmnt': { mode: 0o644 } },
    broken: ['IMG-04'],
  },
  {
    what: 'findmnt is a link to a program that is not in the image',
    base: 'host',
    change: { '/usr/bin/findmnt': { link: '/usr/libexec/findmnt' } },
    broken: ['IMG-04'],
  },
  {
    what: 'every user can write to /usr/local/bin',
    base: 'host',
    change: { '/usr/local/bin': { directory: true, mode: 0o777 } },
    broken: ['IMG-05'],
  },
  {
    what: 'the program belongs to another user',
    base: 'host',
    change: { '/usr/local/bin/machineadm': { ...(elf() as object), uid: 1000 } },
    broken: ['IMG-05'],
  },
  {
    what: 'the program is a link into a directory of another user',
    base: 'host',
    change: {
      '/usr/local/bin/machineadm': { link: '/home/ops/machineadm' },
      '/home/ops': { directory: true, uid: 1000 },
      '/home/ops/machineadm': elf(),
    },
    broken: ['IMG-05'],
  },
  {
    what: 'machineadm is for another architecture',
    base: 'host',
    change: { '/usr/local/bin/machineadm': elf('s390x') },
    broken: ['IMG-05', 'UNIT-02', 'UNIT-05'],
  },
  {
    what: 'fstab mounts /var in memory',
    base: 'host',
    change: { '/etc/fstab': 'UUID=6f2d / ext4 rw 0 1\ntmpfs /var tmpfs size=1G 0 0\n' },
    broken: ['IMG-06'],
  },
  {
    what: 'a mount unit puts /var/lib in memory',
    base: 'host',
    change: {
      [`${SYSTEM}/var-lib.mount`]: '[Mount]\nWhat=tmpfs\nWhere=/var/lib\nType=tmpfs\n',
      [`${SYSTEM}/local-fs.target.wants/var-lib.mount`]: { link: '../var-lib.mount' },
      [`${SYSTEM}/basic.target`]: '[Unit]\nRequires=sysinit.target\n',
      [`${SYSTEM}/sysinit.target`]: '[Unit]\nWants=local-fs.target\n',
    },
    broken: ['IMG-06'],
  },
  {
    what: 'the boot loader says systemd.volatile=state',
    base: 'host',
    change: { '/boot/loader/entries/a.conf': 'title x\noptions root=UUID=6f2d rw systemd.volatile=state\n' },
    broken: ['IMG-06'],
  },
  {
    what: 'the overlay root has its upper directory in memory',
    base: 'running',
    change: { [MOUNTINFO]: OVERLAY_IN_MEMORY, '/run/overlay/upper': { directory: true } },
    broken: ['IMG-06', 'IMG-08'],
  },
  {
    what: 'overlayroot keeps all changes in memory',
    base: 'host',
    change: { '/etc/overlayroot.conf': 'overlayroot="tmpfs:swap=1,recurse=0"\n' },
    broken: ['IMG-06', 'IMG-08'],
  },
  {
    what: 'fstab puts a disk at /run',
    base: 'host',
    change: { '/etc/fstab': 'UUID=6f2d / ext4 rw 0 1\nUUID=77 /run ext4 rw 0 2\n' },
    broken: ['IMG-07'],
  },
  {
    what: 'nothing is mounted at /run',
    base: 'running',
    change: { [MOUNTINFO]: '22 1 8:1 / / rw - ext4 /dev/sda1 rw\n' },
    broken: ['IMG-07'],
  },
  {
    what: 'fstab mounts the root file system read-only',
    base: 'host',
    change: { '/etc/fstab': 'UUID=6f2d / ext4 ro 0 1\nUUID=77 /var ext4 rw 0 2\n' },
    broken: ['IMG-08'],
  },
  {
    what: 'the overlay of /etc has its upper directory in memory',
    base: 'running',
    change: { [MOUNTINFO]: ETC_IN_MEMORY, '/run/etc/upper': { directory: true } },
    broken: ['IMG-08'],
  },
  {
    what: '/etc of an ostree system is transient',
    base: 'ostree',
    change: { '/usr/lib/ostree/prepare-root.conf': '[composefs]\nenabled = yes\n[etc]\ntransient = true\n' },
    broken: ['IMG-08'],
  },
  {
    what: 'an ostree system has the program in /usr/local, a link into /var',
    base: 'ostree',
    change: {
      '/usr/local/bin/machineadm': undefined,
      '/usr/local': { link: '../var/usrlocal' },
      '/var/usrlocal/bin/machineadm': elf(),
    },
    broken: ['SYS-02'],
  },
  {
    what: 'an ostree node lacks the directory of flexible volumes',
    base: 'ostree',
    change: { '/usr/libexec/kubernetes/kubelet-plugins/volume/exec': undefined },
    broken: ['SYS-04'],
  },
  {
    what: 'an ostree node does not create /opt/cni/bin at boot',
    base: 'ostree',
    change: { '/usr/lib/tmpfiles.d/cni-plugins.conf': 'd /var/opt/containerd 0755\n' },
    broken: ['SYS-05'],
  },
  { what: '/proc is not mounted', base: 'running', change: { '/proc/self/fd': undefined }, broken: ['IMG-18'] },
  { what: 'useradd is missing', base: 'host', change: { '/usr/bin/useradd': undefined }, broken: ['IMG-10'] },
  { what: 'visudo is missing', base: 'host', change: { '/usr/bin/visudo': undefined }, broken: ['IMG-11'] },
  { what: 'sfdisk is missing', base: 'host', change: { '/usr/bin/sfdisk': undefined }, broken: ['IMG-12'] },
  { what: 'modprobe is missing', base: 'host', change: { '/usr/bin/modprobe': undefined }, broken: ['IMG-13'] },
  { what: 'swapoff is missing', base: 'host', change: { '/usr/bin/swapoff': undefined }, broken: ['IMG-14'] },
  {
    what: 'no program updates the certificate authorities',
    base: 'host',
    change: { '/usr/bin/update-ca-certificates': undefined },
    broken: ['IMG-15'],
  },
  { what: 'there is no time service', base: 'host', change: { '/usr/bin/chronyd': undefined }, broken: ['IMG-16'] },
  {
    what: 'logger is an empty file',
    base: 'host',
    change: { '/usr/bin/logger': { content: '', mode: 0o755 } },
    broken: ['IMG-17'],
  },

  // Kubernetes.
  {
    what: 'kubeadm and the kubelet are missing, and the profile is kubernetes',
    base: 'host',
    profile: 'kubernetes',
    change: {},
    broken: ['KUB-01', 'KUB-02', 'KUB-03', 'KUB-04', 'KUB-05'],
  },
  {
    what: 'the kubelet is missing',
    base: 'node',
    change: { '/usr/bin/kubelet': undefined },
    broken: ['KUB-01', 'KUB-02'],
  },
  {
    what: 'kubeadm is for another architecture',
    base: 'node',
    change: { '/usr/bin/kubeadm': elf('arm64', 'v1.31.2') },
    broken: ['KUB-01'],
  },
  {
    what: 'the kubelet is newer than kubeadm',
    base: 'node',
    change: { '/usr/bin/kubelet': elf('amd64', 'v1.32.0') },
    broken: ['KUB-01'],
  },
  {
    what: 'the kubelet is four minor versions older than kubeadm',
    base: 'node',
    change: { '/usr/bin/kubelet': elf('amd64', 'v1.27.16') },
    broken: ['KUB-01'],
  },
  {
    what: 'kubeadm 1.28 has a kubelet of 1.26',
    base: 'node',
    change: { ...kubernetes('v1.28.9'), '/usr/bin/kubelet': elf('amd64', 'v1.26.15') },
    broken: ['KUB-01'],
  },
  { what: 'Kubernetes is 1.19', base: 'node', change: kubernetes('v1.19.16'), broken: ['KUB-01'] },
  { what: 'the drop-in of kubeadm is missing', base: 'node', change: { [DROP_IN]: undefined }, broken: ['KUB-02'] },
  {
    what: 'the configuration of the kubelet is named in a comment only',
    base: 'node',
    change: replaced('node', DROP_IN, 'Environment="KUBELET_CONFIG_ARGS=', '# Environment="KUBELET_CONFIG_ARGS='),
    broken: ['KUB-02'],
  },
  {
    what: '$KUBELET_CONFIG_ARGS is missing in ExecStart=',
    base: 'node',
    change: replaced('node', DROP_IN, ' $KUBELET_CONFIG_ARGS', ''),
    broken: ['KUB-02'],
  },
  {
    what: '$KUBELET_KUBEADM_ARGS is missing in ExecStart=',
    base: 'node',
    change: replaced('node', DROP_IN, ' $KUBELET_KUBEADM_ARGS', ''),
    broken: ['KUB-02'],
  },
  {
    what: 'the unit of the kubelet does not read kubeadm-flags.env',
    base: 'node',
    change: replaced('node', DROP_IN, /EnvironmentFile=-\/var.*\n/, ''),
    broken: ['KUB-02'],
  },
  {
    what: 'the drop-in of the kubelet does not empty ExecStart= first',
    base: 'node',
    change: replaced('node', DROP_IN, 'ExecStart=\n', ''),
    broken: ['KUB-02'],
  },
  {
    what: 'the kubelet is started as /bin/true',
    base: 'node',
    change: replaced('node', DROP_IN, '/usr/bin/kubelet', '/bin/true'),
    broken: ['KUB-02'],
  },
  {
    what: 'the kubelet is started from a path that does not exist',
    base: 'node',
    change: replaced('node', DROP_IN, '/usr/bin/kubelet', '/usr/local/bin/kubelet'),
    broken: ['KUB-02'],
  },
  {
    what: 'a drop-in for all services replaces ExecStart=',
    base: 'node',
    change: { [`${SYSTEM}/service.d/90-all.conf`]: '[Service]\nExecStart=\nExecStart=/bin/true\n' },
    broken: ['KUB-02', 'KUB-03', 'UNIT-02', 'UNIT-05'],
  },
  {
    what: 'kubelet.service is masked',
    base: 'node',
    change: { [`${ETC}/kubelet.service`]: { link: '/dev/null' } },
    broken: ['KUB-03', 'KUB-04'],
  },
  {
    what: 'containerd.service is missing',
    base: 'node',
    change: { [`${SYSTEM}/containerd.service`]: undefined },
    broken: ['KUB-03', 'KUB-04'],
  },
  {
    what: 'containerd.service starts /bin/true',
    base: 'node',
    change: replaced('node', `${SYSTEM}/containerd.service`, '/usr/bin/containerd', '/bin/true'),
    broken: ['KUB-03'],
  },
  {
    what: 'the kubelet is not enabled',
    base: 'node',
    change: { [`${ETC}/multi-user.target.wants/kubelet.service`]: undefined },
    broken: ['KUB-04'],
  },
  {
    what: 'containerd is wanted by a target that no boot starts',
    base: 'node',
    change: {
      [`${ETC}/multi-user.target.wants/containerd.service`]: undefined,
      [`${ETC}/rescue.target.wants/containerd.service`]: { link: `${SYSTEM}/containerd.service` },
    },
    broken: ['KUB-04'],
  },
  {
    what: 'containerd is 1.5',
    base: 'node',
    change: { '/usr/bin/containerd': elf('amd64', 'v1.5.18') },
    broken: ['KUB-05'],
  },
  {
    what: 'containerd is for another architecture',
    base: 'node',
    change: { '/usr/bin/containerd': elf('arm64', 'v1.7.27') },
    broken: ['KUB-03', 'KUB-05'],
  },
  {
    what: 'containerd disables cri, as the packages of Docker do',
    base: 'node',
    change: containerdConfig('disabled_plugins = ["cri"]\n'),
    broken: ['KUB-06'],
  },
  {
    what: 'containerd 2 disables io.containerd.cri.v1.runtime',
    base: 'node',
    change: containerdConfig(
      'version = 3\ndisabled_plugins = [\n  "io.containerd.snapshotter.v1.zfs",\n  "io.containerd.cri.v1.runtime", # no CRI\n]\n',
    ),
    broken: ['KUB-06'],
  },
  {
    what: 'a file that containerd imports disables io.containerd.cri.v1.images',
    base: 'node',
    change: {
      ...containerdConfig('version = 3\nimports = ["/etc/containerd/conf.d/*.toml"]\n'),
      '/etc/containerd/conf.d/10-off.toml': "version = 3\ndisabled_plugins = ['io.containerd.cri.v1.images']\n",
    },
    broken: ['KUB-06'],
  },
  {
    what: 'the configuration that containerd.service names disables CRI',
    base: 'node',
    change: {
      ...replaced(
        'node',
        `${SYSTEM}/containerd.service`,
        '/usr/bin/containerd',
        '/usr/bin/containerd --config /usr/share/containerd/config.toml',
      ),
      '/usr/share/containerd/config.toml': 'disabled_plugins = ["io.containerd.grpc.v1.cri"]\n',
    },
    broken: ['KUB-06'],
  },
  { what: 'iptables is missing', base: 'node', change: { '/usr/bin/iptables': undefined }, broken: ['KUB-07'] },
  { what: 'conntrack is missing', base: 'node', change: { '/usr/bin/conntrack': undefined }, broken: ['KUB-08'] },
  {
    what: 'br_netfilter is in the kernel of the builder, and not in that of the image',
    base: 'node',
    change: {
      [`${MODULES}/modules.dep`]: 'kernel/fs/overlayfs/overlay.ko:\n',
      '/sys/module/br_netfilter': { directory: true },
    },
    broken: ['KUB-09'],
  },
  {
    what: 'one of two kernels has no overlay',
    base: 'node',
    change: { '/usr/lib/modules/6.1.0-44-amd64/modules.dep': 'kernel/net/bridge/br_netfilter.ko:\n' },
    broken: ['KUB-09'],
  },
  {
    what: 'modprobe.d keeps overlay from being loaded',
    base: 'node',
    change: { '/etc/modprobe.d/cis.conf': 'install overlay /bin/false\n' },
    broken: ['KUB-09'],
  },

  // The units.
  ...MACHINEADM_UNITS.flatMap((path, index): BrokenImage[] => {
    const name = path === PROVISION ? 'machineadm-provision' : 'machineadm-resume';
    const id = (at: number): string[] => [`UNIT-0${index * 3 + at}`];
    const flag = path === PROVISION ? '--boot' : '--resume';
    return [
      {
        what: `${name} does not start after the network`,
        base: 'host',
        change: replaced('host', path, 'After=network-online.target ', 'After='),
        broken: id(1),
      },
      {
        what: `${name} does not want the network`,
        base: 'host',
        change: replaced('host', path, 'Wants=network-online.target', '# Wants=network-online.target'),
        broken: id(1),
      },
      { what: `${name} lacks ${flag}`, base: 'host', change: replaced('host', path, ` ${flag}`, ''), broken: id(2) },
      {
        what: `${name} has TimeoutSec=10min`,
        base: 'host',
        change: dropIn(name, '[Service]\nTimeoutSec=10min\n'),
        broken: id(2),
      },
      {
        what: `${name} passes NODE_OPTIONS to the program`,
        base: 'host',
        change: replaced('host', path, '=NODE_OPTIONS ', '=XNODE_OPTIONS '),
        broken: id(3),
      },
    ];
  }),
  {
    what: 'the program of machineadm-provision does not exist',
    base: 'host',
    change: replaced('host', PROVISION, '/usr/local/bin/machineadm', '/opt/machineadm/machineadm'),
    broken: ['UNIT-02'],
  },
  {
    what: 'machineadm-provision starts /bin/true',
    base: 'host',
    change: dropIn('machineadm-provision', '[Service]\nExecStart=\nExecStart=/bin/true --boot provision\n'),
    broken: ['UNIT-02'],
  },
  {
    what: 'machineadm-provision has no ExecStart=',
    base: 'host',
    change: dropIn('machineadm-provision', '[Service]\nExecStart=\n'),
    broken: ['UNIT-02'],
  },
  {
    what: 'machineadm-provision has JobRunningTimeoutSec=',
    base: 'host',
    change: dropIn('machineadm-provision', '[Unit]\nJobRunningTimeoutSec=900\n'),
    broken: ['UNIT-02'],
  },
  {
    what: 'a drop-in for all units of machineadm has JobTimeoutSec=',
    base: 'host',
    change: { [`${ETC}/machineadm-.service.d/limit.conf`]: '[Unit]\nJobTimeoutSec=15min\n' },
    broken: ['UNIT-02', 'UNIT-05'],
  },
  {
    what: 'machineadm-resume is skipped where there is a sentinel',
    base: 'host',
    change: dropIn('machineadm-resume', '[Unit]\nConditionPathExists=!/run/cluster-api/bootstrap-success.complete\n'),
    broken: ['UNIT-05'],
  },
  {
    what: 'both units are enabled',
    base: 'host',
    change: { [`${ETC}/multi-user.target.wants/machineadm-provision.service`]: { link: PROVISION } },
    broken: ['UNIT-07'],
  },
  {
    what: 'both units are enabled below /usr/lib',
    base: 'host',
    change: {
      [`${SYSTEM}/multi-user.target.wants/machineadm-provision.service`]: { link: '../machineadm-provision.service' },
    },
    broken: ['UNIT-07'],
  },
  {
    what: 'the first boot enables both units: no preset disables them',
    base: 'host',
    change: { '/etc/machine-id': 'uninitialized\n' },
    broken: ['UNIT-07'],
  },

  // What a run leaves.
  {
    what: 'the group cannot read the status',
    base: 'running',
    change: { '/run/machineadm/status.json': { content: JSON.stringify(STATUS), mode: 0o600 } },
    broken: ['RUN-01'],
  },
  {
    what: 'every user can read the status',
    base: 'running',
    change: { '/run/machineadm/status.json': { content: JSON.stringify(STATUS), mode: 0o644 } },
    broken: ['RUN-01'],
  },
  {
    what: 'the status belongs to another group',
    base: 'running',
    change: { '/run/machineadm/status.json': { content: JSON.stringify(STATUS), mode: 0o640, gid: 27 } },
    broken: ['RUN-01'],
  },
  { what: 'the status is of another kind', base: 'running', change: status({ kind: 'Other' }), broken: ['RUN-01'] },
  {
    what: 'the sentinel has another content',
    base: 'running',
    change: { '/run/cluster-api/bootstrap-success.complete': 'ok' },
    broken: ['RUN-02'],
  },
  {
    what: 'users cannot reach the sentinel',
    base: 'running',
    change: { '/run/cluster-api': { directory: true, mode: 0o700 } },
    broken: ['RUN-02'],
  },
  {
    what: 'the image has a sentinel',
    base: 'host',
    change: { '/run/cluster-api/bootstrap-success.complete': 'success\n' },
    broken: ['RUN-02'],
  },
  {
    what: 'every user can read the journal',
    base: 'running',
    change: { '/var/lib/machineadm/journal': { mode: 0o644 } },
    broken: ['RUN-03'],
  },
  {
    what: 'a report in the spool is open to the group',
    base: 'running',
    change: { '/var/lib/machineadm/spool/a': { mode: 0o640 } },
    broken: ['RUN-03'],
  },
  {
    what: 'the state directory belongs to another user',
    base: 'host',
    change: { '/var/lib/machineadm': { directory: true, uid: 1000 } },
    broken: ['RUN-03'],
  },
  {
    what: 'every user can write to the state directory',
    base: 'host',
    change: { '/var/lib/machineadm': { directory: true, mode: 0o1777 } },
    broken: ['RUN-03'],
  },
  {
    what: 'the state directory is a link',
    base: 'host',
    change: { '/var/lib/machineadm': { link: '/srv/state' }, '/srv/state': { directory: true } },
    broken: ['RUN-03'],
  },
  {
    what: 'the journal is a link',
    base: 'running',
    change: { '/var/lib/machineadm/journal': { link: '/srv/journal' }, '/srv/journal': { mode: 0o600 } },
    broken: ['RUN-03'],
  },
  {
    what: 'every user can read the document',
    base: 'running',
    change: { '/etc/machineadm/bootstrap.yaml': { mode: 0o644 } },
    broken: ['RUN-04'],
  },
  {
    what: 'the directory of the document belongs to another user',
    base: 'host',
    change: { '/etc/machineadm': { directory: true, uid: 1000 } },
    broken: ['RUN-04'],
  },
  {
    what: 'the sentinel does not come back after a reboot',
    base: 'running',
    change: { [`${ETC}/multi-user.target.wants/machineadm-sentinel.service`]: undefined },
    broken: ['RUN-05'],
  },
  {
    what: 'there is no summary',
    base: 'running',
    change: { '/run/machineadm/summary.json': undefined },
    broken: ['RUN-06'],
  },
  {
    what: 'users cannot read the summary',
    base: 'running',
    change: { '/run/machineadm/summary.json': { content: SUMMARY, mode: 0o640 } },
    broken: ['RUN-06'],
  },
  {
    what: 'users cannot reach the summary',
    base: 'running',
    change: { '/run/machineadm': { directory: true, mode: 0o700 } },
    broken: ['RUN-06'],
  },
  { what: 'the summary is damaged', base: 'running', change: summary(SUMMARY.slice(1)), broken: ['RUN-06'] },
  {
    what: 'the summary has another outcome than the status',
    base: 'running',
    change: summary(SUMMARY.replace('Succeeded', 'Failed')),
    broken: ['RUN-06'],
  },

  // Windows.
  {
    what: 'Windows Server is 2016',
    base: 'windows',
    change: { '/Windows/System32/ntoskrnl.exe': pe(0x8664, { build: 14_393 }) },
    broken: ['WIN-01'],
  },
  {
    what: 'PowerShell is missing',
    base: 'windows',
    change: { '/Windows/System32/WindowsPowerShell/v1.0/powershell.exe': undefined },
    broken: ['WIN-02'],
  },
  {
    what: 'kubelet.exe is for arm64',
    base: 'windows',
    change: { '/k/kubelet.exe': pe(0xaa64, { values: ['v1.31.2'] }) },
    broken: ['WIN-03'],
  },
  {
    what: 'containerd.exe is missing',
    base: 'windows',
    change: { '/Program Files/containerd/containerd.exe': undefined },
    broken: ['WIN-04'],
  },
  {
    what: 'nothing starts the kubelet with its arguments',
    base: 'windows',
    change: { '/k/RestartKubelet.ps1': undefined },
    broken: ['WIN-05'],
  },
];
