import type { KubernetesModel } from '@machineadm/document/model/index.ts';
import { componentModel, requestedNames } from '@machineadm/kubeadm/components.ts';
import { CHANGEABLE_PODS, type PodNames } from '../step/upgrade-order.ts';

/** The names of what a document asks of the static pods that an upgrade can change. */
export function podNames({ controlPlane }: KubernetesModel): PodNames {
  return Object.fromEntries(
    CHANGEABLE_PODS.map((pod) => [pod, requestedNames(componentModel(controlPlane, pod))] as const),
  );
}

/** All names together. */
export function joinedNames(all: readonly (PodNames | undefined)[]): PodNames {
  return Object.fromEntries(
    CHANGEABLE_PODS.map((pod) => {
      const of = (kind: 'args' | 'env' | 'volumes') => [...new Set(all.flatMap((names) => names?.[pod]?.[kind] ?? []))];
      return [pod, { args: of('args'), env: of('env'), volumes: of('volumes') }] as const;
    }),
  );
}
