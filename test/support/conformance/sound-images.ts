import {
  type Base,
  DROP_IN,
  type Entry,
  elf,
  type Files,
  kernel,
  kubernetes,
  libraries,
  MODULES,
  PROVISION,
  pe,
  programsFor,
  RESUME,
  replaced,
  STATUS,
  SUMMARY,
} from './image.ts';

/** An image in which a check could mistake something for broken, and nothing is. */
export interface SoundImage {
  readonly what: string;
  readonly base: Base;
  readonly change: Files;
  readonly profile?: 'host' | 'kubernetes';
  /** Clauses that its files neither prove nor refute. */
  readonly notProven?: readonly string[];
}

const ETC = '/etc/systemd/system';
const SYSTEM = '/usr/lib/systemd/system';
const MOUNTINFO = '/proc/self/mountinfo';
const WANTS = `${ETC}/multi-user.target.wants`;
const dropIn = (unit: string, text: string): Files => ({ [`${ETC}/${unit}.service.d/50-site.conf`]: text });
const link = (to: string): Entry => ({ link: to });
const wanted = (name: string, files: Files): Files => ({ [`${WANTS}/${name}`]: undefined, ...files });
const fstab = (...lines: readonly string[]): Files => ({ '/etc/fstab': `${lines.join('\n')}\n` });
const ROOT = 'UUID=6f2d / ext4 rw,relatime 0 1';

/** The base with the kernel, os-release, C library and systemd of a distribution. */
function distribution(
  id: string,
  version: string,
  release: string,
  glibc: string,
  systemd: string,
  libraryDirectory = '/usr/lib64',
): SoundImage {
  return {
    what: `${id} ${version}, ${release}`,
    base: 'node',
    change: {
      [`${MODULES}/modules.dep`]: undefined,
      [`${MODULES}/modules.builtin`]: undefined,
      ...kernel(release, libraryDirectory === '/usr/lib64' ? 'ko.xz' : 'ko.zst'),
      ...Object.fromEntries(
        ['libc.so.6', 'libstdc++.so.6', 'libgcc_s.so.1'].map((name) => [
          `/usr/lib/x86_64-linux-gnu/${name}`,
          undefined,
        ]),
      ),
      ...libraries(libraryDirectory, glibc),
      '/lib64': link('usr/lib64'),
      '/usr/lib64': { directory: true },
      '/usr/lib/systemd/libsystemd-shared-252.so': undefined,
      [`/usr/lib/systemd/${systemd}`]: 'so',
      '/usr/lib/os-release': `NAME="${id}"\nID="${id}"\nVERSION_ID="${version}"\n`,
    },
  };
}

const DEBIAN = '/usr/lib/x86_64-linux-gnu';

