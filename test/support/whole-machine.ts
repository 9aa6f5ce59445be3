import { dirname } from 'node:path/posix';
import { parse, stringify } from 'smol-toml';
import { unescapeOctal } from '../../src/host/files/paths.ts';
import { keytab } from './active-directory.ts';
import { type MemoryHost, type MemoryMachine, type MemoryProgram, memoryHost } from './memory-host.ts';
import { APPARMOR, apparmorParser } from './security-modules.ts';

const SWAPS = 'Filename Type Size Used Priority\n';
const BUNDLE = '/etc/ssl/certs/ca-certificates.crt';
const UNITS = '/etc/systemd/system';
const DATA_UUID = '407926d8-e07e-44e3-a3dc-6553c3f7f1e7';

const CONTAINERD = '/etc/containerd/config.toml';
/** What each service runs with: what it read when it last started, or was last told to read. */
const RUNS_WITH = '/run/runs-with';
const KEYTAB = '/etc/krb5.keytab';
/** The directory of a domain, which is elsewhere. */
const COMPUTER = '/elsewhere/corp.example.com/NODE-7';
const HOSTS_TOML = '/etc/containerd/certs.d/docker.io/hosts.toml';
const NETWORKS = {
  networkd: '/etc/systemd/network',
  netplan: '/etc/netplan',
  NetworkManager: '/etc/NetworkManager/system-connections',
} as const;
const NETWORK_FILES = {
  '/etc/systemd/network/10-eth0.network': '[Match]\nName=eth0\n[Network]\nDHCP=yes\n',
  '/etc/netplan/50-cloud-init.yaml': { content: 'network: {version: 2}\n', mode: 0o600 },
  '/etc/NetworkManager/system-connections/lan.nmconnection': { content: '[connection]\nid=lan\n', mode: 0o600 },
} as const;

