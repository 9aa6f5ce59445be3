import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { packBundle } from '../../../src/diagnosis/bundle/archive.ts';
import { cleanse } from '../../../src/diagnosis/bundle/cleanse.ts';
import { gatherFiles } from '../../../src/diagnosis/bundle/gather.ts';
import { newAuthority } from '../../support/api-server.ts';
import { memoryHost } from '../../support/memory-host.ts';
import { SECRET_LINES, withSecret } from '../../support/secret-lines.ts';

const FILES = [
  { path: 'b.txt', content: 'zwei\n' },
  { path: 'a/long.txt', content: 'ä'.repeat(700) },
  { path: 'empty', content: '' },
];

describe('the archive of a bundle', () => {
  test('is read by tar, and holds what was put in', () => {
    const bytes = packBundle(FILES, { agent: '0.1.0' });
    const listed = spawnSync('tar', ['-tzf', '-'], { input: bytes, encoding: 'utf8' });
    assert.equal(listed.status, 0, listed.stderr);
    assert.deepEqual(listed.stdout.trim().split('\n'), [
      'machineadm-bundle/manifest.json',
      'machineadm-bundle/a/long.txt',
      'machineadm-bundle/b.txt',
      'machineadm-bundle/empty',
    ]);
    const read = spawnSync('tar', ['-xzOf', '-', 'machineadm-bundle/a/long.txt'], { input: bytes, encoding: 'utf8' });
    assert.equal(read.stdout, 'ä'.repeat(700));
  });

  for (const length of [60, 75, 76, 120, 255, 1500]) {
    test(`has a file whose name has ${length} characters, at home and abroad`, () => {
      for (const letter of ['n', 'ä']) {
        const path = `files/${letter.repeat(length)}`;
        const input = packBundle([{ path, content: 'whole' }], {});
        const read = spawnSync('tar', ['-xzOf', '-', `machineadm-bundle/${path}`], { input, encoding: 'utf8' });
        assert.deepEqual([read.stdout, read.stderr], ['whole', '']);
      }
    });
  }

  test('has the same bytes for the same files, in whatever order they come', () => {
    assert.deepEqual(packBundle(FILES, { x: 1 }), packBundle([...FILES].reverse(), { x: 1 }));
  });

  test('lists size and digest of each file in its manifest', () => {
    const tar = spawnSync('tar', ['-xzOf', '-', 'machineadm-bundle/manifest.json'], {
      input: packBundle(FILES, { agent: '0.1.0' }),
      encoding: 'utf8',
    });
    const manifest: { agent: string; files: { path: string; size: number; sha256: string }[] } = JSON.parse(tar.stdout);
    assert.equal(manifest.agent, '0.1.0');
    const sha256 = createHash('sha256').update('zwei\n').digest('hex');
    assert.deepEqual(manifest.files[1], { path: 'b.txt', size: 5, sha256 });
  });
});

describe('a text in a bundle loses', () => {
  const KEY = '0123456789abcdef'.repeat(4);
  const secrets: readonly (readonly [string, string, string])[] = [
    ['a bootstrap token', '--token abcdef.0123456789abcdef', '0123456789abcdef'],
    ["a kubeconfig's key", '    client-key-data: LS0tLS1CRUdJTiBSU0E', 'LS0tLS1'],
    ["a kubeconfig's token", '    token: eyJhbGciOiJSUzI1NiJ9.e30.sig', 'eyJh'],
    ['a password of containerd', '  password = "hunter2secret"', 'hunter2'],
    ['a registry login', '  auth = "dXNlcjpwYXNz"', 'dXNlcjpwYXNz'],
    ['credentials in a URL', 'HTTP_PROXY=http://bob:s3cr3t@proxy:3128', 's3cr3t'],
    ['a certificate key in a line of its own', `Nov 20 17:40:11 n1 machineadm[1]: ${KEY}`, KEY],
    ['a certificate key in a configuration', `certificateKey: ${KEY}`, KEY],
    ['a private key', '-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\n-----END RSA PRIVATE KEY-----', 'MIIE'],
  ];
  for (const [what, text, secret] of secrets) {
    test(what, () => {
      const clean = cleanse(text);
      assert.ok(!clean.includes(secret), clean);
    });
  }

  test('nothing that a diagnosis needs', () => {
    for (const text of [
      '    - --service-account-key-file=/etc/kubernetes/pki/sa.pub',
      '    - --enable-bootstrap-token-auth=true',
      'tokenTTL: 24h0m0s',
      'imageID: sha256:3ba1c6b2ff51dfc1',
      'authentication:',
      'server: https://10.0.0.10:6443',
    ]) {
      assert.equal(cleanse(text), text);
    }
  });
});

