import { STATIC_PODS_DIRECTORY } from '@machineadm/document/ownership/kubernetes-paths.ts';
import { member, text } from '@machineadm/document/values/untyped.ts';
import { foreignYaml } from '@machineadm/document/yaml/foreign-yaml.ts';
import type { QueryHost } from '../../host/seam/host.ts';

/** The components whose images have the version of Kubernetes, in the order in which kubeadm replaces them (constants.go). */
export const VERSIONED = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler'] as const;

/** The image of a static pod; undefined where it has no manifest that can be read. */
export async function staticPodImage(host: QueryHost, component: string): Promise<string | undefined> {
  const source = await host.readText(`${STATIC_PODS_DIRECTORY}/${component}.yaml`);
  return source === undefined ? undefined : await imageOf(source);
}

/** The image of the first container of a pod. */
export async function imageOf(manifest: string): Promise<string | undefined> {
  const containers = member(member(await foreignYaml(manifest), 'spec'), 'containers');
  return Array.isArray(containers) ? text(member(containers[0], 'image')) : undefined;
}

/** The version in an image's tag: `v1.35.4+build` of `registry.k8s.io/kube-apiserver:v1.35.4_build`. */
export function versionOfImage(image: string | undefined): string | undefined {
  const [named = ''] = (image ?? '').split('@');
  const tag = named.split('/').at(-1)?.split(':')[1];
  return tag !== undefined && /^v\d+\.\d+\.\d+/.test(tag) ? tag.replaceAll('_', '+') : undefined;
}

/** The versions of this machine's control plane by component, as its static pods ask for them. */
export async function controlPlaneVersions(host: QueryHost): Promise<ReadonlyMap<string, string | undefined>> {
  const found = await Promise.all(
    VERSIONED.map(async (component) => [component, versionOfImage(await staticPodImage(host, component))] as const),
  );
  return new Map(found);
}
