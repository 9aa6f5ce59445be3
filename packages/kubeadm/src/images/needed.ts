import { has } from '@machineadm/document/kubernetes-releases/features.ts';
import { companionTags, defaultRepository } from '@machineadm/document/kubernetes-releases/images.ts';
import type { KubernetesModel, Model } from '@machineadm/document/model/index.ts';
import { parseVersion } from '@machineadm/document/text/program-version.ts';
import { member, text } from '@machineadm/document/values/untyped.ts';
import { foreignYaml } from '@machineadm/document/yaml/foreign-yaml.ts';
import { kubeadmWith } from '../version.ts';

/** An image that a document needs, and its purpose. */
export interface NeededImage {
  readonly image: string;
  /** `kube-apiserver`, `sandbox`, `static pod kube-vip`, `images.required`; several where they share it. */
  readonly for: readonly string[];
  /** False where the tag is taken from a similar release, or the cluster may use another: then kubeadm decides. */
  readonly certain: boolean;
}

/** kubeadm's images by role. A joining machine needs those that the cluster runs on every node. */
const OF_ROLE: Readonly<Record<KubernetesModel['role'], readonly string[]>> = {
  InitControlPlane: ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kube-proxy', 'coredns', 'etcd'],
  JoinControlPlane: ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kube-proxy', 'coredns', 'etcd'],
  Worker: ['kube-proxy', 'coredns'],
};

/**
 * Whether a machine must work without a registry: it may not pull, or it has archives and the document does not allow
 * pulling the rest. Then the images are checked before kubeadm runs.
 */
export function isAirGapped({ images, kubernetes }: Pick<Model, 'images' | 'kubernetes'>): boolean {
  const policy = kubernetes?.node.imagePullPolicy;
  return policy === 'Never' || (policy === undefined && images.archives.length > 0);
}

/**
 * Every image that the document needs, in the order of their use, without running kubeadm or inspecting this machine:
 * for kubeadm of exactly `kubernetes.version`. `unknown` lists what cannot be determined.
 */
export async function neededImages(
  model: Model,
): Promise<{ readonly images: readonly NeededImage[]; readonly unknown: readonly string[] }> {
  const { kubernetes, containerd, images } = model;
  const needed: NeededImage[] = [];
  const unknown: string[] = [];
  const pause = kubernetes === undefined ? undefined : pauseImage(kubernetes);
  const sandbox = containerd?.sandboxImage ?? pause?.image;
  if (sandbox !== undefined) {
    needed.push({
      image: sandbox,
      for: ['sandbox'],
      certain: containerd?.sandboxImage !== undefined || pause?.certain === true,
    });
  }
  if (kubernetes?.exec !== undefined) unknown.push(`the images of ${kubernetes.exec.command}`);
  else if (kubernetes !== undefined) {
    const own = kubeadmImages(kubernetes);
    if (own === undefined) unknown.push(`etcd, coredns and pause of Kubernetes ${kubernetes.version}`);
    needed.push(...(own ?? []));
    // kubeadm requires its own pause image, whatever containerd's sandbox image is.
    if (pause !== undefined && kubernetes.role !== 'Worker') needed.push({ ...pause, for: ['pause'] });
    needed.push(...(await staticPodImages(kubernetes)));
  }
  for (const { host, verify } of containerd?.registries ?? []) {
    if (verify !== undefined) needed.push({ image: verify, for: [`the proof of ${host}`], certain: true });
  }
  needed.push(...images.required.map((image) => ({ image, for: ['images.required'], certain: true })));
  return { images: merged(needed), unknown };
}

/**
 * kubeadm's list except pause (k/k cmd/kubeadm/app/images/images.go, GetControlPlaneImages); undefined for an unknown
 * release.
 */
function kubeadmImages(kubernetes: KubernetesModel): readonly NeededImage[] | undefined {
  const release = parseVersion(kubernetes.version);
  const companions = release === undefined ? undefined : companionTags(release);
  if (release === undefined || companions === undefined) return undefined;
  const { cluster, addons, controlPlane, role } = kubernetes;
  const { tags, known } = companions;
  const own = defaultRepository(release);
  const repository = cluster.imageRepository ?? own;
  const local = controlPlane.etcd.kind === 'local' ? controlPlane.etcd : undefined;
  // These settings belong to the cluster, and a joining machine's document does not contain them.
  const tells = role === 'InitControlPlane';
  const dns = addons.dns.imageRepository ?? repository;
  const dnsPath = dns === own && has('corednsSubdirectory', release.minor) ? 'coredns/coredns' : 'coredns';
  // Older ones pull the image of an addon even if its phase is skipped.
  const disables = release.minor >= kubeadmWith('v1beta4');
  const named = (name: string): NeededImage | undefined => {
    switch (name) {
      case 'coredns': {
        if (!addons.dns.enabled && disables) return undefined;
        const tag = addons.dns.imageTag ?? tags.coredns;
        return {
          image: `${dns}/${dnsPath}:${tag}`,
          for: [name],
          certain: tells && (known || addons.dns.imageTag !== undefined),
        };
      }
      case 'etcd': {
        if (local === undefined) return undefined;
        const image = `${local.imageRepository ?? repository}/etcd:${local.imageTag ?? tags.etcd}`;
        return { image, for: [name], certain: tells && (known || local.imageTag !== undefined) };
      }
      case 'kube-proxy':
        if (!addons.proxy.enabled && disables) return undefined;
        break;
    }
    return { image: `${repository}/${name}:${imageTag(kubernetes.version)}`, for: [name], certain: tells };
  };
  return OF_ROLE[role].flatMap((name) => named(name) ?? []);
}

/** A `+build` is not part of a tag (k/k cmd/kubeadm/app/util/version.go, KubernetesVersionToImageTag). */
function imageTag(version: string): string {
  return version.replaceAll('+', '_');
}

function pauseImage(kubernetes: KubernetesModel): { readonly image: string; readonly certain: boolean } | undefined {
  const release = parseVersion(kubernetes.version);
  const companions = release === undefined ? undefined : companionTags(release);
  if (release === undefined || companions === undefined) return undefined;
  const repository = kubernetes.cluster.imageRepository ?? defaultRepository(release);
  return {
    image: `${repository}/pause:${companions.tags.pause}`,
    certain: companions.known && kubernetes.role === 'InitControlPlane',
  };
}

/** The images of the static pods of the document. */
export async function staticPodImages({ controlPlane }: KubernetesModel): Promise<readonly NeededImage[]> {
  const pods = controlPlane.staticPods.map(async ({ name, manifest }) => ({ name, pod: await foreignYaml(manifest) }));
  return (await Promise.all(pods)).flatMap(({ name, pod }) => {
    const spec = member(pod, 'spec');
    const containers = [member(spec, 'initContainers'), member(spec, 'containers')].flatMap((list) =>
      Array.isArray(list) ? list.map((container: unknown) => text(member(container, 'image'))) : [],
    );
    return containers.flatMap((image) =>
      image === undefined ? [] : [{ image, for: [`static pod ${name}`], certain: true }],
    );
  });
}

/** Each image once, with all its purposes. */
function merged(images: readonly NeededImage[]): readonly NeededImage[] {
  const byName = new Map<string, NeededImage>();
  for (const one of images) {
    const known = byName.get(one.image);
    if (known === undefined) byName.set(one.image, one);
    else {
      const uses = [...new Set([...known.for, ...one.for])];
      byName.set(one.image, { image: one.image, for: uses, certain: known.certain || one.certain });
    }
  }
  return [...byName.values()];
}
