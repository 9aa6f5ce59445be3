import type { Finding, PathSegment } from '../../diagnostics/index.ts';
import { argumentKinds } from '../../kubernetes-releases/argument-values.ts';
import type { Component } from '../../kubernetes-releases/flags.ts';
import { BOOTSTRAP_KUBELET_KUBECONFIG, KUBELET_CONFIG, KUBELET_KUBECONFIG } from '../../ownership/kubernetes-paths.ts';
import { fieldOf } from './checks-kubelet-contradictions.ts';
import { DEFAULT_API_PORT, DEFAULT_DNS_DOMAIN, DEFAULT_SERVICE_SUBNET } from './cluster-defaults.ts';
import { commandLines } from './command-lines.ts';
import type { KubernetesSection } from './index.ts';
import { addressSubnet, overlap, parseSubnet } from './subnets.ts';

/** The ports of the other programs of a control plane (k/k cmd/kubeadm/app/constants/constants.go, pkg/cluster/ports). */
export const NODE_PORTS: Readonly<Record<number, string>> = {
  2379: 'etcd',
  2380: 'etcd',
  2381: 'etcd',
  10248: 'the kubelet',
  10249: 'kube-proxy',
  10250: 'the kubelet',
  10256: 'kube-proxy',
  10257: 'kube-controller-manager',
  10259: 'kube-scheduler',
};

/** An argument that says what a field of the document says, too. */
interface Twin {
  readonly component: Component;
  readonly argument: string;
  /** The field, for a reader who did not write it, too. */
  readonly field: readonly PathSegment[];
  /** What the field says or kubeadm's default for it; undefined: the argument alone says it. */
  readonly says: (kubernetes: KubernetesSection) => string | undefined;
  /** What goes wrong where the two differ. */
  readonly effect: string;
  /** The same value in other words. */
  readonly normal?: (text: string) => string;
}

const ofInit = (kubernetes: KubernetesSection, byDefault: string): string | undefined =>
  kubernetes.role === 'InitControlPlane' ? byDefault : undefined;
const joined = (values: readonly string[] | undefined): string | undefined =>
  values === undefined || values.length === 0 ? undefined : values.join(',');
const servicesOf = (kubernetes: KubernetesSection): string | undefined =>
  joined(kubernetes.cluster?.serviceSubnets) ?? ofInit(kubernetes, DEFAULT_SERVICE_SUBNET);
const taintsOf = ({ node }: KubernetesSection): string | undefined =>
  joined((node?.taints ?? []).map(({ key, value = '', effect }) => `${key}=${value}:${effect}`));