/** An ordinary machine before its first run: accounts, time service, swap, an application of others. */
const FILES: NonNullable<MemoryMachine['files']> = {
  [`${UNITS}/legacy.service`]: '[Service]\nExecStart=/opt/legacy\n',
  [`${UNITS}/legacy.service.d/10-theirs.conf`]: '[Service]\nNice=5\n',
  '/etc/passwd': [
    'root:x:0:0:root:/root:/bin/bash',
    'chrony:x:101:101::/var/lib/chrony:/usr/sbin/nologin',
    'ada:x:1000:1000:Ada:/home/ada:/bin/sh',
    '',
  ].join('\n'),
  '/etc/group': 'root:x:0:\nchrony:x:101:\nwheel:x:10:root\nusers:x:100:ada\nada:x:1000:\n',
  '/etc/shadow': {
    content: 'root:*:19000:0:99999:7:::\nchrony:!:19000::::::\nada:$6$before:19000:0:99999:7:::\n',
    mode: 0o640,
    gid: 42,
  },
  '/etc/skel/.bashrc': 'alias ll=ls\n',
  '/etc/skel/.config/app.conf': 'x\n',
  '/home/ada': { type: 'directory', mode: 0o700, uid: 1000, gid: 1000 },
  '/home/ada/.ssh': { type: 'directory', mode: 0o700, uid: 1000, gid: 1000 },
  '/home/ada/.ssh/authorized_keys': { content: 'ssh-ed25519 AAAA theirs\n', mode: 0o600, uid: 1000, gid: 1000 },
  '/etc/fstab': '/dev/vda1 / ext4 defaults 0 1\n/dev/vda2 none swap sw 0 0\n',
  '/etc/hosts': '127.0.0.1 localhost\n',
  '/etc/hostname': 'template\n',
  '/etc/localtime': { type: 'symlink', content: '../usr/share/zoneinfo/Etc/UTC', mode: 0o777 },
  '/etc/timezone': 'Etc/UTC\n',
  '/usr/share/zoneinfo/Europe/Zurich': 'TZif2',
  '/etc/cloud/cloud.cfg': 'preserve_hostname: false\n',
  '/etc/environment': 'PATH=/usr/bin\n',
  '/etc/chrony/chrony.conf': 'pool pool.ntp.org iburst\nconfdir /etc/chrony/conf.d\n',
  '/etc/chrony/conf.d/site.conf': 'server 192.0.2.9\n',
  '/etc/sudoers': { content: '@includedir /etc/sudoers.d\n', mode: 0o440 },
  '/etc/sudoers.d': { type: 'directory', mode: 0o750 },
  '/etc/sysctl.d/10-site.conf': 'vm.swappiness = 10\n',
  '/etc/modules-load.d/site.conf': 'loop\n',
  '/etc/app/secret.conf': { content: 'password=hunter2\n', mode: 0o600, uid: 1000, gid: 1000, extended: ' user:ada:r' },
  '/etc/app/plain.conf': { content: 'a=1\n', mode: 0o664, gid: 10, extended: ' group:wheel:rw' },
  '/usr/local/share/ca-certificates': { type: 'directory' },
  '/usr/share/ca-certificates/root.crt': 'ROOT\n',
  [BUNDLE]: 'ROOT\n',
  '/proc/swaps': `${SWAPS}/dev/vda2 partition 1048576 0 5\n`,
  '/proc/self/mountinfo':
    '22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw\n30 22 254:16 / /mnt/old rw,noatime - ext4 /dev/vdc rw\n',
  '/proc/filesystems': 'nodev proc\next4\n',
  '/sys/module/loop': { type: 'directory' },
  '/dev/vdb': { type: 'other' },
  '/dev/vdc': { type: 'other' },
  '/var/lib/machineadm': { type: 'directory' },
  '/srv': { type: 'directory' },
  '/srv/shared': { type: 'directory', mode: 0o2775, gid: 100 },
  '/srv/shared/notes': { content: 'theirs\n', mode: 0o664, uid: 1000, gid: 100 },
  '/srv/current': { type: 'symlink', content: 'shared', mode: 0o777 },
  '/proc/net/route':
    'Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\neth0\t00000000\t0100000A\t0003\t0\t0\t0\t00000000\n',
  ...NETWORK_FILES,
  [CONTAINERD]: 'version = 2\nroot = "/srv/containerd"\n',
  [`${RUNS_WITH}/containerd`]: 'version = 2\nroot = "/srv/containerd"\n',
  [HOSTS_TOML]: 'server = "https://theirs.example"\n',
  '/etc/krb5.conf': '[libdefaults]\n  default_realm = OLD.EXAMPLE\n',
  '/elsewhere/corp.example.com': { type: 'directory' },
  '/etc/selinux/config': 'SELINUX=permissive\nSELINUXTYPE=targeted\n',
  [APPARMOR.enabled]: 'Y\n',
  [APPARMOR.loaded]: 'site (enforce)\n',
  '/etc/apparmor.d/site': 'profile site {\n  file,\n}\n',
};

const KERNEL = {
  '/sys/fs/selinux/enforce': '0\n',
  '/proc/sys/kernel/hostname': 'template\n',
  '/proc/sys/kernel/panic': '0\n',
  '/proc/sys/kernel/panic_on_oops': '0\n',
  '/proc/sys/vm/overcommit_memory': '0\n',
  '/proc/sys/vm/swappiness': '10\n',
  '/proc/sys/net/ipv4/ip_forward': '0\n',
  '/proc/sys/net/ipv4/conf/all/forwarding': '0\n',
  '/proc/sys/net/ipv4/conf/all/accept_redirects': '1\n',
  '/proc/sys/net/ipv4/conf/all/rp_filter': '2\n',
  '/proc/sys/net/ipv4/conf/eth0/forwarding': '1\n',
  '/proc/sys/net/ipv4/conf/eth0/rp_filter': '2\n',
  '/proc/sys/fs/inotify/max_user_watches': '8192\n',
};

