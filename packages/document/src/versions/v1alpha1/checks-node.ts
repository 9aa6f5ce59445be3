import type { Finding, PathSegment } from '../../diagnostics.ts';
import { refusedByKubelet } from '../../kubernetes-releases/node-labels.ts';
import type { KubernetesSection } from './kubernetes.ts';
import { repeated } from './repeated.ts';

const NODE: readonly PathSegment[] = ['kubernetes', 'node'];

/** What the kubelet or the API server refuses of a node: the kubelet does not start, or the Node is never created. */
export function checkNode(kubernetes: KubernetesSection): Finding[] {
  return [...checkLabels(kubernetes), ...checkTaints(kubernetes), ...checkVolumes(kubernetes)];
}

const FROM_OUTSIDE = 'remove it, and label the Node from outside: kubectl label node NAME KEY=VALUE';

function checkLabels({ node }: KubernetesSection): Finding[] {
  const message = 'the kubelet does not start with labels of kubernetes.io and k8s.io that are not its own';
  const labels = Object.keys(node?.labels ?? {})
    .filter(refusedByKubelet)
    .map((key): Finding => ({ path: [...NODE, 'labels', key], key, message, hint: FROM_OUTSIDE }));
  const flags = (node?.kubelet?.args ?? []).flatMap(({ name, value }, index): Finding[] => {
    const keys = name === 'node-labels' ? value.split(',').map((pair) => pair.trim().replace(/=.*$/s, '')) : [];
    const refused = keys.find(refusedByKubelet);
    if (refused === undefined) return [];
    const path = [...NODE, 'kubelet', 'args', index, 'value'];
    return [{ path, message: `${refused}: ${message}`, hint: FROM_OUTSIDE }];
  });
  return [...labels, ...flags];
}

/** k/k staging/src/k8s.io/apimachinery/pkg/util/validation/validation.go, IsQualifiedName and IsValidLabelValue. */
const QUALIFIED_NAME =
  /^(?:(?=[^/]{1,253}\/)[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*\/)?[A-Za-z0-9](?:[-\w.]{0,61}[A-Za-z0-9])?$/;
const LABEL_VALUE = /^(?:[A-Za-z0-9](?:[-\w.]{0,61}[A-Za-z0-9])?)?$/;

/** k/k pkg/apis/core/validation/validation.go, validateNodeTaints. */
function checkTaints({ node }: KubernetesSection): Finding[] {
  const taints = node?.taints ?? [];
  const path = [...NODE, 'taints'];
  const doubles = [...repeated(taints.map(({ key, effect }) => `${key} ${effect}`))];
  return [
    ...taints.flatMap(({ key, value = '' }, index): Finding[] => [
      ...(QUALIFIED_NAME.test(key)
        ? []
        : [
            { path: [...path, index, 'key'], message: 'not the key of a taint', hint: 'such as example.org/dedicated' },
          ]),
      ...(LABEL_VALUE.test(value)
        ? []
        : [
            {
              path: [...path, index, 'value'],
              message: 'not the value of a taint',
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

function checkVolumes({ controlPlane }: KubernetesSection): Finding[] {
  return (['apiServer', 'controllerManager', 'scheduler'] as const).flatMap((component) =>
    (controlPlane?.[component]?.volumes ?? []).flatMap(({ name }, index): Finding[] => {
      if (VOLUME_NAME.test(name)) return [];
      const path = ['kubernetes', 'controlPlane', component, 'volumes', index, 'name'];
      return [{ path, message: 'not the name of a volume', hint: 'at most 63 lower-case letters, digits and "-"' }];
    }),
  );
}
