import * as z from 'zod';
import { apiServer } from '../../sections/api-server/index.ts';
import { define, field, object } from '../../sections/field.ts';
import { component, podEnvironmentVariable } from '../../sections/kubernetes/component.ts';
import { bootstrapper } from './bootstrapper.ts';
import {
  absolutePath,
  argument,
  certificateOrVariable,
  cidr,
  dnsSubdomain,
  duration,
  EXAMPLE_CERTIFICATE,
  hostPort,
  imageRepository,
  imageTag,
  labels,
  publicKeyPem,
  secret,
  url,
} from './fields.ts';
import { join } from './join.ts';

const keyPair = define(
  'KeyPair',
  object({
    certificate: field(certificateOrVariable, 'The certificate in PEM form.', { example: EXAMPLE_CERTIFICATE }),
    key: field(secret, 'The private key in PEM form.', {
      absent: 'only the certificate is handed out',
      example: { secret: 'caKey' },
    }),
  }),
  'A certificate and its key.',
  { certificate: EXAMPLE_CERTIFICATE, key: { secret: 'caKey' } },
);

const cluster = object({
  name: field(z.string().min(1), 'The name of the cluster.', {
    absent: 'that of kubeadm, kubernetes',
    example: 'prod-a',
  }),
  controlPlaneEndpoint: field(hostPort, 'The stable address of the API servers, as host:port.', {
    absent: 'the address of this machine, which cannot be changed later',
    example: 'api.prod-a.example:6443',
  }),
  podSubnets: field(z.array(cidr), 'The subnets of pods, one of each IP family at most.', {
    default: [],
    example: ['10.244.0.0/16'],
  }),
  serviceSubnets: field(z.array(cidr), 'The subnets of services, one of each IP family at most.', {
    absent: 'that of kubeadm, 10.96.0.0/12',
    example: ['10.96.0.0/12'],
  }),
  dnsDomain: field(dnsSubdomain, 'The DNS domain of services.', {
    absent: 'that of kubeadm, cluster.local',
    example: 'cluster.local',
  }),
  imageRepository: field(imageRepository, 'The repository of the images of the control plane.', {
    absent: 'that of kubeadm, registry.k8s.io',
    example: 'registry.example:5000/kubernetes',
  }),
  featureGates: field(
    z.record(z.string().regex(/^[A-Za-z0-9]+$/, 'not the name of a feature gate'), z.boolean()),
    'Feature gates of kubeadm itself. Those of the components are arguments or kubelet configuration.',
    { default: {}, example: { NodeLocalCRISocket: true } },
  ),
  certificatesDirectory: field(absolutePath, 'The directory with the certificates of the cluster.', {
    default: '/etc/kubernetes/pki',
    example: '/etc/kubernetes/pki',
  }),
  certificateValidity: field(duration, 'How long certificates are valid. Needs kubeadm 1.31.', {
    absent: 'that of kubeadm, 365 days',
    example: '365d',
  }),
  caCertificateValidity: field(duration, 'How long certificates of the authorities are valid. Needs kubeadm 1.31.', {
    absent: 'that of kubeadm, 3650 days',
    example: '3650d',
  }),
  encryptionAlgorithm: field(
    z.enum(['RSA-2048', 'RSA-3072', 'RSA-4096', 'ECDSA-P256', 'ECDSA-P384']),
    'The algorithm of the keys that kubeadm makes.',
    { absent: 'that of kubeadm, RSA-2048', example: 'ECDSA-P256' },
  ),
  bootstrapTokens: field(
    z.array(
      object({
        token: field(secret, 'The token, 6 characters, a dot and 16 characters of a-z and 0-9.', {
          example: { secret: 'joinToken' },
        }),
        description: field(z.string(), 'What the token is for.', { absent: 'none', example: 'Workers of rack r12' }),
        ttl: field(duration, 'How long the token is valid. Excludes expires.', {
          absent: 'that of kubeadm, 24h',
          example: '2h',
        }),
        expires: field(
          z.iso.datetime({ offset: true, error: 'not an RFC 3339 time' }),
          'The time at which the token ends (RFC 3339). kubeadm takes only ttl in its configuration. Excludes ttl.',
          { absent: 'ttl says when it ends', example: '2027-01-31T12:00:00Z' },
        ),
        usages: field(
          z.array(z.enum(['signing', 'authentication'])),
          'What the token may be used for. kubeadm needs authentication among them.',
          { absent: 'both', example: ['signing', 'authentication'] },
        ),
        groups: field(
          z.array(z.string().regex(/^system:bootstrappers:[a-z0-9:-]+$/, 'not a bootstrap group')),
          'Groups that a machine with the token belongs to.',
          {
            absent: 'that of kubeadm, system:bootstrappers:kubeadm:default-node-token',
            example: ['system:bootstrappers:kubeadm:default-node-token'],
          },
        ),
      }),
    ),
    'Tokens with which other machines can join. Only when the cluster is created.',
    { absent: 'kubeadm makes one', example: [{ token: { secret: 'joinToken' }, ttl: '24h' }] },
  ),
});

