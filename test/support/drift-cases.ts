import { CLOUD_INIT_HOSTNAME_FILE } from '@machineadm/document/ownership/paths.ts';
import { KEY, PROFILE } from './drift-machine.ts';
import type { MemoryFile, MemoryHost } from './memory-host.ts';
import { APPARMOR, SELINUX } from './security-modules.ts';

/** A change of the machine behind machineadm's back, and the changes that a plan has to show for it, no more and no less. */
export interface Drift {
  readonly what: string;
  readonly by: (machine: MemoryHost) => unknown;
  readonly finds: readonly string[];
  /** What was changed stays, and something of ours makes up for it. */
  readonly stays?: true;
}

/**
 * What of a field can change on a machine. `none`: why nothing can. `elsewhere`: the test that shows it with the real tools.
 */
export type Drifts =
  | readonly Drift[]
  | { readonly none: string }
  | { readonly elsewhere: readonly [file: string, title: string] };

const NETWORK = '/etc/systemd/network/10-eth0.network';
const GRACE = '/srv/homes/grace';
const KEYS = `${GRACE}/.ssh/authorized_keys`;
const SUDO = '/etc/sudoers.d/90-machineadm-grace';
const UNIT = '/etc/systemd/system/agent.service';
const DROP_IN = `${UNIT}.d/10-x.conf`;
const HOSTS_TOML = '/etc/containerd/certs.d/reg.example/hosts.toml';
const CONTAINERD = '/etc/containerd/config.toml';

const drift = (what: string, by: Drift['by'], ...finds: readonly string[]): Drift => ({ what, by, finds });
const edit =
  (path: string, from: string | RegExp, to: string): Drift['by'] =>
  async (machine) => {
    const text = machine.text(path) ?? '';
    const changed = text.replace(from, to);
    if (changed === text) throw new Error(`${path} has no ${from}`);
    await put(machine, path, { content: changed });
  };
/** A file with something changed, and the rest as it is. */
export async function put(machine: MemoryHost, path: string, change: MemoryFile): Promise<void> {
  const stat = await machine.stat(path);
  machine.put(path, { ...stat, content: stat?.type === 'directory' ? '' : (machine.text(path) ?? ''), ...change });
}
const attribute =
  (path: string, change: MemoryFile): Drift['by'] =>
  (machine) =>
    put(machine, path, change);
/** Without it and all that is in it. */
const gone =
  (path: string): Drift['by'] =>
  (machine) => {
    for (const line of machine.snapshot()) {
      const [name = ''] = line.split(' ');
      if (name === path || name.startsWith(`${path}/`)) machine.take(name);
    }
  };
const program =
  (name: string, ...args: readonly string[]): Drift['by'] =>
  (machine) =>
    machine.run({ program: name, args });
const passwd = (field: number, value: string, name = 'grace'): Drift['by'] =>
  database('/etc/passwd', name, field, value);
const shadow = (field: number, value: string, name = 'grace'): Drift['by'] =>
  database('/etc/shadow', name, field, value);
const database =
  (path: string, name: string, field: number, value: string): Drift['by'] =>
  async (machine) => {
    const lines = (machine.text(path) ?? '').split('\n');
    const changed = lines.map((line) =>
      line.startsWith(`${name}:`) ? line.split(':').with(field, value).join(':') : line,
    );
    await put(machine, path, { content: changed.join('\n') });
  };
const service =
  (name: string, state: { active?: boolean; enabled?: boolean; masked?: boolean }): Drift['by'] =>
  async (machine) =>
    machine.setService(name, { ...(await machine.service(name)), ...state });

const NOT_A_STATE = 'says how a run works, and leaves nothing on the machine';
const FOLLOWS = 'what follows a change of its entry, once; the tests of restarts have it';
const NEVER_CHANGED = 'is refused where it differs: renumbering or moving would change the hands of files';
const IN_REGISTRY = 'is a line of hosts.toml, which is compared as a whole: a change of any line is one of its file';
const IN_CONFIGURATION =
  'is a line of config.toml, which is compared as a whole: a change of any line is one of its file';
