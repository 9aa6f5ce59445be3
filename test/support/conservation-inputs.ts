import { gzipSync } from 'node:zlib';
import type { PathSegment } from '@machineadm/document/diagnostics/index.ts';
import { parse, stringify } from 'yaml';
import { goldenUserData } from './capi.ts';
import { type Followed, isMap, placeBelow } from './conservation.ts';

/**
 * Inputs that say all that their kind can say at once: what the tests of conservation change and add to. Names, keys and
 * tokens are invented.
 */
const HASH = `sha256:${'0'.repeat(64)}`;
const TOKEN = 'abcdef.0123456789abcdef';
const PASSWORD = '$6$salt$0123456789abcdefghijkl';
const GOLDEN: readonly { readonly path: string; readonly content: string }[] = parse(
  goldenUserData('01-controlplane-kube-vip', 'init'),
).write_files;
const golden = (path: string): string => GOLDEN.find((one) => one.path === path)?.content ?? '';
const PEM = golden('/etc/kubernetes/pki/ca.crt');

const component = (name: string, args: unknown) => ({
  extraArgs: args,
  extraEnvs: [
    { name: `${name}_A`, value: `${name}-env` },
    { name: `${name}_B`, valueFrom: { fieldRef: { fieldPath: 'status.podIP', apiVersion: 'v1' } } },
    {
      name: `${name}_C`,
      valueFrom: { resourceFieldRef: { resource: 'limits.cpu', containerName: `${name}-c`, divisor: '1m' } },
    },
  ],
  extraVolumes: [
    { name: `${name}-v`, hostPath: `/h/${name}`, mountPath: `/m/${name}`, readOnly: true, pathType: 'File' },
  ],
});
const args = (...names: string[]) =>
  names.map((name) => ({ name, value: name === 'node-ip' ? '10.0.0.7' : `${name}-value` }));

const NODE = {
  name: 'node-0',
  criSocket: 'unix:///run/other.sock',
  taints: [{ key: 'own/taint', value: 'tv', effect: 'NoSchedule' }],
  kubeletExtraArgs: args('node-ip'),
  ignorePreflightErrors: ['NumCPU'],
  imagePullPolicy: 'IfNotPresent',
  imagePullSerial: false,
};

const CLUSTER = {
  controlPlaneEndpoint: 'api.example:6443',
  certificatesDir: '/etc/kubernetes/pki2',
  imageRepository: 'registry.example/k8s',
  featureGates: { PublicKeysECDSA: true },
  encryptionAlgorithm: 'ECDSA-P256',
  apiServer: { ...component('api', args('etcd-prefix')), certSANs: ['san.example'] },
  controllerManager: component('cm', args('bind')),
  scheduler: component('sched', args('prof')),
  dns: { imageRepository: 'registry.example/dns', imageTag: 'v1.11.1', disabled: true },
  proxy: { disabled: true },
  etcd: {
    local: {
      imageRepository: 'registry.example/etcd',
      imageTag: '3.5.1-0',
      dataDir: '/var/lib/etcd2',
      extraArgs: args('quota'),
      extraEnvs: [{ name: 'ETCD_A', value: 'etcd-env' }],
      serverCertSANs: ['s.example'],
      peerCertSANs: ['p.example'],
    },
  },
};

const HOST = {
  files: [
    { path: '/etc/plain', owner: 'ada:users', permissions: '0640', content: 'plain-content\n', append: true },
    { path: '/etc/coded', encoding: 'base64', content: 'Y29kZWQK' },
    { path: '/etc/private', permissions: '0600', content: 'private-content\n' },
  ],
  users: [
    {
      name: 'ada',
      gecos: 'Ada L',
      groups: 'wheel, docker',
      homeDir: '/home/ada2',
      shell: '/bin/zsh',
      primaryGroup: 'users',
      passwd: PASSWORD,
      lockPassword: false,
      sudo: 'ALL=(ALL) NOPASSWD:ALL',
      sshAuthorizedKeys: ['ssh-ed25519 AAAA ada'],
      inactive: true,
    },
  ],
  ntp: { enabled: true, servers: ['ntp.example'] },
  diskSetup: {
    partitions: [
      {
        device: '/dev/sdb',
        tableType: 'gpt',
        overwrite: true,
        layout: true,
        diskLayout: [{ percentage: 40, partitionType: 'Linux' }, { percentage: 60 }],
      },
    ],
    filesystems: [
      {
        device: '/dev/sdb',
        filesystem: 'ext4',
        label: 'data',
        partition: '1',
        overwrite: true,
        replaceFS: 'ntfs',
        extraOpts: ['-m', '1'],
      },
    ],
  },
  mounts: [['LABEL=data', '/data', 'ext4', 'noatime', '0', '2']],
  bootCommands: ['echo boot-command'],
  preKubeadmCommands: ['echo pre-command'],
  postKubeadmCommands: ['echo post-command'],
  verbosity: 4,
};