const etcdURL = url('http', 'not a URL, such as https://10.0.0.20:2379');

const etcd = object({
  local: field(
    object({
      dataDirectory: field(
        absolutePath,
        'The directory of the data. Use a directory below a mount point and not the mount point itself.',
        { absent: 'that of kubeadm, /var/lib/etcd', example: '/var/lib/etcd-disk/data' },
      ),
      imageRepository: field(imageRepository, 'The repository of the image.', {
        absent: 'kubernetes.cluster.imageRepository',
        example: 'registry.example:5000/kubernetes',
      }),
      imageTag: field(imageTag, 'The tag of the image.', { absent: 'that of kubeadm', example: 'v1.12.1' }),
      args: field(z.array(argument), 'Command line arguments. A name may repeat where the component allows it.', {
        default: [],
        example: [{ name: 'v', value: '2' }],
      }),
      env: field(z.array(podEnvironmentVariable), 'Environment variables of the container.', {
        default: [],
        example: [{ name: 'GOMEMLIMIT', value: '2GiB' }],
      }),
      serverCertSANs: field(
        z.array(z.string().min(1)),
        'Further names that the server certificate of etcd is valid for.',
        { default: [], example: ['etcd-0.prod-a.example'] },
      ),
      peerCertSANs: field(z.array(z.string().min(1)), 'Further names that the peer certificate of etcd is valid for.', {
        default: [],
        example: ['etcd-0.prod-a.example'],
      }),
    }),
    'The etcd member that kubeadm runs as a static pod. Excludes external.',
    { absent: 'the defaults of kubeadm', example: { dataDirectory: '/var/lib/etcd-disk/data' } },
  ),
  external: field(
    object({
      endpoints: field(z.array(etcdURL).min(1), 'The URLs of the members.', { example: ['https://10.0.0.20:2379'] }),
      httpEndpoints: field(
        z.array(etcdURL),
        'The URLs at which the members serve HTTP, where that is apart from gRPC. Needs kubeadm 1.35.',
        { absent: 'endpoints', example: ['https://10.0.0.20:2378'] },
      ),
      caFile: field(absolutePath, "A file on the machine with the certificate of etcd's authority.", {
        example: '/etc/etcd/ca.crt',
      }),
      certFile: field(absolutePath, 'A file on the machine with the client certificate.', {
        example: '/etc/etcd/client.crt',
      }),
      keyFile: field(absolutePath, 'A file on the machine with the key of the client certificate.', {
        example: '/etc/etcd/client.key',
      }),
    }),
    'An etcd cluster that is managed elsewhere. Excludes local.',
    {
      absent: 'kubeadm runs etcd on this machine',
      example: {
        endpoints: ['https://10.0.0.20:2379'],
        caFile: '/etc/etcd/ca.crt',
        certFile: '/etc/etcd/client.crt',
        keyFile: '/etc/etcd/client.key',
      },
    },
  ),
});

