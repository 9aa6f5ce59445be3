import type { Finding, PathSegment } from '../../diagnostics/index.ts';
import { FEATURES } from '../../kubernetes-releases/features.ts';
import { minorOf } from '../../kubernetes-releases/minor.ts';
import type { KubernetesSection } from './index.ts';
import type { NodeAddressesSection } from './node-addresses.ts';
import { overlap, parseSubnet } from './subnets.ts';

const PATH: readonly PathSegment[] = ['kubernetes', 'node', 'addresses'];
const ONE_PLACE = 'keep one of them';

/** The choice itself, and the fields that say an address literally: each address is said in one place. */
export function checkNodeAddresses(kubernetes: KubernetesSection): Finding[] {
  const choice = kubernetes.node?.addresses;
  if (choice === undefined) return [];
  return [
    ...checkChoice(choice),
    ...(choice.subnets ?? []).flatMap((text, index) => checkSubnet(text, [...PATH, 'subnets', index], kubernetes)),
    ...checkLiterals(kubernetes),
    ...checkFamilies(choice, kubernetes),
  ];
}

function checkChoice({ interface: name, routeTo, subnets }: NodeAddressesSection): Finding[] {
  const path = [...PATH, 'routeTo'];
  if (name !== undefined && routeTo !== undefined) {
    return [{ path, message: 'excludes', other: [...PATH, 'interface'], hint: ONE_PLACE }];
  }
  if (name === undefined && routeTo === undefined && subnets === undefined) {
    return [{ path: PATH, message: 'selects no address', hint: 'give interface, routeTo or subnets' }];
  }
  if (routeTo === undefined || routeTo === 'Default') return [];
  const other = (subnets ?? []).findIndex((text) => text.includes(':') !== routeTo.includes(':'));
  if (other === -1) return [];
  const message = 'an address of another IP family than';
  return [{ path, message, other: [...PATH, 'subnets', other], hint: 'use Default, which has a route of each family' }];
}

/** The kubelet does not take these for a node (k/k pkg/kubelet/kubelet_node_status.go, validateNodeIP). */
const NEVER = ['127.0.0.0/8', '169.254.0.0/16', '224.0.0.0/4', '::1/128', 'fe80::/10', 'ff00::/8'].map(parseSubnet);

function checkSubnet(text: string, path: readonly PathSegment[], { cluster }: KubernetesSection): Finding[] {
  const subnet = parseSubnet(text);
  if (subnet === undefined)
    return [{ path, message: `"${text}" is not a subnet`, hint: 'such as 10.0.0.0/16 or fd00:1::/64' }];
  const isIn = (outer: typeof subnet | undefined) =>
    outer !== undefined && outer.prefix <= subnet.prefix && overlap(outer, subnet);
  if (NEVER.some(isIn)) {
    const message = 'the kubelet takes no loopback, link-local or multicast address for a node';
    return [{ path, message, hint: 'the subnet of an interface' }];
  }
  return (['podSubnets', 'serviceSubnets'] as const).flatMap((name): Finding[] => {
    const index = (cluster?.[name] ?? []).findIndex((one) => isIn(parseSubnet(one)));
    if (index === -1) return [];
    const other = ['kubernetes', 'cluster', name, index];
    return [{ path, message: 'no node has an address in', other, hint: 'the subnet of the nodes' }];
  });
}

function checkLiterals({ node, controlPlane }: KubernetesSection): Finding[] {
  const nodeIP = (node?.kubelet?.args ?? []).findIndex(({ name }) => name === 'node-ip');
  const advertised = (controlPlane?.apiServer?.args ?? []).findIndex(({ name }) => name === 'advertise-address');
  const literals: readonly (readonly PathSegment[])[] = [
    ...(nodeIP === -1 ? [] : [['kubernetes', 'node', 'kubelet', 'args', nodeIP]]),
    ...(controlPlane?.apiEndpoint?.advertiseAddress === undefined
      ? []
      : [['kubernetes', 'controlPlane', 'apiEndpoint', 'advertiseAddress']]),
    ...(advertised === -1 ? [] : [['kubernetes', 'controlPlane', 'apiServer', 'args', advertised]]),
  ];
  const message = 'sets an address that is also chosen by';
  return literals.map((path) => ({ path, message, other: PATH, hint: ONE_PLACE }));
}

/** The first minor whose kubelet takes two addresses with an external cloud provider (KEP-3705, on by default). */
const BOTH_WITH_CLOUD_PROVIDER = 29;

function checkFamilies({ subnets = [] }: NodeAddressesSection, { version, node }: KubernetesSection): Finding[] {
  if (new Set(subnets.map((text) => text.includes(':'))).size < 2) return [];
  const path = [...PATH, 'subnets'];
  const hint = 'give subnets of one IP family';
  const { since } = FEATURES.dualStack;
  if (minorOf(version) < since) {
    return [{ path, message: `a node has addresses of two IP families from Kubernetes 1.${since} on`, hint }];
  }
  const provider = (node?.kubelet?.args ?? []).findIndex(({ name }) => name === 'cloud-provider');
  if (provider === -1 || minorOf(version) >= BOTH_WITH_CLOUD_PROVIDER) return [];
  const message = `before Kubernetes 1.${BOTH_WITH_CLOUD_PROVIDER}, a kubelet with a cloud provider takes one address; it is set in`;
  return [{ path, message, other: ['kubernetes', 'node', 'kubelet', 'args', provider], hint }];
}
