import { generateKeyPairSync } from 'node:crypto';
import { tarOf } from './archives.ts';
import { selfSigned } from './certificates.ts';

const DAY_MS = 86_400_000;
const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const AUTHORITY = selfSigned({
  key: privateKey,
  publicKey,
  notBefore: new Date(Date.now() - DAY_MS),
  notAfter: new Date(Date.now() + 365 * DAY_MS),
  authority: true,
});

const authority = (name: string): string => {
  const pem = AUTHORITY.trimEnd().replace(/^/gm, '      ');
  return `certificateAuthorities:\n  - name: ${name}\n    pem: |\n${pem}`;
};
const file = (path: string, more = ''): string => `files: [{path: ${path}, content: "ours\\n"${more}}]`;
const network = (tool: string, was: string, fresh: string, content: string): string =>
  `network: {tool: ${tool}, files: ${JSON.stringify([was, fresh].map((name) => ({ name, content })))}}`;
const user = (fields: string): string => `users: [{name: ${fields}}]`;

/** An archive of files, a directory and a link that is unpacked there. */
const archive = (path: string, more = ''): string => {
  const members = [
    { name: 'hosts', content: 'ours\n' },
    { name: 'deep/er/tool', content: 'tool' },
    { name: 'empty', type: '5' },
    { name: 'latest', type: '2', target: 'deep/er/tool' },
  ];
  const content = tarOf(members).toString('base64');
  return `files: [{path: ${path}, encoding: base64, content: ${content}, unpack: {${more}}}]`;
};

