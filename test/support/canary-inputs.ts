import { stringify } from 'yaml';
import { Canaries } from './canaries.ts';

type Tree = Readonly<Record<string, unknown>>;

/** What one conversion reads, by the name of the file. */
export type CanaryInput = Readonly<Record<string, Tree | string>>;

const VERSION = 'v1.35.2';
const NAMESPACE = 'clusters';

/**
 * Inputs of `machineadm convert` with a secret in each place where people and Cluster API's kubeadm bootstrap provider put
 * them: objects, the Secrets beside them, and the user data that the provider makes (cluster-api bootstrap/kubeadm,
 * pkg/cloudinit and controllers).
 */
export class CanaryInputs {
  readonly canaries = new Canaries();
  readonly inputs: Readonly<Record<'control plane' | 'worker' | 'user data' | 'bootstrap data Secret', CanaryInput>>;

  constructor() {
    const controlPlane = { 'control-plane.yaml': this.#controlPlane(), ...this.#relatedObjects() };
    const userData = this.#userData();
    this.inputs = {
      'control plane': controlPlane,
      worker: { 'worker.yaml': this.#worker(), 'cluster.yaml': CLUSTER },
      'user data': { 'user-data': userData },
      'bootstrap data Secret': {
        'secret.yaml': this.#secret('canary-0', { value: userData, format: 'cloud-config' }),
      },
    };
  }

  #word(field: string, which?: string): string {
    return this.canaries.word(field, which);
  }

  #secret(name: string, data: Readonly<Record<string, string>>): Tree {
    const encoded = Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')]);
    const labels = { 'cluster.x-k8s.io/cluster-name': 'canary' };
    return {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name, namespace: NAMESPACE, labels },
      data: Object.fromEntries(encoded),
    };
  }

  /** What the document of a machine has, whatever its role. */
  #host(which: string): Tree {
    const at = (field: string, kind = ''): string => this.#word(`spec.${field}`, `${which}${kind}`);
    const env = [{ name: 'ANY', value: at('files[].content', ', a static pod') }];
    const pod = { apiVersion: 'v1', kind: 'Pod', spec: { containers: [{ name: 'a', image: 'b', env }] } };
    const encoded = Buffer.from(`token=${at('files[].content', ', in base64')}\n`).toString('base64');
    return {
      files: [
        { path: '/etc/canary/a', permissions: '0600', content: `${at('files[].content')}\n` },
        { path: '/etc/canary/b', permissions: '0600', encoding: 'base64', content: encoded },
        { path: '/etc/canary/password', content: `${at('files[].content', ', readable')}\n` },
        { path: '/etc/kubernetes/manifests/a.yaml', permissions: '0600', content: stringify(pod) },
      ],
      users: [{ name: 'ops', passwd: `$6$salt$${at('users[].passwd')}`, lockPassword: false }],
      bootCommands: [`curl -H 'X-Any: ${at('bootCommands[]')}' https://boot.example`],
      preKubeadmCommands: [
        `curl -H 'Authorization: Bearer ${at('preKubeadmCommands[]')}' https://inventory.example`,
        `ANY=${at('preKubeadmCommands[]', ', a variable')} kubeadm init --dry-run`,
      ],
      postKubeadmCommands: [`useradd --password ${at('postKubeadmCommands[]')} svc`],
    };
  }

  #controlPlane(): Tree {
    const at = (field: string): string => this.#word(`spec.${field}`);
    const hostOf = this.#host('control plane') as { readonly files: readonly Tree[]; readonly users: readonly Tree[] };
    const component = (name: string): Tree => ({
      extraArgs: [{ name: 'any-setting', value: at(`clusterConfiguration.${name}.extraArgs[].value`) }],
      extraEnvs: [{ name: 'ANY', value: at(`clusterConfiguration.${name}.extraEnvs[].value`) }],
    });
    return {
      apiVersion: 'controlplane.cluster.x-k8s.io/v1beta2',
      kind: 'KubeadmControlPlane',
      metadata: { name: 'canary', namespace: NAMESPACE },
      spec: {
        version: VERSION,
        kubeadmConfigSpec: {
          clusterConfiguration: {
            apiServer: component('apiServer'),
            controllerManager: component('controllerManager'),
            scheduler: component('scheduler'),
            etcd: { local: component('etcd.local') },
          },
          initConfiguration: {
            bootstrapTokens: [
              {
                token: this.canaries.bootstrapToken('spec.initConfiguration.bootstrapTokens[].token'),
                ttlSeconds: 900,
              },
            ],
          },
          joinConfiguration: {
            discovery: {
              tlsBootstrapToken: this.canaries.bootstrapToken('spec.joinConfiguration.discovery.tlsBootstrapToken'),
            },
          },
          ...hostOf,
          files: [
            ...hostOf.files,
            {
              path: '/etc/canary/of-a-secret',
              permissions: '0600',
              contentFrom: { secret: { name: 'canary-settings', key: 'settings' } },
            },
          ],
          users: [
            ...hostOf.users,
            { name: 'of-a-secret', passwdFrom: { secret: { name: 'canary-settings', key: 'hash' } } },
          ],
        },
      },
    };
  }

  /** What lies beside it in the management cluster. */
  #relatedObjects(): CanaryInput {
    const { canaries } = this;
    const pair = (suffix: string): Tree => {
      const { certificate, key, publicKey } = canaries.keyPair(`Secret canary-${suffix}: tls.key`);
      return this.#secret(`canary-${suffix}`, { 'tls.crt': suffix === 'sa' ? publicKey : certificate, 'tls.key': key });
    };
    const settings = {
      settings: `settings: ${this.#word('Secret: data.*')}\n`,
      hash: `$6$salt$${this.#word('Secret: data.*', 'a hash')}`,
      unused: this.#word('Secret: data.*', 'that nothing names'),
    };
    return {
      'cluster.yaml': CLUSTER,
      'settings.yaml': this.#secret('canary-settings', settings),
      ...Object.fromEntries(['ca', 'etcd', 'proxy', 'sa'].map((suffix) => [`${suffix}.yaml`, pair(suffix)])),
    };
  }

  #worker(): Tree {
    const at = (field: string): string => this.#word(`spec.joinConfiguration.${field}`);
    const user = {
      exec: {
        apiVersion: 'client.authentication.k8s.io/v1',
        command: '/usr/local/bin/login',
        args: [`--secret=${at('discovery.file.kubeConfig.user.exec.args[]')}`],
        env: [{ name: 'ANY', value: at('discovery.file.kubeConfig.user.exec.env[].value') }],
      },
    };
    const { certificate } = this.canaries.keyPair('Secret canary-ca: tls.key');
    const cluster = {
      server: 'https://10.0.0.10:6443',
      certificateAuthorityData: Buffer.from(certificate).toString('base64'),
      proxyURL: `http://proxy:${at('discovery.file.kubeConfig.cluster.proxyURL')}@proxy.example:3128`,
    };
    return {
      apiVersion: 'bootstrap.cluster.x-k8s.io/v1beta2',
      kind: 'KubeadmConfig',
      metadata: { name: 'canary-worker', namespace: NAMESPACE },
      spec: {
        joinConfiguration: {
          discovery: { file: { kubeConfigPath: '/etc/kubernetes/discovery.conf', kubeConfig: { cluster, user } } },
          nodeRegistration: {
            kubeletExtraArgs: [{ name: 'any-setting', value: at('nodeRegistration.kubeletExtraArgs[].value') }],
          },
        },
        ...this.#host('worker'),
        mounts: [['/dev/vdb', '/mnt/share', 'ext4', `defaults,password=${this.#word('spec.mounts[][]')}`]],
      },
    };
  }

  /** What the provider makes for a machine that joins the control plane, with a kubeconfig that has a token. */
  #userData(): string {
    const { canaries } = this;
    const { certificate, key } = canaries.keyPair('user data: /etc/kubernetes/pki/ca.key');
    const join = {
      apiVersion: 'kubeadm.k8s.io/v1beta4',
      kind: 'JoinConfiguration',
      controlPlane: { certificateKey: canaries.hexKey('user data: certificateKey') },
      discovery: {
        bootstrapToken: {
          token: canaries.bootstrapToken('user data: discovery.bootstrapToken.token'),
          apiServerEndpoint: '10.0.0.10:6443',
          caCertHashes: [`sha256:${'0123456789abcdef'.repeat(4)}`],
        },
        tlsBootstrapToken: canaries.bootstrapToken('user data: discovery.tlsBootstrapToken'),
      },
    };
    const file = (path: string, content: string): Tree => ({ path, owner: 'root:root', permissions: '0600', content });
    const { users, bootCommands, preKubeadmCommands } = this.#host('user data') as Record<string, readonly unknown[]>;
    const [user] = users as readonly Tree[];
    const config = {
      write_files: [
        file('/etc/kubernetes/pki/ca.crt', certificate),
        file('/etc/kubernetes/pki/ca.key', key),
        file('/etc/canary/a', `${this.#word('user data: write_files[].content')}\n`),
        file('/run/kubeadm/kubeadm-join-config.yaml', stringify(join)),
      ],
      users: [{ name: 'ops', passwd: user?.passwd, lock_passwd: false }],
      bootcmd: bootCommands,
      runcmd: [
        ...(preKubeadmCommands?.slice(0, 1) ?? []),
        'kubeadm join --config /run/kubeadm/kubeadm-join-config.yaml  && echo success > /run/cluster-api/bootstrap-success.complete',
      ],
      // cloud-init has it, the document does not.
      chpasswd: { list: `ops:${this.#word('user data: chpasswd')}` },
    };
    return `## template: jinja\n#cloud-config\n${stringify(config)}`;
  }
}