const controlPlane = object({
  apiEndpoint: field(
    object({
      advertiseAddress: field(
        z.union([z.ipv4(), z.ipv6()], { error: 'not an IP address' }),
        'The IP address that the API server tells others.',
        { absent: 'the address of the default route', example: '10.0.0.11' },
      ),
      bindPort: field(z.int().min(1).max(65535), 'The port of the API server.', {
        absent: 'that of kubeadm, 6443',
        example: 6443,
      }),
    }),
    'The address at which the API server of this machine listens.',
    {
      absent: 'the default address of the machine, port 6443',
      example: { advertiseAddress: '10.0.0.11', bindPort: 6443 },
    },
  ),
  apiServer: field(apiServer, 'The API server.', {
    absent: 'the defaults of kubeadm',
    example: { certSANs: ['api.prod-a.example'] },
  }),
  controllerManager: field(component, 'The controller manager.', {
    absent: 'the defaults of kubeadm',
    example: { args: [{ name: 'node-cidr-mask-size', value: '24' }] },
  }),
  scheduler: field(component, 'The scheduler.', {
    absent: 'the defaults of kubeadm',
    example: { args: [{ name: 'v', value: '2' }] },
  }),
  etcd: field(etcd, 'Where etcd runs, on the control plane machines or elsewhere.', {
    absent: 'kubeadm runs etcd on this machine',
    example: { local: { dataDirectory: '/var/lib/etcd-disk/data' } },
  }),
  certificateKey: field(
    secret,
    'The key, 64 hex digits, that encrypts the certificates which control plane machines share. A joining control plane needs this or pki.',
    { absent: 'certificates are not shared through the cluster', example: { secret: 'certificateKey' } },
  ),
  staticPods: field(
    z.array(
      object({
        name: field(dnsSubdomain, 'The name of the file below /etc/kubernetes/manifests, without ".yaml".', {
          example: 'kube-vip',
        }),
        manifest: field(z.string().min(1), 'One Pod, as YAML or JSON.', {
          example: 'apiVersion: v1\nkind: Pod\nmetadata: {name: kube-vip}\nspec: {containers: []}\n',
        }),
        adminKubeconfig: field(
          z.enum(['Auto', 'AsWritten']),
          'Auto mounts super-admin.conf instead of admin.conf where kubeadm init needs it (from 1.29). AsWritten changes nothing.',
          { default: 'Auto', example: 'AsWritten' },
        ),
      }),
    ),
    'Pods that must run before the API server answers, such as kube-vip.',
    {
      default: [],
      example: [
        {
          name: 'kube-vip',
          manifest: 'apiVersion: v1\nkind: Pod\nmetadata: {name: kube-vip}\nspec: {containers: []}\n',
        },
      ],
    },
  ),
});

