import type { Finding, PathSegment } from '../../diagnostics/index.ts';
import { choice, field, object } from '../../fields/field.ts';
import { repeated } from '../../fields/repeated.ts';
import { argument, dnsSubdomain, labels } from '../../fields/types.ts';
import { refusedByKubelet } from '../../kubernetes-releases/node-labels.ts';
import * as z from '../../schema/zod.ts';
import type { Argument } from '../component.ts';
import type { ControlPlaneSection } from './control-plane.ts';
import { type NodeAddressesModel, nodeAddresses, toNodeAddresses } from './node-addresses.ts';

export interface Taint {
  readonly key: string;
  readonly value: string | undefined;
  readonly effect: 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute';
}

export interface NodeModel {
  /** undefined = the lower-cased host name, as kubeadm does. */
  readonly name: string | undefined;
  readonly providerID: string | undefined;
  /** How the addresses are found; undefined where the document says none, or once they were found. */
  readonly addresses: NodeAddressesModel | undefined;
  /** Those that the kubelet sets when it registers. */
  readonly labels: Readonly<Record<string, string>>;
  /** Those of kubernetes.io and k8s.io that it may not set: an administrator does, after the join. */
  readonly reservedLabels: Readonly<Record<string, string>>;
  /** undefined = kubeadm's default for the role; [] = none. */
  readonly taints: readonly Taint[] | undefined;
  /** undefined = the socket of the machine's runtime. */
  readonly criSocket: string | undefined;
  readonly imagePullPolicy: 'Always' | 'IfNotPresent' | 'Never' | undefined;
  readonly imagePullSerial: boolean | undefined;
  readonly kubelet: {
    /** A KubeletConfiguration without apiVersion and kind. */
    readonly config: Readonly<Record<string, unknown>>;
    readonly args: readonly Argument[];
  };
}