test('no line with a secret remains in a bundle', () => {
  for (const line of SECRET_LINES) {
    const { text, value } = withSecret(line);
    assert.ok(!cleanse(text).includes(value), text);
  }
});

describe('a file whose structure is known', () => {
  test('a manifest loses the values of its environment and headers, annotations and comments', () => {
    const clean = cleanse(
      `# canary-comment
metadata: {name: etcd, annotations: {a: canary-annotation, file: /etc/x}}
spec:
  containers:
    - command: [etcd, --data-dir=/var/lib/etcd]
      env:
        - name: PLAIN
          value: canary
        - {name: BLOCK, value: "canary two\\nlines"}
        - {name: FROM, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
      livenessProbe: {httpGet: {httpHeaders: [{name: X, value: canary}]}}
`,
      'manifest',
    );
    assert.ok(!clean.includes('canary'), clean);
    for (const kept of ['--data-dir=/var/lib/etcd', 'PLAIN', 'status.podIP', '/etc/x']) assert.ok(clean.includes(kept));
  });

  test('a manifest that is not YAML is left out', () => {
    assert.match(cleanse('a: [canary\n b: canary', 'manifest'), /^# left out: not valid YAML \(line \d+\)/);
  });

  test('a kubeconfig keeps of its users which files they name', () => {
    const clean = cleanse(
      'users:\n- name: u\n  user: {token: canary, client-key: /var/lib/k.pem, exec: {env: [{name: A, value: canary}]}}\n',
      'kubeconfig',
    );
    assert.ok(!clean.includes('canary'), clean);
    assert.ok(clean.includes('/var/lib/k.pem'));
  });

  test('the configuration of containerd loses headers and logins, though it is broken', () => {
    const clean = cleanse(
      `version = 2
[plugins."io.containerd.grpc.v1.cri".registry.configs."r.example".auth]
  username = "canary"
[plugins."io.containerd.grpc.v1.cri".registry.headers]
  X-Meta = ["canary",
    "canary"]
[host."https://r.example".header]
  x-any = "canary"
[host."https://other.example"]
  capabilities = ["pull"]
  header = {x = "canary"}
[broken
`,
      'containerd',
    );
    assert.ok(!clean.includes('canary'), clean);
    for (const kept of ['version = 2', 'X-Meta', 'capabilities = ["pull"]', '[broken']) assert.ok(clean.includes(kept));
  });
});

describe('the content of a bundle', () => {
  test('has no key, and only the public part of a kubeconfig', async () => {
    const host = memoryHost({
      files: {
        '/etc/kubernetes/admin.conf':
          'clusters: [{cluster: {server: https://10.0.0.10:6443}}]\nusers: [{name: a, user: {client-certificate-data: QUJD, client-key-data: U0VDUkVU}}]\n',
        '/etc/kubernetes/pki/ca.crt': 'broken',
        '/etc/kubernetes/pki/ca.key': 'TOPSECRET',
        '/etc/kubernetes/pki/sa.key': 'TOPSECRET',
        '/etc/kubernetes/manifests/etcd.yaml': 'kind: Pod\n',
        '/etc/shadow': 'root:TOPSECRET',
        '/var/log/pods/kube-system_etcd-n1_x/etcd/0.log': 'etcd says\n',
        '/var/log/pods/default_app_x/app/0.log': 'password is TOPSECRET\n',
      },
    });
    const files = await gatherFiles(host);
    const all = JSON.stringify(files);
    assert.ok(all.includes('https://10.0.0.10:6443'));
    assert.ok(!all.includes('U0VDUkVU'));
    assert.ok(!all.includes('TOPSECRET'));
    assert.deepEqual(files.map(({ path }) => path).sort(), [
      'certificates.txt',
      'files/etc/kubernetes/admin.conf',
      'files/etc/kubernetes/manifests/etcd.yaml',
      'logs/pods/etcd-0.log',
    ]);
  });

  test('is every configuration, the public part of both directories of certificates, and every journal', async () => {
    const texts = [
      '/etc/containerd/config.toml',
      '/etc/default/kubelet',
      '/etc/sysconfig/kubelet',
      '/etc/hosts',
      '/etc/resolv.conf',
      '/etc/os-release',
      '/var/lib/kubelet/config.yaml',
      '/var/lib/kubelet/kubeadm-flags.env',
      '/etc/kubernetes/admin.conf',
      '/etc/kubernetes/kubelet.conf',
      '/etc/kubernetes/bootstrap-kubelet.conf',
      '/etc/kubernetes/controller-manager.conf',
      '/etc/kubernetes/scheduler.conf',
      '/proc/meminfo',
      '/proc/swaps',
      '/proc/loadavg',
      '/proc/cmdline',
      '/proc/net/route',
    ];
    const { certificate } = newAuthority('etcd-ca');
    const host = memoryHost({
      files: {
        ...Object.fromEntries(texts.map((path) => [path, 'a: b\n'])),
        '/etc/kubernetes/pki/ca.crt': 'broken',
        '/etc/kubernetes/pki/etcd/ca.crt': certificate,
        '/var/log/cloud-init-output.log': 'done\n',
      },
      programs: { journalctl: ({ args = [] }) => ({ stdout: `${args.join(' ')}\n` }) },
    });
    const found = new Map((await gatherFiles(host)).map(({ path, content }) => [path, content]));
    const journals = [
      'kubelet.service',
      'containerd.service',
      'crio.service',
      'machineadm.service',
      'machineadm',
      'kernel',
    ];
    assert.deepEqual(
      [...found.keys()].sort(),
      [
        ...texts.map((path) => `files${path}`),
        ...journals.map((name) => `logs/${name}.log`),
        'certificates.txt',
        'logs/cloud-init-output.log',
      ].sort(),
    );
    const [own = '', etcd = ''] = found.get('certificates.txt')?.split('\n') ?? [];
    assert.equal(own, '/etc/kubernetes/pki/ca.crt: not a certificate');
    assert.match(etcd, /^\/etc\/kubernetes\/pki\/etcd\/ca\.crt: \{"subject":.*"validTo":.*"fingerprint256":/);
    const asked = '-o short-iso -a -q --no-pager -n 4000';
    assert.deepEqual(
      journals.map((name) => found.get(`logs/${name}.log`)),
      [
        '-u kubelet.service',
        '-u containerd.service',
        '-u crio.service',
        '-u machineadm.service',
        '-t machineadm _UID=0',
        '-k',
      ].map((selection) => `${asked} ${selection}\n`),
    );
    assert.equal(found.get('files/etc/hosts'), 'a: b\n');
  });

  test('has the last two logs of each container of the control plane, and only their ends', async () => {
    const pod = '/var/log/pods/kube-system_kube-apiserver-n1_x/kube-apiserver';
    const host = memoryHost({
      files: {
        [`${pod}/0.log`]: 'zero\n',
        [`${pod}/1.log`]: 'one\n',
        [`${pod}/2.log`]: `first\n${'x'.repeat(65_536)}\nlast\n`,
        '/var/log/pods/kube-system_kube-proxy-n1_x/kube-proxy/0.log': 'proxy\n',
      },
    });
    const [one, two, ...more] = await gatherFiles(host);
    assert.deepEqual([one?.path, one?.content, more], ['logs/pods/kube-apiserver-0.log', 'one\n', []]);
    assert.equal(two?.path, 'logs/pods/kube-apiserver-1.log');
    assert.match(two?.content ?? '', /x\nlast\n$/);
    assert.doesNotMatch(two?.content ?? '', /first/);
  });

  test('has every manifest that the kubelet reads, whatever its name', async () => {
    const names = [`${'kube-scheduler-of-the-second-control-plane'.repeat(3)}.yaml`, 'etcd.json', 'proxy'];
    const host = memoryHost({
      files: Object.fromEntries(
        [...names, '.hidden.yaml'].map((name) => [`/etc/kubernetes/manifests/${name}`, 'kind: Pod\n']),
      ),
    });
    const files = await gatherFiles(host);
    assert.deepEqual(
      files.map(({ path }) => path).sort(),
      names.map((name) => `files/etc/kubernetes/manifests/${name}`).sort(),
    );
  });

  test('is bounded: of a long log the end', async () => {
    const log = `first\n${'x'.repeat(3_000_000)}\nlast\n`;
    const files = await gatherFiles(memoryHost({ files: { '/var/log/cloud-init-output.log': log } }));
    assert.ok((files[0]?.content.length ?? 0) <= 1024 * 1024);
    assert.match(files[0]?.content ?? '', /last\n$/);
    assert.ok(gunzipSync(packBundle(files, {})).length < 1.1 * 1024 * 1024);
  });
});
