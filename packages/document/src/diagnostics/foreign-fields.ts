/**
 * Fields of kubeadm and KubeadmConfig, of cloud-config, and of the NodeConfig of EKS, by their own names, and the field of the
 * document that takes their place. `convert` converts whole files; this answers a user who writes one of the names by habit.
 * Names that the document has too are not here.
 */
const FOREIGN_FIELDS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    // kubeadm, and spec of KubeadmConfig and KubeadmControlPlane
    nodeRegistration: 'kubernetes.node',
    kubeletExtraArgs: 'kubernetes.node.kubelet.args',
    clusterConfiguration: 'kubernetes.cluster and kubernetes.controlPlane',
    initConfiguration: 'kubernetes with the role InitControlPlane',
    joinConfiguration: 'kubernetes.join',
    kubeletConfiguration: 'kubernetes.node.kubelet.config',
    kubeProxyConfiguration: 'kubernetes.addons.proxy.config',
    kubernetesVersion: 'kubernetes.version',
    clusterName: 'kubernetes.cluster.name',
    networking: 'kubernetes.cluster.podSubnets and kubernetes.cluster.serviceSubnets',
    podSubnet: 'kubernetes.cluster.podSubnets',
    serviceSubnet: 'kubernetes.cluster.serviceSubnets',
    certificatesDir: 'kubernetes.cluster.certificatesDirectory',
    certificateValidityPeriod: 'kubernetes.cluster.certificateValidity',
    caCertificateValidityPeriod: 'kubernetes.cluster.caCertificateValidity',
    localAPIEndpoint: 'kubernetes.controlPlane.apiEndpoint',
    timeoutForControlPlane: 'kubernetes.timeouts.controlPlane',
    extraArgs: 'args',
    extraVolumes: 'volumes',
    extraEnvs: 'env',
    dataDir: 'kubernetes.controlPlane.etcd.local.dataDirectory',
    bootstrapToken: 'kubernetes.join.discovery.token',
    apiServerEndpoint: 'kubernetes.join.discovery.token.endpoint',
    kubeConfigPath: 'kubernetes.join.discovery.file',
    preKubeadmCommands: 'host.hooks.beforeBootstrap.commands',
    postKubeadmCommands: 'host.hooks.afterBootstrap.commands',
    bootCommands: 'host.hooks.early.commands',
    diskSetup: 'host.storage',
    useExperimentalRetryJoin: 'kubernetes.bootstrapper.kubeadm.retry',
    // cloud-config
    write_files: 'host.files',
    permissions: 'mode',
    runcmd: 'host.hooks.beforeBootstrap.commands',
    bootcmd: 'host.hooks.early.commands',
    fqdn: 'host.hostname',
    ntp: 'host.time',
    disk_setup: 'host.storage.disks',
    fs_setup: 'host.storage.filesystems',
    ca_certs: 'host.certificateAuthorities',
    ca_cert: 'host.certificateAuthorities',
    power_state: 'host.rebootPolicy',
    packages: 'host.hooks.early.commands, with the package manager of the system',
    passwd: 'host.users[].passwordHash',
    lock_passwd: 'host.users[].locked',
    lockPassword: 'host.users[].locked',
    ssh_authorized_keys: 'host.users[].sshAuthorizedKeys',
    // NodeConfig of EKS
    certificateAuthority: 'kubernetes.join.discovery.token.caCertHashes',
    cidr: 'kubernetes.cluster.serviceSubnets',
    localStorage: 'host.storage',
  }),
);

/** The deepest and the most names of a value that the hint for its key mentions. */
const DEEPEST = 3;
const MOST_NAMED = 4;

/**
 * The hint for an unknown key that another tool has: `use kubernetes.node (kubeletExtraArgs: use kubernetes.node.kubelet.args)`.
 * Undefined if no tool has it.
 *
 * @param value of the key in the document: known names in it are mentioned, too
 */
export function foreignFieldHint(key: string, value: unknown): string | undefined {
  const field = FOREIGN_FIELDS.get(key);
  if (field === undefined) return undefined;
  const inner = [...namesIn(value, DEEPEST)].slice(0, MOST_NAMED);
  const mentioned = inner.map((name) => `${name}: use ${FOREIGN_FIELDS.get(name)}`).join('; ');
  return `use ${field}${mentioned === '' ? '' : ` (${mentioned})`}`;
}

/** The names of the table in a value, the first of each branch. */
function* namesIn(value: unknown, depth: number): Generator<string> {
  if (depth === 0 || typeof value !== 'object' || value === null || Array.isArray(value)) return;
  for (const [key, item] of Object.entries(value)) {
    if (FOREIGN_FIELDS.has(key)) yield key;
    yield* namesIn(item, depth - 1);
  }
}

/** Every name of the table and its field, for the test that compares them with the schema. */
export function foreignFields(): readonly (readonly [string, string])[] {
  return [...FOREIGN_FIELDS];
}
