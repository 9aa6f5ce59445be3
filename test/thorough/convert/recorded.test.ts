import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ConvertOptions } from '@machineadm/convert/index.ts';
import { converting, EXAMPLES, goldenUserData, withRelatedObjects } from '../../support/capi.ts';

const FIXTURE = join(import.meta.dirname, '../../fixtures/capi/conversions.txt');
const VERSION = { kubernetesVersion: 'v1.35.2' };

const bootstrap = (
  spec: object,
  version = 'v1beta2',
  metadata: object = { name: 'a', namespace: 'clusters' },
): object => ({
  apiVersion: `bootstrap.cluster.x-k8s.io/${version}`,
  kind: 'KubeadmConfig',
  metadata,
  spec,
});

/** Each field in an unusual way, so that each decision of the conversion is in the record. */
const ODD_SPEC = {
  format: 'cloud-config',
  verbosity: 7,
  useExperimentalRetryJoin: true,
  ntp: { enabled: true, servers: ['0.pool.example', '1.pool.example'] },
  users: [
    { name: 'default' },
    { name: 'ada', gecos: 'Ada L', groups: 'wheel, docker', homeDir: '/home/a', inactive: true, shell: '/bin/zsh' },
    { name: 'bob', lockPassword: false, primaryGroup: 'bobs', sudo: 'ALL=(ALL) NOPASSWD:ALL' },
    { name: 'eve', lockPassword: false, passwd: '$6$a$b', sshAuthorizedKeys: ['ssh-ed25519 AAAA eve'] },
    { name: 'ian', lockPassword: true, passwdFrom: { secret: { name: 'passwords', key: 'ian' } } },
    { name: 'root', sshAuthorizedKeys: [] },
  ],
  files: [
    { path: '/etc/a', content: 'a', owner: 'ada:wheel', permissions: '0640' },
    { path: '/etc/b', content: 'YQ==', encoding: 'base64', append: true },
    { path: '/etc/c', contentFrom: { secret: { name: 'contents', key: 'c' } }, permissions: '0400' },
    { path: '/etc/d', content: '{{ ds.meta_data.local_hostname }}\n', owner: 'root' },
    { path: '/etc/sysctl.d/90.conf', content: 'vm.max_map_count = 262144\n# c\nkernel.panic=10\n' },
    { path: '/etc/modules-load.d/k8s.conf', content: 'overlay\nbr_netfilter\n' },
    { path: '/etc/systemd/system/x.service', content: '[Service]\nExecStart=/bin/x\n' },
    { path: '/etc/systemd/system/kubelet.service.d/9.conf', content: '[Service]\nEnvironment=A=b\n' },
    { path: '/etc/containerd/config.toml', content: 'version = 2\n' },
    {
      path: '/etc/kubernetes/audit.yaml',
      content: 'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n',
    },
    { path: '/etc/kubernetes/manifests/vip.yaml', content: 'apiVersion: v1\nkind: Pod\nmetadata: {name: vip}\n' },
  ],
  diskSetup: {
    partitions: [
      { device: '/dev/sdb', layout: true, overwrite: true, tableType: 'gpt' },
      { device: '/dev/sdc', layout: false },
    ],
    filesystems: [
      { device: '/dev/sdb', filesystem: 'ext4', label: 'data', partition: 'auto', overwrite: false, extraOpts: ['-F'] },
      { device: '/dev/sdc1', filesystem: 'xfs', label: 'logs', replaceFS: 'ext4' },
    ],
  },
  mounts: [
    ['LABEL=data', '/var/lib/data'],
    ['/dev/sdc1', '/var/log', 'xfs', 'noatime,nodev', '0', '2'],
  ],
  bootCommands: ['echo boot'],
  preKubeadmCommands: [
    'swapoff -a',
    "sed -i '/swap/d' /etc/fstab",
    'modprobe br_netfilter',
    'sysctl -w net.ipv4.ip_forward=1',
    'sysctl --system',
    'hostnamectl set-hostname {{ ds.meta_data.hostname }}',
    'systemctl daemon-reload',
    'systemctl enable --now x.service',
    'systemctl restart containerd',
    'mkdir -p /srv/data',
    'timedatectl set-timezone Europe/Berlin',
    'update-ca-certificates',
    'export HTTP_PROXY=http://proxy.example:3128',
    'if true; then echo a; fi',
  ],
  postKubeadmCommands: ['kubectl --kubeconfig /etc/kubernetes/admin.conf get nodes', 'systemctl stop y'],
};