const TIMEOUTS = {
  controlPlaneComponentHealthCheckSeconds: 101,
  kubeletHealthCheckSeconds: 102,
  kubernetesAPICallSeconds: 103,
  etcdAPICallSeconds: 104,
  tlsBootstrapSeconds: 105,
  discoverySeconds: 106,
};

const BOOTSTRAP_TOKEN = {
  token: TOKEN,
  description: 'a token',
  usages: ['signing', 'authentication'],
  groups: ['system:bootstrappers:own'],
};

const DISCOVERY = { token: TOKEN, apiServerEndpoint: 'api2.example:6443', caCertHashes: [HASH] };

/** `KubeadmControlPlane` of a version, whose specification is followed. */
function controlPlane(version: string, name: string, spec: object, more: object = {}): Followed {
  return {
    name: `KubeadmControlPlane ${version}`,
    tree: {
      apiVersion: `controlplane.cluster.x-k8s.io/${version}`,
      kind: 'KubeadmControlPlane',
      metadata: { name, namespace: 'clusters', labels: { tier: 'one' } },
      spec: { version: 'v1.35.2', replicas: 3, ...more, kubeadmConfigSpec: spec },
      status: { ready: true },
    },
    text: (tree) => stringify(tree),
    place: placeBelow(`KubeadmControlPlane clusters/${name}`),
    options: {},
  };
}

const V1BETA2 = controlPlane('v1beta2', 'a', {
  ...HOST,
  clusterConfiguration: {
    ...CLUSTER,
    certificateValidityPeriodDays: 181,
    caCertificateValidityPeriodDays: 3651,
  },
  initConfiguration: {
    bootstrapTokens: [{ ...BOOTSTRAP_TOKEN, ttlSeconds: 7201 }],
    nodeRegistration: NODE,
    localAPIEndpoint: { advertiseAddress: '10.0.0.1', bindPort: 6444 },
    skipPhases: ['addon/kube-proxy'],
    patches: { directory: '/etc/patches-init' },
    timeouts: TIMEOUTS,
  },
  joinConfiguration: {
    nodeRegistration: { ...NODE, name: 'node-1' },
    caCertPath: '/etc/kubernetes/ca2.crt',
    discovery: { bootstrapToken: DISCOVERY, tlsBootstrapToken: 'fedcba.0123456789abcdef' },
    controlPlane: { localAPIEndpoint: { advertiseAddress: '10.0.0.2', bindPort: 6445 } },
    skipPhases: ['preflight'],
    patches: { directory: '/etc/patches-join' },
    timeouts: { ...TIMEOUTS, discoverySeconds: 107 },
  },
});

const asMap = (list: readonly { name: string; value: string }[]) =>
  Object.fromEntries(list.map(({ name, value }) => [name, value]));
const mapComponent = (name: string, argument: string) => {
  const { extraVolumes } = component(name, []);
  return { extraArgs: asMap(args(argument)), extraVolumes };
};

