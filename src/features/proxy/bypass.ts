import type { KubernetesModel, ProxyModel } from '@machineadm/document/model/index.ts';
import {
  DEFAULT_DNS_DOMAIN,
  DEFAULT_SERVICE_SUBNET,
} from '@machineadm/document/sections/kubernetes/cluster-defaults.ts';
import { ALWAYS_DIRECT } from '../../host/http/proxy-bypass.ts';
import type { Facts } from '../../host/seam/facts.ts';

/** For programs that do not support subnets (curl before 7.86, Python): the most important addresses individually. */
const ONE_BY_ONE: readonly string[] = ['127.0.0.1', '::1', '169.254.169.254'];

/**
 * Destinations to reach without the proxy, for NO_PROXY: this machine, metadata services, this node, its cluster, and
 * those of the document. A suffix begins with a dot, which every reader of the variable supports.
 */
export function bypassOf(
  proxy: Pick<ProxyModel, 'no'>,
  kubernetes: KubernetesModel | undefined,
  facts: Pick<Facts, 'nodeAddresses' | 'addresses'>,
): readonly string[] {
  const own = [...facts.nodeAddresses, ...ofChoice(kubernetes, facts)];
  return [...new Set([...ALWAYS_DIRECT, ...ONE_BY_ONE, ...own, ...ofCluster(kubernetes), ...proxy.no])];
}

/** What may become the address of the node: the subnets of the choice, otherwise what its interface has by now. */
function ofChoice(kubernetes: KubernetesModel | undefined, { addresses = [] }: Pick<Facts, 'addresses'>) {
  const choice = kubernetes?.node.addresses;
  const subnets = choice?.subnets.filter((text) => !text.endsWith('/0')) ?? [];
  if (choice?.interface === undefined || subnets.length > 0) return subnets;
  const all = addresses.filter((one) => one.interface === choice.interface && one.state === undefined);
  // An address without a subnet moves between machines; it must not change the variable of a node that runs.
  const fixed = all.filter(({ address, prefix }) => prefix < (address.includes(':') ? 128 : 32));
  const own = fixed.length > 0 ? fixed : all;
  return own.map(({ address }) => address).filter((address) => !/^(?:fe[89ab]|169\.254\.)/.test(address));
}

function ofCluster(kubernetes: KubernetesModel | undefined): readonly string[] {
  if (kubernetes === undefined) return [];
  const { cluster, controlPlane, join } = kubernetes;
  const services = cluster.serviceSubnets.length > 0 ? cluster.serviceSubnets : [DEFAULT_SERVICE_SUBNET];
  const etcd =
    controlPlane.etcd.kind === 'external' ? [...controlPlane.etcd.endpoints, ...controlPlane.etcd.httpEndpoints] : [];
  const endpoints = [cluster.controlPlaneEndpoint, join?.discovery.endpoint, ...etcd];
  return [
    ...(controlPlane.apiEndpoint.advertiseAddress === undefined ? [] : [controlPlane.apiEndpoint.advertiseAddress]),
    ...endpoints.flatMap((endpoint) => (endpoint === undefined ? [] : [hostOf(endpoint)])),
    ...services,
    ...cluster.podSubnets,
    '.svc',
    `.${cluster.dnsDomain ?? DEFAULT_DNS_DOMAIN}`,
  ];
}

/** The host of `host:port`, `[v6]:port`, a URL, or a bare host. */
function hostOf(endpoint: string): string {
  const [authority = ''] = endpoint.replace(/^[a-z]+:\/\//, '').split('/');
  const bracketed = /^\[([^\]]+)\]/.exec(authority)?.[1];
  if (bracketed !== undefined) return bracketed;
  return /^[^:]+:\d+$/.test(authority) ? authority.slice(0, authority.lastIndexOf(':')) : authority;
}
