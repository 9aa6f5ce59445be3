import * as z from 'zod';
import { apiServerFiles } from './api-server.ts';
import { bootstrapper } from './bootstrapper.ts';
import {
  absolutePath,
  argument,
  certificateOrVariable,
  cidr,
  dnsSubdomain,
  duration,
  environmentVariable,
  hostPort,
  imageRepository,
  imageTag,
  labels,
  publicKeyPem,
  secret,
  url,
} from './fields.ts';
import { join } from './join.ts';

/** What a static pod can refer to: itself. It has no access to objects of the API. */
const podEnvironmentVariable = z.union(
  [
    environmentVariable,
    z.strictObject({
      name: environmentVariable.shape.name,
      valueFrom: z.union([
        z.strictObject({
          fieldRef: z.strictObject({ fieldPath: z.string().min(1), apiVersion: z.string().min(1).optional() }),
        }),
        z.strictObject({
          resourceFieldRef: z.strictObject({
            resource: z.string().min(1),
            containerName: z.string().min(1).optional(),
            divisor: z.string().min(1).optional(),
          }),
        }),
      ]),
    }),
  ],
  { error: 'expected {name, value}, or {name, valueFrom} with fieldRef or resourceFieldRef' },
);

const componentFields = {
  args: z.array(argument).optional(),
  env: z.array(podEnvironmentVariable).optional(),
  volumes: z
    .array(
      z.strictObject({
        name: z.string().min(1),
        hostPath: absolutePath,
        mountPath: absolutePath,
        readOnly: z.boolean().optional(),
        pathType: z
          .enum(['DirectoryOrCreate', 'Directory', 'FileOrCreate', 'File', 'Socket', 'CharDevice', 'BlockDevice'])
          .optional(),
      }),
    )
    .optional(),
};
const component = z.strictObject(componentFields);

const keyPair = z.strictObject({
  certificate: certificateOrVariable,
  key: secret.optional(),
});

const cluster = z.strictObject({
  name: z.string().min(1).optional(),
  controlPlaneEndpoint: hostPort.optional(),
  podSubnets: z.array(cidr).optional(),
  serviceSubnets: z.array(cidr).optional(),
  dnsDomain: dnsSubdomain.optional(),
  imageRepository: imageRepository.optional(),
  featureGates: z.record(z.string().regex(/^[A-Za-z0-9]+$/, 'not the name of a feature gate'), z.boolean()).optional(),
  certificatesDirectory: absolutePath.optional(),
  certificateValidity: duration.optional(),
  caCertificateValidity: duration.optional(),
  encryptionAlgorithm: z.enum(['RSA-2048', 'RSA-3072', 'RSA-4096', 'ECDSA-P256', 'ECDSA-P384']).optional(),
  bootstrapTokens: z
    .array(
      z.strictObject({
        token: secret,
        description: z.string().optional(),
        ttl: duration.optional(),
        expires: z.iso.datetime({ offset: true, error: 'not an RFC 3339 time' }).optional(),
        usages: z.array(z.enum(['signing', 'authentication'])).optional(),
        groups: z.array(z.string().regex(/^system:bootstrappers:[a-z0-9:-]+$/, 'not a bootstrap group')).optional(),
      }),
    )
    .optional(),
});

const etcdURL = url('http', 'not a URL, such as https://10.0.0.20:2379');

const etcd = z.strictObject({
  local: z
    .strictObject({
      dataDirectory: absolutePath.optional(),
      imageRepository: imageRepository.optional(),
      imageTag: imageTag.optional(),
      args: z.array(argument).optional(),
      env: z.array(podEnvironmentVariable).optional(),
      serverCertSANs: z.array(z.string().min(1)).optional(),
      peerCertSANs: z.array(z.string().min(1)).optional(),
    })
    .optional(),
  external: z
    .strictObject({
      endpoints: z.array(etcdURL).min(1),
      httpEndpoints: z.array(etcdURL).optional(),
      caFile: absolutePath,
      certFile: absolutePath,
      keyFile: absolutePath,
    })
    .optional(),
});

const controlPlane = z.strictObject({
  apiEndpoint: z
    .strictObject({
      advertiseAddress: z.union([z.ipv4(), z.ipv6()], { error: 'not an IP address' }).optional(),
      bindPort: z.int().min(1).max(65535).optional(),
    })
    .optional(),
  apiServer: z
    .strictObject({ ...componentFields, certSANs: z.array(z.string().min(1)).optional(), ...apiServerFiles })
    .optional(),
  controllerManager: component.optional(),
  scheduler: component.optional(),
  etcd: etcd.optional(),
  certificateKey: secret.optional(),
  staticPods: z
    .array(
      z.strictObject({
        name: dnsSubdomain,
        manifest: z.string().min(1),
        adminKubeconfig: z.enum(['Auto', 'AsWritten']).optional(),
      }),
    )
    .optional(),
});

const node = z.strictObject({
  name: dnsSubdomain.optional(),
  providerID: z.string().min(1).optional(),
  labels: labels.optional(),
  taints: z
    .array(
      z.strictObject({
        key: z.string().min(1),
        value: z.string().optional(),
        effect: z.enum(['NoSchedule', 'PreferNoSchedule', 'NoExecute']),
      }),
    )
    .optional(),
  criSocket: z
    .string()
    .regex(/^unix:\/\/\/|^npipe:\/\//, 'not a socket URL, such as unix:///run/containerd/containerd.sock')
    .optional(),
  imagePullPolicy: z.enum(['Always', 'IfNotPresent', 'Never']).optional(),
  imagePullSerial: z.boolean().optional(),
  kubelet: z
    .strictObject({
      config: z.record(z.string(), z.unknown()).optional(),
      args: z.array(argument).optional(),
    })
    .optional(),
});

export const kubernetes = z.strictObject({
  version: z
    .string()
    .regex(
      /^v\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$/,
      'not an exact version, such as "v1.35.2": nothing is looked up',
    ),
  role: z.enum(['InitControlPlane', 'JoinControlPlane', 'Worker']),
  bootstrapper: bootstrapper.optional(),
  cluster: cluster.optional(),
  pki: z
    .strictObject({
      ca: keyPair.optional(),
      etcd: keyPair.optional(),
      frontProxy: keyPair.optional(),
      serviceAccount: z.strictObject({ publicKey: publicKeyPem, key: secret }).optional(),
      apiserverEtcdClient: keyPair.optional(),
    })
    .optional(),
  controlPlane: controlPlane.optional(),
  node: node.optional(),
  join: join.optional(),
  addons: z
    .strictObject({
      dns: z
        .strictObject({
          enabled: z.boolean().optional(),
          imageRepository: imageRepository.optional(),
          imageTag: imageTag.optional(),
        })
        .optional(),
      proxy: z
        .strictObject({
          enabled: z.boolean().optional(),
          config: z.record(z.string(), z.unknown()).optional(),
        })
        .optional(),
    })
    .optional(),
  timeouts: z
    .strictObject({
      controlPlane: duration.optional(),
      kubelet: duration.optional(),
      api: duration.optional(),
      etcd: duration.optional(),
      tlsBootstrap: duration.optional(),
      discovery: duration.optional(),
      overall: duration.optional(),
    })
    .optional(),
  ready: z
    .strictObject({
      require: z.enum(['KubeletHealthy', 'NodeRegistered', 'NodeReady', 'Command']).optional(),
      timeout: duration.optional(),
    })
    .optional(),
});

export type KubernetesSection = z.infer<typeof kubernetes>;
export type ComponentSection = z.infer<typeof component>;
