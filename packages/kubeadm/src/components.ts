import type { ComponentModel, ControlPlaneModel } from '@machineadm/document/model/index.ts';
import type { KubeadmPod } from '@machineadm/document/ownership/kubernetes-paths.ts';
import { apiServerComponent } from './api-server-component.ts';

/**
 * Settings of a static pod, in kubeadm's names, that an earlier document requested: those not requested any more are
 * removed.
 */
export interface RequestedNames {
  readonly args: readonly string[];
  readonly env: readonly string[];
  readonly volumes: readonly string[];
}

/** What the document asks of a static pod of kubeadm. An etcd that is managed elsewhere is asked for nothing. */
export function componentModel(controlPlane: ControlPlaneModel, pod: KubeadmPod): ComponentModel {
  switch (pod) {
    case 'kube-apiserver':
      return apiServerComponent(controlPlane.apiServer);
    case 'kube-controller-manager':
      return controlPlane.controllerManager;
    case 'kube-scheduler':
      return controlPlane.scheduler;
    case 'etcd': {
      const { etcd } = controlPlane;
      return etcd.kind === 'local'
        ? { args: etcd.args, env: etcd.env, volumes: [] }
        : { args: [], env: [], volumes: [] };
    }
  }
}

/** The names of what the document asks of a static pod: what it no longer asks for is removed by them. */
export function requestedNames({ args, env, volumes }: ComponentModel): RequestedNames {
  const names = (list: readonly { readonly name: string }[]) => [...new Set(list.map(({ name }) => name))];
  return { args: names(args), env: names(env), volumes: names(volumes) };
}