const SERVICES = {
  chrony: { active: true, enabled: true },
  'systemd-timesyncd': {},
  containerd: { active: true, enabled: true },
  kubelet: {},
  cron: { active: true, enabled: true },
  'unattended-upgrades': { active: true, enabled: true },
  auditd: { masked: true },
  'systemd-networkd': { active: true, enabled: true },
  NetworkManager: { active: true, enabled: true },
};

/** A machine in memory whose programs change it as the real ones do. */
export function wholeMachine(more: Omit<MemoryMachine, 'users' | 'groups'> = {}): MemoryHost {
  const ids = {
    users: { chrony: 101, ada: 1000 },
    groups: { chrony: 101, wheel: 10, users: 100, ada: 1000, 'systemd-network': 998 },
  };
  const host = memoryHost({
    ...more,
    files: { ...FILES, ...runningNetworks(), ...more.files },
    kernelFiles: { ...KERNEL, ...more.kernelFiles },
    services: { ...SERVICES, legacy: { active: true, enabled: true }, ...more.services },
    programs: {
      ...accountPrograms(ids),
      ...kernelPrograms(),
      ...filePrograms(),
      ...servicePrograms(),
      ...more.programs,
    },
    ...ids,
  });
  const { enable, start, restart } = host.services;
  const found = (act: (name: string) => Promise<void>) => async (name: string) => {
    await findUnit(host, name);
    await act(name);
    if (name.replace('.service', '') === 'containerd') host.put(`${RUNS_WITH}/containerd`, host.text(CONTAINERD) ?? '');
  };
  const services = { ...host.services, enable: found(enable), start: found(start), restart: found(restart) };
  return { ...host, services: { ...services, reload: () => reloadUnits(host, { ...SERVICES, ...more.services }) } };
}

/** A unit whose file is there is found by its name, whether or not its directory was read again (systemd, unit loading). */
async function findUnit(host: MemoryHost, name: string): Promise<void> {
  const short = name.replace(/\.service$/, '');
  if ((await host.service(name)).exists || host.text(`${UNITS}/${short}.service`) === undefined) return;
  host.setService(short, {});
}

/** What systemd knows after a daemon-reload: units of the administrator are there as long as their files are. */
async function reloadUnits(host: MemoryHost, installed: object): Promise<void> {
  const names = ((await host.list(UNITS)) ?? []).filter((name) => name.endsWith('.service'));
  const there = new Set(names.map((name) => name.slice(0, -'.service'.length)));
  for (const name of there) if (!(await host.service(name)).exists) host.setService(name, {});
  for (const line of host.snapshot()) {
    const name = /^service (\S+)/.exec(line)?.[1] ?? '';
    if (name !== '' && !Object.hasOwn(installed, name) && !there.has(name)) host.setService(name, undefined);
  }
  await host.services.reload();
}

type Ids = Readonly<Record<'users' | 'groups', Record<string, number>>>;