export const node = object({
  name: field(dnsSubdomain, 'The name of the Node.', { absent: 'the host name in lower case', example: '${hostname}' }),
  providerID: field(
    z.string().min(1),
    'The ID by which the cloud provider knows the machine. Cluster API compares it.',
    { absent: 'the cloud provider sets it', example: 'aws:///eu-west-1a/i-0123456789abcdef0' },
  ),
  addresses: field(
    nodeAddresses,
    'Selects the addresses of the node from those of the machine, for the kubelet (`--node-ip`) and the API server of a control plane.',
    { absent: 'the kubelet and kubeadm take the address of the default route', example: { interface: 'eth1' } },
  ),
  labels: field(
    labels,
    'Labels of the Node, set by the kubelet when it registers. Those that a kubelet may not set (`node-role.kubernetes.io/…`) are set after the join: a control plane does, for a worker the report names them.',
    { default: {}, example: { rack: 'r12' } },
  ),
  taints: field(
    z.array(
      object({
        key: field(z.string().min(1), 'The key of the taint.', { example: 'dedicated' }),
        value: field(z.string(), 'The value of the taint.', { default: '', example: 'gpu' }),
        effect: field(
          choice({
            NoSchedule: 'New pods that do not tolerate the taint are not placed on the node.',
            PreferNoSchedule: 'New pods that do not tolerate the taint are placed elsewhere if possible.',
            NoExecute: 'Pods that do not tolerate the taint are evicted, too.',
          }),
          'What happens to pods that do not tolerate the taint.',
          { example: 'NoSchedule' },
        ),
      }),
    ),
    'Taints of the Node when it registers. An empty list means none. If the Node exists already, a control plane adds them after the join; for a worker the report names them.',
    {
      absent: 'the default of kubeadm for the role',
      example: [{ key: 'dedicated', value: 'gpu', effect: 'NoSchedule' }],
    },
  ),
  criSocket: field(
    z.string().regex(/^unix:\/\/\/|^npipe:\/\//, 'not a socket URL, such as unix:///run/containerd/containerd.sock'),
    'The socket of the container runtime, as a URL.',
    {
      absent:
        'the socket of containerd if the document configures it, otherwise that of the one runtime of the machine (containerd, CRI-O or cri-dockerd)',
      example: 'unix:///run/containerd/containerd.sock',
    },
  ),
  imagePullPolicy: field(
    choice({
      Always: 'kubeadm pulls every image.',
      IfNotPresent: 'kubeadm pulls images that are missing.',
      Never: 'kubeadm pulls no image.',
    }),
    'When kubeadm pulls its images.',
    {
      absent: 'the default of kubeadm, IfNotPresent; Never with images.archives',
      example: 'IfNotPresent',
    },
  ),
  imagePullSerial: field(z.boolean(), 'Whether kubeadm pulls one image after the other. false needs kubeadm 1.31.', {
    absent: 'the default of kubeadm, true',
    example: false,
  }),
  kubelet: field(
    object({
      config: field(z.record(z.string(), z.unknown()), 'Fields of KubeletConfiguration v1beta1.', {
        default: {},
        example: { maxPods: 200 },
      }),
      args: field(z.array(argument), 'Command line arguments of the kubelet. Prefer config where it has a field.', {
        default: [],
        example: [{ name: 'node-ip', value: '10.0.0.11' }],
      }),
    }),
    'Settings of the kubelet.',
    { absent: 'the defaults of kubeadm', example: { config: { maxPods: 200 } } },
  ),
});

type NodeSection = z.infer<typeof node>;

const NODE: readonly PathSegment[] = ['kubernetes', 'node'];

/** What the kubelet or the API server refuses of a node: the kubelet does not start, or the Node is never created. */
export function checkNode(node: NodeSection | undefined, controlPlane: ControlPlaneSection | undefined): Finding[] {
  return [...checkLabels(node), ...checkTaints(node), ...checkVolumes(controlPlane)];
}

const AFTER_JOIN = 'move it to kubernetes.node.labels, which are set after the join';

function checkLabels(node: NodeSection | undefined): Finding[] {
  const message = 'the kubelet does not start with labels of kubernetes.io and k8s.io that are not its own';
  return (node?.kubelet?.args ?? []).flatMap(({ name, value }, index): Finding[] => {
    const keys = name === 'node-labels' ? value.split(',').map((pair) => pair.trim().split('=')[0] ?? '') : [];
    const refused = keys.find(refusedByKubelet);
    if (refused === undefined) return [];
    const path = [...NODE, 'kubelet', 'args', index, 'value'];
    return [{ path, message: `${refused}: ${message}`, hint: AFTER_JOIN }];
  });
}

/** k/k staging/src/k8s.io/apimachinery/pkg/util/validation/validation.go, IsQualifiedName and IsValidLabelValue. */
const QUALIFIED_NAME =
  /^(?:(?=[^/]{1,253}\/)[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*\/)?[A-Za-z0-9](?:[-\w.]{0,61}[A-Za-z0-9])?$/;
const LABEL_VALUE = /^(?:[A-Za-z0-9](?:[-\w.]{0,61}[A-Za-z0-9])?)?$/;

/** k/k pkg/apis/core/validation/validation.go, validateNodeTaints. */
function checkTaints(node: NodeSection | undefined): Finding[] {
  const taints = node?.taints ?? [];
  const path = [...NODE, 'taints'];
  const doubles = [...repeated(taints.map(({ key, effect }) => `${key} ${effect}`))];
  return [
    ...taints.flatMap(({ key, value = '' }, index): Finding[] => [
      ...(QUALIFIED_NAME.test(key)
        ? []
        : [{ path: [...path, index, 'key'], message: 'not a valid taint key', hint: 'such as example.org/dedicated' }]),
      ...(LABEL_VALUE.test(value)
        ? []
        : [
            {
              path: [...path, index, 'value'],
              message: 'not a valid taint value',
              hint: 'at most 63 letters, digits, "-", "_" and ".", with a letter or digit at both ends',
            },
          ]),
    ]),
    ...doubles.map(
      ([index, first]): Finding => ({
        code: 'Duplicate',
        path: [...path, index],
        message: 'the same key and effect as',
        other: [...path, first],
        hint: 'keep one of them',
      }),
    ),
  ];
}

/** RFC 1123 label: a kubelet does not start a static pod with a volume of another name. */
const VOLUME_NAME = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;

function checkVolumes(controlPlane: ControlPlaneSection | undefined): Finding[] {
  return (['apiServer', 'controllerManager', 'scheduler'] as const).flatMap((component) =>
    (controlPlane?.[component]?.volumes ?? []).flatMap(({ name }, index): Finding[] => {
      if (VOLUME_NAME.test(name)) return [];
      const path = ['kubernetes', 'controlPlane', component, 'volumes', index, 'name'];
      return [{ path, message: 'not the name of a volume', hint: 'at most 63 lower-case letters, digits and "-"' }];
    }),
  );
}

function splitLabels(labels: Readonly<Record<string, string>>): Pick<NodeModel, 'labels' | 'reservedLabels'> {
  const entries = Object.entries(labels);
  return {
    labels: Object.fromEntries(entries.filter(([key]) => !refusedByKubelet(key))),
    reservedLabels: Object.fromEntries(entries.filter(([key]) => refusedByKubelet(key))),
  };
}

/** The section without the labels that are set after the join: they may change on a node. */
export function withoutReservedLabels(section: NodeSection | undefined): NodeSection | undefined {
  const reserved = Object.keys(section?.labels ?? {}).filter(refusedByKubelet);
  if (section === undefined || reserved.length === 0) return section;
  const { labels: _labels, ...others } = section;
  const { labels } = splitLabels(section.labels ?? {});
  const left = Object.keys(labels).length === 0 ? others : { ...others, labels };
  return Object.keys(left).length === 0 ? undefined : left;
}

/** @param configuration what the document says of the kubelet's configuration elsewhere */
export function toNode(section: NodeSection | undefined, configuration: Readonly<Record<string, unknown>>): NodeModel {
  return {
    name: section?.name,
    providerID: section?.providerID,
    addresses: toNodeAddresses(section?.addresses),
    ...splitLabels(section?.labels ?? {}),
    taints: section?.taints?.map(({ key, value, effect }) => ({ key, value, effect })),
    criSocket: section?.criSocket,
    imagePullPolicy: section?.imagePullPolicy,
    imagePullSerial: section?.imagePullSerial,
    kubelet: { config: { ...configuration, ...section?.kubelet?.config }, args: section?.kubelet?.args ?? [] },
  };
}