const V1BETA1 = controlPlane(
  'v1beta1',
  'b',
  {
    useExperimentalRetryJoin: true,
    clusterConfiguration: {
      apiVersion: 'kubeadm.k8s.io/v1beta3',
      kind: 'ClusterConfiguration',
      clusterName: 'prod',
      kubernetesVersion: 'v1.34.0',
      networking: { serviceSubnet: '10.96.0.0/12', podSubnet: '10.244.0.0/16', dnsDomain: 'cluster.local' },
      controlPlaneEndpoint: 'api.example:6443',
      apiServer: { ...mapComponent('api', 'etcd-prefix'), certSANs: ['san.example'], timeoutForControlPlane: '11m0s' },
      controllerManager: mapComponent('cm', 'bind'),
      scheduler: mapComponent('sched', 'prof'),
      etcd: {
        external: {
          endpoints: ['https://10.0.0.20:2379'],
          caFile: '/etc/etcd/ca.crt',
          certFile: '/etc/etcd/client.crt',
          keyFile: '/etc/etcd/client.key',
        },
      },
    },
    initConfiguration: {
      bootstrapTokens: [{ ...BOOTSTRAP_TOKEN, ttl: '2h0m1s' }],
      nodeRegistration: { ...NODE, kubeletExtraArgs: asMap(args('node-ip')) },
    },
    joinConfiguration: {
      nodeRegistration: { ...NODE, kubeletExtraArgs: asMap(args('node-ip')) },
      discovery: {
        timeout: '12m0s',
        file: {
          kubeConfigPath: '/etc/kubernetes/discovery.conf',
          kubeConfig: {
            cluster: {
              server: 'https://api3.example:6443',
              tlsServerName: 'tls.example',
              certificateAuthorityData: btoa(PEM),
              proxyURL: 'http://proxy.example:3128',
            },
            user: {
              exec: {
                apiVersion: 'client.authentication.k8s.io/v1',
                command: '/usr/bin/credential',
                args: ['get'],
                env: [{ name: 'MODE', value: 'boot' }],
                provideClusterInfo: true,
                interactiveMode: 'Never',
              },
            },
          },
        },
      },
      controlPlane: {},
    },
  },
  { rolloutStrategy: { type: 'RollingUpdate' } },
);

/** User data: a tree of its own keys, and of what stands in its files as text. */
interface UserData {
  readonly config: Readonly<Record<string, unknown>>;
  readonly embedded: Readonly<Record<string, unknown>>;
}

const isUserData = (tree: unknown): tree is UserData => isMap(tree) && isMap(tree.config) && isMap(tree.embedded);

/** `embedded` by the path and kind of a document, joined with a blank, as the report names it. */
function embeddedTexts({ embedded }: UserData): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  for (const [name, value] of Object.entries(embedded)) {
    const [path = ''] = name.split(' ');
    texts.set(path, `${texts.get(path) ?? ''}---\n${stringify(value)}`);
  }
  return texts;
}

function userDataPlace(path: readonly PathSegment[]): string {
  const [part, name, ...rest] = path;
  if (part === 'config') return placeBelow('input')(path.slice(1));
  return placeBelow(`input: ${String(name)}`)(rest);
}

function cloudConfig(name: string, tree: UserData): Followed {
  return {
    name,
    tree,
    text: (changed) => {
      if (!isUserData(changed)) throw new Error('not user data');
      const texts = embeddedTexts(changed);
      const { write_files: files, ...others } = changed.config;
      const written = (Array.isArray(files) ? files : []).map((file: unknown) =>
        isMap(file) && texts.has(String(file.path)) ? { ...file, content: texts.get(String(file.path)) } : file,
      );
      return `#cloud-config\n${stringify({ write_files: written, ...others }, { lineWidth: 0 })}`;
    },
    place: userDataPlace,
    options: { kubernetesVersion: 'v1.35.2' },
  };
}

const INIT_FILE = '/run/kubeadm/kubeadm.yaml';
const JOIN_FILE = '/run/kubeadm/kubeadm-join-config.yaml';

const CLOUD_HOST = {
  bootcmd: ['echo boot-command'],
  ntp: { enabled: true, servers: ['ntp.example'] },
  users: [
    'default',
    {
      name: 'ada',
      gecos: 'Ada L',
      groups: ['wheel', 'docker'],
      homedir: '/home/ada2',
      shell: '/bin/zsh',
      primary_group: 'users',
      passwd: PASSWORD,
      lock_passwd: false,
      sudo: ['ALL=(ALL) NOPASSWD:ALL'],
      ssh_authorized_keys: ['ssh-ed25519 AAAA ada'],
    },
  ],
  groups: ['first', 'second'],
  disk_setup: { '/dev/sdb': { table_type: 'gpt', overwrite: true, layout: [40, [60, 83]] } },
  fs_setup: [
    {
      device: '/dev/sdb',
      filesystem: 'ext4',
      label: 'data',
      partition: '1',
      overwrite: true,
      replace_fs: 'ntfs',
      extra_opts: ['-m', '1'],
    },
  ],
  mounts: [['LABEL=data', '/data', 'ext4', 'noatime', '0', '2']],
};
/** Without a content, what stands in `embedded`. */
const file = (path: string, content?: string, permissions = '0640') => ({
  path,
  owner: 'root:root',
  permissions,
  ...(content === undefined ? {} : { content }),
});
const PLACEHOLDER = file('/run/cluster-api/placeholder', golden('/run/cluster-api/placeholder'));
const PKI = [
  file('/etc/kubernetes/pki/ca.crt', PEM),
  ...['ca.key', 'etcd/ca.crt', 'etcd/ca.key', 'front-proxy-ca.crt', 'front-proxy-ca.key', 'sa.pub', 'sa.key'].map(
    (name) => file(`/etc/kubernetes/pki/${name}`, golden(`/etc/kubernetes/pki/${name}`), '0600'),
  ),
];
const run = (verb: string, path: string) =>
  `kubeadm ${verb} --config ${path} --v 3 && echo success > /run/cluster-api/bootstrap-success.complete`;

