import { generateKeyPairSync } from 'node:crypto';
import { parse, stringify } from 'smol-toml';
import { parse as parseYaml } from 'yaml';
import { selfSigned } from './certificates.ts';
import type { MemoryHost, MemoryMachine } from './memory-host.ts';
import { APPARMOR, apparmorParser, SELINUX, SELINUX_PROGRAMS } from './security-modules.ts';
import { wholeMachine } from './whole-machine.ts';

const DAY_MS = 86_400_000;
const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const AUTHORITY = selfSigned({
  key: privateKey,
  publicKey,
  notBefore: new Date(Date.now() - DAY_MS),
  notAfter: new Date(Date.now() + 365 * DAY_MS),
  authority: true,
});
export const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ8s0Yv5zv6m2bJf0l5VfBqk1Jb3r8y8kQh8o2T1xq9Z grace';
export const PROFILE = 'profile k8s-nginx {\n  file,\n}\n';
const ROUTES =
  'Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\neth0\t00000000\t0100000A\t0003\t0\t0\t0\t0\n';

/** One document with every part of the host that leaves something on a machine, and the container runtime. */
export const EVERYTHING = `host:
  hostname: node-1
  hosts: {entries: [{address: 10.0.0.10, names: [api.example.com, api]}]}
  network: {tool: networkd, files: [{name: 10-eth0.network, content: "[Match]\\nName=eth0\\n"}]}
  timezone: Europe/Zurich
  selinux: {mode: Enforcing, booleans: {container_manage_cgroup: true}, fileContexts: [{path: '/srv/data(/.*)?', type: container_file_t}]}
  apparmor: {profiles: [{name: k8s-nginx, content: ${JSON.stringify(PROFILE)}}]}
  kernelModules: [overlay, br_netfilter]
  sysctl: {vm.overcommit_memory: 1, kernel.panic: 10, net.ipv4.ip_forward: 1}
  limits: {services: {nofile: 1048576}, sessions: {"*": {nofile: {soft: 65536, hard: 1048576}}}}
  swap: Disabled
  groups: [{name: etcd, gid: 998, system: true}]
  users:
    - {name: etcd, uid: 998, primaryGroup: etcd, system: true, shell: /usr/sbin/nologin}
    - name: grace
      uid: 4711
      gecos: Grace
      primaryGroup: users
      groups: [wheel, operators]
      home: /srv/homes/grace
      shell: /bin/bash
      passwordHash: "$6$salt$ours"
      locked: false
      sudo: "ALL=(ALL) NOPASSWD:ALL"
      sshAuthorizedKeys: ["${KEY}"]
    - {name: ada, inactive: true}
  time: {servers: [10.0.0.1]}
  proxy: {http: "http://proxy.example:3128", https: "http://proxy.example:3129", no: [.example], for: [containerd, kubelet, environment]}
  certificateAuthorities:
    - name: site
      pem: |
${AUTHORITY.trimEnd().replace(/^/gm, '        ')}
  services:
    - {name: agent, enabled: true, state: Started, dropIns: [{name: 10-x.conf, content: "[Service]\\nNice=1\\n"}]}
    - {name: cron, enabled: false, state: Stopped}
    - {name: unattended-upgrades, masked: true}
    - {name: auditd, masked: false}
  storage:
    mounts:
      - {device: {path: /dev/vdb}, path: /srv/data, options: [noatime]}
  directories:
    - {path: /srv/app, mode: "0750", owner: "ada:users", recursive: {mode: "0640", directoryMode: "0750", owner: "ada:users"}}
    - {path: /srv/app/tmp, absent: true}
  files:
    - {path: /etc/systemd/system/agent.service, content: "[Service]\\nExecStart=/bin/agent\\n[Install]\\nWantedBy=multi-user.target\\n"}
    - {path: /etc/app/app.conf, content: "a = 1\\n", mode: "0640", owner: "ada:users", directoryMode: "0755"}
    - {path: /etc/app/lines.conf, content: "b = 2\\n", append: true}
    - {path: /etc/app/block.conf, content: "c = 3\\n", block: {name: settings}}
    - {path: /etc/app/data.bin, content: AAEC, encoding: base64}
    - {path: /etc/app/secret, contentFrom: {secret: token}}
    - {path: /etc/app/copy.conf, contentFrom: {file: /etc/app/app.conf}}
    - {path: /opt/app/tool, contentFrom: {http: {url: "https://files.example/tool", sha256: 67948dd9afd6afe5043b0029d5aa7cf0f8b2824baf16f4f097d40d830edb686d}}, mode: "0755"}
    - {path: /etc/app/identity, content: "\${zone}\\n", expand: true}
    - {path: /etc/app/old.conf, absent: true}
  links:
    - {path: /usr/local/bin/app, target: /opt/app/bin/app}
    - {path: /usr/local/bin/app-old, absent: true}
containerRuntime:
  containerd:
    sandboxImage: registry.example/pause:3.10
    registries:
      - host: reg.example
        mirrors: [{url: "https://mirror.example", headers: {X-Token: {secret: token}}}]
secrets: {token: {value: hunter2hunter2}}
variables: {zone: {value: zone-1}}
`;

