import { choices, type Finding, nearestName, type PathSegment } from '../../diagnostics/index.ts';
import { componentGates } from '../../kubernetes-releases/component-gates.ts';
import { FEATURES } from '../../kubernetes-releases/features.ts';
import {
  KUBEADM_GATES,
  kubeadmGate,
  kubeadmGates,
  NEWEST_KUBEADM_GATES_MINOR,
  PATCH_TARGETS,
} from '../../kubernetes-releases/kubeadm.ts';
import { includes, minorOf } from '../../kubernetes-releases/minor.ts';
import type { KubernetesSection } from './index.ts';
import { hostOf, isIPAddress, overlap, parseSubnet, type Subnet } from './subnets.ts';

/**
 * What kubeadm itself refuses in its configuration, in any version (k/k cmd/kubeadm/app/apis/kubeadm/validation/
 * validation.go; held against kubeadm 1.20.2 by test/slow/kubeadm-rules.test.ts). Joining machines are given only a
 * part of it, and are judged by that part.
 */
export function checkKubeadmConfiguration(kubernetes: KubernetesSection): Finding[] {
  const findings = [
    ...checkSubnetForm(kubernetes),
    ...checkOverlap(kubernetes),
    ...checkIgnored(kubernetes),
    ...checkPatchTargets(kubernetes),
  ];
  if (kubernetes.role !== 'InitControlPlane') return [...findings, ...checkAuthorityPath(kubernetes)];
  return [
    ...findings,
    ...checkSubnets(kubernetes),
    ...checkEndpointHost(kubernetes),
    ...checkNames(kubernetes),
    ...checkExternalEtcd(kubernetes),
    ...checkTokenGroups(kubernetes),
    ...checkKubeadmGates(kubernetes),
    ...checkKeyAlgorithm(kubernetes),
    ...checkNewerFields(kubernetes),
  ];
}

const CLUSTER: readonly PathSegment[] = ['kubernetes', 'cluster'];
const SUBNET_FIELDS = ['podSubnets', 'serviceSubnets'] as const;

/** ValidateIPNetFromString: that each is a subnet holds for every role, as no cluster can have it. */
function checkSubnetForm({ cluster }: KubernetesSection): Finding[] {
  return SUBNET_FIELDS.flatMap((field) =>
    (cluster?.[field] ?? []).flatMap((text, index): Finding[] => {
      if (parseSubnet(text) !== undefined) return [];
      const hint = 'an address and the length of its prefix, at most /32 (IPv4) or /128 (IPv6)';
      return [{ path: [...CLUSTER, field, index], message: `"${text}" is not a subnet`, hint }];
    }),
  );
}

/** No component refuses it; the addresses of pods and services would be mixed up. */
function checkOverlap({ cluster }: KubernetesSection): Finding[] {
  const services = (cluster?.serviceSubnets ?? []).map(parseSubnet);
  return (cluster?.podSubnets ?? []).flatMap((text, index) => {
    const pods = parseSubnet(text);
    return services.flatMap((service, other): Finding[] => {
      if (pods === undefined || service === undefined || !overlap(pods, service)) return [];
      const message = 'shares addresses with';
      const hint = 'give pods and services subnets that do not overlap';
      return [{ path: [...CLUSTER, 'podSubnets', index], message, other: [...CLUSTER, 'serviceSubnets', other], hint }];
    });
  });
}

/** MinimumAddressesInServiceSubnet (k/k cmd/kubeadm/app/constants/constants.go). */
const FEWEST_ADDRESSES = 10;
/** MaximumBitsForServiceSubnet; the API server has the same limit. */
const MOST_SERVICE_BITS = 20;

