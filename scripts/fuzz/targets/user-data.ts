import { gzipSync } from 'node:zlib';
import { convert } from '@machineadm/convert/index.ts';
import { decodeSource } from '@machineadm/document/encodings/decode.ts';
import { json } from '../mutators/json.ts';
import { yaml } from '../mutators/yaml.ts';
import { CANARIES, type FuzzTarget } from '../target.ts';

const [SECRET, TOKEN, KEY] = CANARIES;

/** Converts like `machineadm convert`, with and without `structure`. Returns the text of its decisions. */
async function converted(text: string): Promise<string> {
  const { decisions, documents } = await convert([{ name: 'user-data', text }], {
    kubernetesVersion: 'v1.35.2',
    structure: text.length % 2 === 0,
  });
  return [...decisions.map(({ code, at, message }) => `${code} ${at} ${message}`), `${documents.length}`].join('\n');
}

const KUBEADM_JOIN = `apiVersion: kubeadm.k8s.io/v1beta3
kind: JoinConfiguration
discovery:
  bootstrapToken: {token: ${TOKEN}, apiServerEndpoint: "10.0.0.1:6443", caCertHashes: ["sha256:${'a'.repeat(64)}"]}
nodeRegistration:
  name: '{{ ds.meta_data.local_hostname }}'
  kubeletExtraArgs: {node-labels: "a=b", v: "2"}
  taints: []
`;
const indented = (text: string, by: number) =>
  text
    .split('\n')
    .map((line) => (line === '' ? '' : ' '.repeat(by) + line))
    .join('\n');

const CLOUD_CONFIG = `## template: jinja
#cloud-config
hostname: n
users:
  - name: u
    passwd: "${SECRET}"
    ssh_authorized_keys: [ssh-ed25519 AAAAC3Nza u]
    sudo: "ALL=(ALL) NOPASSWD:ALL"
write_files:
  - path: /etc/a
    owner: root:root
    permissions: "0640"
    encoding: base64
    content: ${Buffer.from(SECRET).toString('base64')}
  - path: /run/kubeadm/kubeadm-join-config.yaml
    content: |
${indented(KUBEADM_JOIN, 6)}
mounts: [[LABEL=a, /var/lib/a, ext4, "defaults,nofail", "0", "2"]]
disk_setup: {/dev/sdb: {table_type: gpt, layout: [[50, 82], 50], overwrite: false}}
fs_setup: [{label: a, filesystem: ext4, device: /dev/sdb, partition: auto}]
ntp: {enabled: true, servers: [ntp.example]}
bootcmd: [[true]]
runcmd:
  - echo {{ v1.local_hostname }}
  - kubeadm join --config /run/kubeadm/kubeadm-join-config.yaml && echo success > /run/cluster-api/bootstrap-success.complete
`;

const MULTIPART = `Content-Type: multipart/mixed; boundary="B"
MIME-Version: 1.0

--B
Content-Type: text/cloud-config; charset="us-ascii"
Content-Transfer-Encoding: base64

${Buffer.from(CLOUD_CONFIG).toString('base64').slice(0, 400)}
--B
Content-Type: text/x-shellscript

#!/bin/sh
kubeadm join --token ${TOKEN}
--B--
`;

const TEXT_TOKENS = [
  ...[
    '#cloud-config\n',
    '#!/bin/sh\n',
    '#cloud-boothook\n',
    '#include\n',
    '## template: jinja\n',
    'Content-Type: ',
    '--B\n',
  ],
  ...[
    'write_files:\n',
    'runcmd:\n',
    '- ',
    ': ',
    '  ',
    '\n',
    '"',
    "'",
    '[',
    ']',
    '{',
    '}',
    '{{ ',
    ' }}',
    '{% if a %}',
    '&a ',
    '*a',
  ],
  ...[
    '<<: *a\n',
    '!!binary ',
    'null',
    'encoding: gz+b64',
    'kubeadm init',
    'kubeadm join ',
    ' && ',
    ' || ',
    '; ',
    '|\n',
    '\t',
  ],
];

export const userData: FuzzTarget = {
  name: 'user-data',
  reads: 'cloud-config with jinja, MIME multi-part, boothooks, shell scripts',
  seeds: [
    CLOUD_CONFIG,
    CLOUD_CONFIG.slice(CLOUD_CONFIG.indexOf('#cloud')).replaceAll('{{', '').replaceAll('}}', ''),
    MULTIPART,
    `#cloud-boothook\n#!/bin/sh\nkubeadm join 10.0.0.1:6443 --token ${TOKEN}\n`,
  ],
  tokens: TEXT_TOKENS,
  grammar: [yaml],
  run: converted,
};

