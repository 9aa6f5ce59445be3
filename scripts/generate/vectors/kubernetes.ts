import { beyond, DIGEST, init, invalid, JOIN, joining, PEM, type Source, TOKEN, valid, worker } from './source.ts';

const kubeadm = (more: string): string => init(`bootstrapper: {kubeadm: {${more}}}`);
const exec = (more: string): string => init(`bootstrapper: {exec: {command: /a}}, ${more}`);
const discovery = (text: string): string => worker(`join: {discovery: ${text}}`);
const token = (more: string): string => `{token: {token: ${TOKEN}, endpoint: "10.0.0.10:6443", ${more}}}`;
const file = (kubeconfig: string): string => discovery(`{file: {kubeconfig: ${kubeconfig}}}`);
const HASHES = `caCertHashes: ["sha256:${DIGEST}"]`;
const KEY = DIGEST;

/** `kubernetes` without the control plane. */
export const KUBERNETES_VECTORS: readonly Source[] = [
  valid('a first control plane', init('cluster: {name: a}')),
  valid('a worker', worker(JOIN)),
  valid('another control plane with a key', joining(`${JOIN}, controlPlane: {certificateKey: "${KEY}"}`)),
  valid('another control plane with its certificates', joining(`${JOIN}, pki: {ca: {certificate: ${PEM}, key: x}}`)),
  invalid('no role', 'MissingField', 'kubernetes: ¦{version: v1.35.2}'),
  invalid('no version', 'MissingField', 'kubernetes: ¦{role: InitControlPlane}'),
  invalid('an unknown role', 'InvalidValue', 'kubernetes: {version: v1.35.2, role: ¦ControlPlane}'),
  invalid('a version of the past', 'Conflict', 'kubernetes: {version: ¦v1.19.0, role: InitControlPlane}'),
  invalid('a first control plane that joins', 'Conflict', init(JOIN.replace('join: ', 'join: ¦'))),
  invalid('a worker that joins nothing', 'Conflict', 'kubernetes: ¦{version: v1.35.2, role: Worker}'),
  invalid('a worker with a control plane', 'Conflict', worker(`${JOIN}, controlPlane: ¦{}`)),
  invalid('a worker with authorities', 'Conflict', worker(`${JOIN}, pki: ¦{}`)),
  invalid(
    'a worker with tokens for others',
    'Conflict',
    worker(`${JOIN}, cluster: {bootstrapTokens: ¦[{token: ${TOKEN}}]}`),
  ),
  invalid('a control plane that gets no certificates', 'Conflict', joining(`${JOIN}, controlPlane: ¦{}`)),
  invalid(
    'a certificate without the key of the authority',
    'Conflict',
    joining(`${JOIN}, controlPlane: ¦{}, pki: {ca: {certificate: ${PEM}}}`),
  ),

  valid(
    'tokens',
    init(
      `cluster: {bootstrapTokens: [{token: ${TOKEN}, ttl: 2h, usages: [signing, authentication], groups: ["system:bootstrappers:a"]}]}`,
    ),
  ),
  invalid('an invalid token', 'Conflict', init('cluster: {bootstrapTokens: [{token: ¦abc}]}')),
  invalid(
    'a token that begins twice',
    'Conflict',
    init(`cluster: {bootstrapTokens: [¦{token: ${TOKEN}, ttl: 2h, expires: "2027-01-31T12:00:00Z"}]}`),
  ),
  invalid(
    'a token that ends at a time',
    'Conflict',
    init(`cluster: {bootstrapTokens: [{token: ${TOKEN}, expires: ¦"2027-01-31T12:00:00Z"}]}`),
  ),
  invalid(
    'an invalid time',
    'InvalidValue',
    init(`cluster: {bootstrapTokens: [{token: ${TOKEN}, expires: ¦tomorrow}]}`),
  ),
  invalid(
    'a token without authentication',
    'Conflict',
    init(`cluster: {bootstrapTokens: [{token: ${TOKEN}, usages: ¦[signing]}]}`),
  ),
  invalid(
    'a group outside of the bootstrappers',
    'InvalidValue',
    init(`cluster: {bootstrapTokens: [{token: ${TOKEN}, groups: [¦"system:masters"]}]}`),
  ),
  beyond('an invalid subnet', 'RefusedByKubernetes', init('cluster: {podSubnets: [¦"999.999.0.0/99"]}')),
  invalid('a gate that is a text', 'InvalidType', init('cluster: {featureGates: {A: ¦"true"}}')),
  invalid('a gate with a dash', 'InvalidValue', init('cluster: {featureGates: {¦a-b: true}}')),
  invalid('an unknown algorithm', 'InvalidValue', init('cluster: {encryptionAlgorithm: ¦RSA-1024}')),

  valid('discovery without a proof', discovery(token('unsafeSkipCAVerification: true'))),
  invalid('no discovery', 'MissingField', worker('join: ¦{}')),
  invalid('an empty discovery', 'Conflict', discovery('¦{}')),
  invalid(
    'two discoveries',
    'Conflict',
    discovery(`¦{token: {token: ${TOKEN}, endpoint: "a:1", ${HASHES}}, file: {path: /a}}`),
  ),
  invalid(
    'a cluster that is not verified',
    'Conflict',
    worker(`join: {discovery: {token: ¦{token: ${TOKEN}, endpoint: "a:1"}}}`),
  ),
  invalid(
    'a cluster that is verified and not',
    'Conflict',
    worker(
      `join: {discovery: {token: ¦{token: ${TOKEN}, endpoint: "a:1", ${HASHES}, unsafeSkipCAVerification: true}}}`,
    ),
  ),
  invalid('a hash without its kind', 'InvalidValue', discovery(token(`caCertHashes: [¦"${DIGEST}"]`))),
  invalid(
    'an endpoint that is missing',
    'MissingField',
    worker(`join: {discovery: {token: ¦{token: ${TOKEN}, ${HASHES}}}}`),
  ),
  invalid('an invalid TLS bootstrap token', 'Conflict', worker(`${JOIN.slice(0, -1)}, tlsBootstrapToken: ¦abc}`)),
  valid('a kubeconfig', file('{server: "https://a:6443", user: {token: x}}')),
  valid('a kubeconfig of another', discovery('{file: {path: /a}}')),
  valid(
    'a program for credentials',
    file('{server: "https://a:6443", user: {exec: {command: aws-iam-authenticator}}}'),
  ),
  invalid('a file without anything', 'Conflict', worker('join: {discovery: {file: ¦{}}}')),
  invalid(
    'a kubeconfig without a user',
    'Conflict',
    worker('join: {discovery: {file: {kubeconfig: ¦{server: "https://a:6443"}}}}'),
  ),
  valid(
    'a kubeconfig with a token beside it',
    worker(`join: {discovery: {file: {kubeconfig: {server: "https://a:6443"}}}, tlsBootstrapToken: ${TOKEN}}`),
  ),
  invalid(
    'an authority that is not asked',
    'Conflict',
    worker(
      `join: {discovery: {file: {kubeconfig: ¦{server: "https://a:6443", user: {token: x}, insecureSkipTLSVerify: true, certificateAuthority: ${PEM}}}}}`,
    ),
  ),
  invalid(
    'a user who is two',
    'InvalidType',
    file('{server: "https://a:6443", user: ¦{token: x, exec: {command: a}}}'),
  ),
  invalid('an API server without TLS', 'InvalidValue', file('{server: ¦"http://a:6443", user: {token: x}}')),

  valid(
    'kubeadm',
    kubeadm('verbosity: 5, skipPhases: [addon/kube-proxy], ignorePreflightErrors: [NumCPU], retry: {attempts: 1}'),
  ),
  invalid('kubeadm that prints secrets', 'InvalidValue', kubeadm('verbosity: ¦8')),
  invalid('more attempts than help', 'InvalidValue', kubeadm('retry: {attempts: ¦10}')),
  invalid('a phase in capitals', 'InvalidValue', kubeadm('skipPhases: [¦Addon]')),
  valid(
    'patches',
    kubeadm(
      'patches: [{target: etcd, patch: {spec: {}}}, {target: kube-apiserver, type: json, patch: [{op: remove, path: /a}]}]',
    ),
  ),
  valid('patches of a directory', kubeadm('patches: {directory: /a}')),
  invalid(
    'a JSON patch that is a map',
    'InvalidValue',
    kubeadm('patches: [{target: etcd, type: json, patch: ¦{a: 1}}]'),
  ),
  invalid(
    'a merge patch that is a list',
    'InvalidValue',
    kubeadm('patches: [{target: etcd, type: merge, patch: ¦[1]}]'),
  ),
  invalid('an unknown target', 'InvalidValue', kubeadm('patches: [{target: ¦kubelet, patch: {}}]')),
  invalid(
    'a patch of what a worker has not',
    'Conflict',
    worker(`${JOIN}, bootstrapper: {kubeadm: {patches: [{target: ¦etcd, patch: {}}]}}`),
  ),
  invalid(
    'a patch of an addon that is there',
    'Conflict',
    joining(
      `${JOIN}, controlPlane: {certificateKey: "${KEY}"}, bootstrapper: {kubeadm: {patches: [{target: ¦corednsdeployment, patch: {}}]}}`,
    ),
  ),
  valid(
    'a configuration as it is',
    kubeadm('extraDocuments: [{apiVersion: kubelet.config.k8s.io/v1beta1, kind: KubeletConfiguration, maxPods: 200}]'),
  ),
  invalid(
    "kubeadm's own configuration",
    'InvalidValue',
    kubeadm('extraDocuments: [{apiVersion: kubeadm.k8s.io/v1beta4, kind: ¦ClusterConfiguration}]'),
  ),
  invalid(
    'a kind of another version',
    'InvalidValue',
    kubeadm('extraDocuments: [{apiVersion: ¦v1, kind: KubeletConfiguration}]'),
  ),
  invalid(
    'a configuration twice',
    'Duplicate',
    kubeadm(
      'extraDocuments: [{apiVersion: kubelet.config.k8s.io/v1beta1, kind: KubeletConfiguration}, ¦{apiVersion: kubelet.config.k8s.io/v1beta1, kind: KubeletConfiguration}]',
    ),
  ),
  invalid(
    'a configuration in two places',
    'Conflict',
    init(
      'node: {kubelet: {config: {maxPods: 1}}}, bootstrapper: {kubeadm: {extraDocuments: [¦{apiVersion: kubelet.config.k8s.io/v1beta1, kind: KubeletConfiguration}]}}',
    ),
  ),

  valid('a custom program', exec('ready: {require: KubeletHealthy}')),
  valid(
    'a program with its test',
    init(
      'bootstrapper: {exec: {command: a, successTest: {command: [b]}, failurePatterns: [{pattern: "no space", reason: A full disk.}]}}, ready: {require: Command}',
    ),
  ),
  invalid('two bootstrappers', 'Conflict', init('bootstrapper: ¦{kubeadm: {}, exec: {command: a}}')),
  invalid('a program with a relative path', 'InvalidValue', init('bootstrapper: {exec: {command: ¦bin/a}}')),
  invalid('a proof that only kubeadm gives', 'Conflict', exec('ready: {require: ¦NodeReady}')),
  invalid('a missing test', 'Conflict', exec('ready: {require: ¦Command}')),
  invalid('static pods of another program', 'Conflict', exec('controlPlane: {staticPods: ¦[]}')),
  invalid(
    'an audit log of another program',
    'Conflict',
    exec('controlPlane: {apiServer: {audit: ¦{log: {}, policy: {rules: [{level: None}]}}}}'),
  ),
  invalid('a test of kubeadm', 'Conflict', init('ready: {require: ¦Command}')),
  beyond(
    'an expression that RE2 does not know',
    'InvalidValue',
    init('bootstrapper: {exec: {command: a, failurePatterns: [{pattern: ¦"(?=a)", reason: b}]}}'),
  ),

  valid(
    'a node',
    init(
      'node: {name: node-1, taints: [], labels: {example.org/rack: r1}, imagePullPolicy: Never, kubelet: {config: {maxPods: 200}, args: [{name: v, value: "2"}]}}',
    ),
  ),
  invalid('a taint without an effect', 'MissingField', init('node: {taints: [¦{key: a}]}')),
  invalid('an unknown effect', 'InvalidValue', init('node: {taints: [{key: a, effect: ¦Never}]}')),
  invalid('an invalid label key', 'InvalidValue', init('node: {labels: {¦"a b": c}}')),
  invalid('an argument with dashes', 'InvalidValue', init('node: {kubelet: {args: [{name: ¦--v, value: "2"}]}}')),
  invalid('an argument that is a number', 'InvalidType', init('node: {kubelet: {args: [{name: v, value: ¦2}]}}')),
  valid('an interface with the addresses of the node', init('node: {addresses: {interface: eth1, timeout: 30s}}')),
  valid('the interface of the default route', init('node: {addresses: {routeTo: Default}}')),
  valid(
    'an interface and two families',
    init('node: {addresses: {interface: eth1, subnets: [10.0.0.0/8, "fd00::/8"]}}'),
  ),
  valid('the interface of a route', worker(`${JOIN}, node: {addresses: {routeTo: 10.0.0.1, subnets: [10.0.0.0/8]}}`)),
  invalid('addresses of nowhere', 'Conflict', init('node: {addresses: ¦{timeout: 1m}}')),
  invalid('no subnet', 'InvalidValue', init('node: {addresses: {subnets: ¦[]}}')),
  invalid('an interface and a route', 'Conflict', init('node: {addresses: {interface: a, routeTo: ¦Default}}')),
  invalid('an interface with an address', 'InvalidValue', init('node: {addresses: {interface: ¦"eth1:0"}}')),
  invalid('a route by name', 'InvalidValue', init('node: {addresses: {routeTo: ¦gateway}}')),
  invalid('a range of addresses', 'InvalidValue', init('node: {addresses: {subnets: [¦10.0.0.1-10.0.0.9]}}')),
  beyond('loopback addresses', 'Conflict', init('node: {addresses: {subnets: [¦127.0.0.0/24]}}')),
  invalid(
    'two ways to an address',
    'Conflict',
    init('node: {addresses: {interface: a}, kubelet: {args: [¦{name: node-ip, value: 10.0.0.1}]}}'),
  ),
  invalid(
    'two ways to an advertised address',
    'Conflict',
    init('node: {addresses: {interface: a}}, controlPlane: {apiEndpoint: {advertiseAddress: ¦10.0.0.1}}'),
  ),
  invalid(
    'addresses for another program than kubeadm',
    'Conflict',
    init('bootstrapper: {exec: {command: /a}}, ready: {require: KubeletHealthy}, node: {addresses: ¦{interface: a}}'),
  ),
  invalid('a socket that is a path', 'InvalidValue', init('node: {criSocket: ¦/run/a.sock}')),
  valid('addons', init('addons: {dns: {enabled: false}, proxy: {config: {mode: nftables}}}')),
  invalid('a configuration of no proxy', 'Conflict', init('addons: {proxy: {enabled: false, config: ¦{}}}')),
  invalid('an unknown proof', 'InvalidValue', init('ready: {require: ¦Running}')),
  beyond('a subnet of /33', 'RefusedByKubernetes', init('cluster: {podSubnets: [¦10.0.0.0/33]}')),
  beyond(
    'two subnets of one family',
    'RefusedByKubernetes',
    init('cluster: {podSubnets: [10.0.0.0/16, ¦10.1.0.0/16]}'),
  ),
  beyond('services in a /8', 'RefusedByKubernetes', init('cluster: {serviceSubnets: [¦10.0.0.0/8]}')),
  valid('a label of a role', init('node: {labels: {node-role.kubernetes.io/worker: ""}}')),
  beyond(
    'a label of a role for the kubelet',
    'RefusedByKubernetes',
    init('node: {kubelet: {args: [{name: node-labels, value: ¦node-role.kubernetes.io/worker=}]}}'),
  ),
  beyond(
    'a name for a certificate with a blank',
    'RefusedByKubernetes',
    init('controlPlane: {apiServer: {certSANs: [¦"a b"]}}'),
  ),
  valid(
    'a gate that kubeadm removed, with what kubeadm does anyway',
    init('cluster: {featureGates: {EtcdLearnerMode: true}}'),
  ),
  beyond(
    'a gate that kubeadm removed',
    'UnsupportedVersion',
    init('cluster: {featureGates: {¦EtcdLearnerMode: false}}'),
  ),
  beyond(
    'a flag that the kubelet removed',
    'UnsupportedVersion',
    init('node: {kubelet: {args: [{name: ¦container-runtime, value: remote}]}}'),
  ),
  beyond('a missing token', 'UnknownReference', init('cluster: {bootstrapTokens: [{token: {secret: ¦nothing}}]}')),
];
