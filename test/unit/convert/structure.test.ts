import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseVersion } from '@machineadm/document/text/program-version.ts';
import { renderKubeadm } from '@machineadm/kubeadm/index.ts';
import { parse } from 'yaml';
import { converting, goldenUserData, loaded } from '../../support/capi.ts';
import { revealInline } from '../../support/kubernetes-model.ts';

interface Given {
  readonly files?: readonly { readonly path: string; readonly content: string; readonly permissions?: string }[];
  readonly commands?: readonly string[];
  readonly spec?: object;
}

/** The structured document of a machine that starts a cluster, and what was told. */
async function structured({ files = [], commands = [], spec = {} }: Given) {
  const config = {
    apiVersion: 'bootstrap.cluster.x-k8s.io/v1beta2',
    kind: 'KubeadmConfig',
    metadata: { name: 'a' },
    spec: { initConfiguration: {}, files, preKubeadmCommands: commands, ...spec },
  };
  const { documents, decisions } = await converting([config], { kubernetesVersion: 'v1.35.2', structure: true });
  assert.deepEqual(
    decisions.filter(({ severity }) => severity === 'error'),
    [],
  );
  await loaded(documents[0]?.yaml ?? '');
  const document = parse(documents[0]?.yaml ?? '');
  const told = decisions.filter(({ code }) => code === 'Structured').map(({ message }) => message);
  return { document, host: document.host ?? {}, told };
}

const PEM = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
const PROXY =
  '[Service]\nEnvironment="HTTP_PROXY=http://p:3128"\nEnvironment="HTTPS_PROXY=http://p:3128" "NO_PROXY=.svc, 10.0.0.0/8"\n';
const SCRIPT =
  "#!/bin/bash\nsed -i 's#path: /etc/kubernetes/admin.conf#path: /etc/kubernetes/super-admin.conf#' \\\n  /etc/kubernetes/manifests/kube-vip.yaml\n";
const POD =
  'apiVersion: v1\nkind: Pod\nmetadata: {name: vip}\nspec: {volumes: [{name: k, hostPath: {path: /etc/kubernetes/admin.conf}}]}\n';

