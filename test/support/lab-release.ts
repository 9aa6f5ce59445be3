import { has } from '@machineadm/document/kubernetes-releases/features.ts';
import { type Artefacts, buildCluster } from '../../scripts/lab/artefacts.ts';
import { type OfficialRelease, officialRelease } from '../../scripts/lab/releases/official.ts';

const WANTED = process.env.MACHINEADM_LAB_KUBERNETES;

/**
 * The Kubernetes of the end-to-end tests: 1.20.2, built from Debian's sources, or the official release that
 * `MACHINEADM_LAB_KUBERNETES` names with its patch version (docs/lab.md).
 */
export const RELEASE: OfficialRelease = officialRelease(WANTED ?? 'v1.20.2');

/** The name of an image of the release in its registry: `pause` is `registry.k8s.io/pause:3.10.1`. */
export function imageOf(component: string): string {
  const image = RELEASE.images[component];
  if (image === undefined) throw new Error(`Kubernetes has no image ${component}`);
  return `${RELEASE.repository}/${image}`;
}

/** Where a machine of the lab has the archive of an image. An official release brings that of kube-proxy in the layer of the addons. */
export function archiveOf(component: string): string {
  return `/opt/${component === 'kube-proxy' && WANTED !== undefined ? 'addons' : 'images'}/${component}.tar`;
}

/** The kubelet's settings without which it does not start here: the lab has cgroup v1, which newer kubelets refuse. */
export const KUBELET_ON_CGROUP_V1 = has('cgroupV1', RELEASE.minor) ? {} : { failCgroupV1: false };

/** What machines start from; undefined: what the lab has by default. A release that cannot be had is an error. */
export async function labOfRelease(): Promise<(Artefacts & { readonly lower: readonly string[] }) | undefined> {
  if (WANTED === undefined) return undefined;
  const artefacts = await buildCluster(WANTED, (line) => console.error(line));
  if (!artefacts.official) throw new Error(`Kubernetes ${WANTED} cannot be downloaded`);
  return artefacts;
}