const CLUSTER: Tree = {
  apiVersion: 'cluster.x-k8s.io/v1beta2',
  kind: 'Cluster',
  metadata: { name: 'canary', namespace: NAMESPACE },
  spec: { controlPlaneEndpoint: { host: '10.0.0.10', port: 6443 } },
};

/** How people mistype a field: the value in a map or a list, a letter too much in the key, the next key beside it. */
const MISTAKES: Readonly<Record<string, (key: string, value: unknown) => Tree>> = {
  'in a map': (key, value) => ({ [key]: { value } }),
  'in a list': (key, value) => ({ [key]: [[value]] }),
  'under a mistyped key': (key, value) => ({ [`${key}x`]: value }),
  'as a key': (key, value) => ({ [key]: { [String(value)]: 1 } }),
};

/** The same tree, mistyped at each of its texts that hold a secret, in each way: what is wrong, and the tree. */
export function* mistyped(tree: Tree, canaries: Canaries): Generator<readonly [string, Tree]> {
  for (const path of secretPaths(tree, canaries)) {
    const key = path.findLast((name) => typeof name === 'string');
    // An item of a list of texts is mistyped in its place.
    const above = path.slice(0, path.lastIndexOf(key ?? ''));
    if (typeof key !== 'string') continue;
    for (const [how, mistake] of Object.entries(MISTAKES))
      yield [`${path.join('.')} ${how}`, changed(tree, above, key, mistake) as Tree];
  }
}

function* secretPaths(value: unknown, canaries: Canaries): Generator<readonly (string | number)[]> {
  if (typeof value === 'string') {
    if (canaries.leaksIn('', value).length > 0) yield [];
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  for (const [name, part] of Object.entries(value))
    for (const below of secretPaths(part, canaries)) yield [Array.isArray(value) ? Number(name) : name, ...below];
}

function changed(
  value: unknown,
  [name, ...below]: readonly (string | number)[],
  key: string,
  mistake: (key: string, value: unknown) => Tree,
): unknown {
  if (Array.isArray(value))
    return value.map((item: unknown, index) => (index === name ? changed(item, below, key, mistake) : item));
  const tree = value as Tree;
  if (name !== undefined) return { ...tree, [name]: changed(tree[name], below, key, mistake) };
  const { [key]: wrong, ...others } = tree;
  return { ...others, ...mistake(key, wrong) };
}
