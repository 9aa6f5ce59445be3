import type { Finding, PathSegment } from '../../diagnostics/index.ts';
import { NODE_PORTS } from './checks-said-twice.ts';
import { DEFAULT_API_PORT, DEFAULT_SERVICE_SUBNET } from './cluster-defaults.ts';
import type { KubernetesSection } from './index.ts';
import { addressSubnet, hostOf, overlap, parseSubnet, type Subnet } from './subnets.ts';

const CLUSTER: readonly PathSegment[] = ['kubernetes', 'cluster'];
const ENDPOINT: readonly PathSegment[] = [...CLUSTER, 'controlPlaneEndpoint'];
const API: readonly PathSegment[] = ['kubernetes', 'controlPlane', 'apiEndpoint'];

/** Addresses, subnets and ports with which no cluster works, although each alone is possible. */
export function checkClusterAddresses(kubernetes: KubernetesSection): Finding[] {
  return [
    ...checkDefaultServices(kubernetes),
    ...checkFamilies(kubernetes),
    ...checkNoAddress(kubernetes),
    ...checkPort(kubernetes),
  ];
}

/** Subnets of services that are in force: for a machine that joins, only those that are given. */
function servicesOf({ role, cluster }: KubernetesSection): readonly string[] {
  const given = cluster?.serviceSubnets ?? [];
  return given.length > 0 || role !== 'InitControlPlane' ? given : [DEFAULT_SERVICE_SUBNET];
}

/** What is given overlaps is found elsewhere. */
function checkDefaultServices(kubernetes: KubernetesSection): Finding[] {
  const { cluster } = kubernetes;
  if ((cluster?.serviceSubnets ?? []).length > 0) return [];
  const services = servicesOf(kubernetes).map(parseSubnet);
  return (cluster?.podSubnets ?? []).flatMap((text, index): Finding[] => {
    const pods = parseSubnet(text);
    if (!services.some((one) => one !== undefined && pods !== undefined && overlap(one, pods))) return [];
    const message = `shares addresses with ${DEFAULT_SERVICE_SUBNET}, which kubeadm gives to services`;
    const hint = 'another subnet, or set kubernetes.cluster.serviceSubnets';
    return [{ path: [...CLUSTER, 'podSubnets', index], message, hint }];
  });
}

/** An endpoint of a service is of the family of the service. */
function checkFamilies(kubernetes: KubernetesSection): Finding[] {
  const pods = kubernetes.cluster?.podSubnets ?? [];
  const services = servicesOf(kubernetes);
  if (pods.length === 0 || services.length === 0) return [];
  // Of what is no subnet another check speaks.
  if ([...pods, ...services].some((text) => parseSubnet(text) === undefined)) return [];
  const familyOf = (text: string): string => (text.includes(':') ? 'IPv6' : 'IPv4');
  const [ofPods, ofServices] = [new Set(pods.map(familyOf)), new Set(services.map(familyOf))];
  if ([...ofPods].some((family) => ofServices.has(family))) return [];
  const message = `pods have ${[...ofPods].join()} only, and services ${[...ofServices].join()} only (${services.join()}): no service would reach a pod`;
  return [{ path: [...CLUSTER, 'podSubnets'], message, hint: 'give both a subnet of the same family' }];
}

const MULTICAST = ['224.0.0.0/4', '255.255.255.255/32', 'ff00::/8'].map(parseSubnet);
const UNSPECIFIED = ['0.0.0.0/32', '::/128'].map(parseSubnet);
const LINK_LOCAL = ['169.254.0.0/16', 'fe80::/10'].map(parseSubnet);

const isIn = (address: Subnet | undefined, subnets: readonly (Subnet | undefined)[]): boolean =>
  address !== undefined && subnets.some((one) => one !== undefined && overlap(one, address));

/**
 * What no machine can have or be reached at. VerifyAPIServerBindAddress (k/k cmd/kubeadm/app/util/config/common.go) takes an
 * unspecified or a loopback address as a wish for one that it finds itself.
 */
function checkNoAddress({ cluster, controlPlane, join }: KubernetesSection): Finding[] {
  const endpoints: readonly (readonly [readonly PathSegment[], string | undefined])[] = [
    [ENDPOINT, cluster?.controlPlaneEndpoint],
    [['kubernetes', 'join', 'discovery', 'token', 'endpoint'], join?.discovery.token?.endpoint],
  ];
  const unreachable = endpoints.flatMap(([path, endpoint]): Finding[] => {
    if (endpoint === undefined || !isIn(addressSubnet(hostOf(endpoint)), [...MULTICAST, ...UNSPECIFIED])) return [];
    const message = `no machine can be reached at ${hostOf(endpoint)}`;
    return [{ path, message, hint: 'the address of a load balancer, a virtual address, or that of the first machine' }];
  });
  const advertised = controlPlane?.apiEndpoint?.advertiseAddress;
  if (advertised === undefined || !isIn(addressSubnet(advertised), [...MULTICAST, ...LINK_LOCAL])) return unreachable;
  const message = 'kubeadm takes no multicast or link-local address for the API server';
  return [...unreachable, { path: [...API, 'advertiseAddress'], message, hint: 'the address of an interface' }];
}

/** Such a cluster works until a service gets the address: then kube-proxy redirects it, on each machine. */
export function lintAmongServices(kubernetes: KubernetesSection): Finding[] {
  const { cluster, controlPlane, node } = kubernetes;
  const services = servicesOf(kubernetes);
  const nodeIPs = (node?.kubelet?.args ?? []).flatMap(({ name, value }, index) =>
    name !== 'node-ip'
      ? []
      : value.split(',').map((text) => [['kubernetes', 'node', 'kubelet', 'args', index, 'value'], text] as const),
  );
  const addresses: readonly (readonly [readonly PathSegment[], string | undefined])[] = [
    [ENDPOINT, cluster?.controlPlaneEndpoint === undefined ? undefined : hostOf(cluster.controlPlaneEndpoint)],
    [[...API, 'advertiseAddress'], controlPlane?.apiEndpoint?.advertiseAddress],
    ...nodeIPs,
  ];
  return addresses.flatMap(([path, address]): Finding[] => {
    if (address === undefined || !isIn(addressSubnet(address.trim()), services.map(parseSubnet))) return [];
    const message = `is in the subnet of services (${services.join()}): a service may get the address, which each machine would then redirect to its pods`;
    return [{ path, message, hint: 'another kubernetes.cluster.serviceSubnets' }];
  });
}

function checkPort({ controlPlane, role }: KubernetesSection): Finding[] {
  if (role === 'Worker') return [];
  const port = controlPlane?.apiEndpoint?.bindPort ?? DEFAULT_API_PORT;
  const other = NODE_PORTS[port];
  if (other === undefined || (other === 'etcd' && controlPlane?.etcd?.external !== undefined)) return [];
  const message = `${other} listens on this port of a control plane`;
  return [{ path: [...API, 'bindPort'], message, hint: 'the default is 6443' }];
}