const asSet = (text: string): string => [...new Set(text.split(',').map((part) => part.trim()))].sort().join(',');
const asSocket = (text: string): string => text.replace(/^unix:\/\//, '');

/** These do not work. */
const REFUSED: readonly Twin[] = [
  {
    component: 'kube-apiserver',
    argument: 'service-cluster-ip-range',
    field: ['cluster', 'serviceSubnets'],
    says: servicesOf,
    effect: 'the certificate of the API server and the address of the cluster DNS are made for the field',
  },
  {
    component: 'kube-apiserver',
    argument: 'secure-port',
    field: ['controlPlane', 'apiEndpoint', 'bindPort'],
    says: ({ controlPlane }) => `${controlPlane?.apiEndpoint?.bindPort ?? DEFAULT_API_PORT}`,
    effect: 'the probes and the kubeconfig files of the control plane use the field',
  },
  {
    component: 'kubelet',
    argument: 'container-runtime-endpoint',
    field: ['node', 'criSocket'],
    says: ({ node }) => node?.criSocket,
    effect: 'kubeadm and the kubelet would use two container runtimes',
    normal: asSocket,
  },
];

/** These work, though hardly as meant. */
const WARNED: readonly Twin[] = [
  {
    component: 'kubelet',
    argument: 'register-with-taints',
    field: ['node', 'taints'],
    says: taintsOf,
    // Cluster API adds a taint of its own to every worker, so that templates with the argument have both.
    effect: 'the kubelet takes the argument only',
    normal: (text) => asSet(text.replaceAll(/(^|,)([^=:,]+):/g, '$1$2=:')),
  },
  {
    component: 'kube-apiserver',
    argument: 'advertise-address',
    field: ['controlPlane', 'apiEndpoint', 'advertiseAddress'],
    says: ({ controlPlane }) => controlPlane?.apiEndpoint?.advertiseAddress,
    effect: 'the certificate of the API server is made for the field',
  },
  {
    component: 'kube-controller-manager',
    argument: 'cluster-cidr',
    field: ['cluster', 'podSubnets'],
    says: ({ cluster }) => joined(cluster?.podSubnets),
    effect: 'nodes get subnets of the argument, and kube-proxy takes the field for the subnet of pods',
  },
  {
    component: 'kube-controller-manager',
    argument: 'service-cluster-ip-range',
    field: ['cluster', 'serviceSubnets'],
    says: servicesOf,
    effect: 'it keeps the argument free for services, and the API server takes the field',
  },
  {
    component: 'kubelet',
    argument: 'cluster-domain',
    field: ['cluster', 'dnsDomain'],
    says: (kubernetes) => kubernetes.cluster?.dnsDomain ?? ofInit(kubernetes, DEFAULT_DNS_DOMAIN),
    effect: 'pods search names that the cluster DNS does not serve',
  },
];

/** Arguments that name the files which kubeadm writes for the kubelet. */
const FILES_OF_KUBEADM: Readonly<Record<string, string>> = {
  config: KUBELET_CONFIG,
  kubeconfig: KUBELET_KUBECONFIG,
  'bootstrap-kubeconfig': BOOTSTRAP_KUBELET_KUBECONFIG,
};

/** What an argument and a field say differently, where it cannot work. */
export function checkSaidTwice(kubernetes: KubernetesSection): Finding[] {
  return differences(kubernetes, REFUSED);
}

/** What an argument says differently from a field, from the configuration, or from itself. */
export function lintSaidTwice(kubernetes: KubernetesSection): Finding[] {
  return [
    ...differences(kubernetes, WARNED),
    ...otherClusterDNS(kubernetes),
    ...besideConfiguration(kubernetes),
    ...repeated(kubernetes),
    ...otherFiles(kubernetes),
    ...nodePorts(kubernetes),
  ];
}

/** Variables are known on the machine only. */
const isOpen = (text: string): boolean => text.includes('$');

function differences(kubernetes: KubernetesSection, twins: readonly Twin[]): Finding[] {
  return twins.flatMap(({ component, argument, field, says, effect, normal = asSet }) => {
    const expected = says(kubernetes);
    if (expected === undefined || isOpen(expected)) return [];
    return placesOf(kubernetes, component, argument).flatMap(({ path, value }): Finding[] => {
      if (isOpen(value) || normal(value) === normal(expected)) return [];
      const name = `kubernetes.${field.join('.')}`;
      return [{ path, message: `differs from ${name}, which is ${expected}: ${effect}`, hint: `use ${name} only` }];
    });
  });
}

interface Place {
  readonly path: readonly PathSegment[];
  readonly value: string;
}

/** Where an argument is given, the last time, and the field of the kubelet's configuration that it is named after. */
function placesOf(kubernetes: KubernetesSection, component: Component, argument: string): readonly Place[] {
  const line = commandLines(kubernetes).find((one) => one.component === component);
  const index = line?.args.findLastIndex(({ name }) => name === argument) ?? -1;
  const given = line?.args[index]?.value;
  const configured: unknown =
    component === 'kubelet' ? kubernetes.node?.kubelet?.config?.[fieldOf(argument)] : undefined;
  return [
    ...(line === undefined || given === undefined ? [] : [{ path: [...line.path, index, 'value'], value: given }]),
    ...(typeof configured === 'string' ? [{ path: [...CONFIG, fieldOf(argument)], value: configured }] : []),
  ];
}

const CONFIG: readonly PathSegment[] = ['kubernetes', 'node', 'kubelet', 'config'];

/** A DNS cache of the node has a link-local address, by its usual manifest (NodeLocal DNSCache). */
const LINK_LOCAL = ['169.254.0.0/16', 'fe80::/10'].map(parseSubnet);

function otherClusterDNS(kubernetes: KubernetesSection): Finding[] {
  const { node } = kubernetes;
  const services = (servicesOf(kubernetes) ?? '').split(',').map(parseSubnet);
  if (services.every((one) => one === undefined)) return [];
  const config: unknown = node?.kubelet?.config?.clusterDNS;
  const places: (readonly [readonly PathSegment[], string])[] = [
    ...(Array.isArray(config)
      ? config.map((text, index) => [[...CONFIG, 'clusterDNS', index], `${text}`] as const)
      : []),
    ...(node?.kubelet?.args ?? []).flatMap(({ name, value }, index) =>
      name !== 'cluster-dns'
        ? []
        : value
            .split(',')
            .map((text) => [['kubernetes', 'node', 'kubelet', 'args', index, 'value'], text.trim()] as const),
    ),
  ];
  return places.flatMap(([path, text]): Finding[] => {
    const address = addressSubnet(text);
    if (address === undefined) return [];
    if ([...services, ...LINK_LOCAL].some((one) => one !== undefined && overlap(one, address))) return [];
    const message = `is not in the subnet of services (${servicesOf(kubernetes)}): the cluster DNS of kubeadm has the tenth address of it`;
    return [{ path, message, hint: 'remove it: kubeadm sets the address of its DNS' }];
  });
}

/** The kubelet reads its configuration, then its arguments (k/k cmd/kubelet/app/server.go, kubeletConfigFlagPrecedence). */
function besideConfiguration({ node }: KubernetesSection): Finding[] {
  const config = node?.kubelet?.config ?? {};
  return (node?.kubelet?.args ?? []).flatMap(({ name, value }, index): Finding[] => {
    const field = fieldOf(name);
    const other: unknown = Object.hasOwn(config, field) ? config[field] : undefined;
    const isScalar = ['string', 'number', 'boolean'].includes(typeof other);
    if (!isScalar || `${other}` === value || isOpen(`${other}${value}`)) return [];
    const path = ['kubernetes', 'node', 'kubelet', 'args', index, 'value'];
    return [{ path, message: 'the kubelet takes this, and not', other: [...CONFIG, field], hint: 'keep one of them' }];
  });
}

/** Arguments with one value: the last one counts, without a word of the component. */
function repeated(kubernetes: KubernetesSection): Finding[] {
  return commandLines(kubernetes).flatMap(({ component, args, path }) => {
    if (args.length < 2) return [];
    const kinds = argumentKinds(component);
    return args.flatMap(({ name, value }, index): Finding[] => {
      const later = args.findIndex((other, at) => at > index && other.name === name);
      if (later === -1 || !kinds.has(name) || args[later]?.value === value) return [];
      const message = `${component} ignores this: ${name} is given again at`;
      return [{ path: [...path, index], message, other: [...path, later], hint: 'keep one of them' }];
    });
  });
}

function otherFiles({ node }: KubernetesSection): Finding[] {
  return (node?.kubelet?.args ?? []).flatMap(({ name, value }, index): Finding[] => {
    const file = Object.hasOwn(FILES_OF_KUBEADM, name) ? FILES_OF_KUBEADM[name] : undefined;
    if (file === undefined || value === file || isOpen(value)) return [];
    const path = ['kubernetes', 'node', 'kubelet', 'args', index, 'value'];
    const message = `the kubelet would not read ${file}, which kubeadm writes for it`;
    const hint = name === 'config' ? 'remove it, and write kubernetes.node.kubelet.config' : 'remove it';
    return [{ path, message, hint }];
  });
}

/** The API server gives the ports of the range to services without a look at who listens on them. */
function nodePorts({ controlPlane }: KubernetesSection): Finding[] {
  const args = controlPlane?.apiServer?.args ?? [];
  const index = args.findLastIndex(({ name }) => name === 'service-node-port-range');
  const [, first, separator, second] = /^(\d{1,5})([-+])(\d{1,5})$/.exec(args[index]?.value ?? '') ?? [];
  if (first === undefined || second === undefined) return [];
  const last = separator === '+' ? Number(first) + Number(second) : Number(second);
  const taken = [controlPlane?.apiEndpoint?.bindPort ?? DEFAULT_API_PORT, ...Object.keys(NODE_PORTS).map(Number)];
  const inside = taken.filter((port) => Number(first) <= port && port <= last);
  if (inside.length === 0) return [];
  const path = ['kubernetes', 'controlPlane', 'apiServer', 'args', index, 'value'];
  const message = `a service may get a port on which this node itself is reached: ${inside.join(', ')}`;
  return [{ path, message, hint: 'a range without them; the default is 30000-32767' }];
}
