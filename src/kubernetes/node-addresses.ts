import type { KubernetesModel, Model } from '@machineadm/document/model/index.ts';
import { KUBELET_FLAGS_ENVIRONMENT } from '@machineadm/document/ownership/kubernetes-paths.ts';
import type { NodeAddressesModel } from '@machineadm/document/sections/kubernetes/node-addresses.ts';
import { overlap, parseSubnet, type Subnet } from '@machineadm/document/sections/kubernetes/subnets.ts';
import { interfaceOfRoute } from '../host/network/routes.ts';
import type { InterfaceAddress } from '../host/seam/facts.ts';
import type { QueryHost } from '../host/seam/host.ts';

/** The addresses that the machine has for its node now, by the document's choice; or why there are none. */
export type NodeAddresses =
  /** One of each IP family that the document wants, the primary one first. */
  | { readonly kind: 'found'; readonly addresses: readonly string[]; readonly where: string }
  | { readonly kind: 'missing' | 'ambiguous'; readonly why: string; readonly evidence: readonly string[] };

const FAMILY = { 32: 'IPv4', 128: 'IPv6' } as const;

/** The kubelet does not take these for a node (k/k pkg/kubelet/kubelet_node_status.go, validateNodeIP). */
const NEVER: readonly (readonly [string, string])[] = [
  ['loopback', '127.0.0.0/8'],
  ['loopback', '::1/128'],
  ['link-local', '169.254.0.0/16'],
  ['link-local', 'fe80::/10'],
];

/**
 * Looks for the addresses of the node. docs/node-addresses.md has the rules.
 *
 * @param kept addresses of an earlier run: one that still fits stays, whatever else fits by now
 */
export async function findNodeAddresses(
  host: QueryHost,
  choice: NodeAddressesModel,
  kubernetes: Pick<KubernetesModel, 'cluster' | 'join'>,
  kept: readonly string[],
): Promise<NodeAddresses> {
  const all = await host.addresses();
  const found: InterfaceAddress[] = [];
  for (const bits of familiesOf(choice)) {
    const one = await findOne(host, choice, bits, { all, kept, kubernetes });
    if (!('address' in one)) return one;
    found.push(one);
  }
  const where = [...new Set(found.map((one) => one.interface))].join(' and ');
  return { kind: 'found', addresses: found.map(({ address }) => address), where };
}

function familiesOf({ subnets }: NodeAddressesModel): readonly Subnet['bits'][] {
  return [...new Set(subnets.map((text) => (text.includes(':') ? 128 : 32)))];
}

interface Candidates {
  readonly all: readonly InterfaceAddress[];
  readonly kept: readonly string[];
  readonly kubernetes: Pick<KubernetesModel, 'cluster' | 'join'>;
}

async function findOne(
  host: QueryHost,
  choice: NodeAddressesModel,
  bits: Subnet['bits'],
  { all, kept, kubernetes }: Candidates,
): Promise<InterfaceAddress | Exclude<NodeAddresses, { kind: 'found' }>> {
  const { routeTo } = choice;
  const destination = routeTo === 'Default' ? undefined : routeTo;
  const name = routeTo === undefined ? choice.interface : await interfaceOfRoute(host, bits, destination);
  if (routeTo !== undefined && name === undefined) {
    const why = `there is no ${destination === undefined ? `default route of ${FAMILY[bits]}` : `route to ${destination}`}`;
    return { kind: 'missing', why, evidence: evidenceOf(all) };
  }
  const subnets = choice.subnets.filter((text) => parseSubnet(text)?.bits === bits);
  const others = [...kubernetes.cluster.podSubnets, ...kubernetes.cluster.serviceSubnets];
  const fitting = all.filter(
    (one) =>
      (name === undefined || one.interface === name) &&
      isIn(one, subnets) &&
      !isIn(one, others) &&
      whyNever(one) === undefined,
  );
  const usable = fitting.filter(({ state }) => state === undefined);
  const stays = usable.find(({ address }) => kept.includes(address));
  if (stays !== undefined) return stays;
  const virtual = (one: InterfaceAddress) => virtuality(one, bits, kubernetes);
  const least = Math.min(...usable.map(virtual));
  const best = new Map(usable.filter((one) => virtual(one) === least).map((one) => [one.address, one]));
  const [first, second] = best.values();
  const wanted = `${FAMILY[bits]} address${choice.subnets.some((text) => !text.endsWith('/0')) ? ` in ${subnets.join(' or ')}` : ''}`;
  const place = name === undefined ? 'this machine' : `the interface ${name}`;
  if (first === undefined) {
    const isKnown = name === undefined || all.some((one) => one.interface === name);
    const why = isKnown ? `${place} has no ${wanted} that a node can have` : await whyAbsent(host, name);
    return { kind: 'missing', why, evidence: evidenceOf(all) };
  }
  if (second === undefined) return first;
  const candidates = [...best.values()].map((one) => `${one.address} (${one.interface})`);
  const why = `${place} has more than one ${wanted}: ${candidates.join(', ')}`;
  return { kind: 'ambiguous', why, evidence: evidenceOf(all) };
}