function accountPrograms({ users, groups }: Ids): Record<string, MemoryProgram> {
  /** Changes the lines of a database, as fields. */
  const edit = (host: MemoryHost, path: string, change: (lines: string[][]) => string[][]) => {
    const lines = (host.text(path) ?? '').split('\n').filter((line) => line !== '');
    const changed = change(lines.map((line) => line.split(':')));
    const attributes = path === '/etc/shadow' ? { mode: 0o640, gid: 42 } : {};
    host.put(path, { content: changed.map((fields) => `${fields.join(':')}\n`).join(''), ...attributes });
  };
  const members = (fields: readonly string[]) => (fields[3] ?? '').split(',').filter((name) => name !== '');
  const join = (host: MemoryHost, user: string, list: string) =>
    edit(host, '/etc/group', (lines) =>
      lines.map((fields) => {
        if (!list.split(',').includes(fields[0] ?? '')) return fields;
        return [...fields.slice(0, 3), [...new Set([...members(fields), user])].join(',')];
      }),
    );
  const set = (host: MemoryHost, path: string, name: string, at: number, value: string) =>
    edit(host, path, (lines) => lines.map((fields) => (fields[0] === name ? fields.with(at, value) : fields)));
  const addGroup = (host: MemoryHost, name: string, id: number) => {
    groups[name] = id;
    edit(host, '/etc/group', (lines) => [...lines, [name, 'x', String(id), '']]);
  };
  const remove = (host: MemoryHost, path: string, name: string) =>
    edit(host, path, (lines) => lines.filter(([first]) => first !== name));
  const option = (args: readonly string[], name: string): string | undefined =>
    args.includes(name) ? args[args.indexOf(name) + 1] : undefined;
  const free = (taken: Record<string, number>) => Math.max(1000, ...Object.values(taken)) + 1;
  const copySkeleton = async (host: MemoryHost, from: string, to: string, uid: number): Promise<void> => {
    host.put(to, { type: 'directory', mode: 0o755, uid, gid: uid });
    for (const name of (await host.list(from)) ?? []) {
      if ((await host.stat(`${from}/${name}`))?.type === 'directory') {
        await copySkeleton(host, `${from}/${name}`, `${to}/${name}`, uid);
      } else host.put(`${to}/${name}`, { content: host.text(`${from}/${name}`) ?? '', uid, gid: uid });
    }
  };
  return {
    groupadd({ args }, host) {
      addGroup(host, args.at(-1) ?? '', Number(option(args, '--gid') ?? free(groups)));
      return {};
    },
    groupdel({ args }, host) {
      delete groups[args.at(-1) ?? ''];
      remove(host, '/etc/group', args.at(-1) ?? '');
      return {};
    },
    async useradd({ args }, host) {
      const name = args.at(-1) ?? '';
      const uid = Number(option(args, '--uid') ?? free(users));
      const home = option(args, '--home-dir') ?? `/home/${name}`;
      users[name] = uid;
      const primary = option(args, '--gid');
      if (primary === undefined) addGroup(host, name, uid);
      const gid = primary === undefined ? uid : (groups[primary] ?? Number(primary));
      const fields = [name, 'x', String(uid), String(gid), option(args, '--comment') ?? '', home];
      edit(host, '/etc/passwd', (lines) => [...lines, [...fields, option(args, '--shell') ?? '/bin/sh']]);
      edit(host, '/etc/shadow', (lines) => [...lines, [name, '!', '19000', '0', '99999', '7', '', '', '']]);
      join(host, name, option(args, '--groups') ?? '');
      if (args.includes('--create-home')) await copySkeleton(host, '/etc/skel', home, uid);
      return {};
    },
    userdel({ args }, host) {
      const name = args.at(-1) ?? '';
      delete users[name];
      for (const path of ['/etc/passwd', '/etc/shadow']) remove(host, path, name);
      edit(host, '/etc/group', (lines) =>
        lines
          .filter(([group]) => group !== name)
          .map((fields) =>
            fields.with(
              3,
              members(fields)
                .filter((one) => one !== name)
                .join(','),
            ),
          ),
      );
      delete groups[name];
      return {};
    },
    usermod({ args }, host) {
      const name = args.at(-1) ?? '';
      const shell = option(args, '--shell');
      const comment = option(args, '--comment');
      const gid = option(args, '--gid');
      const expires = option(args, '--expiredate');
      const password = option(args, '--password');
      if (shell !== undefined) set(host, '/etc/passwd', name, 6, shell);
      if (comment !== undefined) set(host, '/etc/passwd', name, 4, comment);
      if (gid !== undefined) set(host, '/etc/passwd', name, 3, String(groups[gid] ?? gid));
      if (expires !== undefined) set(host, '/etc/shadow', name, 7, expires);
      if (password !== undefined) set(host, '/etc/shadow', name, 1, password);
      if (args.includes('--append')) join(host, name, option(args, '--groups') ?? '');
      const now = (host.text('/etc/shadow') ?? '').split('\n').find((line) => line.startsWith(`${name}:`));
      const field = now?.split(':')[1] ?? '';
      if (args.includes('--lock')) set(host, '/etc/shadow', name, 1, `!${field}`);
      if (args.includes('--unlock')) set(host, '/etc/shadow', name, 1, field.replace(/^!/, ''));
      return {};
    },
    gpasswd({ args }, host) {
      const [, user = '', group = ''] = args;
      edit(host, '/etc/group', (lines) =>
        lines.map((fields) =>
          fields[0] === group
            ? fields.with(
                3,
                members(fields)
                  .filter((one) => one !== user)
                  .join(','),
              )
            : fields,
        ),
      );
      return {};
    },
    chpasswd({ input }, host) {
      const [name = '', field = ''] = String(input).trim().split(':');
      set(host, '/etc/shadow', name, 1, field);
      return {};
    },
    setpriv({ args, input }, host) {
      const home = args.at(-1) ?? '';
      const uid = Number(args[args.indexOf('--reuid') + 1]);
      const path = `${home}/.ssh/authorized_keys`;
      if (input === undefined) return { stdout: host.text(path) ?? '' };
      host.put(`${home}/.ssh`, { type: 'directory', mode: 0o700, uid, gid: uid });
      host.put(path, { content: String(input), mode: 0o600, uid, gid: uid });
      return {};
    },
    visudo: () => ({}),
  };
}

