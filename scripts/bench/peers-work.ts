import { createHash } from 'node:crypto';
import { stringify } from 'yaml';

/** Files with content, mode and owner, kernel settings of a network namespace, and commands: what all of the tools can do. */
export interface PeerWork {
  readonly name: string;
  readonly files: number;
  readonly sysctls: number;
  readonly commands: number;
}

export const PEER_WORKS: readonly PeerWork[] = [
  { name: 'w10', files: 10, sysctls: 5, commands: 5 },
  { name: 'w100', files: 100, sysctls: 10, commands: 10 },
  { name: 'w1000', files: 1000, sysctls: 10, commands: 20 },
];

const MODES = ['0644', '0600', '0640', '0755'] as const;
const OWNERS = [
  { user: 'root', group: 'root', uid: 0, gid: 0 },
  { user: 'nobody', group: 'nogroup', uid: 65534, gid: 65534 },
] as const;
const SYSCTLS: readonly (readonly [string, number])[] = [
  ['net.ipv4.ip_forward', 1],
  ['net.ipv4.conf.all.rp_filter', 1],
  ['net.ipv4.conf.default.rp_filter', 1],
  ['net.ipv4.tcp_keepalive_time', 600],
  ['net.ipv4.tcp_fin_timeout', 30],
  ['net.core.somaxconn', 4096],
  ['net.ipv4.conf.all.accept_redirects', 0],
  ['net.ipv4.conf.all.send_redirects', 0],
  ['net.ipv4.conf.default.accept_redirects', 0],
  ['net.ipv4.conf.default.send_redirects', 0],
];
const SYSCTL_FILE = '/etc/sysctl.d/90-bench.conf';

/** The input of each tool, by the name of its file. */
export function inputsOf(work: PeerWork): Readonly<Record<string, string>> {
  const files = Array.from({ length: work.files }, (_, index) => ({
    path: `/opt/bench/d${index % 5}/file${String(index).padStart(4, '0')}.conf`,
    mode: MODES[index % MODES.length] ?? MODES[0],
    owner: OWNERS[index % OWNERS.length] ?? OWNERS[0],
    content: content(index),
  }));
  const sysctls = SYSCTLS.slice(0, work.sysctls);
  const settings = sysctls.map(([key, value]) => `${key} = ${value}\n`).join('');
  const commands = Array.from({ length: work.commands }, (_, index) => `echo command ${index} >> /var/log/bench.log`);
  const own = {
    apiVersion: 'machineadm.dev/v1alpha1',
    kind: 'MachineBootstrap',
    metadata: { name: 'bench' },
    host: {
      swap: 'Unmanaged',
      files: files.map(({ path, mode, owner, ...rest }) => ({
        path,
        mode,
        owner: `${owner.user}:${owner.group}`,
        ...rest,
      })),
      sysctl: Object.fromEntries(sysctls),
      hooks: { early: { commands } },
    },
    reporting: { sinks: [] },
  };
  const cloudConfig = {
    write_files: [
      ...files.map(({ path, mode, owner, ...rest }) => ({
        path,
        permissions: mode,
        owner: `${owner.user}:${owner.group}`,
        ...rest,
      })),
      { path: SYSCTL_FILE, permissions: '0644', owner: 'root:root', content: settings },
    ],
    runcmd: [['sysctl', '-q', '-p', SYSCTL_FILE], ...commands],
  };
  const ignitionFile = (path: string, mode: string, owner: (typeof OWNERS)[number], text: string) => ({
    path,
    mode: Number.parseInt(mode, 8),
    user: { id: owner.uid },
    group: { id: owner.gid },
    contents: { source: `data:;base64,${Buffer.from(text).toString('base64')}` },
  });
  const ignition = {
    ignition: { version: '3.3.0' },
    storage: {
      files: [
        ...files.map((file) => ignitionFile(file.path, file.mode, file.owner, file.content)),
        ignitionFile(SYSCTL_FILE, '0644', OWNERS[0], settings),
      ],
    },
  };
  const script = [
    'set -eu',
    ...new Set(files.map(({ path }) => `mkdir -p ${path.replace(/\/[^/]*$/, '')}`)),
    ...files.flatMap(({ path, mode, owner, content: text }) => [
      `cat > ${path} <<'END'\n${text}END`,
      `chown ${owner.user}:${owner.group} ${path}`,
      `chmod ${mode} ${path}`,
    ]),
    `cat > ${SYSCTL_FILE} <<'END'\n${settings}END`,
    `sysctl -q -p ${SYSCTL_FILE}`,
    ...commands,
  ];
  return {
    'bootstrap.yaml': stringify(own),
    'user-data': `#cloud-config\n${stringify(cloudConfig)}`,
    'meta-data': 'instance-id: bench\n',
    'config.ign': JSON.stringify(ignition),
    'work.sh': `${script.join('\n')}\n`,
  };
}

/** One KiB of text. */
function content(index: number): string {
  const lines = Array.from({ length: 16 }, (_, line) => createHash('sha256').update(`${index}/${line}`).digest('hex'));
  return `${lines.join('\n').slice(0, 1023)}\n`;
}

/** How each tool does its input, as a command for sh(1) in the throw-away root. */
export const TOOLS: Readonly<Record<string, string>> = {
  'cloud-init': `mkdir -p /var/lib/cloud/seed/nocloud && cp /in/user-data /in/meta-data /var/lib/cloud/seed/nocloud &&
    cloud-init init --local && cloud-init init && cloud-init modules --mode config && cloud-init modules --mode final &&
    test -e /var/log/bench.log`,
  'Ignition (files only)': `export IGNITION_CONFIG_FILE=/in/config.ign
    for stage in fetch files; do
      ignition --platform file --stage $stage --root /sysroot --config-cache /run/ignition.json --log-to-stdout || exit
    done
    test -e /sysroot/opt/bench/d0/file0000.conf`,
  sh: 'sh /in/work.sh && test -e /var/log/bench.log',
  machineadm: '/in/machineadm provision -f /in/bootstrap.yaml && test -e /var/log/bench.log',
};
