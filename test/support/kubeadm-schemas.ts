import * as z from 'zod';

/**
 * The documents that kubeadm reads, field by field and without mercy: an unknown field fails. Written from
 * k/k cmd/kubeadm/app/apis/kubeadm/{v1beta2,v1beta3,v1beta4}/types.go, not from what we render.
 */
const text = z.string().min(1);
/** What Go's time.ParseDuration takes. */
const duration = z.string().regex(/^(?:\d+(?:\.\d+)?(?:h|ms|m|s))+$/);
const token = z.string().regex(/^[a-z0-9]{6}\.[a-z0-9]{16}$/);
const argumentMap = z.record(text, z.string());
const argumentList = z.array(z.strictObject({ name: text, value: z.string() })).min(1);
const extraEnvs = z.array(z.strictObject({ name: text, value: z.string() })).min(1);
const image = { imageRepository: text.optional(), imageTag: text.optional() };
const apiEndpoint = z.strictObject({
  advertiseAddress: text.optional(),
  bindPort: z.int().min(1).max(65535).optional(),
});
const extraVolumes = z
  .array(
    z.strictObject({
      name: text,
      hostPath: text,
      mountPath: text,
      readOnly: z.boolean().optional(),
      pathType: text.optional(),
    }),
  )
  .min(1);
const bootstrapTokens = z
  .array(
    z
      .strictObject({
        token,
        description: z.string().optional(),
        ttl: duration.optional(),
        expires: z.iso.datetime({ offset: true }).optional(),
        usages: z.array(text).optional(),
        groups: z.array(text).optional(),
      })
      .refine((value) => value.ttl === undefined || value.expires === undefined, 'ttl excludes expires'),
  )
  .min(1);
const nodeRegistrationFields = {
  name: text.optional(),
  criSocket: text.optional(),
  taints: z.array(z.strictObject({ key: text, value: z.string().optional(), effect: text })).optional(),
  ignorePreflightErrors: z.array(text).optional(),
};
const imagePullPolicy = z.enum(['Always', 'IfNotPresent', 'Never']).optional();
const networking = z.strictObject({
  serviceSubnet: text.optional(),
  podSubnet: text.optional(),
  dnsDomain: text.optional(),
});
const externalEtcd = z.strictObject({ endpoints: z.array(text).min(1), caFile: text, certFile: text, keyFile: text });
const bootstrapTokenDiscovery = z
  .strictObject({
    token,
    apiServerEndpoint: text,
    caCertHashes: z.array(text).optional(),
    unsafeSkipCAVerification: z.boolean().optional(),
  })
  .refine((value) => value.caCertHashes !== undefined || value.unsafeSkipCAVerification === true);
const patches = z.strictObject({ directory: text }).optional();
const skipPhases = z.array(text).min(1).optional();
const controlPlane = z.strictObject({ localAPIEndpoint: apiEndpoint.optional(), certificateKey: text.optional() });

const mapComponentFields = { extraArgs: argumentMap.optional(), extraVolumes: extraVolumes.optional() };
const listComponentFields = {
  extraArgs: argumentList.optional(),
  extraVolumes: extraVolumes.optional(),
  extraEnvs: extraEnvs.optional(),
};
const etcdFields = {
  ...image,
  dataDir: text.optional(),
  serverCertSANs: z.array(text).optional(),
  peerCertSANs: z.array(text).optional(),
};
const clusterFields = {
  kind: z.literal('ClusterConfiguration'),
  networking: networking.optional(),
  kubernetesVersion: z.string().regex(/^v\d+\.\d+\.\d+/),
  controlPlaneEndpoint: text.optional(),
  certificatesDir: text.optional(),
  imageRepository: text.optional(),
  featureGates: z.record(text, z.boolean()).optional(),
  clusterName: text.optional(),
};
const initFields = {
  kind: z.literal('InitConfiguration'),
  bootstrapTokens: bootstrapTokens.optional(),
  localAPIEndpoint: apiEndpoint.optional(),
  certificateKey: text.optional(),
};
const joinFields = { kind: z.literal('JoinConfiguration'), caCertPath: text.optional() };

function mapCluster(apiVersion: string) {
  return z.strictObject({
    apiVersion: z.literal(apiVersion),
    ...clusterFields,
    etcd: z
      .strictObject({
        local: z.strictObject({ ...etcdFields, extraArgs: argumentMap.optional() }).optional(),
        external: externalEtcd.optional(),
      })
      .optional(),
    apiServer: z
      .strictObject({
        ...mapComponentFields,
        certSANs: z.array(text).optional(),
        timeoutForControlPlane: duration.optional(),
      })
      .optional(),
    controllerManager: z.strictObject(mapComponentFields).optional(),
    scheduler: z.strictObject(mapComponentFields).optional(),
    dns: z.strictObject(image).optional(),
  });
}

const mapDiscovery = z.strictObject({
  bootstrapToken: bootstrapTokenDiscovery.optional(),
  file: z.strictObject({ kubeConfigPath: text }).optional(),
  tlsBootstrapToken: token.optional(),
  timeout: duration.optional(),
});