function checkSubnets(kubernetes: KubernetesSection): Finding[] {
  return SUBNET_FIELDS.flatMap((field) => {
    const path = [...CLUSTER, field];
    const subnets = (kubernetes.cluster?.[field] ?? []).map(parseSubnet);
    const [first, second] = subnets;
    const hint = 'give one subnet, or one IPv4 and one IPv6 subnet';
    if (subnets.length > 2) return [{ path: [...path, 2], message: 'kubeadm takes at most two subnets', hint }];
    if (first !== undefined && first.bits === second?.bits) {
      const family = first.bits === 32 ? 'IPv4' : 'IPv6';
      return [
        {
          path: [...path, 1],
          message: `a second ${family} subnet: kubeadm takes one of each family`,
          hint,
        },
      ];
    }
    return subnets.flatMap((subnet, index) =>
      subnet === undefined
        ? []
        : [
            ...checkSubnetSize(subnet, field, [...path, index]),
            ...(field === 'podSubnets' ? checkNodeMask(subnet, kubernetes, [...path, index]) : []),
          ],
    );
  });
}

function checkSubnetSize(
  { bits, prefix }: Subnet,
  field: (typeof SUBNET_FIELDS)[number],
  path: readonly PathSegment[],
): Finding[] {
  const host = bits - prefix;
  if (field === 'serviceSubnets' && host > MOST_SERVICE_BITS) {
    const message = `too large: kubeadm and the API server take a service subnet of at most ${MOST_SERVICE_BITS} bits`;
    return [{ path, message, hint: `a prefix of /${bits - MOST_SERVICE_BITS} or longer` }];
  }
  if (2 ** host < FEWEST_ADDRESSES) {
    return [{ path, message: `too small: kubeadm wants ${FEWEST_ADDRESSES} addresses`, hint: 'a shorter prefix' }];
  }
  return [];
}

/** PodSubnetNodeMaskMaxDiff, and the defaults of kube-controller-manager. */
const MOST_NODE_BITS = 16;
const NODE_MASK = { 32: 24, 128: 64 } as const;

/** ValidatePodSubnetNodeMask: the subnet must hold at least one node's, and at most 65,536. */
function checkNodeMask(
  { bits, prefix }: Subnet,
  kubernetes: KubernetesSection,
  path: readonly PathSegment[],
): Finding[] {
  const args = kubernetes.controlPlane?.controllerManager?.args ?? [];
  const lastOf = (name: string) => args.findLast((argument) => argument.name === name)?.value;
  if (lastOf('allocate-node-cidrs') === 'false') return [];
  const argument = bits === 32 ? 'node-cidr-mask-size-ipv4' : 'node-cidr-mask-size-ipv6';
  // While kubeadm has the gate IPv6DualStack, it decides which of the arguments counts.
  if (
    includes(KUBEADM_GATES.IPv6DualStack, minorOf(kubernetes.version)) &&
    args.some(({ name }) => name.startsWith('node-cidr-mask-size'))
  )
    return [];
  const mask = Number(lastOf(argument) ?? NODE_MASK[bits]);
  const hint = `another subnet, or the argument ${argument} of kubernetes.controlPlane.controllerManager`;
  if (!Number.isInteger(mask))
    return [{ path, message: `${argument} is not a number`, hint: `such as "${NODE_MASK[bits]}"` }];
  if (prefix > mask) return [{ path, message: `too small: a node alone takes a /${mask}`, hint }];
  if (mask - prefix > MOST_NODE_BITS) {
    const message = `too large: the subnets of the nodes are /${mask}, and may be at most ${MOST_NODE_BITS} bits longer`;
    return [{ path, message, hint }];
  }
  return [];
}

/** k/k staging/src/k8s.io/apimachinery/pkg/util/validation/validation.go, IsDNS1123Subdomain: labels of any length. */
const SUBDOMAIN = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;

function isSubdomain(text: string): boolean {
  return text.length <= 253 && SUBDOMAIN.test(text);
}

/** ParseHostPort (k/k cmd/kubeadm/app/util/endpoint.go). */
function checkEndpointHost({ cluster }: KubernetesSection): Finding[] {
  const endpoint = cluster?.controlPlaneEndpoint;
  if (endpoint === undefined) return [];
  const host = hostOf(endpoint);
  if (isIPAddress(host) || isSubdomain(host)) return [];
  const message = 'the host is neither an IP address nor a DNS name in lower case (RFC 1123)';
  return [{ path: [...CLUSTER, 'controlPlaneEndpoint'], message, hint: 'such as api.example:6443' }];
}

