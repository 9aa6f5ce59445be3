import { refusedByKubelet } from '@machineadm/document/kubernetes-releases/node-labels.ts';
import type { KubernetesSection } from '@machineadm/document/sections/kubernetes/index.ts';
import { omitEmpty } from '@machineadm/document/values/defined.ts';
import type { Conversion } from '../inputs/conversion.ts';
import type { Source } from '../values/source.ts';
import { convertArguments, nonEmpty } from './components.ts';
import { onlySince, type Target, V1BETA4_MINOR } from './target.ts';

type Node = NonNullable<KubernetesSection['node']>;
type Taint = NonNullable<Node['taints']>[number];
type Arguments = NonNullable<Node['kubelet']>['args'];

/** cluster-api api/core/v1beta2: NodeUninitializedTaint. */
const UNINITIALIZED: Taint = { key: 'node.cluster.x-k8s.io/uninitialized', effect: 'NoSchedule' };

/** `kubernetes.node`, from nodeRegistration of InitConfiguration or JoinConfiguration. */
export function convertNode(
  registration: Source,
  role: KubernetesSection['role'],
  resolved: boolean,
  target: Target,
  conversion: Conversion,
  placeholder: string | undefined,
): Node | undefined {
  const args = withoutRefusedLabels(registration.get('kubeletExtraArgs'), target, conversion);
  const serial = registration.get('imagePullSerial');
  const asks = serial.flag();
  return omitEmpty({
    name: placeholder === undefined ? nonEmpty(registration.get('name')) : undefined,
    taints: taints(registration.get('taints'), role, resolved, conversion),
    criSocket: socketOf(registration, args, conversion),
    imagePullPolicy: pullPolicy(registration.get('imagePullPolicy'), conversion),
    // Sequential pulls are the default of every version.
    imagePullSerial: asks === false ? onlySince(V1BETA4_MINOR, asks, serial, target, conversion) : asks,
    kubelet: args === undefined ? undefined : { args },
  });
}

/**
 * kubeadm takes the one socket that it finds; the document says containerd where it says nothing. So the kubelet's argument
 * counts, which names the runtime that the machine has. kubeadm prepends the scheme to a path (app/util/config/
 * initconfiguration.go, SetNodeRegistrationDynamicDefaults).
 */
function socketOf(registration: Source, args: Arguments, { report }: Conversion): string | undefined {
  const own = nonEmpty(registration.get('criSocket'));
  const endpoint = args?.findLast(({ name }) => name === 'container-runtime-endpoint')?.value;
  if (own === undefined && endpoint !== undefined) report.add('RuntimeSocket', registration, endpoint);
  return (own ?? endpoint)?.replace(/^\//, 'unix:///');
}

/** The kubelet's arguments without the labels that keep it from starting. */
function withoutRefusedLabels(source: Source, target: Target, conversion: Conversion): Arguments {
  return convertArguments(source, target, conversion)?.flatMap(({ name, value }) => {
    const labels = name === 'node-labels' ? value.split(',') : [];
    const refused = labels.filter((label) => refusedByKubelet(label.trim().split('=', 1)[0] ?? ''));
    if (refused.length === 0) return [{ name, value }];
    conversion.report.add(
      'LabelRefused',
      source,
      `${refused.join(',')} left out: set it in kubernetes.node.labels, or label the Node from outside`,
    );
    const kept = labels.filter((label) => !refused.includes(label)).join(',');
    return kept === '' ? [] : [{ name, value: kept }];
  });
}

/**
 * Absent, [] and a list have different meanings. The provider adds its own taints for workers
 * (kubeadmconfig_controller.go).
 */
function taints(
  source: Source,
  role: KubernetesSection['role'],
  resolved: boolean,
  { report, options }: Conversion,
): Taint[] | undefined {
  const given = source.isList
    ? source.items().map((taint): Taint => {
        if (taint.get('timeAdded').text() !== undefined)
          report.add('TaintTimeDropped', taint.get('timeAdded'), 'left out');
        return {
          key: taint.get('key').text() ?? '',
          value: nonEmpty(taint.get('value')),
          effect: effectOf(taint.get('effect'), report),
        };
      })
    : undefined;
  const adds = role === 'Worker' && !resolved && options.standalone !== true && options.forProvider !== true;
  if (!adds || given?.some(({ key }) => key === UNINITIALIZED.key) === true) return given;
  report.add('UninitializedTaint', source, '--standalone leaves it out');
  return [...(given ?? []), UNINITIALIZED];
}

function effectOf(source: Source, report: Conversion['report']): Taint['effect'] {
  const text = source.text();
  if (text === 'NoSchedule' || text === 'PreferNoSchedule' || text === 'NoExecute') return text;
  report.add('InputInvalid', source, 'expected NoSchedule, PreferNoSchedule or NoExecute');
  return 'NoSchedule';
}

function pullPolicy(source: Source, { report }: Conversion): Node['imagePullPolicy'] {
  const text = nonEmpty(source);
  if (text === undefined || text === 'Always' || text === 'IfNotPresent' || text === 'Never') return text;
  report.add('InputInvalid', source, 'expected Always, IfNotPresent or Never');
  return undefined;
}