/** Documents by what they ask for, each the host part as YAML: every field, alone and together with others. */
export const UNDO_DOCUMENTS: Readonly<Record<string, string>> = {
  'a host name': 'hostname: node-1',
  'a time zone': 'timezone: Europe/Zurich',
  'kernel modules': 'kernelModules: [overlay, br_netfilter]',
  'a module that is loaded already': 'kernelModules: [loop]',
  'kernel settings': 'sysctl: {vm.overcommit_memory: 1, kernel.panic: 10}',
  forwarding: 'sysctl: {net.ipv4.ip_forward: 1, net.ipv4.conf.all.rp_filter: 0}',
  'no swap': 'swap: Disabled',
  limits: 'limits: {services: {nofile: 1048576}, sessions: {"*": {nofile: 65536}}}',
  'a time service': 'time: {servers: [10.0.0.1]}',
  'the time servers of the distribution': 'time: {servers: []}\nhostname: node-2',
  'no time service': 'time: {enabled: false}',
  'a proxy': 'proxy: {http: "http://proxy.example:3128", for: [containerd, kubelet]}',
  'a proxy for everybody who logs in': 'proxy: {http: "http://proxy.example:3128", for: [environment]}',
  'an authority': authority('site'),
  'a mount': 'storage: {mounts: [{device: {path: /dev/vdb}, path: /srv/data}]}',
  'a mount over the directory of containerd':
    'storage: {mounts: [{device: {path: /dev/vdb}, path: /var/lib/containerd}]}',
  'more swap': 'storage: {mounts: [{device: {path: /dev/vdb}, type: swap}]}',
  'a group': 'groups: [{name: etcd, gid: 998, system: true}]',
  'a user': user('grace, uid: 4711, gecos: Grace, groups: [wheel, operators], shell: /bin/bash'),
  'a user with keys and rules': user(
    'grace, sshAuthorizedKeys: [ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGZvb2Jhcg grace], sudo: "ALL=(ALL) ALL"',
  ),
  'a user of the system': user('etcd, system: true, shell: /usr/sbin/nologin'),
  'a user with a home elsewhere': user('grace, home: /srv/homes/grace'),
  'a user who was there, in more groups': user('ada, groups: [wheel, chrony]'),
  'a user who was there, with another shell': user('ada, shell: /bin/bash, gecos: Countess'),
  'a user who was there, locked': user('ada, locked: true'),
  'a user who was there, with a password': user('ada, passwordHash: "$6$salt$ours", locked: false'),
  'a user who was there, inactive': user('ada, inactive: true, locked: false'),
  'a user who was there, with keys': user(
    'ada, locked: false, sshAuthorizedKeys: [ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGZvb2Jhcg ada]',
  ),
  'a user who was there, with a rule': user('ada, locked: false, sudo: "ALL=(ALL) NOPASSWD:ALL"'),
  'no user any more': 'users: [{name: ada, absent: true}]',
  'no user and no group any more': 'users: [{name: ada, absent: true}]\ngroups: [{name: users, absent: true}]',
  'no mount any more': 'storage: {mounts: [{device: {path: /dev/vdc}, path: /mnt/old, absent: true}]}',
  'no service any more': 'services: [{name: legacy, absent: true}]',
  'a new file': file('/etc/new.conf'),
  'a new file in new directories': file('/opt/app/etc/app.conf', ', directoryMode: "0700"'),
  'a file that was there': file('/etc/hosts'),
  'a file of a user': file('/etc/app/secret.conf', ', mode: "0640", owner: "root:wheel"'),
  'a file whose mode differs': 'files: [{path: /etc/app/plain.conf, content: "a=1\\n", mode: "0600"}]',
  'lines behind those of others': file('/etc/environment', ', append: true'),
  'many files': `files: [${[1, 2, 3, 4, 5].map((n) => `{path: /etc/many/${n}, content: "${n}"}`).join(', ')}]`,
  'an archive in new directories': archive('/opt/cni/bin'),
  'an archive over what was there': archive('/etc'),
  'a file of an archive': archive('/opt/bin/tool', 'member: deep/er/tool'),
  'a service of its own': [
    'files: [{path: /etc/systemd/system/agent.service, content: "[Service]\\nExecStart=/bin/agent\\n"}]',
    'services: [{name: agent, enabled: true, state: Started, dropIns: [{name: 10-x.conf, content: "[Service]\\n"}]}]',
  ].join('\n'),
  'a service masked': 'services: [{name: unattended-upgrades, masked: true, state: Stopped}]',
  'a service disabled': 'services: [{name: cron, enabled: false, state: Stopped}]',
  'a service unmasked': 'services: [{name: auditd, masked: false, enabled: true, state: Started}]',
  'a drop-in of a service': 'services: [{name: containerd, dropIns: [{name: 10-x.conf, content: "[Service]\\n"}]}]',
  'rules of sysusers and tmpfiles': [
    'files:',
    '  - {path: /etc/sysusers.d/app.conf, content: "g app\\n"}',
    '  - {path: /etc/tmpfiles.d/app.conf, content: "d /run/app\\n"}',
  ].join('\n'),
  'names of hosts': 'hosts: {entries: [{address: 10.0.0.9, names: [api.example]}]}',
  'a block in a file of others': file('/etc/environment', ', block: {name: site}'),
  'a directory of its own, in others': 'directories: [{path: /srv/app/data, mode: "0750", owner: "ada:users"}]',
  'a directory that was there': 'directories: [{path: /srv/shared, mode: "0700", owner: root}]',
  'a directory that was there, with all that is in it':
    'directories: [{path: /srv/shared, recursive: {owner: "root:root", mode: "0640", directoryMode: "0750"}}]',
  'a directory that goes': 'directories: [{path: /home/ada/.ssh, absent: true, recursive: true}]',
  'a link': 'links: [{path: /srv/new, target: shared}]',
  'a link that leads elsewhere': 'links: [{path: /srv/current, target: app, force: true}]',
  'a link where a file was': 'links: [{path: /etc/app/plain.conf, target: /etc/hosts, force: true}]',
  'a file that goes': 'files: [{path: /etc/app/secret.conf, absent: true}]',
  'a link that goes': 'links: [{path: /srv/current, absent: true}]',
  'a network of networkd': network('networkd', '10-eth0.network', '20-new.network', '[Match]\nName=eth0\n'),
  'a network of netplan': network(
    'netplan',
    '50-cloud-init.yaml',
    '60-new.yaml',
    'network: {version: 2, ethernets: {}}\n',
  ),
  'a network of NetworkManager': network(
    'NetworkManager',
    'lan.nmconnection',
    'new.nmconnection',
    '[connection]\nid=new\n',
  ),
  'SELinux that enforces': 'selinux: {mode: Enforcing}',
  'profiles of AppArmor':
    'apparmor: {profiles: [{name: site, content: "profile site {\\n  network,\\n}\\n"}, {name: new, content: "profile new {}\\n"}]}',
  containerd: 'host: {}\ncontainerRuntime: {containerd: {sandboxImage: "registry.example/pause:3.10"}}',
  'containerd, into the file that was there':
    'host: {}\ncontainerRuntime: {containerd: {mode: Merge, cgroupDriver: systemd}}',
  'containerd with registries': [
    'host: {}',
    'containerRuntime:',
    '  containerd:',
    '    registries:',
    '      - {host: docker.io, mirrors: [{url: "https://mirror.example"}]}',
    '      - {host: registry.example, mirrors: [{url: "https://mirror.example/other"}]}',
  ].join('\n'),
  'a domain that it leaves': [
    'secrets: {join: {value: correct-horse}}',
    'host:',
    '  hostname: node-7',
    '  activeDirectory:',
    '    domain: corp.example.com',
    '    credentials: {user: joiner, password: {secret: join}}',
    '    onReset: Leave',
  ].join('\n'),
  'a node of Kubernetes': [
    'hostname: node-9',
    'kernelModules: [overlay, br_netfilter]',
    'sysctl: {net.ipv4.ip_forward: 1, vm.overcommit_memory: 1, kernel.panic: 10, kernel.panic_on_oops: 1}',
    'swap: Disabled',
    'time: {servers: [10.0.0.1, 10.0.0.2]}',
    'storage: {mounts: [{device: {path: /dev/vdb}, path: /srv/data}]}',
    'groups: [{name: etcd, gid: 998, system: true}]',
    'users: [{name: etcd, uid: 998, primaryGroup: etcd, system: true}, {name: ada, groups: [etcd], locked: false}]',
    'files: [{path: /srv/data/etcd/conf, content: x}, {path: /etc/hosts, content: "127.0.0.1 localhost node-9\\n"}]',
    'services: [{name: cron, enabled: false, state: Stopped}, {name: kubelet, enabled: true}]',
    authority('corp'),
  ].join('\n'),
};