function kernelPrograms(): Record<string, MemoryProgram> {
  const swaps = (host: MemoryHost, change: (lines: string[]) => string[]) => {
    const lines = (host.text('/proc/swaps') ?? '').split('\n').filter((line) => line !== '');
    host.put('/proc/swaps', [...lines.slice(0, 1), ...change(lines.slice(1)), ''].join('\n'));
  };
  const mounts = (host: MemoryHost, change: (lines: string[]) => string[]) => {
    const lines = (host.text('/proc/self/mountinfo') ?? '').split('\n').filter((line) => line !== '');
    host.put('/proc/self/mountinfo', [...change(lines), ''].join('\n'));
  };
  const pointOf = (line: string) => unescapeOctal(line.split(' ')[4] ?? '');
  const canonical = (name: string) => name.replaceAll('-', '_');
  return {
    modprobe({ args }, host) {
      const module = canonical(args.at(-1) ?? '');
      const needs = module === 'br_netfilter' ? ['bridge', module] : [module];
      if (args[0] === '-D') return { stdout: needs.map((name) => `insmod /lib/modules/x/${name}.ko.xz \n`).join('') };
      if (args[0] === '--') for (const name of needs) host.put(`/sys/module/${name}`, { type: 'directory' });
      return {};
    },
    rmmod({ args }, host) {
      host.take(`/sys/module/${args.at(-1)}`);
      return {};
    },
    swapoff({ args }, host) {
      swaps(host, (lines) => lines.filter((line) => !line.startsWith(`${args.at(-1)} `)));
      return {};
    },
    swapon({ args }, host) {
      const priority = /--priority=(\d+)/.exec(args.join(' '))?.[1] ?? '-2';
      swaps(host, (lines) => [...lines, `${args.at(-1)} partition 1048576 0 ${priority}`]);
      return {};
    },
    lsblk: ({ args }) => {
      const name = args.at(-1) ?? '';
      return { stdout: JSON.stringify({ blockdevices: [{ name, kname: name, type: 'disk', size: 1024 }] }) };
    },
    blkid: () => ({ stdout: `TYPE=ext4\nUUID=${DATA_UUID}\n` }),
    findmnt({ args }, host) {
      const line = (host.text('/proc/self/mountinfo') ?? '').split('\n').find((one) => pointOf(one) === args.at(-1));
      if (line === undefined) return { status: 1 };
      const [fstype, source] = line.split(' - ')[1]?.split(' ') ?? [];
      return { stdout: JSON.stringify({ filesystems: [{ source, fstype, options: line.split(' ')[5] }] }) };
    },
    mount({ args }, host) {
      const option = (name: string) => (args.includes(name) ? args[args.indexOf(name) + 1] : undefined);
      const [source, target, options = ''] = [option('--source'), args.at(-1), option('-o')];
      const [, remount] = /^remount,(.*)$/.exec(options) ?? [];
      if (remount !== undefined) {
        mounts(host, (lines) =>
          lines.map((line) => (pointOf(line) === target ? line.replace(' rw,relatime', ` ${remount}`) : line)),
        );
      } else {
        const given = options === '' ? 'rw,relatime' : options;
        mounts(host, (lines) => [...lines, `30 22 254:16 / ${target} ${given} - ext4 ${source} rw`]);
      }
      return {};
    },
    umount({ args }, host) {
      mounts(host, (lines) => lines.filter((line) => pointOf(line) !== args.at(-1)));
      return {};
    },
  };
}