const node = object({
  name: field(dnsSubdomain, 'The name of the Node.', { absent: 'the host name in lower case', example: '${hostname}' }),
  providerID: field(
    z.string().min(1),
    'The ID by which the cloud provider knows the machine. Cluster API compares it.',
    { absent: 'the cloud provider sets it', example: 'aws:///eu-west-1a/i-0123456789abcdef0' },
  ),
  labels: field(labels, 'Labels of the Node, set by the kubelet when it registers.', {
    default: {},
    example: { rack: 'r12' },
  }),
  taints: field(
    z.array(
      object({
        key: field(z.string().min(1), 'The key of the taint.', { example: 'dedicated' }),
        value: field(z.string(), 'The value of the taint.', { default: '', example: 'gpu' }),
        effect: field(
          z.enum(['NoSchedule', 'PreferNoSchedule', 'NoExecute']),
          'What happens to pods that do not tolerate the taint.',
          { example: 'NoSchedule' },
        ),
      }),
    ),
    'Taints of the Node when it registers. An empty list means none.',
    { absent: 'that of kubeadm for the role', example: [{ key: 'dedicated', value: 'gpu', effect: 'NoSchedule' }] },
  ),
  criSocket: field(
    z.string().regex(/^unix:\/\/\/|^npipe:\/\//, 'not a socket URL, such as unix:///run/containerd/containerd.sock'),
    'The socket of the container runtime, as a URL.',
    {
      absent: 'unix:///run/containerd/containerd.sock, or the named pipe of containerd on Windows',
      example: 'unix:///run/containerd/containerd.sock',
    },
  ),
  imagePullPolicy: field(z.enum(['Always', 'IfNotPresent', 'Never']), 'When kubeadm pulls its images.', {
    absent: 'that of kubeadm, IfNotPresent; Never with images.archives',
    example: 'IfNotPresent',
  }),
  imagePullSerial: field(z.boolean(), 'Whether kubeadm pulls one image after the other. false needs kubeadm 1.31.', {
    absent: 'that of kubeadm, true',
    example: false,
  }),
  kubelet: field(
    object({
      config: field(z.record(z.string(), z.unknown()), 'Fields of KubeletConfiguration v1beta1.', {
        default: {},
        example: { maxPods: 200 },
      }),
      args: field(z.array(argument), 'Command line arguments of the kubelet. Prefer config where it has a field.', {
        default: [],
        example: [{ name: 'node-ip', value: '10.0.0.11' }],
      }),
    }),
    'Settings of the kubelet.',
    { absent: 'the defaults of kubeadm', example: { config: { maxPods: 200 } } },
  ),
});

export const kubernetes = object({
  version: field(
    z
      .string()
      .regex(
        /^v\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$/,
        'not an exact version, such as "v1.35.2": nothing is looked up',
      ),
    'The exact Kubernetes version. kubeadm on the machine must have the same minor version; nothing is downloaded.',
    { example: 'v1.35.2' },
  ),
  role: field(
    z.enum(['InitControlPlane', 'JoinControlPlane', 'Worker']),
    'InitControlPlane creates a cluster, JoinControlPlane adds a control plane machine to one, Worker adds any other machine.',
    { example: 'Worker' },
  ),
  bootstrapper: field(bootstrapper, 'The program that makes the node.', {
    absent: 'kubeadm with its defaults',
    example: { kubeadm: { verbosity: 2 } },
  }),
  cluster: field(
    cluster,
    'Settings of the cluster. They matter when it is created; a machine that joins reads them from the cluster.',
    {
      absent: 'the defaults of kubeadm',
      example: { name: 'prod-a', controlPlaneEndpoint: 'api.prod-a.example:6443', podSubnets: ['10.244.0.0/16'] },
    },
  ),
  pki: field(
    object({
      ca: field(keyPair, 'The authority of the cluster.', {
        absent: 'kubeadm makes or fetches it',
        example: { certificate: EXAMPLE_CERTIFICATE, key: { secret: 'caKey' } },
      }),
      etcd: field(keyPair, 'The authority of etcd.', {
        absent: 'kubeadm makes or fetches it',
        example: { certificate: EXAMPLE_CERTIFICATE, key: { secret: 'caKey' } },
      }),
      frontProxy: field(keyPair, 'The authority of the aggregation layer.', {
        absent: 'kubeadm makes or fetches it',
        example: { certificate: EXAMPLE_CERTIFICATE, key: { secret: 'caKey' } },
      }),
      serviceAccount: field(
        object({
          publicKey: field(publicKeyPem, 'The public key in PEM form.', {
            example: '-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n-----END PUBLIC KEY-----\n',
          }),
          key: field(secret, 'The private key in PEM form.', { example: { secret: 'serviceAccountKey' } }),
        }),
        'The key pair that signs tokens of service accounts.',
        {
          absent: 'kubeadm makes or fetches it',
          example: {
            publicKey: '-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n-----END PUBLIC KEY-----\n',
            key: { secret: 'serviceAccountKey' },
          },
        },
      ),
      apiserverEtcdClient: field(keyPair, 'The certificate with which the API server connects to an external etcd.', {
        absent: 'kubeadm makes it',
        example: { certificate: EXAMPLE_CERTIFICATE, key: { secret: 'caKey' } },
      }),
    }),
    'Certificates and keys of the cluster that exist already. machineadm checks that they belong together. Not for a worker.',
    {
      absent: 'kubeadm makes or fetches them',
      example: { ca: { certificate: EXAMPLE_CERTIFICATE, key: { secret: 'caKey' } } },
    },
  ),
  controlPlane: field(controlPlane, 'The components of the control plane on this machine. Not for a worker.', {
    absent: 'the defaults of kubeadm',
    example: { apiEndpoint: { bindPort: 6443 } },
  }),
  node: field(node, 'The Node object and the kubelet of this machine.', {
    absent: 'the defaults of kubeadm',
    example: { name: 'node-1', labels: { rack: 'r12' } },
  }),
  join: field(join, 'How a machine that joins finds its cluster. Required for the roles JoinControlPlane and Worker.', {
    absent: 'the role InitControlPlane has none',
    example: {
      discovery: {
        token: {
          token: { secret: 'joinToken' },
          endpoint: 'api.prod-a.example:6443',
          caCertHashes: ['sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'],
        },
      },
    },
  }),
  addons: field(
    object({
      dns: field(
        object({
          enabled: field(z.boolean(), 'Whether kubeadm installs the addon.', { default: true, example: false }),
          imageRepository: field(imageRepository, 'The repository of the image.', {
            absent: 'kubernetes.cluster.imageRepository',
            example: 'registry.example:5000/kubernetes',
          }),
          imageTag: field(imageTag, 'The tag of the image.', { absent: 'that of kubeadm', example: 'v1.12.1' }),
        }),
        'The addon CoreDNS.',
        { absent: 'enabled, with the image of kubeadm', example: { imageTag: 'v1.12.1' } },
      ),
      proxy: field(
        object({
          enabled: field(z.boolean(), 'Whether kubeadm installs the addon.', { default: true, example: false }),
          config: field(z.record(z.string(), z.unknown()), 'Fields of KubeProxyConfiguration v1alpha1.', {
            default: {},
            example: { mode: 'nftables' },
          }),
        }),
        'The addon kube-proxy.',
        { absent: 'enabled, with the defaults of kubeadm', example: { enabled: false } },
      ),
    }),
    'The addons that kubeadm installs when it creates a cluster.',
    { absent: 'CoreDNS and kube-proxy', example: { proxy: { enabled: false } } },
  ),
  timeouts: field(
    object({
      controlPlane: field(duration, 'How long to wait for the components of the control plane.', {
        absent: 'that of kubeadm, 4m',
        example: '6m',
      }),
      kubelet: field(duration, 'How long to wait for the kubelet. Needs kubeadm 1.31.', {
        absent: 'that of kubeadm, 4m',
        example: '6m',
      }),
      api: field(duration, 'How long one request to the API server may be retried. Needs kubeadm 1.31.', {
        absent: 'that of kubeadm, 1m',
        example: '2m',
      }),
      etcd: field(duration, 'How long one request to etcd may be retried. Needs kubeadm 1.31.', {
        absent: 'that of kubeadm, 2m',
        example: '4m',
      }),
      tlsBootstrap: field(duration, 'How long to wait for the certificate of the kubelet. Needs kubeadm 1.31.', {
        absent: 'that of kubeadm, 5m',
        example: '10m',
      }),
      discovery: field(duration, 'How long discovery may take.', { absent: 'that of kubeadm, 5m', example: '10m' }),
      overall: field(duration, 'How long the whole run may take.', { default: '30m', example: '20m' }),
    }),
    'How long kubeadm and the whole run wait.',
    { absent: 'the defaults of kubeadm, and 30m for the whole run', example: { overall: '20m' } },
  ),
  ready: field(
    object({
      require: field(
        z.enum(['KubeletHealthy', 'NodeRegistered', 'NodeReady', 'Command']),
        'The proof: the health endpoint of the kubelet, the Node in the API server, the Node with condition Ready, or the successTest of bootstrapper.exec.',
        {
          absent: 'NodeRegistered; with bootstrapper.exec its successTest, or else KubeletHealthy',
          example: 'NodeReady',
        },
      ),
      timeout: field(duration, 'How long to wait for the proof.', { default: '5m', example: '10m' }),
    }),
    'What must be true before the run is a success.',
    { absent: 'NodeRegistered within 5m', example: { require: 'NodeReady', timeout: '10m' } },
  ),
});

export type KubernetesSection = z.infer<typeof kubernetes>;