const HOOKS = 'a command leaves what it leaves: docs/hooks.md says when it is run again';
const DEVICE = { none: 'says which device is meant' };
const LOGINS = 'test/unit/features/active-directory/directory-logins.test.ts';
const MEMBER = 'test/unit/features/active-directory/step.test.ts';
const REFUSED = 'that the domain refuses stops, or joins again on request or if its own join was interrupted';
const DECISIONS = 'test/slow/features/storage-decisions.test.ts';
const STORAGE = 'test/slow/features/storage.test.ts';
const SOURCES = 'test/unit/features/storage/source-mounts.test.ts';
const GROWTH = 'test/slow/features/storage-growth.test.ts';

/** By field, with `*` for one name and `**` for all below; the most exact entry counts. Every field of `host` and of `containerRuntime` is here. */
export const DRIFTS: Readonly<Record<string, Drifts>> = {
  'host.platform': { none: NOT_A_STATE },
  'host.rebootPolicy': { none: NOT_A_STATE },
  'host.hostname': [
    drift('another name at the next boot', edit('/etc/hostname', 'node-1', 'node-2'), 'hostname/file'),
    drift('another name now', (m) => m.writeKernelFile('/proc/sys/kernel/hostname', 'node-2'), 'hostname/running'),
    drift('cloud-init may change it', gone(CLOUD_INIT_HOSTNAME_FILE), 'hostname/cloud-init'),
  ],
  'host.hosts.entries[].address': [
    drift('another address', edit('/etc/hosts', '10.0.0.10', '10.0.0.11'), 'hosts/entries'),
    drift('no address', edit('/etc/hosts', '10.0.0.10 api.example.com api\n', ''), 'hosts/entries'),
  ],
  'host.hosts.entries[].names[]': [drift('a name less', edit('/etc/hosts', ' api\n', '\n'), 'hosts/entries')],
  'host.hosts.ownName': [drift('no own name', edit('/etc/hosts', /127\.0\.1\.1 .*\n/, ''), 'hosts/own-name')],
  'host.network.tool': { none: 'says which tool reads the files' },
  'host.network.files[].name': [drift('no file', gone(NETWORK), 'network/files')],
  'host.network.files[].content': [drift('another content', edit(NETWORK, 'eth0', 'eth1'), 'network/files')],
  'host.network.keep.*': { none: NOT_A_STATE },
  'host.timezone': [
    drift(
      'another zone',
      (m) => m.put('/etc/localtime', { type: 'symlink', content: '../usr/share/zoneinfo/Etc/UTC', mode: 0o777 }),
      'timezone/etc/localtime',
    ),
    drift('a copy instead of the link', (m) => m.put('/etc/localtime', 'TZif2'), 'timezone/etc/localtime'),
    drift('another name of it', edit('/etc/timezone', 'Europe/Zurich', 'Etc/UTC'), 'timezone/etc/timezone'),
  ],
  'host.selinux.mode': [
    drift('permissive now', (m) => m.writeKernelFile(SELINUX.enforce, '0'), 'selinux/mode'),
    drift('disabled at the next boot', edit(SELINUX.config, 'enforcing', 'disabled'), 'selinux/configuration'),
  ],
  'host.selinux.booleans.*': [
    drift('off now', (m) => m.put(SELINUX.boolean, '0 0'), 'selinux/booleans'),
    drift('off at the next boot', edit(SELINUX.kept, '=1', '=0'), 'selinux/booleans'),
  ],
  'host.selinux.fileContexts[].path': [drift('no rule', (m) => m.put(SELINUX.local, ''), 'selinux/file-contexts')],
  'host.selinux.fileContexts[].type': [
    drift('another type', edit(SELINUX.local, 'container_file_t', 'etc_t'), 'selinux/file-contexts'),
  ],
  'host.apparmor.profiles[].name': [
    drift(
      'no file',
      gone('/etc/apparmor.d/k8s-nginx'),
      'apparmor/etc/apparmor.d/k8s-nginx',
      'apparmor/load/etc/apparmor.d/k8s-nginx',
    ),
  ],
  'host.apparmor.profiles[].content': [
    drift(
      'another profile',
      (m) => m.put('/etc/apparmor.d/k8s-nginx', PROFILE.replace('file', 'network')),
      'apparmor/etc/apparmor.d/k8s-nginx',
      'apparmor/load/etc/apparmor.d/k8s-nginx',
    ),
    drift('not loaded', (m) => m.put(APPARMOR.loaded, ''), 'apparmor/load/etc/apparmor.d/k8s-nginx'),
  ],
  'host.kernelModules[]': [
    drift('not loaded', gone('/sys/module/overlay'), 'kernel-modules/load/overlay'),
    drift(
      'not at the next boot',
      edit('/etc/modules-load.d/91-machineadm-n1.conf', 'overlay\n', ''),
      'kernel-modules/file',
    ),
  ],
  'host.sysctl.*': [
    drift(
      'another value now',
      (m) => m.writeKernelFile('/proc/sys/vm/overcommit_memory', '0'),
      'sysctl/vm/overcommit_memory',
    ),
    drift(
      'another value at the next boot',
      edit('/etc/sysctl.d/99-zzz-machineadm-n1.conf', 'overcommit_memory = 1', 'overcommit_memory = 2'),
      'sysctl/file',
    ),
  ],
  'host.limits.services.**': [
    drift(
      'another limit',
      edit('/etc/systemd/system.conf.d/91-machineadm-limits-n1.conf', '1048576', '1024'),
      'limits/etc/systemd/system.conf.d/91-machineadm-limits-n1.conf',
    ),
  ],
  'host.limits.sessions.**': [
    drift(
      'another hard limit',
      edit('/etc/security/limits.d/91-machineadm-n1.conf', /\* hard .*\n/, ''),
      'limits/etc/security/limits.d/91-machineadm-n1.conf',
    ),
  ],
  'host.swap': [
    drift(
      'on now',
      async (m) => put(m, '/proc/swaps', { content: `${m.text('/proc/swaps')}/dev/vda2 partition 1048576 0 5\n` }),
      'swap/off//dev/vda2',
    ),
    drift('on at the next boot', edit('/etc/fstab', '# machineadm disabled swap: ', ''), 'swap/fstab'),
    {
      what: 'a unit of it',
      by: (m) => m.put('/usr/lib/systemd/system/dev-zram0.swap', '[Swap]\nWhat=/dev/zram0\n'),
      finds: ['swap/unit/dev-zram0.swap'],
      stays: true,
    },
  ],
  'host.groups[].name': [
    {
      what: 'no such group',
      by: program('groupdel', 'operators'),
      finds: ['groups/operators', 'users/grace/groups'],
      stays: true,
    },
  ],
  'host.groups[].gid': { none: NEVER_CHANGED },
  'host.groups[].system': { none: 'says from which range a new id is taken' },
  'host.users[].name': [
    { what: 'no such user', by: program('userdel', 'etcd'), finds: ['groups/etcd', 'users/etcd'], stays: true },
  ],
  'host.users[].uid': { none: NEVER_CHANGED },
  'host.users[].gecos': [drift('another name', passwd(4, 'Grace Hopper'), 'users/grace/gecos')],
  'host.users[].primaryGroup': [drift('another group', passwd(3, '10'), 'users/grace/primary-group')],
  'host.users[].groups[]': [drift('a group less', database('/etc/group', 'wheel', 3, 'root'), 'users/grace/groups')],
  'host.users[].home': [
    {
      what: 'no directory',
      by: gone(GRACE),
      finds: ['users/grace/home', 'users/grace/authorized-keys'],
      stays: true,
    },
  ],
  'host.users[].shell': [drift('another shell', passwd(6, '/bin/false'), 'users/grace/shell')],
  'host.users[].system': { none: 'says from which range a new id is taken' },
  'host.users[].passwordHash': [drift('another password', shadow(1, '$6$salt$theirs'), 'users/grace/password')],
  'host.users[].passwordHash.*': { none: 'names the secret with the hash' },
  'host.users[].locked': [
    drift('unlocked', shadow(1, '$6$before', 'ada'), 'users/ada/lock'),
    drift('locked', shadow(1, '!$6$salt$ours'), 'users/grace/password'),
  ],
  'host.users[].inactive': [drift('revived', shadow(7, '', 'ada'), 'users/ada/expiry')],
  'host.users[].sudo': [
    drift('other rules', edit(SUDO, 'NOPASSWD', 'PASSWD'), 'users/grace/sudo'),
    drift('no rules', gone(SUDO), 'users/grace/sudo'),
    drift('rules that others can read', attribute(SUDO, { mode: 0o644 }), 'users/grace/sudo'),
    drift('rules of another owner', attribute(SUDO, { uid: 1000 }), 'users/grace/sudo'),
    drift(
      'rules of a user who has none',
      (m) => m.put('/etc/sudoers.d/90-machineadm-ada', { content: 'ada ALL=(ALL) ALL\n', mode: 0o440 }),
      'users/ada/sudo',
    ),
  ],
  'host.users[].sudo[]': { none: 'a line of the rules' },
  'host.users[].sshAuthorizedKeys[]': [
    drift('another key in the block', edit(KEYS, KEY, 'ssh-ed25519 AAAAtheirs x'), 'users/grace/authorized-keys'),
    drift('no keys', gone(KEYS), 'users/grace/authorized-keys'),
    drift('keys that others can read', attribute(KEYS, { mode: 0o644 }), 'users/grace/authorized-keys'),
    drift(
      'a directory that others can read',
      attribute(`${GRACE}/.ssh`, { mode: 0o755 }),
      'users/grace/authorized-keys',
    ),
  ],
  'host.time.enabled': [
    drift('the service does not run', service('chrony', { active: false }), 'time/chrony/start'),
    drift('nor at the next boot', service('chrony', { enabled: false }), 'time/chrony/enable'),
    drift('another beside it', service('systemd-timesyncd', { active: true }), 'time/systemd-timesyncd/stop'),
    drift(
      'another at the next boot',
      service('systemd-timesyncd', { enabled: true }),
      'time/systemd-timesyncd/disable',
    ),
  ],
  'host.time.servers[]': [
    drift(
      'another server',
      edit('/etc/chrony/conf.d/90-machineadm.conf', '10.0.0.1', '10.0.0.2'),
      'time/file//etc/chrony/conf.d/90-machineadm.conf',
    ),
    drift(
      'the servers of the distribution again',
      edit('/etc/chrony/chrony.conf', '#machineadm# ', ''),
      'time/file//etc/chrony/chrony.conf',
    ),
    drift(
      'another file of servers',
      (m) => m.put('/etc/chrony/conf.d/site.conf', 'server 192.0.2.9\n'),
      'time/file//etc/chrony/conf.d/site.conf',
    ),
  ],
  'host.time.synchronized.*': { none: NOT_A_STATE },
  'host.proxy.http': [
    drift(
      'another proxy of the services',
      edit('/etc/machineadm/proxy.env', 'example:3128', 'example:1'),
      'proxy/variables',
    ),
    drift('another proxy of logins', edit('/etc/environment', 'example:3128', 'example:1'), 'proxy/environment'),
  ],
  'host.proxy.https': [
    drift('another proxy', edit('/etc/machineadm/proxy.env', 'example:3129', 'example:1'), 'proxy/variables'),
  ],
  'host.proxy.*.*': { none: 'names the secret with the URL' },
  'host.proxy.no[]': [
    drift('another bypass', edit('/etc/machineadm/proxy.env', '.example', '.other'), 'proxy/variables'),
  ],
  'host.proxy.for[]': [
    drift('no variables', gone('/etc/machineadm/proxy.env'), 'proxy/variables'),
    drift(
      'containerd does not read them',
      gone('/etc/systemd/system/containerd.service.d/20-machineadm-proxy.conf'),
      'proxy/containerd',
    ),
    drift(
      'the kubelet reads others',
      edit('/etc/systemd/system/kubelet.service.d/20-machineadm-proxy.conf', 'proxy.env', 'other.env'),
      'proxy/kubelet',
    ),
    drift(
      'logins have none',
      edit('/etc/environment', /# BEGIN machineadm[\s\S]*# END machineadm.*\n/, ''),
      'proxy/environment',
    ),
  ],
  'host.certificateAuthorities[].name': { none: 'is a part of the name of its file' },
  'host.certificateAuthorities[].pem': [
    drift(
      'not in the bundle',
      (m) => m.put('/etc/ssl/certs/ca-certificates.crt', 'ROOT\n'),
      'certificate-authorities/rebuild',
    ),
    drift(
      'an earlier certificate of its name',
      (m) => m.put('/usr/local/share/ca-certificates/machineadm-site-01234567.crt', 'OLD\n'),
      'certificate-authorities/remove/site-01234567',
    ),
  ],
  'host.certificateAuthorities[].restarts[]': { none: FOLLOWS },
  'host.certificateAuthorities[].reloads[]': { none: FOLLOWS },
  'host.activeDirectory.domain': { elsewhere: [MEMBER, REFUSED] },
  'host.activeDirectory.keytab': {
    elsewhere: [MEMBER, 'closes a keytab that others can read, and adds keys for services'],
  },
  'host.activeDirectory.servicePrincipals[]': {
    elsewhere: [MEMBER, 'closes a keytab that others can read, and adds keys for services'],
  },
  'host.activeDirectory.kerberos.configuration': {
    elsewhere: [MEMBER, 'writes the configuration of Kerberos again where its '],
  },
  'host.activeDirectory.registerAddress': {
    elsewhere: [
      'test/unit/features/active-directory/directory-address.test.ts',
      'is sent to the primary server of the zone with a ticket, whatever nsupdate makes of the answer',
    ],
  },
  'host.activeDirectory.logins.allowedGroups[]': { elsewhere: [LOGINS, 'are repaired where a user changed'] },
  'host.activeDirectory.logins.homeDirectories': { elsewhere: [LOGINS, 'are repaired where a user changed'] },
  'host.activeDirectory.computerName': { none: 'the account of the computer: another one is another join' },
  'host.activeDirectory.computerOU': { none: 'where a new account is made; a directory moves it as it likes' },
  'host.activeDirectory.credentials.**': { none: 'are used once, for the join' },
  'host.activeDirectory.domainController': { none: NOT_A_STATE },
  'host.activeDirectory.accountReuse': { none: NOT_A_STATE },
  'host.activeDirectory.onBroken': { none: NOT_A_STATE },
  'host.activeDirectory.onReset': { none: NOT_A_STATE },
  'host.activeDirectory.timeout': { none: NOT_A_STATE },
  'host.services[].name': [drift('its unit is not there', gone(UNIT), `files/${UNIT}`, 'services/agent/reread')],
  'host.services[].enabled': [
    drift('not at the next boot', service('agent', { enabled: false }), 'services/agent/enable'),
    drift('at the next boot', service('cron', { enabled: true }), 'services/cron/disable'),
  ],
  'host.services[].masked': [
    drift('not masked', service('unattended-upgrades', { masked: false }), 'services/unattended-upgrades/mask'),
    drift('masked', service('auditd', { masked: true }), 'services/auditd/unmask'),
  ],
  'host.services[].state': [
    drift('stopped', service('agent', { active: false }), 'services/agent/start'),
    drift('started', service('cron', { active: true }), 'services/cron/stop'),
  ],
  'host.services[].dropIns[].name': [drift('no drop-in', gone(DROP_IN), 'services/agent/drop-in/10-x.conf')],
  'host.services[].dropIns[].content': [
    drift('another content', edit(DROP_IN, 'Nice=1', 'Nice=2'), 'services/agent/drop-in/10-x.conf'),
  ],
  'host.storage.disks[].device.*': DEVICE,
  'host.storage.disks[].table': {
    elsewhere: [STORAGE, 'a disk with another table is DiskNotEmpty, and unchanged; with wipe it is partitioned again'],
  },
  'host.storage.disks[].wipe': { elsewhere: [DECISIONS, ', wipe '] },
  'host.storage.disks[].partitions[].label': {
    elsewhere: [STORAGE, 'a disk with another table is DiskNotEmpty, and unchanged; with wipe it is partitioned again'],
  },
  'host.storage.disks[].partitions[].size': { elsewhere: [GROWTH, 'grows with its partition and its disk'] },
  'host.storage.disks[].partitions[].type': {
    elsewhere: [STORAGE, 'a disk with another table is DiskNotEmpty, and unchanged; with wipe it is partitioned again'],
  },
  'host.storage.disks[].partitions[].grow': { elsewhere: [GROWTH, 'grows with its partition and its disk'] },
  'host.storage.filesystems[].device.*': DEVICE,
  'host.storage.filesystems[].type': { elsewhere: [DECISIONS, ', overwrite '] },
  'host.storage.filesystems[].label': { elsewhere: [DECISIONS, ', overwrite '] },
  'host.storage.filesystems[].options[]': {
    none: 'are those of mkfs: a file system that is there is never made anew for them',
  },
  'host.storage.filesystems[].grow': { elsewhere: [GROWTH, 'grows with its partition and its disk'] },
  'host.storage.filesystems[].overwrite': { elsewhere: [DECISIONS, ', overwrite '] },
  'host.storage.filesystems[].replace[]': { elsewhere: [DECISIONS, ', replace '] },
  'host.storage.mounts[].device.*': DEVICE,
  'host.storage.mounts[].source': {
    elsewhere: [SOURCES, 'of the same file system but another directory is a conflict'],
  },
  'host.storage.mounts[].size': { elsewhere: [SOURCES, 'in whose place something else is, is refused before'] },
  'host.storage.mounts[].path': [
    drift('not mounted', edit('/proc/self/mountinfo', /.* \/srv\/data .*\n/, ''), 'mounts//srv/data'),
    drift('not at the next boot', edit('/etc/fstab', /.* \/srv\/data .*\n/, ''), 'mounts//srv/data'),
  ],
  'host.storage.mounts[].type': [
    drift('another type at the next boot', edit('/etc/fstab', '/srv/data ext4', '/srv/data xfs'), 'mounts//srv/data'),
  ],
  'host.storage.mounts[].options[]': [
    drift('other options', edit('/proc/self/mountinfo', ' noatime ', ' rw,relatime '), 'mounts//srv/data'),
    drift('other options at the next boot', edit('/etc/fstab', 'noatime', 'atime'), 'mounts//srv/data'),
  ],
  'host.directories[].path': [
    { what: 'no directory', by: gone('/srv/app'), finds: ['directories/srv/app'], stays: true },
  ],
  'host.directories[].mode': [drift('another mode', attribute('/srv/app', { mode: 0o777 }), 'directories/srv/app')],
  'host.directories[].owner': [
    drift('another user', attribute('/srv/app', { uid: 0 }), 'directories/srv/app'),
    drift('another group', attribute('/srv/app', { gid: 0 }), 'directories/srv/app'),
  ],
  'host.directories[].recursive': { none: 'of a directory that is absent: whether it goes with what is in it' },
  'host.directories[].recursive.mode': [
    drift('a file with another mode', attribute('/srv/app/in/file', { mode: 0o666 }), 'directories/srv/app'),
  ],
  'host.directories[].recursive.directoryMode': [
    drift('a directory with another mode', attribute('/srv/app/in', { mode: 0o777 }), 'directories/srv/app'),
  ],
  'host.directories[].recursive.owner': [
    drift('a file of another owner', attribute('/srv/app/in/file', { uid: 0 }), 'directories/srv/app'),
    drift('a directory of another group', attribute('/srv/app/in', { gid: 0 }), 'directories/srv/app'),
  ],
  'host.directories[].absent': [
    drift('is there', (m) => m.put('/srv/app/tmp', { type: 'directory' }), 'removals/srv/app/tmp'),
  ],
  'host.directories[].restarts[]': { none: FOLLOWS },
  'host.directories[].reloads[]': { none: FOLLOWS },
  'host.files[].path': [drift('no file', gone('/etc/app/app.conf'), 'files//etc/app/app.conf')],
  'host.files[].content': [drift('another content', edit('/etc/app/app.conf', '1', '2'), 'files//etc/app/app.conf')],
  'host.files[].contentFrom.secret': [
    drift('another content', edit('/etc/app/secret', 'hunter2', 'x'), 'files//etc/app/secret'),
  ],
  'host.files[].contentFrom.file': [
    drift('another content', edit('/etc/app/copy.conf', '1', '2'), 'files//etc/app/copy.conf'),
  ],
  'host.files[].contentFrom.http.**': [
    drift('another content', edit('/opt/app/tool', 'tool', 'x'), 'files//opt/app/tool'),
    drift('no file', gone('/opt/app/tool'), 'files//opt/app/tool'),
  ],
  'host.files[].encoding': [
    drift('another content', (m) => put(m, '/etc/app/data.bin', { content: 'x' }), 'files//etc/app/data.bin'),
  ],
  'host.files[].mode': [
    drift('another mode', attribute('/etc/app/app.conf', { mode: 0o644 }), 'files//etc/app/app.conf'),
  ],
  'host.files[].owner': [
    drift('another user', attribute('/etc/app/app.conf', { uid: 0 }), 'files//etc/app/app.conf'),
    drift('another group', attribute('/etc/app/app.conf', { gid: 0 }), 'files//etc/app/app.conf'),
  ],
  'host.files[].directoryMode': { none: 'of directories that are made; host.directories keeps the mode of one' },
  'host.files[].append': [
    drift('no such line', edit('/etc/app/lines.conf', 'b = 2\n', ''), 'files//etc/app/lines.conf'),
  ],
  'host.files[].block.*': [
    drift('another content of the block', edit('/etc/app/block.conf', 'c = 3', 'c = 4'), 'files//etc/app/block.conf'),
    drift('no block', (m) => put(m, '/etc/app/block.conf', { content: 'theirs\n' }), 'files//etc/app/block.conf'),
  ],
  'host.files[].expand': [
    drift('another value', edit('/etc/app/identity', 'zone-1', 'zone-2'), 'files//etc/app/identity'),
  ],
  'host.files[].unpack.**': {
    elsewhere: [
      'test/unit/features/archives/archives.test.ts',
      'is found and repaired in every attribute, and downloaded again only for a content',
    ],
  },
  'host.files[].absent': [drift('is there', (m) => m.put('/etc/app/old.conf', 'x'), 'removals/etc/app/old.conf')],
  'host.groups[].absent': {
    elsewhere: [
      'test/unit/undo/removals/removed-names.test.ts',
      'is removed after the users that it is the primary group of',
    ],
  },
  'host.users[].absent': {
    elsewhere: [
      'test/unit/undo/removals/removed-names.test.ts',
      'is removed with the rules of sudo that machineadm wrote, and keeps the home',
    ],
  },
  'host.services[].absent': {
    elsewhere: ['test/unit/undo/removals/removed-names.test.ts', 'is stopped, disabled, and removed with its drop-ins'],
  },
  'host.storage.mounts[].absent': {
    elsewhere: [
      'test/unit/undo/removals/removed-names.test.ts',
      'is unmounted and forgotten at boot, and what others wrote stays',
    ],
  },
  'host.files[].restarts[]': { none: FOLLOWS },
  'host.files[].reloads[]': { none: FOLLOWS },
  'host.links[].path': [drift('no link', gone('/usr/local/bin/app'), 'links/usr/local/bin/app')],
  'host.links[].target': [
    drift(
      'another target',
      (m) => m.put('/usr/local/bin/app', { type: 'symlink', content: '/bin/false', mode: 0o777 }),
      'links/usr/local/bin/app',
    ),
  ],
  'host.links[].force': { none: NOT_A_STATE },
  'host.links[].absent': [
    drift(
      'is there',
      (m) => m.put('/usr/local/bin/app-old', { type: 'symlink', content: 'x', mode: 0o777 }),
      'removals/usr/local/bin/app-old',
    ),
  ],
  'host.links[].restarts[]': { none: FOLLOWS },
  'host.links[].reloads[]': { none: FOLLOWS },
  'host.prune': { none: NOT_A_STATE },
  'host.hooks.**': { none: HOOKS },
  'containerRuntime.containerd.sandboxImage': [
    drift('another value', edit(CONTAINERD, 'pause:3.10', 'pause:3.9'), 'containerd/config'),
    drift('no file', gone(CONTAINERD), 'containerd/config'),
    drift('another mode', attribute(CONTAINERD, { mode: 0o666 }), 'containerd/config'),
    drift('another owner', attribute(CONTAINERD, { uid: 1000 }), 'containerd/config'),
  ],
  'containerRuntime.containerd.mode': { none: NOT_A_STATE },
  'containerRuntime.containerd.**': { none: IN_CONFIGURATION },
  'containerRuntime.containerd.registries[].**': { none: IN_REGISTRY },
  'containerRuntime.containerd.registries[].host': [
    drift('no file', gone(HOSTS_TOML), 'containerd/registries/reg.example'),
    drift('another content', edit(HOSTS_TOML, 'mirror.example', 'other.example'), 'containerd/registries/reg.example'),
    drift('a secret that others can read', attribute(HOSTS_TOML, { mode: 0o644 }), 'containerd/registries/reg.example'),
  ],
  'containerRuntime.containerd.registries[].verify': { none: 'is pulled once for each configuration of a registry' },
};