const TIMEOUTS_OF_KUBEADM = {
  controlPlaneComponentHealthCheck: '1m41s',
  kubeletHealthCheck: '1m42s',
  kubernetesAPICall: '1m43s',
  etcdAPICall: '1m44s',
  tlsBootstrap: '1m45s',
  discovery: '1m46s',
};
const V1BETA4 = 'kubeadm.k8s.io/v1beta4';

const INIT_USER_DATA = cloudConfig('cloud-config of kubeadm init, v1beta4', {
  config: {
    write_files: [
      ...PKI,
      { path: '/etc/plain', owner: 'ada:users', permissions: '0640', content: 'plain-content\n', append: true },
      { path: '/etc/coded', encoding: 'base64', content: 'Y29kZWQK' },
      file(INIT_FILE),
      PLACEHOLDER,
    ],
    runcmd: ['echo pre-command', ['echo', 'words'], run('init', INIT_FILE), 'echo post-command'],
    ...CLOUD_HOST,
  },
  embedded: {
    [`${INIT_FILE} ClusterConfiguration`]: {
      apiVersion: V1BETA4,
      kind: 'ClusterConfiguration',
      ...CLUSTER,
      certificatesDir: '/etc/kubernetes/pki',
      clusterName: 'prod',
      kubernetesVersion: 'v1.35.2',
      networking: { serviceSubnet: '10.96.0.0/12', podSubnet: '10.244.0.0/16', dnsDomain: 'cluster.example' },
      certificateValidityPeriod: '4344h0m0s',
      caCertificateValidityPeriod: '87624h0m0s',
    },
    [`${INIT_FILE} InitConfiguration`]: {
      apiVersion: V1BETA4,
      kind: 'InitConfiguration',
      dryRun: false,
      bootstrapTokens: [{ ...BOOTSTRAP_TOKEN, ttl: '2h0m1s' }],
      nodeRegistration: NODE,
      localAPIEndpoint: { advertiseAddress: '10.0.0.1', bindPort: 6444 },
      certificateKey: 'a'.repeat(64),
      skipPhases: ['addon/kube-proxy'],
      patches: { directory: '/etc/patches-init' },
      timeouts: { ...TIMEOUTS_OF_KUBEADM, upgradeManifests: '1m47s' },
    },
    [`${INIT_FILE} KubeletConfiguration`]: {
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      maxPods: 250,
      evictionHard: { 'memory.available': '100Mi' },
      reservedMemory: [{ numaNode: 0, limits: { memory: '1Gi' } }],
    },
    [`${INIT_FILE} KubeProxyConfiguration`]: {
      apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
      kind: 'KubeProxyConfiguration',
      mode: 'ipvs',
      conntrack: { maxPerCore: 0 },
    },
  },
});

const KUBECONFIG = {
  apiVersion: 'v1',
  kind: 'Config',
  'current-context': 'default',
  contexts: [{ name: 'default', context: { cluster: 'prod', user: 'boot' } }],
  clusters: [
    {
      name: 'prod',
      cluster: {
        server: 'https://api3.example:6443',
        'tls-server-name': 'tls.example',
        'certificate-authority-data': btoa(PEM),
        'proxy-url': 'http://proxy.example:3128',
      },
    },
  ],
  users: [{ name: 'boot', user: { token: 'discovery-token-value' } }],
};

