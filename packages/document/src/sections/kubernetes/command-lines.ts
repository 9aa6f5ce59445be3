import type { PathSegment } from '../../diagnostics/index.ts';
import type { Component } from '../../kubernetes-releases/flags.ts';
import type { KubernetesSection } from './index.ts';

/** The arguments of a component, and their place in the document. */
export interface CommandLine {
  readonly component: Component;
  readonly args: readonly { readonly name: string; readonly value: string }[];
  readonly path: readonly PathSegment[];
}

/** The components whose arguments the document sets. */
export function commandLines({ controlPlane, node }: KubernetesSection): readonly CommandLine[] {
  const path = ['kubernetes', 'controlPlane'];
  return [
    { component: 'kube-apiserver', args: controlPlane?.apiServer?.args ?? [], path: [...path, 'apiServer', 'args'] },
    {
      component: 'kube-controller-manager',
      args: controlPlane?.controllerManager?.args ?? [],
      path: [...path, 'controllerManager', 'args'],
    },
    { component: 'kube-scheduler', args: controlPlane?.scheduler?.args ?? [], path: [...path, 'scheduler', 'args'] },
    { component: 'kubelet', args: node?.kubelet?.args ?? [], path: ['kubernetes', 'node', 'kubelet', 'args'] },
  ];
}