/** What is refused, or has no place. */
const WRONG_SPEC = {
  ...ODD_SPEC,
  files: [
    { path: 'relative', content: 'x' },
    { path: '/etc/t', content: 'v{{ .KubernetesVersion }}', contentFormat: 'go-template' },
    { path: '/etc/u', content: 'x', encoding: 'rot13', permissions: '9' },
  ],
  mounts: [['swap', 'none', 'swap', 'sw'], ['ephemeral0', '/mnt'], ['x']],
  users: [{ name: 'ada', passwd: 'plain' }, { name: 'ada' }],
  postKubeadmCommands: [['echo', 'list'], ''],
  diskSetup: { partitions: [{ device: 'sdb', layout: true, tableType: 'bsd' }], filesystems: [{ filesystem: 'zfs' }] },
};

const KUBEADM = {
  clusterConfiguration: {
    apiServer: {
      certSANs: ['api.example'],
      extraArgs: [
        { name: 'audit-policy-file', value: '/etc/kubernetes/audit.yaml' },
        { name: 'audit-log-path', value: '/var/log/audit.log' },
        { name: 'profiling', value: 'false' },
      ],
      extraVolumes: [{ name: 'audit', hostPath: '/etc/kubernetes', mountPath: '/etc/kubernetes', readOnly: true }],
    },
    controllerManager: { extraArgs: [{ name: 'bind-address', value: '0.0.0.0' }] },
    scheduler: {},
    dns: { imageRepository: 'r.example/dns', imageTag: 'v1' },
    etcd: { local: { dataDir: '/srv/etcd', extraArgs: [{ name: 'quota-backend-bytes', value: '8589934592' }] } },
    featureGates: { NodeLocalCRISocket: true },
    imageRepository: 'r.example',
    certificatesDir: '/srv/pki',
  },
  initConfiguration: {
    skipPhases: ['addon/kube-proxy'],
    patches: { directory: '/etc/patches' },
    localAPIEndpoint: { advertiseAddress: '10.0.0.5', bindPort: 6444 },
    nodeRegistration: {
      name: '{{ ds.meta_data.local_hostname }}',
      criSocket: '/run/containerd/containerd.sock',
      imagePullPolicy: 'Never',
      ignorePreflightErrors: ['Swap'],
      taints: [],
      kubeletExtraArgs: [
        { name: 'cloud-provider', value: 'external' },
        { name: 'node-labels', value: 'a=b,c=d' },
        { name: 'provider-id', value: 'x://{{ instance_id }}' },
      ],
    },
  },
};

const USER_DATA = `#cloud-config
hostname: node-1
timezone: Europe/Berlin
package_update: true
packages: [jq]
ntp: {enabled: false}
users: [ada, {name: bob, inactive: "7", groups: [a, b], sudo: ["ALL=(ALL) ALL", "x"], ssh_authorized_keys: [ssh-ed25519 AAAA k]}]
groups: [a, {b: [bob]}]
bootcmd: [[echo, boot]]
mounts: [[/dev/sdb, /srv, auto, "defaults,nofail", "0", "2"]]
disk_setup: {/dev/sdb: {table_type: mbr, layout: [50, [50, 82]], overwrite: true}}
fs_setup: [{device: /dev/sdb, partition: 1, filesystem: ext4, label: l}]
write_files:
  - {path: /run/kubeadm/kubeadm-join-config.yaml, content: "apiVersion: kubeadm.k8s.io/v1beta4\\nkind: JoinConfiguration\\ndiscovery: {file: {kubeConfigPath: /etc/d.conf}}\\nnodeRegistration: {}\\n"}
  - {path: /etc/z, content: aGVsbG8=, encoding: b64, permissions: "0600", defer: true}
runcmd:
  - [systemctl, enable, "a b"]
  - 'echo "before"'
  - kubeadm join --config /run/kubeadm/kubeadm-join-config.yaml && echo success > /run/other/done
  - echo after
power_state: {mode: reboot}
`;

