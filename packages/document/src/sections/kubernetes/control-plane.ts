import type { Finding } from '../../diagnostics/index.ts';
import { exclusive } from '../../fields/conditions.ts';
import type { ResolveSecret } from '../../fields/convert-values.ts';
import { choice, field, object } from '../../fields/field.ts';
import { absolutePath, argument, dnsSubdomain, imageRepository, imageTag, secret, url } from '../../fields/types.ts';
import { KUBEADM_PODS } from '../../ownership/kubernetes-paths.ts';
import * as z from '../../schema/zod.ts';
import type { SecretValue } from '../../secrets/secret.ts';
import { QUIET } from '../../yaml/foreign-yaml.ts';
import { type ApiServerModel, apiServer, toApiServer } from '../api-server/index.ts';
import {
  type Argument,
  type ComponentModel,
  component,
  type PodEnvironmentVariable,
  podEnvironmentVariable,
  toComponent,
} from '../component.ts';
import { type CertificatesModel, certificates, toCertificates } from './certificates.ts';

export interface ControlPlaneModel {
  readonly apiEndpoint: { readonly advertiseAddress: string | undefined; readonly bindPort: number | undefined };
  readonly apiServer: ApiServerModel;
  readonly controllerManager: ComponentModel;
  readonly scheduler: ComponentModel;
  readonly etcd: EtcdModel;
  /** 64 hex digits; encrypts the shared certificates on upload and decrypts them on a control-plane join. */
  readonly certificateKey: SecretValue | undefined;
  readonly certificates: CertificatesModel;
  readonly staticPods: readonly StaticPodModel[];
}

/** A pod that the kubelet starts from a file beside kubeadm's own, as kube-vip is. */
export interface StaticPodModel {
  /** Of the file, without `.yaml`. */
  readonly name: string;
  /** YAML or JSON of one Pod. */
  readonly manifest: string;
  /**
   * `Auto`: volumes of /etc/kubernetes/admin.conf hold super-admin.conf where admin.conf has no rights yet, which is
   * during `kubeadm init` since 1.29.
   */
  readonly adminKubeconfig: 'Auto' | 'AsWritten';
}

export type EtcdModel =
  | {
      readonly kind: 'local';
      readonly dataDirectory: string | undefined;
      readonly imageRepository: string | undefined;
      readonly imageTag: string | undefined;
      readonly args: readonly Argument[];
      readonly env: readonly PodEnvironmentVariable[];
      readonly serverCertSANs: readonly string[];
      readonly peerCertSANs: readonly string[];
    }
  | {
      readonly kind: 'external';
      readonly endpoints: readonly string[];
      /** Where etcd serves /metrics and /version apart from gRPC; empty = where it serves gRPC. */
      readonly httpEndpoints: readonly string[];
      readonly caFile: string;
      readonly certFile: string;
      readonly keyFile: string;
    };

/** 32 bytes. */
export const CERTIFICATE_KEY = /^[0-9a-f]{64}$/;

const etcdURL = url('http', 'not a URL, such as https://10.0.0.20:2379');