/** ValidateCertSANs; kubeadm writes those of the API server in lower case before (LowercaseSANs). */
function checkNames({ controlPlane }: KubernetesSection): Finding[] {
  const path = ['kubernetes', 'controlPlane'];
  const local = controlPlane?.etcd?.local;
  const lists = [
    [controlPlane?.apiServer?.certSANs?.map((name) => name.toLowerCase()), ['apiServer', 'certSANs']],
    [local?.serverCertSANs, ['etcd', 'local', 'serverCertSANs']],
    [local?.peerCertSANs, ['etcd', 'local', 'peerCertSANs']],
  ] as const;
  return lists.flatMap(([names = [], field]) =>
    names.flatMap((name, index): Finding[] => {
      if (isIPAddress(name) || isSubdomain(name.replace(/^\*\./, ''))) return [];
      const message = 'neither an IP address nor a DNS name (RFC 1123), with or without "*." before it';
      return [{ path: [...path, ...field, index], message, hint: 'write it without scheme and port' }];
    }),
  );
}

/** ValidateEtcd: with certificates, which the document always gives, only https. */
function checkExternalEtcd({ controlPlane }: KubernetesSection): Finding[] {
  const path = ['kubernetes', 'controlPlane', 'etcd', 'external', 'endpoints'];
  return (controlPlane?.etcd?.external?.endpoints ?? []).flatMap((endpoint, index) => {
    if (/^https:/i.test(endpoint)) return [];
    return [{ path: [...path, index], message: 'not an https URL', hint: 'such as https://10.0.0.20:2379' }];
  });
}

/** ValidateIgnorePreflightErrors: names are compared without regard to case. */
function checkIgnored({ bootstrapper }: KubernetesSection): Finding[] {
  const names = (bootstrapper?.kubeadm?.ignorePreflightErrors ?? []).map((name) => name.toLowerCase());
  const other = names.findIndex((name) => name !== 'all');
  if (!names.includes('all') || other < 0) return [];
  const path = ['kubernetes', 'bootstrapper', 'kubeadm', 'ignorePreflightErrors', other];
  return [{ path, message: 'kubeadm takes no other name beside "all"', hint: 'remove it, or remove "all"' }];
}

/** ValidateJoinConfiguration. */
function checkAuthorityPath({ join }: KubernetesSection): Finding[] {
  if (join?.caCertPath === undefined || join.caCertPath.endsWith('.crt')) return [];
  const path = ['kubernetes', 'join', 'caCertPath'];
  return [{ path, message: 'kubeadm takes only a path that ends in ".crt"', hint: '/etc/kubernetes/pki/ca.crt' }];
}

/** k/k staging/src/k8s.io/cluster-bootstrap/token/api/types.go, BootstrapGroupPattern. */
const BOOTSTRAP_GROUP = /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/;

function checkTokenGroups({ cluster }: KubernetesSection): Finding[] {
  return (cluster?.bootstrapTokens ?? []).flatMap(({ groups = [] }, token) =>
    groups.flatMap((group, index): Finding[] => {
      if (BOOTSTRAP_GROUP.test(group)) return [];
      const path = [...CLUSTER, 'bootstrapTokens', token, 'groups', index];
      return [{ path, message: 'the name of a bootstrap group ends in a letter or a digit, after at most 255 others' }];
    }),
  );
}

/**
 * ValidateFeatureGates. kubeadm may be one minor newer than the Kubernetes that it installs: a gate that came with that
 * minor is left to it.
 */
function checkKubeadmGates({ cluster, version }: KubernetesSection): Finding[] {
  const minor = minorOf(version);
  const names = Object.keys(cluster?.featureGates ?? {});
  const ofComponents = names.some((name) => kubeadmGate(name) === undefined) ? componentGates() : undefined;
  return names.flatMap((name): Finding[] => {
    const place = { code: 'UnsupportedVersion', path: [...CLUSTER, 'featureGates', name], key: name } as const;
    const gate = kubeadmGate(name);
    if (gate === undefined) {
      if (minor > NEWEST_KUBEADM_GATES_MINOR) return [];
      return [
        {
          ...place,
          message: `kubeadm 1.${minor} has no such feature gate`,
          hint: ofComponents?.has(name) === true ? ELSEWHERE : nearGate(name, minor),
        },
      ];
    }
    if (gate.until !== undefined && gate.until < minor) {
      // kubeadm is not told what it does anyway: a node that is upgraded keeps what its document says of the old version.
      if (cluster?.featureGates?.[name] === gate.afterwards) return [];
      const message = `kubeadm 1.${minor} does not know this feature gate: it was removed in 1.${gate.until + 1}`;
      return [{ ...place, message, hint: 'remove it' }];
    }
    if (gate.since !== undefined && gate.since > minor + 1) {
      const message = `kubeadm 1.${minor} does not know this feature gate: it came with 1.${gate.since}`;
      return [{ ...place, message, hint: 'remove it, or raise kubernetes.version' }];
    }
    return [];
  });
}