const SOURCE = (text: string) => `data:,${encodeURIComponent(text)}`;
const IGNITION = {
  ignition: { version: '3.1.0', config: { merge: [] } },
  passwd: { users: [{ name: 'core', passwordHash: SECRET, sshAuthorizedKeys: ['ssh-ed25519 AAAAC3Nza u'] }] },
  storage: {
    files: [
      { path: '/etc/kubeadm.yml', mode: 384, contents: { source: SOURCE(KUBEADM_JOIN) } },
      {
        path: '/etc/a',
        contents: {
          compression: 'gzip',
          source: `data:;base64,${gzipSync(Buffer.from(KEY), { level: 0 }).toString('base64')}`,
        },
      },
    ],
    directories: [{ path: '/srv/a', mode: 493 }],
    disks: [{ device: '/dev/sdb', wipeTable: true, partitions: [{ number: 1, sizeMiB: 0, label: 'a' }] }],
    filesystems: [{ device: '/dev/sdb1', format: 'xfs', path: '/var/lib/a', label: 'a', options: ['-f'] }],
  },
  systemd: {
    units: [
      { name: 'kubeadm.service', enabled: true, contents: '[Service]\nExecStart=/etc/kubeadm.sh\n' },
      { name: 'a.mount', contents: '[Mount]\nWhat=/dev/sdb1\nWhere=/var/lib/a\nType=xfs\n', dropins: [] },
    ],
  },
};
const IGNITION_2 = {
  ...IGNITION,
  ignition: { version: '2.3.0', config: {} },
  storage: {
    files: [
      {
        filesystem: 'root',
        path: '/etc/kubeadm.yml',
        mode: 384,
        contents: { source: SOURCE(KUBEADM_JOIN), verification: {} },
      },
      {
        filesystem: 'root',
        path: '/etc/kubeadm.sh',
        mode: 448,
        contents: { source: SOURCE('#!/bin/sh\nset -e\nkubeadm join --config /etc/kubeadm.yml\n') },
      },
    ],
    filesystems: [{ name: 'a', mount: { device: '/dev/sdb', format: 'ext4', wipeFilesystem: true, label: 'a' } }],
  },
};

export const ignition: FuzzTarget = {
  name: 'ignition',
  reads: 'Ignition 2.x and 3.x',
  seeds: [JSON.stringify(IGNITION), JSON.stringify(IGNITION_2)],
  tokens: [
    '{',
    '}',
    '[',
    ']',
    '"',
    ':',
    ',',
    'data:,',
    'data:;base64,',
    '%',
    '%00',
    '\\n',
    '3.0.0',
    '2.3.0',
    'null',
    '-1',
  ],
  grammar: [json],
  run: converted,
};

const OBJECTS = `apiVersion: bootstrap.cluster.x-k8s.io/v1beta1
kind: KubeadmConfig
metadata: {name: n, namespace: clusters, labels: {cluster.x-k8s.io/cluster-name: c}}
spec:
  files:
    - {path: /etc/a, content: "${SECRET}", permissions: "0600", owner: "root:root"}
    - {path: /etc/b, contentFrom: {secret: {name: s, key: k}}}
  users: [{name: u, passwd: "${SECRET}", sshAuthorizedKeys: [ssh-ed25519 AAAAC3Nza u]}]
  preKubeadmCommands: ["echo {{ v1.local_hostname }}"]
  diskSetup: {partitions: [{device: /dev/sdb, layout: true}], filesystems: [{device: /dev/sdb1, filesystem: ext4, label: a}]}
  mounts: [[LABEL=a, /var/lib/a]]
  joinConfiguration:
    discovery: {bootstrapToken: {token: ${TOKEN}, apiServerEndpoint: "10.0.0.1:6443", unsafeSkipCAVerification: true}}
    nodeRegistration: {kubeletExtraArgs: {cloud-provider: external}}
---
apiVersion: v1
kind: Secret
metadata: {name: s, namespace: clusters}
stringData: {k: "${KEY}"}
---
apiVersion: v1
kind: Secret
metadata: {name: n, namespace: clusters}
type: cluster.x-k8s.io/secret
data: {format: ${Buffer.from('cloud-config').toString('base64')}, value: ${Buffer.from('#cloud-config\nruncmd: [kubeadm join]\n').toString('base64')}}
---
{apiVersion: cluster.x-k8s.io/v1beta1, kind: Cluster, metadata: {name: c, namespace: clusters}, spec: {clusterNetwork: {pods: {cidrBlocks: [10.0.0.0/16]}}, controlPlaneEndpoint: {host: a, port: 6443}}}
`;

export const objects: FuzzTarget = {
  name: 'cluster-api',
  reads: 'Objects of Cluster API and their Secrets',
  seeds: [OBJECTS],
  tokens: TEXT_TOKENS,
  grammar: [yaml],
  run: converted,
};

const DOCUMENT = `apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\nmetadata: {name: größe}\nsecrets: {a: {value: ${SECRET}}}\n`;
const latin1 = (bytes: Uint8Array) => Buffer.from(bytes).toString('latin1');

export const encodings: FuzzTarget = {
  name: 'encodings',
  reads: 'gzip, base64 and UTF-8 of documents',
  seeds: [
    latin1(gzipSync(DOCUMENT)),
    latin1(Buffer.from(DOCUMENT)),
    Buffer.from(DOCUMENT).toString('base64'),
    gzipSync(DOCUMENT).toString('base64'),
  ],
  tokens: ['\x1f\x8b', '\xef\xbb\xbf', '\xff\xfe', '\xc3', '\xed\xa0\x80', '=', '\n', 'AAAA', '\x00'],
  isBinary: true,
  run: async (input) => `${(await decodeSource('document', Buffer.from(input, 'latin1'))).length > 0}`,
};