const etcd = object(
  {
    local: field(
      object({
        dataDirectory: field(
          absolutePath,
          'The directory of the data. Use a directory below a mount point and not the mount point itself.',
          { absent: 'the default of kubeadm, /var/lib/etcd', example: '/var/lib/etcd-disk/data' },
        ),
        imageRepository: field(imageRepository, 'The repository of the image.', {
          absent: 'kubernetes.cluster.imageRepository',
          example: 'registry.example:5000/kubernetes',
        }),
        imageTag: field(imageTag, 'The tag of the image.', { absent: 'the default of kubeadm', example: 'v1.12.1' }),
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
        peerCertSANs: field(
          z.array(z.string().min(1)),
          'Further names that the peer certificate of etcd is valid for.',
          {
            default: [],
            example: ['etcd-0.prod-a.example'],
          },
        ),
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
  },
  () => [exclusive('local', 'external')],
);

export const controlPlane = object({
  apiEndpoint: field(
    object({
      advertiseAddress: field(
        z.union([z.ipv4(), z.ipv6()], { error: 'not an IP address' }),
        'The IP address that the API server advertises.',
        { absent: 'the address of the default route', example: '10.0.0.11' },
      ),
      bindPort: field(z.int().min(1).max(65535), 'The port of the API server.', {
        absent: 'the default of kubeadm, 6443',
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
  certificates: field(certificates, 'The renewal of the certificates of kubeadm on this machine.', {
    absent: 'only an upgrade to another version renews certificates',
    example: { renewBefore: '30d' },
  }),
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
          choice({
            Auto: 'Volumes of admin.conf hold super-admin.conf where admin.conf has no rights yet: during kubeadm init from 1.29.',
            AsWritten: 'The manifest is written as it is.',
          }),
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

export type ControlPlaneSection = z.infer<typeof controlPlane>;

export function toControlPlane(section: ControlPlaneSection | undefined, resolve: ResolveSecret): ControlPlaneModel {
  const key = section?.certificateKey;
  return {
    apiEndpoint: {
      advertiseAddress: section?.apiEndpoint?.advertiseAddress,
      bindPort: section?.apiEndpoint?.bindPort,
    },
    apiServer: toApiServer(section?.apiServer ?? {}, resolve),
    controllerManager: toComponent(section?.controllerManager),
    scheduler: toComponent(section?.scheduler),
    etcd: toEtcd(section?.etcd),
    certificateKey: key === undefined ? undefined : resolve(key, 'kubernetes.controlPlane.certificateKey'),
    certificates: toCertificates(section?.certificates),
    staticPods: (section?.staticPods ?? []).map(({ name, manifest, adminKubeconfig }) => ({
      name,
      manifest,
      adminKubeconfig: adminKubeconfig ?? 'Auto',
    })),
  };
}

function toEtcd(section: ControlPlaneSection['etcd']): EtcdModel {
  if (section?.external !== undefined) {
    return { kind: 'external', ...section.external, httpEndpoints: section.external.httpEndpoints ?? [] };
  }
  const local = section?.local;
  return {
    kind: 'local',
    dataDirectory: local?.dataDirectory,
    imageRepository: local?.imageRepository,
    imageTag: local?.imageTag,
    args: local?.args ?? [],
    env: local?.env ?? [],
    serverCertSANs: local?.serverCertSANs ?? [],
    peerCertSANs: local?.peerCertSANs ?? [],
  };
}

export function checkStaticPods(controlPlane: ControlPlaneSection | undefined): Finding[] {
  const seen = new Set<string>();
  return (controlPlane?.staticPods ?? []).flatMap(({ name }, index): Finding[] => {
    const path = ['kubernetes', 'controlPlane', 'staticPods', index, 'name'];
    const twice = seen.has(name);
    seen.add(name);
    if (KUBEADM_PODS.some((own) => own === name)) {
      const hint = 'change it through kubernetes.bootstrapper.kubeadm.patches';
      return [{ path, message: `kubeadm itself writes ${name}.yaml`, hint }];
    }
    return twice ? [{ code: 'Duplicate', path, message: `a second static pod of the name "${name}"` }] : [];
  });
}

/** A static pod that is no Pod stops the kubelet from nothing: it is only logged there, and the API never answers. */
export async function checkManifests(controlPlane: ControlPlaneSection | undefined): Promise<Finding[]> {
  const findings: Finding[] = [];
  const pods = controlPlane?.staticPods ?? [];
  if (pods.length === 0) return findings;
  const { parseAllDocuments } = await import('yaml');
  for (const [index, { manifest }] of pods.entries()) {
    const documents = parseAllDocuments(manifest, QUIET);
    const [only, second] = Array.isArray(documents) ? documents : [];
    const path = ['kubernetes', 'controlPlane', 'staticPods', index, 'manifest'];
    if (only === undefined || only.errors.length > 0) findings.push({ path, message: 'not YAML' });
    else if (second !== undefined || only.get('kind') !== 'Pod' || only.get('apiVersion') !== 'v1') {
      findings.push({ path, message: 'not one Pod (apiVersion: v1, kind: Pod)' });
    }
  }
  return findings;
}