describe('--structure lifts', () => {
  const cases: readonly (readonly [string, Given, object])[] = [
    [
      'sysctl files and the command that applies them',
      {
        files: [
          { path: '/etc/sysctl.d/90-b.conf', content: '# later wins\nnet.ipv4.ip_forward = 1\n' },
          { path: '/etc/sysctl.d/10-a.conf', content: 'net.ipv4.ip_forward=0\nvm.max_map_count=262144\n' },
        ],
        commands: ['sysctl --system', 'sysctl -w kernel.panic=10'],
      },
      { sysctl: { 'net.ipv4.ip_forward': '1', 'vm.max_map_count': '262144', 'kernel.panic': '10' } },
    ],
    [
      'kernel modules',
      {
        files: [{ path: '/etc/modules-load.d/k8s.conf', content: 'overlay\nbr_netfilter\n' }],
        commands: ['modprobe overlay', 'modprobe -a ip_vs ip_vs_rr'],
      },
      { kernelModules: ['overlay', 'br_netfilter', 'ip_vs', 'ip_vs_rr'] },
    ],
    ['swap', { commands: ['swapoff -a', "sed -ri '/\\sswap\\s/s/^#?/#/' /etc/fstab"] }, { swap: 'Disabled' }],
    [
      'the host name, a variable too',
      { commands: ['hostnamectl set-hostname "{{ ds.meta_data.hostname }}"'] },
      { hostname: '${ds_meta_data_hostname}' },
    ],
    [
      'authorities and the command that trusts them',
      {
        files: [{ path: '/usr/local/share/ca-certificates/Corp Root.crt', content: PEM }],
        commands: ['update-ca-certificates'],
      },
      { certificateAuthorities: [{ name: 'corp-root', pem: PEM }] },
    ],
    [
      'the proxy of containerd and the kubelet',
      {
        files: ['containerd', 'kubelet'].map((name) => ({
          path: `/etc/systemd/system/${name}.service.d/proxy.conf`,
          content: PROXY,
        })),
        commands: ['systemctl daemon-reload', 'systemctl restart containerd'],
      },
      {
        proxy: {
          http: 'http://p:3128',
          https: 'http://p:3128',
          no: ['.svc', '10.0.0.0/8'],
          for: ['containerd', 'kubelet'],
        },
      },
    ],
    [
      'drop-ins, and services that are to run',
      {
        files: [
          { path: '/etc/systemd/system/kubelet.service.d/20-limits.conf', content: '[Service]\nLimitNOFILE=65536\n' },
        ],
        commands: [
          'systemctl daemon-reload',
          'systemctl enable --now auditd.service',
          'systemctl mask unattended-upgrades',
        ],
      },
      {
        services: [
          { name: 'auditd', enabled: true, state: 'Started' },
          { name: 'unattended-upgrades', masked: true },
          { name: 'kubelet', dropIns: [{ name: '20-limits.conf', content: '[Service]\nLimitNOFILE=65536\n' }] },
        ],
      },
    ],
  ];
  for (const [what, given, host] of cases) {
    test(what, async () => {
      const { host: found, told } = await structured(given);
      const sorted = (one: { services?: { name: string }[] }) =>
        one.services === undefined
          ? one
          : { ...one, services: one.services.toSorted((a, b) => (a.name < b.name ? -1 : 1)) };
      assert.deepEqual(sorted(found), sorted(host as object));
      assert.equal(told.length, (given.files ?? []).length + (given.commands ?? []).length);
    });
  }

  test('mirrors, and the drop-in that says where they are', async () => {
    const { document, host } = await structured({
      files: [
        {
          path: '/etc/containerd/certs.d/docker.io/hosts.toml',
          content:
            'server = "https://registry-1.docker.io"\n[host."https://m/v2/hub"]\n  capabilities = ["pull", "resolve"]\n  override_path = true\n  ca = "/etc/containerd/certs.d/ca.crt"\n',
        },
        {
          path: '/etc/containerd/conf.d/10.toml',
          content:
            "version = 3\n[plugins.'io.containerd.cri.v1.images'.registry]\n  config_path = '/etc/containerd/certs.d'\n",
        },
        { path: '/etc/containerd/certs.d/ca.crt', content: PEM },
      ],
      commands: ['systemctl restart containerd'],
    });
    const ca = { file: '/etc/containerd/certs.d/ca.crt' };
    const mirrors = [{ url: 'https://m/v2/hub', capabilities: ['pull', 'resolve'], overridePath: true, ca }];
    assert.deepEqual(document.containerRuntime, {
      containerd: {
        mode: 'Merge',
        registries: [{ host: 'docker.io', server: 'https://registry-1.docker.io', mirrors }],
      },
    });
    assert.deepEqual(
      host.files.map(({ path }: { path: string }) => path),
      ['/etc/containerd/certs.d/ca.crt'],
    );
    assert.equal(host.hooks, undefined);
  });

  test('kube-vip with the script that prepares it', async () => {
    const { document, host } = await structured({
      files: [
        { path: '/etc/kubernetes/manifests/kube-vip.yaml', content: POD },
        { path: '/etc/pre-kubeadm-commands/50-kube-vip-prepare.sh', content: SCRIPT, permissions: '0700' },
      ],
      commands: [
        'mkdir -p /etc/pre-kubeadm-commands',
        `for script in $(find /etc/pre-kubeadm-commands/ -name '*.sh' -type f | sort); do echo "Running script $script"; "$script"; done`,
      ],
    });
    assert.deepEqual(document.kubernetes.controlPlane.staticPods, [
      { name: 'kube-vip', manifest: POD, adminKubeconfig: 'Auto' },
    ]);
    assert.deepEqual(host, {});
  });

  test('patches of kubeadm', async () => {
    const { document, host } = await structured({
      files: [
        {
          path: '/etc/patches/kube-apiserver1+json.yaml',
          content: '- {op: add, path: /metadata/labels/a, value: b}\n',
        },
        { path: '/etc/patches/kubeletconfiguration0+strategic.yaml', content: 'maxPods: 250\n' },
        { path: '/etc/patches/corednsdeployment.yaml', content: 'metadata: {labels: {a: b}}\n' },
      ],
      spec: { initConfiguration: { patches: { directory: '/etc/patches/' } } },
    });
    assert.deepEqual(document.kubernetes.bootstrapper.kubeadm.patches, [
      { target: 'corednsdeployment', type: 'strategic', patch: { metadata: { labels: { a: 'b' } } } },
      { target: 'kube-apiserver', type: 'json', patch: [{ op: 'add', path: '/metadata/labels/a', value: 'b' }] },
      { target: 'kubeletconfiguration', type: 'strategic', patch: { maxPods: 250 } },
    ]);
    assert.deepEqual(host, {});
  });

  test('an audit policy with its arguments and volumes', async () => {
    const volume = (name: string, path: string) => ({ name, hostPath: path, mountPath: path });
    const { document } = await structured({
      files: [
        {
          path: '/etc/kubernetes/audit/policy.yaml',
          content: 'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n',
          permissions: '0600',
        },
      ],
      spec: {
        clusterConfiguration: {
          apiServer: {
            extraArgs: [
              { name: 'audit-policy-file', value: '/etc/kubernetes/audit/policy.yaml' },
              { name: 'audit-log-path', value: '/var/log/kubernetes/audit.log' },
              { name: 'profiling', value: 'false' },
            ],
            extraVolumes: [
              volume('policy', '/etc/kubernetes/audit'),
              volume('log', '/var/log/kubernetes'),
              volume('tls', '/etc/tls'),
            ],
          },
        },
      },
    });
    const { apiServer } = document.kubernetes.controlPlane;
    assert.deepEqual(apiServer.audit, {
      policy: { rules: [{ level: 'Metadata' }] },
      log: { path: '/var/log/kubernetes/audit.log', maxAge: '0d', maxBackups: 0 },
    });
    assert.deepEqual(apiServer.args, [{ name: 'profiling', value: 'false' }]);
    assert.deepEqual(
      apiServer.volumes.map(({ name }: { name: string }) => name),
      ['tls'],
    );
    assert.equal(document.secrets, undefined);
  });
});