const KUBERNETES = {
  version: 'v1.34.1',
  role: 'InitControlPlane',
  controlPlane: {
    apiServer: { audit: { log: {}, policy: { rules: [{ level: 'None' }] } } },
    staticPods: [{ name: 'kube-vip', manifest: 'apiVersion: v1\nkind: Pod\nmetadata: {name: kube-vip}\n' }],
  },
};

const written: { readonly host: object; readonly secrets: object } = parseYaml(EVERYTHING);

/** The same with a domain, hooks for every boot and Kubernetes: a document that manages everything which one can. */
export const WHOLE_DOCUMENT = {
  ...written,
  host: {
    ...written.host,
    apparmor: { profiles: [{ name: 'k8s-nginx', content: PROFILE }] },
    activeDirectory: {
      domain: 'corp.example.com',
      credentials: { user: 'joiner', password: { secret: 'token' } },
      logins: { allowedGroups: ['admins'] },
    },
    hooks: { early: { frequency: 'Always', commands: ['true'] } },
  },
  kubernetes: KUBERNETES,
};

/** Whose document has early hooks for the boots to come. */
export const AT_EVERY_BOOT = 'host:\n  hooks: {early: {frequency: Always, commands: ["true"]}}\n';

/** A machine with all that the documents above need, and with more. */
export function driftMachine(
  more: Pick<MemoryMachine, 'files' | 'kernelFiles' | 'services' | 'programs' | 'http'> = {},
): MemoryHost {
  return wholeMachine({
    files: {
      [SELINUX.config]: 'SELINUX=permissive\nSELINUXTYPE=targeted\n',
      [SELINUX.boolean]: '0 0',
      '/var/lib/selinux/targeted/active/x': '',
      [APPARMOR.enabled]: 'Y\n',
      [APPARMOR.loaded]: '',
      '/proc/net/route': ROUTES,
      '/etc/app/lines.conf': 'theirs\n',
      '/etc/app/block.conf': 'theirs\n',
      '/srv/app/in/file': 'x',
      ...more.files,
    },
    http: more.http ?? (() => ({ body: 'tool\n' })),
    kernelFiles: { [SELINUX.enforce]: '0', ...more.kernelFiles },
    services: { 'systemd-networkd': { active: true, enabled: true }, ...more.services },
    programs: {
      ...SELINUX_PROGRAMS,
      apparmor_parser: apparmorParser,
      networkctl: () => ({}),
      containerd: ({ input }) => ({ stdout: typeof input === 'string' ? stringify(parse(input)) : '' }),
      runc: () => ({}),
      'containerd-shim-runc-v2': () => ({}),
      ...more.programs,
    },
  });
}