/** The files of each tool of the network, as it has applied them. */
function runningNetworks(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(NETWORKS).map(([tool, directory]) => [
      `${RUNS_WITH}/${tool}`,
      Object.entries(NETWORK_FILES)
        .filter(([path]) => dirname(path) === directory)
        .map(([path, file]) => `${path}: ${typeof file === 'string' ? file : file.content}`)
        .join(''),
    ]),
  );
}

function servicePrograms(): Record<string, MemoryProgram> {
  const applying =
    (tool: keyof typeof NETWORKS, verb: string): MemoryProgram =>
    async ({ args }, host) => {
      if (!args.includes(verb)) return {};
      const directory = NETWORKS[tool];
      const names = (await host.list(directory)) ?? [];
      const texts = names.map((name) => `${directory}/${name}: ${host.text(`${directory}/${name}`)}`);
      host.put(`${RUNS_WITH}/${tool}`, texts.join(''));
      return {};
    };
  return {
    networkctl: applying('networkd', 'reload'),
    netplan: applying('netplan', 'apply'),
    nmcli: applying('NetworkManager', 'reload'),
    apparmor_parser: apparmorParser,
    containerd: ({ input }) => ({ stdout: typeof input === 'string' ? stringify(parse(input)) : '' }),
    runc: () => ({}),
    'containerd-shim-runc-v2': () => ({}),
    kinit: (_, host) =>
      host.text(COMPUTER) === undefined
        ? { status: 1, stderr: "kinit: Client 'NODE-7$@CORP.EXAMPLE.COM' not found in Kerberos database\n" }
        : {},
    adcli({ args: [verb] }, host) {
      if (verb === 'show-computer') return { status: 5, stderr: 'adcli: No computer account for NODE-7 exists' };
      if (verb === 'delete-computer') host.take(COMPUTER);
      if (verb !== 'join') return {};
      host.put(COMPUTER, 'a computer');
      host.put(KEYTAB, { content: keytab(['NODE-7$@CORP.EXAMPLE.COM']), mode: 0o600 });
      return {};
    },
  };
}

function filePrograms(): Record<string, MemoryProgram> {
  return {
    install({ args }, host) {
      const value = (name: string) => Number(args[args.indexOf(name) + 1]);
      host.put(args.at(-1) ?? '', { type: 'directory', mode: 0o700, uid: value('-o'), gid: value('-g') });
      return {};
    },
    async 'update-ca-certificates'(_command, host) {
      const directory = '/usr/local/share/ca-certificates';
      const names = (await host.list(directory)) ?? [];
      const own = names.map((name) => host.text(`${directory}/${name}`) ?? '');
      host.put(BUNDLE, [host.text('/usr/share/ca-certificates/root.crt') ?? '', ...own].join(''));
      return {};
    },
    rm({ args }, host) {
      const path = args.at(-1) ?? '';
      for (const line of host.snapshot()) {
        const name = line.split(' ')[0] ?? '';
        if (name === path || dirname(name).startsWith(path)) host.take(name);
      }
      return {};
    },
  };
}