describe('--structure leaves alone', () => {
  const commands: readonly string[] = [
    'sysctl -w net.ipv4.ip_forward=$VALUE',
    'modprobe br_netfilter && echo done',
    'swapoff /dev/sdb',
    'hostnamectl set-hostname $(curl -s http://169.254.169.254/hostname)',
    'update-ca-certificates',
    'systemctl restart containerd kubelet',
    'systemctl enable kubelet && systemctl start kubelet',
    "sed -i 's/a/b/' /etc/fstab",
    'echo 1 > /proc/sys/net/ipv4/ip_forward',
  ];
  for (const command of commands) {
    test(`the command ${command}`, async () => {
      const { host, told } = await structured({ commands: [command] });
      assert.deepEqual(host, { hooks: { beforeBootstrap: { commands: [command] }, singleScript: true } });
      assert.deepEqual(told, []);
    });
  }

  const files: readonly (readonly [string, string, string])[] = [
    ['a sysctl file with a line that may fail', '/etc/sysctl.d/a.conf', '-net.ipv4.ip_forward = 1\n'],
    ['a list of modules with options', '/etc/modules-load.d/a.conf', 'bonding mode=1\n'],
    ['a certificate that nobody makes trusted', '/usr/local/share/ca-certificates/a.crt', PEM],
    ['a proxy drop-in that says more', '/etc/systemd/system/containerd.service.d/a.conf.bak', PROXY],
    [
      'mirrors with headers',
      '/etc/containerd/certs.d/a/hosts.toml',
      '[host."https://m"]\n[host."https://m".header]\nx = "y"\n',
    ],
    ['containerd drop-ins that say more', '/etc/containerd/conf.d/a.toml', 'version = 3\noom_score = -999\n'],
    ['a manifest that is no Pod', '/etc/kubernetes/manifests/a.yaml', 'kind: List\n'],
  ];
  for (const [what, path, content] of files) {
    test(what, async () => {
      const { host, told } = await structured({
        files: [{ path, content }],
        commands: ['systemctl restart containerd'],
      });
      assert.deepEqual(
        host.files?.map((file: { path: string }) => file.path),
        [path],
      );
      assert.equal(
        told.some((message) => message.startsWith(path)),
        false,
      );
      // containerd has to be restarted for what is left of its configuration.
      assert.equal(host.hooks !== undefined, /containerd\/conf\.d|\/etc\/systemd/.test(path));
    });
  }

  test('the restart of containerd after a command that edits its configuration', async () => {
    const edits = ["sed -i 's/a/b/' /etc/containerd/config.toml", 'systemctl restart containerd'];
    const { host } = await structured({ commands: edits });
    assert.deepEqual(host.hooks.beforeBootstrap.commands, edits);
  });

  test('proxies of two services that differ', async () => {
    const of = (name: string, content: string) => ({ path: `/etc/systemd/system/${name}.service.d/p.conf`, content });
    const { host } = await structured({
      files: [of('containerd', PROXY), of('kubelet', PROXY.replaceAll('3128', '8080'))],
    });
    assert.equal(host.proxy, undefined);
    assert.deepEqual(
      host.services.map(({ name }: { name: string }) => name),
      ['containerd', 'kubelet'],
    );
  });
});

test('golden user data stays convertible and renderable with --structure', async () => {
  for (const [name, kind] of [
    ['01-controlplane-kube-vip', 'init'],
    ['01-controlplane-kube-vip', 'join-controlplane'],
    ['02-worker-registry-mirrors', 'join-worker'],
  ] as const) {
    const { documents } = await converting([goldenUserData(name, kind)], {
      kubernetesVersion: 'v1.35.2',
      structure: true,
    });
    const { model } = await loaded(documents[0]?.yaml ?? '');
    const kubeadm = parseVersion('v1.35.2');
    assert.ok(model.kubernetes && kubeadm);
    const { files } = renderKubeadm({ kubernetes: model.kubernetes, kubeadm, secrets: revealInline });
    const wanted = name.startsWith('01')
      ? '/run/kubeadm/patches/kubeletconfiguration001+strategic.yaml'
      : '/etc/kubernetes/discovery.conf';
    assert.ok(
      files.some(({ path }) => path === wanted),
      files.map(({ path }) => path).join(),
    );
  }
});
