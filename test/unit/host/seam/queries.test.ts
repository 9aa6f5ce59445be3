import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { assertQuery, isQuery, QUERY_PROGRAMS } from '../../../../src/host/seam/queries.ts';

const ASKED = [
  'findmnt -n -r -b -o TARGET,SIZE,AVAIL,OPTIONS --target /',
  'findmnt --json --bytes --output TARGET,SOURCE,FSTYPE,OPTIONS --target /var/lib/etcd',
  'findmnt --fstab --noheadings -o TARGET /mnt',
  'lsblk --json --bytes --output NAME,FSTYPE /dev/sdb',
  'blkid -p -o export /dev/sdb1',
  'sfdisk --json /dev/sdb',
  'wipefs --parsable /dev/sdb1',
  'systemd-creds decrypt --name=machineadm-state /var/lib/machineadm/keys/0a',
  'dumpe2fs -h /dev/sdb1',
  'xfs_info /dev/sdb1',
  'btrfs inspect-internal dump-super /dev/sdb1',
  'udevadm settle --timeout=30',
  'swapon --show=NAME,TYPE --noheadings --raw',
  'swapon --show --bytes',
  'systemctl show --property=LoadState,ActiveState containerd.service',
  'systemctl show -p NeedDaemonReload --value kubelet',
  'systemctl cat containerd',
  'systemctl is-system-running',
  'containerd --version',
  'containerd config dump',
  'containerd -c /etc/containerd/config.toml config dump',
  'containerd -c /dev/stdin config default',
  'kubeadm version -o short',
  'kubeadm config images list --config /run/kubeadm/kubeadm.yaml',
  'kubeadm config images list --kubernetes-version v1.35.2 -o json',
  'kubeadm config validate --config /dev/stdin',
  'kubelet --version',
  'modprobe -c',
  'modprobe --showconfig',
  'modprobe -n -v br_netfilter',
  'modprobe --dry-run --quiet overlay',
  'modinfo -F filename br_netfilter',
  'journalctl -u containerd -n 50 -o cat --no-pager',
  'journalctl -k -b --no-pager --output=json -a',
  'getent passwd kubelet',
  'netplan generate --root-dir /machineadm-private-files',
  'kubeadm init phase control-plane scheduler --rootfs=/machineadm-private-files --config=/kubeadm.yaml',
  'apparmor_parser --skip-kernel-load --skip-cache',
  'apparmor_parser --names',
  'getent -s myhostname hosts localhost',
  'nmcli --offline connection modify connection.autoconnect yes',
  'ctr -n k8s.io images ls -q',
  'ctr --address /run/containerd/containerd.sock --namespace k8s.io images list',
  'timedatectl show --property=NTPSynchronized --value',
  'visudo -c -q -f /etc/sudoers.d/admins',
  'visudo -c -f -',
  'sh -n',
  'bash -n',
  'bash -O extglob -n',
  'sshd -t -f /etc/ssh/sshd_config',
  '/usr/sbin/sshd -t',
  'systemd-analyze verify --man=no /etc/systemd/system/demo.service',
  'getfattr --no-dereference --dump --match=- --encoding=hex --absolute-names /etc/hosts',
  'adcli testjoin --domain=corp.example.com --host-keytab=/etc/krb5.keytab',
  'adcli info --domain=corp.example.com',
  'dig +short +time=3 +tries=2 @dc1.corp.example.com node-1.corp.example.com. A',
  'timedatectl timesync-status --no-pager',
  'chronyc -c -n tracking',
  'chronyc -c -n sources',
  'ntpq -n -p',
];