const v1beta2Node = z.strictObject({ ...nodeRegistrationFields, kubeletExtraArgs: argumentMap.optional() });
const v1beta2 = z.discriminatedUnion('kind', [
  mapCluster('kubeadm.k8s.io/v1beta2'),
  z.strictObject({
    apiVersion: z.literal('kubeadm.k8s.io/v1beta2'),
    ...initFields,
    nodeRegistration: v1beta2Node.optional(),
  }),
  z.strictObject({
    apiVersion: z.literal('kubeadm.k8s.io/v1beta2'),
    ...joinFields,
    nodeRegistration: v1beta2Node.optional(),
    discovery: mapDiscovery,
    controlPlane: controlPlane.optional(),
  }),
]);

const v1beta3Node = z.strictObject({
  ...nodeRegistrationFields,
  kubeletExtraArgs: argumentMap.optional(),
  imagePullPolicy,
});
const v1beta3 = z.discriminatedUnion('kind', [
  mapCluster('kubeadm.k8s.io/v1beta3'),
  z.strictObject({
    apiVersion: z.literal('kubeadm.k8s.io/v1beta3'),
    ...initFields,
    nodeRegistration: v1beta3Node.optional(),
    skipPhases,
    patches,
  }),
  z.strictObject({
    apiVersion: z.literal('kubeadm.k8s.io/v1beta3'),
    ...joinFields,
    nodeRegistration: v1beta3Node.optional(),
    discovery: mapDiscovery,
    controlPlane: controlPlane.optional(),
    skipPhases,
    patches,
  }),
]);

const v1beta4Node = z.strictObject({
  ...nodeRegistrationFields,
  kubeletExtraArgs: argumentList.optional(),
  imagePullPolicy,
  imagePullSerial: z.boolean().optional(),
});
const timeouts = z
  .strictObject({
    controlPlaneComponentHealthCheck: duration.optional(),
    kubeletHealthCheck: duration.optional(),
    kubernetesAPICall: duration.optional(),
    etcdAPICall: duration.optional(),
    tlsBootstrap: duration.optional(),
    discovery: duration.optional(),
    upgradeManifests: duration.optional(),
  })
  .optional();
const v1beta4 = z.discriminatedUnion('kind', [
  z.strictObject({
    apiVersion: z.literal('kubeadm.k8s.io/v1beta4'),
    ...clusterFields,
    etcd: z
      .strictObject({
        local: z
          .strictObject({ ...etcdFields, extraArgs: argumentList.optional(), extraEnvs: extraEnvs.optional() })
          .optional(),
        external: externalEtcd.extend({ httpEndpoints: z.array(text).min(1).optional() }).optional(),
      })
      .optional(),
    apiServer: z.strictObject({ ...listComponentFields, certSANs: z.array(text).optional() }).optional(),
    controllerManager: z.strictObject(listComponentFields).optional(),
    scheduler: z.strictObject(listComponentFields).optional(),
    dns: z.strictObject({ ...image, disabled: z.boolean().optional() }).optional(),
    proxy: z.strictObject({ disabled: z.boolean().optional() }).optional(),
    encryptionAlgorithm: z.enum(['RSA-2048', 'RSA-3072', 'RSA-4096', 'ECDSA-P256', 'ECDSA-P384']).optional(),
    certificateValidityPeriod: duration.optional(),
    caCertificateValidityPeriod: duration.optional(),
  }),
  z.strictObject({
    apiVersion: z.literal('kubeadm.k8s.io/v1beta4'),
    ...initFields,
    dryRun: z.boolean().optional(),
    nodeRegistration: v1beta4Node.optional(),
    skipPhases,
    patches,
    timeouts,
  }),
  z.strictObject({
    apiVersion: z.literal('kubeadm.k8s.io/v1beta4'),
    ...joinFields,
    dryRun: z.boolean().optional(),
    nodeRegistration: v1beta4Node.optional(),
    discovery: z.strictObject({
      bootstrapToken: bootstrapTokenDiscovery.optional(),
      file: z.strictObject({ kubeConfigPath: text }).optional(),
      tlsBootstrapToken: token.optional(),
    }),
    controlPlane: controlPlane.optional(),
    skipPhases,
    patches,
    timeouts,
  }),
]);

/** Any document of the kubelet's API group; its fields are the kubelet's business. */
const kubelet = z.looseObject({
  apiVersion: z.literal('kubelet.config.k8s.io/v1beta1'),
  kind: z.literal('KubeletConfiguration'),
});

/** The same of kube-proxy. */
const kubeProxy = z.looseObject({
  apiVersion: z.literal('kubeproxy.config.k8s.io/v1alpha1'),
  kind: z.literal('KubeProxyConfiguration'),
});

/** One document of a file for `kubeadm --config`, by configuration version. */
export const KUBEADM_SCHEMAS = {
  v1beta2: z.union([v1beta2, kubelet, kubeProxy]),
  v1beta3: z.union([v1beta3, kubelet, kubeProxy]),
  v1beta4: z.union([v1beta4, kubelet, kubeProxy]),
} as const;