const ELSEWHERE = 'write it as the argument feature-gates of the components that have it';

function nearGate(name: string, minor: number): string {
  const names = kubeadmGates(minor);
  const near = nearestName(name, names);
  return near === undefined ? `kubeadm has ${choices(names, name)}` : `did you mean "${near}"?`;
}

/** Of the kubeadm of a gate that is in no table, in a minor that may have new ones. */
export function lintKubeadmGates({ cluster, version, role }: KubernetesSection): Finding[] {
  const minor = minorOf(version);
  if (minor <= NEWEST_KUBEADM_GATES_MINOR || role !== 'InitControlPlane') return [];
  const unknown = Object.keys(cluster?.featureGates ?? {}).filter((name) => kubeadmGate(name) === undefined);
  return unknown.map((name) => {
    const message = `it is not known whether kubeadm 1.${minor} has this feature gate; without it, kubeadm refuses to run`;
    return { path: [...CLUSTER, 'featureGates', name], key: name, message, hint: 'see "kubeadm init --help"' };
  });
}

/** EncryptionAlgorithmType (k/k cmd/kubeadm/app/apis/kubeadm/types.go): the gate hides the field, whatever its value. */
function checkKeyAlgorithm({ cluster }: KubernetesSection): Finding[] {
  const { encryptionAlgorithm: wanted, featureGates } = cluster ?? {};
  const gate = featureGates?.PublicKeysECDSA;
  const made = gate === true ? 'ECDSA-P256' : 'RSA-2048';
  if (wanted === undefined || gate === undefined || wanted === made) return [];
  const path = [...CLUSTER, 'featureGates', 'PublicKeysECDSA'];
  const message = `with ${gate}, kubeadm makes ${made} keys, and ignores kubernetes.cluster.encryptionAlgorithm ${wanted}`;
  return [{ path, key: 'PublicKeysECDSA', message, hint: 'remove the gate' }];
}

/** What neither kubeadm of this minor nor the next one, which may install it too, can express. */
function needs(since: number, version: string, path: readonly PathSegment[]): Finding[] {
  const minor = minorOf(version);
  if (since <= minor + 1) return [];
  const message = `kubeadm 1.${minor} does not have this: it came with 1.${since}`;
  return [{ code: 'UnsupportedVersion', path, message, hint: 'remove it, or raise kubernetes.version' }];
}

function checkNewerFields({ cluster, controlPlane, version }: KubernetesSection): Finding[] {
  const external = ['kubernetes', 'controlPlane', 'etcd', 'external', 'httpEndpoints'];
  const http = controlPlane?.etcd?.external?.httpEndpoints ?? [];
  return [
    ...(http.length === 0 ? [] : needs(FEATURES.etcdHTTPEndpoints.since, version, external)),
    ...(cluster?.encryptionAlgorithm === 'ECDSA-P384'
      ? needs(FEATURES.ecdsaP384.since, version, [...CLUSTER, 'encryptionAlgorithm'])
      : []),
  ];
}

function checkPatchTargets({ bootstrapper, version }: KubernetesSection): Finding[] {
  const patches = bootstrapper?.kubeadm?.patches;
  return (Array.isArray(patches) ? patches : []).flatMap(({ target }, index) => {
    const path = ['kubernetes', 'bootstrapper', 'kubeadm', 'patches', index, 'target'];
    return needs(PATCH_TARGETS[target].since, version, path);
  });
}