export const SOUND_IMAGES: readonly SoundImage[] = [
  // Distributions of image-builder and others.
  distribution('debian', '12', '6.1.0-28-cloud-amd64', '2.36', 'libsystemd-shared-252.so', DEBIAN),
  distribution('debian', '13', '6.12.38+deb13-amd64', '2.41', 'libsystemd-shared-257.so', DEBIAN),
  distribution('ubuntu', '20.04', '5.4.0-204-generic', '2.31', 'libsystemd-shared-245.so', DEBIAN),
  distribution('ubuntu', '22.04', '5.15.0-1053-aws', '2.35', 'libsystemd-shared-249.so', DEBIAN),
  distribution('ubuntu', '24.04', '6.8.0-1021-azure', '2.39', 'libsystemd-shared-255.so', DEBIAN),
  distribution('rhel', '8.10', '4.18.0-553.el8_10.x86_64', '2.28', 'libsystemd-shared-239.so'),
  distribution('rhel', '9.4', '5.14.0-427.13.1.el9_4.x86_64', '2.34', 'libsystemd-shared-252-32.el9_4.so'),
  distribution('rocky', '9.4', '5.14.0-427.42.1.el9_4.x86_64', '2.34', 'libsystemd-shared-252-32.el9_4.7.so'),
  distribution('almalinux', '9.5', '5.14.0-503.11.1.el9_5.x86_64', '2.34', 'libsystemd-shared-252-46.el9_5.2.so'),
  distribution('centos', '9', '5.14.0-529.el9.x86_64', '2.34', 'libsystemd-shared-252-48.el9.so'),
  distribution('ol', '8.10', '5.15.0-205.149.5.1.el8uek.x86_64', '2.28', 'libsystemd-shared-239.so'),
  distribution('ol', '9.4', '5.15.0-207.156.6.el9uek.x86_64', '2.34', 'libsystemd-shared-252-32.0.1.el9_4.so'),
  distribution('amzn', '2023', '6.1.90-99.173.amzn2023.x86_64', '2.34', 'libsystemd-shared-252.16-1.amzn2023.0.2.so'),
  distribution('fedora', '41', '6.11.4-301.fc41.x86_64', '2.40', 'libsystemd-shared-256.7-1.fc41.so'),
  distribution('photon', '4.0', '5.10.214-1.ph4-esx', '2.32', 'libsystemd-shared-247.so', '/usr/lib'),
  distribution('photon', '5.0', '6.1.83-2.ph5', '2.36', 'libsystemd-shared-253.so', '/usr/lib'),
  distribution('azurelinux', '3.0', '6.6.57.1-6.azl3', '2.38', 'libsystemd-shared-255.so', '/usr/lib'),
  distribution('mariner', '2.0', '5.15.153.1-2.cm2', '2.35', 'libsystemd-shared-250.so', '/usr/lib'),
  distribution('sles', '15.5', '5.14.21-150500.55.59-default', '2.31', 'libsystemd-shared-249.so'),
  distribution('opensuse-leap', '15.6', '6.4.0-150600.21-default', '2.38', 'libsystemd-shared-254.so'),
  distribution('flatcar', '3975.2.2', '6.6.54-flatcar', '2.38', 'libsystemd-shared-255.so'),

  // The image.
  {
    what: 'only a read-only directory of arm64, with arm64 programs',
    base: 'node',
    change: {
      ...programsFor('arm64'),
      ...kubernetes('v1.31.2', 'arm64'),
      '/usr/bin/containerd': elf('arm64', 'v1.7.27'),
    },
  },
  { what: 'the programs are for s390x, which is big-endian', base: 'host', change: programsFor('s390x') },
  {
    what: 'a kernel that was removed left an empty directory',
    base: 'host',
    change: { '/usr/lib/modules/4.9.0-19-amd64/extra': { directory: true } },
  },
  {
    what: 'the kernel is only in /boot',
    base: 'host',
    change: {
      [`${MODULES}/modules.dep`]: undefined,
      [`${MODULES}/modules.builtin`]: undefined,
      '/boot/vmlinuz-6.1.0-18-amd64': '',
    },
  },
  {
    what: 'overlay is built into the kernel',
    base: 'node',
    change: {
      [`${MODULES}/modules.dep`]: 'kernel/net/bridge/br_netfilter.ko.gz: kernel/net/bridge/bridge.ko.gz\n',
      [`${MODULES}/modules.builtin`]: 'kernel/fs/overlayfs/overlay.ko\n',
    },
  },
  {
    what: 'modprobe.d names overlay in a comment, and sets an option',
    base: 'node',
    change: { '/etc/modprobe.d/a.conf': '# install overlay /bin/false\noptions overlay metacopy=off\n' },
  },
  {
    what: 'programs are links of busybox and of alternatives, absolute ones',
    base: 'node',
    change: {
      '/usr/bin/busybox': elf(),
      '/usr/bin/sync': link('/usr/bin/busybox'),
      '/usr/bin/iptables': link('/etc/alternatives/iptables'),
      '/etc/alternatives/iptables': link('/usr/sbin/xtables-nft-multi'),
      '/usr/sbin/xtables-nft-multi': elf(),
    },
  },
  {
    what: 'a program is a script, and another one is for 32 bits',
    base: 'host',
    change: {
      '/usr/bin/update-ca-certificates': { content: '#!/bin/sh\n', mode: 0o755 },
      '/usr/bin/logger': elf('386'),
    },
  },
  {
    what: 'systemd-timesyncd is the time service',
    base: 'host',
    change: { '/usr/bin/chronyd': undefined, '/usr/lib/systemd/systemd-timesyncd': elf() },
  },
  {
    what: 'update-ca-trust is the program for authorities',
    base: 'host',
    change: {
      '/usr/bin/update-ca-certificates': undefined,
      '/usr/bin/update-ca-trust': { content: '#!/usr/bin/sh\n', mode: 0o755 },
    },
  },
  {
    what: 'the init system is OpenRC',
    base: 'host',
    change: { '/usr/lib/systemd/systemd': undefined, '/usr/sbin/openrc': elf() },
  },
  {
    what: 'Kubernetes is in /opt/bin, as on Flatcar',
    base: 'node',
    change: {
      '/usr/bin/kubeadm': undefined,
      '/usr/bin/kubelet': undefined,
      '/opt/bin/kubeadm': elf('amd64', 'v1.31.2'),
      '/opt/bin/kubelet': elf('amd64', 'v1.31.2'),
      ...replaced('node', DROP_IN, '/usr/bin/kubelet', '/opt/bin/kubelet'),
    },
  },
  {
    what: 'the kernel comes from elsewhere: no /lib/modules',
    base: 'node',
    change: { [`${MODULES}/modules.dep`]: undefined, [`${MODULES}/modules.builtin`]: undefined },
    notProven: ['IMG-01', 'KUB-09'],
  },
  {
    what: 'machineadm is installed later',
    base: 'host',
    change: { '/usr/local/bin/machineadm': undefined, [PROVISION]: undefined, [RESUME]: undefined },
    notProven: ['IMG-05'],
  },

  // What is mounted.
  {
    what: 'fstab has /var on a disk of its own, and /tmp in memory',
    base: 'host',
    change: fstab(ROOT, 'UUID=77 /var xfs defaults 0 0', 'tmpfs /tmp tmpfs defaults 0 0'),
  },
  {
    what: 'fstab names a memory file system in a comment',
    base: 'host',
    change: fstab(ROOT, '# tmpfs /var tmpfs defaults 0 0'),
  },
  {
    what: 'fstab has memory at /var that is not mounted at boot',
    base: 'host',
    change: fstab(ROOT, 'tmpfs /var tmpfs noauto 0 0'),
  },
  { what: 'fstab mounts /run in memory', base: 'host', change: fstab(ROOT, 'tmpfs /run tmpfs size=20% 0 0') },
  {
    what: '/variable is in memory',
    base: 'host',
    change: fstab(ROOT, 'tmpfs /var/lib/machineadm-cache tmpfs rw 0 0', 'tmpfs /variable tmpfs rw 0 0'),
  },
  {
    what: 'a mount unit for memory at /var is not enabled',
    base: 'host',
    change: { [`${SYSTEM}/var.mount`]: '[Mount]\nWhat=tmpfs\nWhere=/var\nType=tmpfs\n' },
  },
  {
    what: 'root is read-only, and /etc is an overlay on the disk of /var',
    base: 'host',
    change: fstab(
      'UUID=6f2d / ext4 ro 0 1',
      'UUID=77 /var ext4 rw 0 2',
      'overlay /etc overlay lowerdir=/etc,upperdir=/var/etc/upper,workdir=/var/etc/work 0 0',
    ),
  },
  {
    what: 'the boot loader mounts root with rw, and fstab is empty',
    base: 'host',
    change: { ...fstab('# none'), '/boot/loader/entries/a.conf': 'title A\noptions root=LABEL=ROOT rw quiet\n' },
  },
  {
    what: 'nothing in the image names the root file system',
    base: 'host',
    change: fstab('# none'),
    notProven: ['IMG-06', 'IMG-08'],
  },
  {
    what: 'at the first boot a preset disables all units but those with x',
    base: 'host',
    change: { '/etc/machine-id': 'uninitialized\n', '/etc/systemd/system-preset/00.preset': 'disable [!x]*\n' },
  },
  {
    what: 'an ostree system has /opt/cni/bin itself',
    base: 'ostree',
    change: { '/usr/lib/tmpfiles.d/cni-plugins.conf': undefined, '/opt/cni/bin': { directory: true } },
  },
  { what: 'an ostree system: /usr is read-only, /etc is merged', base: 'ostree', change: {} },
  {
    what: 'an ostree system names its composefs in fstab, read-only',
    base: 'ostree',
    change: fstab('composefs / overlay ro 0 0', 'LABEL=boot /boot ext4 defaults 0 2'),
  },
  {
    what: 'a bootc system with kernel arguments in /usr/lib/bootc/kargs.d',
    base: 'ostree',
    change: { '/usr/lib/bootc/kargs.d/10.toml': 'kargs = ["rw", "console=ttyS0"]\n' },
  },
  {
    what: 'systemd.volatile is off',
    base: 'host',
    change: { '/etc/kernel/cmdline': 'root=UUID=6f2d rw systemd.volatile=no\n' },
  },
  {
    what: 'overlayroot is installed and off',
    base: 'host',
    change: { '/etc/overlayroot.conf': '# overlayroot="tmpfs"\noverlayroot=""\n' },
  },
  {
    what: 'the overlay root has its upper directory on a disk',
    base: 'running',
    change: {
      [MOUNTINFO]:
        '22 1 0:30 / / rw - overlay overlay rw,lowerdir=/l,upperdir=/media/rw/upper,workdir=/media/rw/work\n24 22 8:2 / /media/rw rw - ext4 /dev/sda2 rw\n25 22 0:23 / /run rw - tmpfs tmpfs rw\n',
      '/media/rw/upper': { directory: true },
    },
  },
  {
    what: 'a running composefs system: root is a read-only overlay',
    base: 'running',
    change: {
      [MOUNTINFO]:
        '22 1 0:30 / / ro - overlay composefs ro,lowerdir=/a::/b\n24 22 8:2 /etc /etc rw - ext4 /dev/sda2 rw\n25 22 0:23 / /run rw - tmpfs tmpfs rw\n26 22 8:2 /var /var rw - ext4 /dev/sda2 rw\n',
    },
  },
  {
    what: 'the upper directory of the overlay root is not visible',
    base: 'running',
    change: {
      [MOUNTINFO]:
        '22 1 0:30 / / rw - overlay overlay rw,lowerdir=/l,upperdir=/gone/upper,workdir=/gone/work\n25 22 0:23 / /run rw - tmpfs tmpfs rw\n',
    },
    notProven: ['IMG-06', 'IMG-08'],
  },

  // The units.
  {
    what: 'TimeoutStartSec=0 is no deadline',
    base: 'host',
    change: replaced('host', PROVISION, 'TimeoutStartSec=infinity', 'TimeoutStartSec=0'),
  },
  {
    what: 'the unit has no TimeoutStartSec=, and is a oneshot',
    base: 'host',
    change: replaced('host', RESUME, 'TimeoutStartSec=infinity\n', ''),
  },
  {
    what: 'TimeoutSec=90 comes before TimeoutStartSec=infinity',
    base: 'host',
    change: replaced('host', PROVISION, '[Service]', '[Service]\nTimeoutSec=90'),
  },
  {
    what: 'JobTimeoutSec=0 and JobRunningTimeoutSec=infinity are no deadlines',
    base: 'host',
    change: dropIn('machineadm-provision', '[Unit]\nJobTimeoutSec=0\nJobRunningTimeoutSec=infinity\n'),
  },
  {
    what: 'RuntimeMaxSec= says nothing of a oneshot',
    base: 'host',
    change: dropIn('machineadm-provision', '[Service]\nRuntimeMaxSec=1h\n'),
  },
  {
    what: 'a deadline is in a comment, and in the wrong section',
    base: 'host',
    change: dropIn('machineadm-provision', '# TimeoutStartSec=90\n[Unit]\nTimeoutStartSec=90\n;[Service]\n'),
  },
  {
    what: 'an empty After= takes no dependency back',
    base: 'host',
    change: dropIn('machineadm-provision', '[Unit]\nAfter=\nWants=\n'),
  },
  {
    what: 'After= goes on over lines with a comment between',
    base: 'host',
    change: replaced(
      'host',
      PROVISION,
      'After=network-online.target ',
      'After=network-online.target \\\n# what a run needs\n  ',
    ),
  },
  {
    what: 'ExecStart= is quoted, and goes on over two lines',
    base: 'host',
    change: replaced(
      'host',
      PROVISION,
      '/usr/local/bin/machineadm provision --boot',
      '"/usr/local/bin/machineadm" provision \\\n  "--boot"',
    ),
  },
  {
    what: 'ExecStart= has prefixes',
    base: 'host',
    change: replaced('host', PROVISION, 'ExecStart=/', 'ExecStart=-+/'),
  },
  {
    what: 'UnsetEnvironment= is in two drop-ins',
    base: 'host',
    change: {
      ...replaced('host', PROVISION, /UnsetEnvironment=.*\n/, 'UnsetEnvironment=NODE_OPTIONS\n'),
      ...dropIn(
        'machineadm-provision',
        '[Service]\nUnsetEnvironment=NODE_EXTRA_CA_CERTS\nUnsetEnvironment=OPENSSL_CONF\n',
      ),
    },
  },
  {
    what: 'a condition on the sentinel is taken back by an empty one',
    base: 'host',
    change: replaced(
      'host',
      PROVISION,
      '[Service]',
      'ConditionPathExists=!/run/cluster-api/x\nConditionPathExists=\n[Service]',
    ),
  },
  {
    what: 'a drop-in of the vendor with a deadline is masked in /etc',
    base: 'host',
    change: {
      [`${SYSTEM}/machineadm-provision.service.d/limit.conf`]: '[Service]\nTimeoutStartSec=90\n',
      [`${ETC}/machineadm-provision.service.d/limit.conf`]: link('/dev/null'),
    },
  },
  {
    what: 'a drop-in of one name in /etc hides that for all services',
    base: 'host',
    change: {
      [`${SYSTEM}/service.d/10-limit.conf`]: '[Service]\nTimeoutStartSec=90\n',
      [`${ETC}/machineadm-provision.service.d/10-limit.conf`]: '',
      [`${ETC}/machineadm-resume.service.d/10-limit.conf`]: '',
    },
  },
  {
    what: 'a drop-in does not end in .conf',
    base: 'host',
    change: { [`${ETC}/machineadm-provision.service.d/limit.conf.bak`]: '[Service]\nTimeoutStartSec=90\n' },
  },
  {
    what: 'a unit of the administrator replaces a broken one of the vendor',
    base: 'host',
    change: {
      ...replaced('host', PROVISION, ' --boot', ''),
      [`${ETC}/machineadm-provision.service`]: String(replaced('host', PROVISION, 'Wants=', 'Wants=')[PROVISION]),
    },
  },
  {
    what: 'the unit is an absolute link inside of the image',
    base: 'host',
    change: {
      [PROVISION]: link('/usr/share/machineadm/provision.service'),
      '/usr/share/machineadm/provision.service': String(replaced('host', PROVISION, 'Wants=', 'Wants=')[PROVISION]),
    },
  },
  {
    what: 'machineadm-provision is masked',
    base: 'host',
    change: { [`${ETC}/machineadm-provision.service`]: link('/dev/null') },
  },
  {
    what: 'both units are wanted, and one link to them leads to /dev/null',
    base: 'host',
    change: {
      [`${SYSTEM}/multi-user.target.wants/machineadm-provision.service`]: link('../machineadm-provision.service'),
      [`${WANTS}/machineadm-provision.service`]: link('/dev/null'),
    },
  },
  {
    what: 'a preset disables the units before the first boot',
    base: 'host',
    change: {
      '/etc/machine-id': 'uninitialized\n',
      '/usr/lib/systemd/system-preset/80-machineadm.preset': '# images enable what they want\ndisable machineadm-*\n',
    },
  },
  {
    what: 'the preset of Fedora disables everything, and the image has no machine-id',
    base: 'node',
    change: { '/etc/machine-id': undefined, '/usr/lib/systemd/system-preset/99-default-disable.preset': 'disable *\n' },
  },

  // Kubernetes.
  { what: 'CRI-O is the runtime, and containerd is not installed', base: 'crio', change: {} },
  {
    what: 'CRI-O and containerd are installed, and CRI-O is enabled',
    base: 'crio',
    change: {
      '/usr/bin/containerd': elf('amd64', 'v1.5.2'),
      [`${SYSTEM}/containerd.service`]: '[Service]\nExecStart=/usr/bin/containerd\n',
    },
  },
  {
    what: 'the kubelet is three minor versions older than kubeadm',
    base: 'node',
    change: { '/usr/bin/kubelet': elf('amd64', 'v1.28.15') },
  },
  { what: 'Kubernetes is a pre-release of a distribution', base: 'node', change: kubernetes('v1.33.0-rc.1+b49f9d1') },
  { what: 'Kubernetes is a build of EKS', base: 'node', change: kubernetes('v1.30.4-eks-a737599') },
  {
    what: 'containerd is a package of Debian, whose file names two revisions',
    base: 'node',
    change: { '/usr/bin/containerd': elf('amd64', '1.6.20~ds1', '1.6.20~ds1-1+deb12u3') },
  },
  {
    what: 'the file of containerd names versions of libraries, too',
    base: 'node',
    change: { '/usr/bin/containerd': elf('amd64', '1.7.24~ds1', 'v1.21.0', 'v1.26.0') },
  },
  {
    what: 'the file of containerd names no version',
    base: 'node',
    change: { '/usr/bin/containerd': elf('amd64') },
    notProven: ['KUB-05'],
  },
  {
    what: 'the file of kubeadm names two versions',
    base: 'node',
    change: { '/usr/bin/kubeadm': elf('amd64', 'v1.31.2', 'v1.29.0') },
    notProven: ['KUB-01'],
  },
  {
    what: 'containerd 2 has its own configuration with CRI',
    base: 'node',
    change: {
      '/usr/bin/containerd': elf('amd64', 'v2.0.4'),
      '/etc/containerd/config.toml':
        "version = 3\ndisabled_plugins = []\n[plugins.'io.containerd.cri.v1.images']\n  snapshotter = 'overlayfs'\n",
    },
  },
  {
    what: 'disabled_plugins with cri is in a comment',
    base: 'node',
    change: {
      '/etc/containerd/config.toml':
        '# disabled_plugins = ["cri"]\ndisabled_plugins = [ # "cri",\n  "io.containerd.snapshotter.v1.aufs" ]\n',
    },
  },
  {
    what: 'the unit names another configuration than the one that disables CRI',
    base: 'node',
    change: {
      ...replaced(
        'node',
        `${SYSTEM}/containerd.service`,
        '/usr/bin/containerd',
        '/usr/bin/containerd -c /usr/share/containerd/config.toml',
      ),
      '/usr/share/containerd/config.toml': 'version = 2\n',
      '/etc/containerd/config.toml': 'disabled_plugins = ["cri"]\n',
    },
  },
  {
    what: 'the kubelet takes its configuration as two words',
    base: 'node',
    change: replaced('node', DROP_IN, '--config=/var', '--config /var'),
  },
  {
    what: 'the kubelet takes variables in braces',
    base: 'node',
    change: {
      ...replaced(
        'node',
        DROP_IN,
        '$KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS',
        '${KUBELET_CONFIG_ARGS} ${KUBELET_KUBEADM_ARGS}',
      ),
    },
  },
  {
    what: 'the unit of the kubelet has all in itself',
    base: 'node',
    change: {
      [DROP_IN]: undefined,
      [`${SYSTEM}/kubelet.service`]:
        '[Service]\nEnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env\nExecStart=/usr/bin/kubelet --config=/var/lib/kubelet/config.yaml \\\n  $KUBELET_KUBEADM_ARGS\n',
    },
  },
  {
    what: 'variables of the kubelet come from /etc/default/kubelet',
    base: 'node',
    change: {
      ...replaced('node', DROP_IN, /Environment="KUBELET_CONFIG_ARGS=.*\n/, ''),
      '/etc/default/kubelet': '# site\nKUBELET_CONFIG_ARGS="--config=/var/lib/kubelet/config.yaml"\n',
    },
  },
  {
    what: 'the kubelet is started by a script',
    base: 'node',
    change: {
      ...replaced('node', DROP_IN, '/usr/bin/kubelet', '/usr/libexec/kubelet-wrapper'),
      '/usr/libexec/kubelet-wrapper': { content: '#!/bin/sh\nexec kubelet "$@"\n', mode: 0o755 },
    },
    notProven: ['KUB-02'],
  },
  {
    what: 'the kubelet is enabled below /usr/lib',
    base: 'node',
    change: wanted('kubelet.service', {
      [`${SYSTEM}/multi-user.target.wants/kubelet.service`]: link('../kubelet.service'),
    }),
  },
  {
    what: 'the kubelet is required by the default target of /etc',
    base: 'node',
    change: wanted('kubelet.service', {
      [`${ETC}/default.target`]: link('/usr/lib/systemd/system/graphical.target'),
      [`${ETC}/graphical.target.requires/kubelet.service`]: link('/usr/lib/systemd/system/kubelet.service'),
    }),
  },
  {
    what: 'containerd is wanted by the unit of the kubelet',
    base: 'node',
    change: wanted('containerd.service', dropIn('kubelet', '[Unit]\nWants=containerd.service\n')),
  },
  {
    what: 'the kubelet is enabled under another name',
    base: 'node',
    change: wanted('kubelet.service', {
      [`${ETC}/node-agent.service`]: link(`${SYSTEM}/kubelet.service`),
      [`${WANTS}/node-agent.service`]: link('../node-agent.service'),
    }),
  },

  // What a run leaves.
  { what: 'a node after its bootstrap', base: 'running', change: {} },
  {
    what: 'the machine has no group machineadm',
    base: 'running',
    change: {
      '/etc/group': 'root:x:0:\n',
      '/run/machineadm/status.json': { content: JSON.stringify(STATUS), mode: 0o640 },
    },
  },
  {
    what: 'the group was made after the last run',
    base: 'running',
    change: { '/run/machineadm/status.json': { content: JSON.stringify(STATUS), mode: 0o640 } },
  },
  {
    what: 'the group is in /usr/lib/group',
    base: 'running',
    change: { '/etc/group': 'root:x:0:\n', '/usr/lib/group': 'machineadm:x:998:\n' },
  },
  {
    what: 'a document for the host alone earns no sentinel',
    base: 'running',
    change: {
      '/run/machineadm/status.json': {
        content: JSON.stringify({ ...STATUS, steps: [{ id: 'files', state: 'Succeeded' }] }),
        mode: 0o640,
        gid: 998,
      },
      '/run/cluster-api/bootstrap-success.complete': undefined,
      [`${WANTS}/machineadm-sentinel.service`]: undefined,
    },
  },
  {
    what: 'a run had not concluded when the summary was read',
    base: 'running',
    change: { '/run/machineadm/summary.json': SUMMARY.replace('Concluded', 'Host') },
    notProven: ['RUN-06'],
  },
  {
    what: 'every user can read the names of hardening profiles',
    base: 'running',
    change: { '/var/lib/machineadm/hardening.json': '{}' },
  },
  {
    what: 'an open file is in a closed directory of the state',
    base: 'running',
    change: { '/var/lib/machineadm/images': { directory: true, mode: 0o700 }, '/var/lib/machineadm/images/a.tar': 'x' },
  },
  {
    what: 'an image with Kubernetes is judged as a host',
    base: 'node',
    profile: 'host',
    change: { '/usr/bin/kubelet': elf('arm64') },
  },

  // Windows.
  { what: 'Windows Server 2022, laid out as image-builder does', base: 'windows', change: {} },
  {
    what: 'Windows Server 2019, with names in other cases',
    base: 'windows',
    change: {
      '/Windows/System32/ntoskrnl.exe': undefined,
      '/WINDOWS/system32/NTOSKRNL.EXE': pe(0x8664, { build: 17_763 }),
      '/Windows/System32/WindowsPowerShell/v1.0/powershell.exe': undefined,
      '/WINDOWS/system32/WindowsPowerShell/V1.0/PowerShell.exe': pe(),
    },
  },
  {
    what: 'nssm starts the kubelet',
    base: 'windows',
    change: { '/k/RestartKubelet.ps1': undefined, '/k/nssm.exe': pe() },
  },
];