const JOIN_USER_DATA = cloudConfig('cloud-config of kubeadm join, v1beta3, with a discovery kubeconfig', {
  config: {
    write_files: [...PKI, file('/etc/kubernetes/discovery.conf'), file(JOIN_FILE), PLACEHOLDER],
    runcmd: [run('join', JOIN_FILE)],
    ...CLOUD_HOST,
  },
  embedded: {
    [`${JOIN_FILE} JoinConfiguration`]: {
      apiVersion: 'kubeadm.k8s.io/v1beta3',
      kind: 'JoinConfiguration',
      nodeRegistration: { ...NODE, kubeletExtraArgs: asMap(args('node-ip')) },
      caCertPath: '/etc/kubernetes/ca2.crt',
      discovery: {
        file: { kubeConfigPath: '/etc/kubernetes/discovery.conf' },
        tlsBootstrapToken: TOKEN,
        timeout: '12m0s',
      },
      controlPlane: {
        certificateKey: 'b'.repeat(64),
        localAPIEndpoint: { advertiseAddress: '10.0.0.2', bindPort: 6445 },
      },
    },
    '/etc/kubernetes/discovery.conf': KUBECONFIG,
  },
});

const ignitionFile = (path: string, mode = 0o644, content?: string) => ({
  filesystem: 'root',
  path,
  mode,
  contents: {
    ...(content === undefined ? {} : { source: `data:,${encodeURIComponent(content)}` }),
    verification: {},
  },
});
const SCRIPT = `#!/bin/bash
set -e
echo pre-command
kubeadm join --config /etc/kubeadm.yml --v 3
mkdir -p /run/cluster-api && echo success > /run/cluster-api/bootstrap-success.complete
mv /etc/kubeadm.yml /tmp/
echo post-command
`;
const CODED = gzipSync('coded-content').toString('base64');
const UNIT = (contents: string) => ({ enabled: true, contents });

const IGNITION_DATA = {
  config: {
    ignition: { version: '2.3.0' },
    passwd: {
      users: [
        {
          name: 'core',
          gecos: 'Core L',
          groups: ['wheel'],
          homeDir: '/home/core2',
          shell: '/bin/zsh',
          primaryGroup: 'users',
          passwordHash: PASSWORD,
          sshAuthorizedKeys: ['ssh-ed25519 AAAA core'],
        },
      ],
      groups: [{ name: 'first' }],
    },
    storage: {
      disks: [{ device: '/dev/sdb', wipeTable: true, partitions: [{}] }],
      filesystems: [
        {
          name: 'data',
          mount: { device: '/dev/sdb1', format: 'ext4', label: 'data', wipeFilesystem: true, options: ['-m', '1'] },
        },
      ],
      files: [
        ignitionFile('/etc/kubeadm.sh', 0o700, SCRIPT),
        ignitionFile('/etc/kubeadm.yml', 0o600),
        ignitionFile('/etc/sudoers.d/core', 0o600, 'core ALL=(ALL) NOPASSWD:ALL\n'),
        ignitionFile('/etc/ntp.conf', 0o644, '# Common pool\nserver ntp.example\nrestrict 127.0.0.1\n'),
        {
          ...ignitionFile('/etc/plain', 0o640, 'plain-content\n'),
          append: true,
          user: { name: 'ada' },
          group: { id: 7 },
        },
        { ...ignitionFile('/etc/coded', 0o640), contents: { source: `data:;base64,${CODED}`, compression: 'gzip' } },
      ],
    },
    systemd: {
      units: [
        {
          name: 'kubeadm.service',
          ...UNIT('[Unit]\nConditionPathExists=/etc/kubeadm.yml\n[Service]\nExecStart=/etc/kubeadm.sh\n'),
        },
        { name: 'ntpd.service', enabled: true },
        { name: 'data.mount', ...UNIT('[Mount]\nWhat=/dev/sdb1\nWhere=/data\nOptions=noatime\n') },
        { name: 'agent.service', ...UNIT('[Service]\nExecStart=/opt/bin/agent\n') },
        { name: 'update.service', mask: true, dropins: [{ name: '10-a.conf', contents: '[Unit]\nAfter=x\n' }] },
      ],
    },
  },
  embedded: {
    '/etc/kubeadm.yml JoinConfiguration': {
      apiVersion: V1BETA4,
      kind: 'JoinConfiguration',
      nodeRegistration: NODE,
      discovery: { bootstrapToken: DISCOVERY },
      timeouts: TIMEOUTS_OF_KUBEADM,
    },
  },
};