const IGNITION = JSON.stringify({
  ignition: { version: '2.3.0', config: { append: [{ source: 'https://x.example' }] } },
  passwd: { users: [{ name: 'core', passwordHash: '$6$a$b', noCreateHome: true }], groups: [{ name: 'g' }] },
  networkd: { units: [{ name: 'a.network', contents: '[Match]' }] },
  storage: {
    disks: [{ device: '/dev/sdb', wipeTable: false, partitions: [{ label: 'a', number: 1, size: 4096 }] }],
    raid: [{ name: 'md', level: 'raid1', devices: ['/dev/a', '/dev/b'] }],
    filesystems: [
      { name: 'd', mount: { device: '/dev/sdb1', format: 'xfs', options: ['-f'] } },
      { name: 'p', path: '/x' },
    ],
    directories: [{ filesystem: 'root', path: '/srv/d', mode: 448 }],
    links: [{ filesystem: 'root', path: '/srv/l', target: '/srv/d' }],
    files: [
      { filesystem: 'root', path: '/etc/app', mode: 420, append: true, contents: { source: 'data:,a%20b' } },
      { filesystem: 'd', path: '/x/y', contents: { source: 'https://x.example/y' } },
      {
        filesystem: 'root',
        path: '/etc/sshd',
        mode: 384,
        contents: { source: 'data:;base64,eA==' },
      },
    ],
  },
  systemd: {
    units: [
      { name: 'a.service', enabled: false },
      { name: 'b.mount', contents: '[Mount]\nWhat=x\nWhere=/b\n' },
    ],
  },
});

const CASES: readonly (readonly [what: string, inputs: readonly (string | object)[], options: ConvertOptions])[] = [
  ...EXAMPLES.map((one) => [one.name, withRelatedObjects(one).map(({ text }) => text), {}] as const),
  ['golden user data of Windows', [goldenUserData('05-worker-windows', 'join-worker')], VERSION],
  ['golden user data', [goldenUserData('03-controlplane-etcd-disk', 'join-controlplane')], VERSION],
  ['an odd control plane', [bootstrap({ ...ODD_SPEC, ...KUBEADM })], VERSION],
  ['an odd control plane, in fields', [bootstrap({ ...ODD_SPEC, ...KUBEADM })], { ...VERSION, structure: true }],
  [
    'an odd worker',
    [
      bootstrap(
        { ...ODD_SPEC, joinConfiguration: { discovery: { bootstrapToken: { token: 'abcdef.0123456789abcdef' } } } },
        'v1beta1',
      ),
    ],
    VERSION,
  ],
  [
    'Ignition of a KubeadmConfig',
    [bootstrap({ ...ODD_SPEC, initConfiguration: { nodeRegistration: {} }, format: 'ignition' })],
    VERSION,
  ],
  ['a wrong control plane', [bootstrap({ ...WRONG_SPEC, ...KUBEADM })], VERSION],
  ['user data', [USER_DATA], VERSION],
  ['user data, in fields', [USER_DATA], { ...VERSION, structure: true }],
  ['Ignition', [IGNITION], VERSION],
  ['nothing', [], {}],
  [
    'other objects',
    [{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' } }, 'no: [', '#!/bin/sh\nkubeadm init\n'],
    VERSION,
  ],
];

function withoutKeys(text: string): string {
  return text
    .replace(/-----BEGIN[^-]*-----[\s\S]*?-----END[^-]*-----/g, 'PEM')
    .replace(/[A-Za-z0-9+/=]{100,}/g, 'BASE64');
}

/** All that a conversion gives: a change of any decision or field is a change of this record, for a person to read. */
test('documents and decisions are those of the record (MACHINEADM_WRITE_CONVERSIONS=1 writes it)', async () => {
  const lines: string[] = [];
  for (const [what, inputs, options] of CASES) {
    const { documents, decisions } = await converting(inputs, options);
    lines.push(
      `### ${what}`,
      ...decisions.map(({ severity, code, at, message }) => `${severity} ${code} ${at}: ${message}`),
    );
    for (const { name, role, yaml } of documents)
      lines.push(`# ${name} ${role}`, ...withoutKeys(yaml).trimEnd().split('\n'));
  }
  const text = `${lines.join('\n')}\n`;
  if (process.env.MACHINEADM_WRITE_CONVERSIONS === '1') writeFileSync(FIXTURE, text);
  assert.deepEqual(text.split('\n'), readFileSync(FIXTURE, 'utf8').split('\n'));
});
