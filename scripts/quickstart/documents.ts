import { randomBytes, randomInt } from 'node:crypto';
import { join } from 'node:path';
import { has } from '@machineadm/document/kubernetes-releases/features.ts';
import type { ClusterArtefacts } from '../lab/artefacts.ts';
import { GATEWAY } from '../lab/host-changes.ts';

/** The directory of the shared sources of the documents. */
export const SOURCES = join(import.meta.dirname, 'lab');
/** The directory of the document on a machine: its sources are merged in the order of their names. */
export const DOCUMENT = '/etc/machineadm/bootstrap.d';

/** A machine of the quick start before it is made. */
export interface Site {
  readonly name: string;
  readonly ip: string;
  readonly role: 'balancer' | 'control-plane' | 'worker';
  /** The addresses of the pods on this machine. */
  readonly podSubnet: string;
}

/** The credentials for joining the cluster. The hash is not known before the first machine has created the cluster. */
export interface Joining {
  readonly token: string;
  /** Encrypts the certificates that the first control plane uploads for the others; absent where it is the only one. */
  readonly certificateKey?: string | undefined;
  readonly caCertHash?: string;
}

/** The machines of a quick start in the order of their creation. The first node creates the cluster. */
export function sitesOf(
  { controlPlanes, workers }: { readonly controlPlanes: number; readonly workers: number },
  address: (index: number) => string,
): Site[] {
  const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);
  const named = [
    ...(controlPlanes > 1 ? [['qs-balancer', 'balancer'] as const] : []),
    ...numbers(controlPlanes).map((n) => [n === 1 ? 'quickstart' : `qs-control${n}`, 'control-plane'] as const),
    ...numbers(workers).map((n) => [`qs-worker${n}`, 'worker'] as const),
  ];
  return named.map(([name, role], index) => ({ name, ip: address(index), role, podSubnet: `10.244.${index}.0/24` }));
}

/** The artefacts that a document depends on. */
export type Built = Pick<ClusterArtefacts, 'release' | 'official'>;

/** The last source of a machine's document: the fields that depend on the machine, the cluster and the release. */
export function machineSource(
  site: Site,
  all: readonly Site[],
  { release, official }: Built,
  { token, certificateKey, caCertHash }: Joining,
): object {
  if (site.role === 'balancer') return balancerSource(site, all);
  const { version, minor, repository, images } = release;
  const image = (name: string): string => `${repository}/${images[name]}`;
  const endpoint = `${all[0]?.ip}:6443`;
  const others = all.filter(({ name, role }) => name !== site.name && role !== 'balancer');
  const routes = others.map(({ ip, podSubnet }) => `[Route]\nDestination=${podSubnet}\nGateway=${ip}\n`);
  const node = {
    // Without workers, the control planes run the pods as well.
    ...(all.some(({ role }) => role === 'worker') ? {} : { taints: [] }),
    // The lab has cgroup v1.
    ...(has('cgroupV1', minor) ? {} : { kubelet: { config: { failCgroupV1: false } } }),
  };
  const fromSecret = { secret: 'token' };
  const sharesCertificates = certificateKey !== undefined && site.role === 'control-plane';
  const role =
    caCertHash === undefined
      ? {
          cluster: {
            imageRepository: repository,
            controlPlaneEndpoint: endpoint,
            bootstrapTokens: [{ token: fromSecret, ttl: '1h' }],
          },
          addons: { dns: { enabled: official } },
        }
      : { join: { discovery: { token: { token: fromSecret, endpoint, caCertHashes: [caCertHash] } } } };
  return {
    metadata: { name: site.name },
    variables: { podSubnet: { value: site.podSubnet } },
    secrets: {
      token: { value: token },
      ...(sharesCertificates ? { certificateKey: { value: certificateKey } } : {}),
    },
    host: hostOf(site, routes),
    containerRuntime: { containerd: { sandboxImage: image('pause') } },
    images: { required: [image('pause'), image('kube-proxy'), 'k8s.gcr.io/quickstart/busybox:1'] },
    kubernetes: {
      version,
      node,
      ...(sharesCertificates ? { controlPlane: { certificateKey: { secret: 'certificateKey' } } } : {}),
      ...role,
    },
  };
}

function hostOf(site: Site, routes: readonly string[]): object {
  const network = `[Match]\nName=host0\n[Network]\nAddress=${site.ip}/24\nGateway=${GATEWAY}\n${routes.join('')}`;
  return {
    hostname: site.name,
    network: { tool: 'networkd', files: [{ name: '10-host0.network', content: network }] },
  };
}

function balancerSource(site: Site, all: readonly Site[]): object {
  const content = balancerConfiguration(all.filter(({ role }) => role === 'control-plane'));
  return {
    metadata: { name: site.name },
    host: { ...hostOf(site, []), files: [{ path: BALANCER_CONFIGURATION, content }] },
  };
}

/** Where `balancer.yaml` expects the configuration of haproxy. */
export const BALANCER_CONFIGURATION = '/etc/haproxy/api.cfg';

/** haproxy forwards TCP connections to an API server that is ready, without terminating TLS. */
export function balancerConfiguration(controlPlanes: readonly Pick<Site, 'name' | 'ip'>[]): string {
  const servers = controlPlanes.map(({ name, ip }) => `  server ${name} ${ip}:6443\n`);
  return `defaults
  mode tcp
  timeout connect 2s
  timeout client 1h
  timeout server 1h
frontend api
  bind :6443
  default_backend control-planes
backend control-planes
  option httpchk GET /readyz
  http-check expect status 200
  default-server check check-ssl verify none inter 1s fall 2 rise 1 on-marked-down shutdown-sessions
${servers.join('')}`;
}

/** The shared sources of a machine's document, in `scripts/quickstart/lab`. */
export function sharedSources({ role }: Site, isFirst: boolean): readonly string[] {
  if (role === 'balancer') return ['balancer.yaml'];
  if (role === 'worker') return ['10-node.yaml', '20-worker.yaml'];
  return ['10-node.yaml', isFirst ? '20-control-plane.yaml' : '20-control-plane-join.yaml'];
}

/** The secrets of a new cluster. */
export function newSecrets(controlPlanes: number): Joining {
  const token = `${randomText(6)}.${randomText(16)}`;
  return { token, certificateKey: controlPlanes > 1 ? randomBytes(32).toString('hex') : undefined };
}

function randomText(length: number): string {
  const letters = 'abcdefghijklmnopqrstuvwxyz0123456789';
  return Array.from({ length }, () => letters[randomInt(letters.length)]).join('');
}