const IGNITION: Followed = {
  name: 'Ignition config of kubeadm join, v1beta4',
  tree: IGNITION_DATA,
  text: (changed) => {
    if (!isUserData(changed)) throw new Error('not user data');
    const { config } = changed;
    const texts = embeddedTexts(changed);
    const storage = isMap(config.storage) ? config.storage : {};
    const files = (Array.isArray(storage.files) ? storage.files : []).map((one: unknown) => {
      const text = isMap(one) ? texts.get(String(one.path)) : undefined;
      if (!isMap(one) || text === undefined) return one;
      const contents = isMap(one.contents) ? one.contents : {};
      return { ...one, contents: { ...contents, source: `data:,${encodeURIComponent(text)}` } };
    });
    return JSON.stringify({ ...config, storage: { ...storage, files } });
  },
  place: userDataPlace,
  options: { kubernetesVersion: 'v1.35.2' },
};

/** kubeadm's own file: the documents that INIT_USER_DATA has in its file. */
const KUBEADM_FILE: Followed = {
  name: "kubeadm's own YAML for kubeadm init, v1beta4",
  tree: isUserData(INIT_USER_DATA.tree)
    ? Object.fromEntries(
        Object.entries(INIT_USER_DATA.tree.embedded).map(([name, value]) => [name.split(' ')[1] ?? '', value]),
      )
    : {},
  text: (changed) =>
    Object.values(isMap(changed) ? changed : {})
      .map((document) => stringify(document))
      .join('---\n'),
  place: ([kind, ...below]) => placeBelow(`input ${String(kind)}`)(below),
  options: { kubernetesVersion: 'v1.35.2' },
};

const digest = `sha256-${'0'.repeat(64)}`;
/** A config of Ignition 3 that prepares a host. */
const IGNITION_3: Followed = {
  name: 'Ignition config of version 3',
  tree: {
    ignition: { version: '3.4.0', timeouts: { httpTotal: 30 } },
    kernelArguments: { shouldExist: ['quiet'] },
    passwd: {
      users: [
        {
          name: 'ada',
          uid: 1200,
          gecos: 'Ada L',
          homeDir: '/home/ada2',
          shell: '/bin/zsh',
          primaryGroup: 'users',
          groups: ['wheel'],
          passwordHash: PASSWORD,
          system: true,
          sshAuthorizedKeys: ['ssh-ed25519 AAAA ada'],
        },
      ],
      groups: [{ name: 'ops', gid: 1300 }],
    },
    storage: {
      files: [
        {
          path: '/etc/plain',
          mode: 0o640,
          overwrite: true,
          user: { name: 'ada' },
          group: { id: 7 },
          contents: { source: 'data:,plain-content%0A', verification: { hash: digest } },
        },
        { path: '/etc/more', append: [{ source: 'data:,more-content%0A' }] },
      ],
      directories: [{ path: '/srv/app', mode: 0o750, user: { name: 'ada' }, group: { name: 'ops' }, overwrite: false }],
      links: [{ path: '/etc/link', target: '/etc/plain', overwrite: true }],
      disks: [
        {
          device: '/dev/sdb',
          wipeTable: true,
          partitions: [{ label: 'data', number: 1, sizeMiB: 512, typeGuid: '0fc63daf-8483-4772-8e79-3d69d8477de4' }],
        },
      ],
      filesystems: [
        {
          device: '/dev/sdb1',
          format: 'ext4',
          label: 'data',
          path: '/data',
          wipeFilesystem: true,
          options: ['-m', '1'],
        },
      ],
    },
    systemd: {
      units: [
        {
          name: 'data.mount',
          enabled: true,
          contents: '[Mount]\nWhat=/dev/sdb1\nWhere=/data\nType=ext4\nOptions=noatime\n',
        },
        { name: 'agent.service', enabled: true, contents: '[Service]\nExecStart=/opt/bin/agent\n' },
        { name: 'update.service', mask: true, dropins: [{ name: '10-a.conf', contents: '[Unit]\nAfter=x\n' }] },
      ],
    },
  },
  text: (tree) => JSON.stringify(tree),
  place: placeBelow('input'),
  options: {},
};

export const FOLLOWED: readonly Followed[] = [
  V1BETA2,
  V1BETA1,
  INIT_USER_DATA,
  JOIN_USER_DATA,
  IGNITION,
  KUBEADM_FILE,
  IGNITION_3,
];
