import type { Finding, PathSegment } from '../../diagnostics/index.ts';
import type { KubernetesSection } from './index.ts';
import { addressSubnet, isIPAddress } from './subnets.ts';

const NODE: readonly PathSegment[] = ['kubernetes', 'node'];
const ARGS: readonly PathSegment[] = [...NODE, 'kubelet', 'args'];

/** A label value (k/k staging/src/k8s.io/apimachinery/pkg/util/validation/validation.go); kubernetes.io/hostname is the name of the Node. */
export const LONGEST_NODE_NAME = 63;
export const NODE_NAME_TOO_LONG = `a Node of this name is refused: its label kubernetes.io/hostname has at most ${LONGEST_NODE_NAME} characters`;

/** Arguments that say who a node is: the kubelet takes the last of them without a word. */
const ONCE = ['node-ip', 'hostname-override', 'provider-id'];

/** What the document says of the name, the addresses and the provider's id of the node: each once, and possible. */
export function checkIdentity(kubernetes: KubernetesSection, hostname: string | undefined): Finding[] {
  const args = kubernetes.node?.kubelet?.args ?? [];
  return [
    ...checkName(kubernetes, hostname),
    ...ONCE.flatMap((name) => twice(args, name)),
    ...checkProviderID(kubernetes),
    ...checkLabels(kubernetes),
    ...args.flatMap(({ name, value }, index): Finding[] =>
      name === 'node-ip' ? checkNodeIP(value, [...ARGS, index, 'value']) : [],
    ),
  ];
}

type Args = readonly { readonly name: string; readonly value: string }[];

function twice(args: Args, name: string): Finding[] {
  const [first = -1, ...others] = args.flatMap((one, index) => (one.name === name ? [index] : []));
  return others.map((index) => ({
    code: 'Duplicate',
    path: [...ARGS, index, 'name'],
    message: `${name} is already given at`,
    other: [...ARGS, first],
    hint: 'keep one of them',
  }));
}

function checkName({ node }: KubernetesSection, hostname: string | undefined): Finding[] {
  const args = node?.kubelet?.args ?? [];
  const index = args.findIndex(({ name }) => name === 'hostname-override');
  const override = args[index]?.value;
  const names: readonly (readonly [readonly PathSegment[], string | undefined])[] = [
    node?.name === undefined ? [['host', 'hostname'], hostname] : [[...NODE, 'name'], node.name],
    [[...ARGS, index, 'value'], override],
  ];
  const hint = 'set a shorter kubernetes.node.name';
  const long = names.flatMap(([path, name]): Finding[] =>
    name !== undefined && name.length > LONGEST_NODE_NAME && !name.includes('${')
      ? [{ path, message: NODE_NAME_TOO_LONG, hint }]
      : [],
  );
  const expected = node?.name ?? hostname?.toLowerCase();
  if (override === undefined || expected === undefined || override === expected) return long;
  const path = [...ARGS, index, 'value'];
  const message = `kubeadm expects the Node ${expected}, and the kubelet would register as ${override}`;
  return [...long, { path, message, hint: 'name the Node in kubernetes.node.name only' }];
}

function checkProviderID({ node }: KubernetesSection): Finding[] {
  const args = node?.kubelet?.args ?? [];
  const index = args.findIndex(({ name }) => name === 'provider-id');
  const config: unknown = node?.kubelet?.config?.providerID;
  const said: readonly (readonly [readonly PathSegment[], unknown])[] = [
    [[...NODE, 'providerID'], node?.providerID],
    [[...ARGS, index, 'value'], args[index]?.value],
    [[...NODE, 'kubelet', 'config', 'providerID'], config],
  ];
  const [first, ...others] = said.filter(([, value]) => value !== undefined);
  return others.flatMap(([path, value]): Finding[] =>
    first === undefined || value === first[1]
      ? []
      : [{ path, message: 'another provider ID than', other: first[0], hint: 'use kubernetes.node.providerID only' }],
  );
}

function checkLabels({ node }: KubernetesSection): Finding[] {
  const labels = node?.labels ?? {};
  return (node?.kubelet?.args ?? []).flatMap(({ name, value }, index) => {
    if (name !== 'node-labels') return [];
    return value.split(',').flatMap((pair): Finding[] => {
      const [key = '', ...rest] = pair.trim().split('=');
      const wanted = Object.hasOwn(labels, key) ? labels[key] : undefined;
      if (wanted === undefined || wanted === rest.join('=')) return [];
      const hint = 'use kubernetes.node.labels only';
      const [path, other] = [
        [...ARGS, index, 'value'],
        [...NODE, 'labels', key],
      ];
      return [{ path, message: `gives the label "${key}" another value than`, other, hint }];
    });
  });
}

/** What the kubelet makes of `--node-ip` (k/k staging/src/k8s.io/component-helpers/node/util/ips.go), and refuses. */
function checkNodeIP(value: string, path: readonly PathSegment[]): Finding[] {
  if (value.includes('${')) return [];
  const addresses = value.split(',');
  const wrong = addresses.find((text) => !isIPAddress(text));
  if (wrong !== undefined) {
    const why =
      wrong === wrong.trim() ? `"${wrong}" is not an IP address` : `there are blanks around "${wrong.trim()}"`;
    return [{ path, message: why, hint: 'one address, or one of IPv4 and one of IPv6: 10.0.0.11,fd00::11' }];
  }
  const parsed = addresses.map(addressSubnet);
  const unspecified = parsed.filter((one) => one?.address === 0n).length;
  if (parsed.length > 2 || (parsed.length === 2 && parsed[0]?.bits === parsed[1]?.bits)) {
    return [{ path, message: 'the kubelet takes one address of each family', hint: 'such as 10.0.0.11,fd00::11' }];
  }
  if (parsed.length === 2 && unspecified > 0) {
    return [
      { path, message: 'the kubelet takes no unspecified address (0.0.0.0, ::) in a pair', hint: 'leave it out' },
    ];
  }
  const loopback = addresses.find((text) => /^127\.|^(?:0*:)*:?0*1$/.test(text));
  if (loopback === undefined) return [];
  return [{ path, message: `no other machine reaches this node at ${loopback}`, hint: 'the address of an interface' }];
}