/** What changes something, waits for ever, gives away password hashes, or writes a file of the caller's choice. */
const SMUGGLED = [
  'findmnt --poll',
  'findmnt -p',
  'findmnt --target',
  'lsblk -o NAME --sysroot /x',
  'blkid /dev/sdb',
  'blkid -o export /dev/sdb',
  'blkid -p -w /etc/passwd /dev/sdb',
  'blkid -p -g /dev/sdb',
  'blkid -p',
  'sfdisk /dev/sdb',
  'sfdisk --json --delete /dev/sdb 1',
  'sfdisk --delete /dev/sdb',
  'wipefs --all /dev/sdb',
  'systemd-creds decrypt --name=machineadm-state /var/lib/machineadm/keys/0a /etc/shadow',
  'systemd-creds encrypt --name=machineadm-state - -',
  'dumpe2fs /dev/sdb1',
  'xfs_info -p grow /dev/sdb1',
  'btrfs filesystem resize max /srv',
  'wipefs -a /dev/sdb',
  'wipefs --parsable --offset 0x438 /dev/sdb',
  'udevadm trigger',
  'udevadm settle --exit-if-exists=/x',
  'getfattr --only-values /etc/shadow',
  'swapon /dev/sdb',
  'swapon -a',
  'swapon --show -a',
  'swapon --show /dev/sdb',
  'swapon --show --fixpgsz /dev/sdb',
  'systemctl stop containerd',
  'systemctl daemon-reload',
  'systemctl show -H evil containerd',
  'systemctl show --root=/mnt containerd',
  'systemctl cat --force containerd',
  'systemctl restart show',
  'systemctl --now enable containerd',
  'systemctl is-system-running --wait',
  'systemctl',
  'containerd',
  'containerd -c /etc/containerd/config.toml',
  'containerd config',
  'containerd config dump --root /x',
  'containerd -c config dump',
  'containerd --root /x config dump',
  'containerd -l debug config dump',
  'containerd config migrate',
  'kubeadm init',
  'kubeadm reset -f',
  'kubeadm config images pull --config /x',
  'kubeadm config images list',
  'kubeadm config images list --kubernetes-version stable-1',
  'kubeadm config validate',
  'kubeadm config validate --config',
  'kubeadm version --kubeconfig /x',
  'kubelet',
  'kubelet --config /x',
  'modprobe br_netfilter',
  'modprobe -r br_netfilter',
  'modprobe -n -r br_netfilter',
  'modprobe -n -C /tmp/evil br_netfilter',
  'modprobe -c br_netfilter',
  'modprobe -v br_netfilter',
  'modprobe -n --dirname=/tmp br_netfilter',
  'modinfo -b /tmp br_netfilter',
  'journalctl --vacuum-size=1',
  'journalctl --rotate',
  'journalctl --flush',
  'journalctl --sync',
  'journalctl -f',
  'journalctl --follow',
  'journalctl --cursor-file=/etc/passwd',
  'journalctl --setup-keys',
  'journalctl --update-catalog',
  'journalctl /usr/bin/x',
  'getent shadow root',
  'getent gshadow root',
  'getent -s files passwd root',
  'getent passwd',
  'netplan generate',
  'kubeadm init phase control-plane scheduler --config=/kubeadm.yaml',
  'kubeadm init phase control-plane scheduler --rootfs=/ --config=/kubeadm.yaml',
  'kubeadm init phase control-plane all --rootfs=/machineadm-private-files',
  'netplan generate --root-dir /',
  'netplan apply',
  'apparmor_parser',
  'apparmor_parser --replace /etc/apparmor.d/a',
  'nmcli connection modify connection.autoconnect yes',
  'nmcli --offline connection modify connection.id a',
  'ctr -n k8s.io images rm x',
  'ctr -n k8s.io images pull x',
  'ctr -n k8s.io run x y',
  'ctr images',
  'ctr -n k8s.io images ls rm --sync',
  'timedatectl set-ntp true',
  'timedatectl show --host=evil',
  'timedatectl timesync-status --host=evil',
  'chronyc makestep',
  'chronyc -c -n makestep',
  'chronyc -c -n -h evil tracking',
  'ntpq -p evil',
  'ntpq -n -c config',
  'adcli',
  'adcli join --domain=corp.example.com',
  'adcli delete-computer --domain=corp.example.com node-1',
  'adcli testjoin --domain=corp.example.com --host-keytab=keytab',
  'dig',
  'dig -f /etc/shadow',
  'dig -k /etc/key +short a.b A',
  'visudo',
  'visudo -f /etc/sudoers',
  'visudo -c -x /etc/passwd',
  'visudo -cf /etc/sudoers',
  'sh -c id',
  'sh',
  'sh -n /etc/profile',
  'bash -n -c id',
  'bash -O expand_aliases -n',
  'sshd',
  'sshd -t -D',
  'sshd -t -o X=y',
  '/tmp/sshd -t',
  '/usr/sbin/../../tmp/sshd -t',
  'systemd-analyze verify',
  'systemd-analyze verify --generators=yes /x.service',
  'systemd-analyze set-log-level debug',
  '/bin/swapon --show',
  '../bin/findmnt',
  'toString',
  '__proto__',
];

function split(line: string): { readonly program: string; readonly args: readonly string[] } {
  const [program = '', ...args] = line.split(' ');
  return { program, args };
}

describe('the closed list of queries', () => {
  for (const line of ASKED) {
    test(`allows: ${line}`, () => {
      const { program, args } = split(line);
      assert.equal(isQuery(program, args), true);
    });
  }

  for (const line of SMUGGLED) {
    test(`refuses: ${line}`, () => {
      assert.throws(() => assertQuery(split(line)), { name: 'MachineadmError', reason: 'InternalError' });
    });
  }

  test('allows ntpq to read system variables, and not to set any', () => {
    assert.equal(isQuery('ntpq', ['-n', '-c', 'rv 0 leap,stratum,offset']), true);
    assert.equal(isQuery('ntpq', ['-n', '-c', 'rv 0 leap; config x']), false);
  });

  test('has for every program both an allowed and a refused example', () => {
    const programs = (lines: readonly string[]) => new Set(lines.map((line) => split(line).program));
    for (const program of QUERY_PROGRAMS) {
      assert.ok(programs(ASKED).has(program), `${program} is asked`);
      assert.ok(programs(SMUGGLED).has(program), `${program} is refused something`);
    }
  });

  test('no program may be given an option that is not on its list, wherever it stands', () => {
    const foreign = ['--force', '-f/etc/shadow', '--output-file=/x', '-w', '--now', '--'];
    for (const line of ASKED) {
      const { program, args } = split(line);
      for (const option of foreign) {
        for (let at = 0; at <= args.length; at += 1) {
          const smuggled = [...args.slice(0, at), option, ...args.slice(at)];
          // As the value of an option, a word that begins with a dash is refused or taken literally; -f needs a path.
          assert.equal(isQuery(program, smuggled), false, `${program} ${smuggled.join(' ')}`);
        }
      }
    }
  });

  test('an argument with a line break or a NUL is refused', () => {
    assert.equal(isQuery('systemctl', ['cat', 'a\nb']), false);
    assert.equal(isQuery('findmnt', ['--target', '/a\0b']), false);
    assert.equal(isQuery('containerd', ['-c', '/a\n/b', 'config', 'dump']), false);
  });
});
