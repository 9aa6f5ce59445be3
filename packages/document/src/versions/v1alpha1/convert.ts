import { hostPartModels } from '../../host-parts/index.ts';
import type { Model } from '../../model/index.ts';
import { toContainerd } from '../../sections/containerd/index.ts';
import { toHardening } from '../../sections/hardening.ts';
import { toImages } from '../../sections/images.ts';
import { toKubernetes } from '../../sections/kubernetes/index.ts';
import { toReporting } from '../../sections/reporting.ts';
import { secretResolver } from '../../sections/secrets.ts';
import type { Sections } from './sections.ts';

/** The internal model of a valid v1alpha1 document. */
export async function toModel(sections: Sections): Promise<Model> {
  const { metadata, host, containerRuntime, images, kubernetes, reporting } = sections;
  const resolve = secretResolver(sections.secrets ?? {});
  const platform = host?.platform === 'Windows' ? 'windows' : 'linux';
  return {
    metadata: {
      name: metadata?.name ?? '',
      namespace: metadata?.namespace,
      uid: metadata?.uid,
      cluster: metadata?.cluster,
      labels: metadata?.labels ?? {},
    },
    apply: sections.apply ?? 'Once',
    host: {
      platform,
      rebootPolicy: host?.rebootPolicy ?? 'IfRequired',
      ...(await hostPartModels(host, resolve, platform)),
    },
    containerd: toContainerd(containerRuntime?.containerd, resolve),
    images: toImages(images, resolve),
    kubernetes: kubernetes === undefined ? undefined : toKubernetes(kubernetes, resolve),
    hardening: sections.hardening && toHardening(sections.hardening),
    reporting: toReporting(reporting, platform, resolve),
  };
}