function isIn({ address }: InterfaceAddress, subnets: readonly string[]): boolean {
  const one = parseSubnet(`${address}/${address.includes(':') ? 128 : 32}`);
  return subnets.some((text) => {
    const subnet = parseSubnet(text);
    return one !== undefined && subnet !== undefined && overlap(one, subnet);
  });
}

function whyNever(one: InterfaceAddress): string | undefined {
  return NEVER.find(([, subnet]) => isIn(one, [subnet]))?.[0];
}

/** How much an address looks like one that moves between machines: that of the control plane's endpoint, or one without a subnet. */
function virtuality(
  { address, prefix }: InterfaceAddress,
  bits: Subnet['bits'],
  { cluster, join }: Candidates['kubernetes'],
): number {
  const endpoints = [cluster.controlPlaneEndpoint, join?.discovery.endpoint];
  const isEndpoint = endpoints.some((endpoint) => endpoint !== undefined && isSame(hostOf(endpoint), address));
  return (isEndpoint ? 2 : 0) + (prefix === bits ? 1 : 0);
}

/** The host of `10.0.0.1:6443`, `[fd00::1]:6443` or a URL. */
function hostOf(endpoint: string): string {
  return endpoint
    .replace(/^https?:\/\//, '')
    .replace(/:\d+\/?$/, '')
    .replace(/^\[|\]$/g, '');
}

function isSame(left: string, right: string): boolean {
  const [a, b] = [left, right].map((text) => parseSubnet(`${text}/${text.includes(':') ? 128 : 32}`));
  return a !== undefined && b !== undefined && overlap(a, b);
}

async function whyAbsent(host: QueryHost, name: string): Promise<string> {
  const exists = (await host.stat(`/sys/class/net/${name}`)) !== undefined;
  return exists ? `the interface ${name} is down or has no address` : `there is no interface ${name}`;
}

/** All addresses of the machine, with what excludes them. */
function evidenceOf(all: readonly InterfaceAddress[]): readonly string[] {
  return all
    .filter(({ interface: name }) => name !== 'lo')
    .map((one) => {
      const not = one.state ?? whyNever(one);
      return `${one.interface}: ${one.address}/${one.prefix}${not === undefined ? '' : ` (${not})`}`;
    });
}

/** The `node-ip` with which kubeadm starts the kubelet of this machine; [] where it has none. */
export async function kubeletAddresses(host: QueryHost): Promise<readonly string[]> {
  const flags = (await host.readText(KUBELET_FLAGS_ENVIRONMENT)) ?? '';
  return /--node-ip=([0-9A-Fa-f:.,]+)/.exec(flags)?.[1]?.split(',') ?? [];
}

/**
 * The document with these addresses in the place of the choice: `node-ip` of the kubelet, and for a control plane the address
 * that its API server advertises. kubeadm puts that into the certificate of the API server itself; the one of the other IP family
 * is added to `certSANs`.
 */
export function withNodeAddresses(model: Model, addresses: readonly string[]): Model {
  const { kubernetes } = model;
  if (kubernetes === undefined) return model;
  const [primary, ...others] = addresses;
  const { node, controlPlane, role } = kubernetes;
  const { apiEndpoint, apiServer } = controlPlane;
  const args = [...node.kubelet.args, { name: 'node-ip', value: addresses.join(',') }];
  const advertising = {
    ...controlPlane,
    apiEndpoint: { ...apiEndpoint, advertiseAddress: primary },
    apiServer: { ...apiServer, certSANs: [...new Set([...apiServer.certSANs, ...others])] },
  };
  return {
    ...model,
    kubernetes: {
      ...kubernetes,
      node: { ...node, addresses: undefined, kubelet: { ...node.kubelet, args } },
      controlPlane: role === 'Worker' ? controlPlane : advertising,
    },
  };
}
