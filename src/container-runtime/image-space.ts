import type { Model } from '@machineadm/document/model/index.ts';
import { KUBELET_CONFIG } from '@machineadm/document/ownership/kubernetes-paths.ts';
import { lastLine } from '@machineadm/document/text/printable.ts';
import { member, stringAt } from '@machineadm/document/values/untyped.ts';
import { foreignYaml } from '@machineadm/document/yaml/foreign-yaml.ts';
import type { QueryHost } from '../host/seam/host.ts';

/** The default of imageGCHighThresholdPercent (k/k pkg/kubelet/apis/config/v1beta1/defaults.go). */
const DEFAULT_HIGH_PERCENT = 85;
const GIB = 2 ** 30;

/** The file system of containerd's images. */
export interface ImageSpace {
  readonly directory: string;
  readonly size: number;
  readonly free: number;
  /** From this use on, the kubelet removes images that no container uses. */
  readonly highPercent: number;
}

/** Where containerd keeps its images. */
export function imagesDirectory({ containerd }: Pick<Model, 'containerd'>): string {
  return stringAt(containerd?.settings, 'root') ?? '/var/lib/containerd';
}

/** undefined where findmnt(8) does not tell it. */
export async function imageSpace(host: QueryHost, directory: string): Promise<ImageSpace | undefined> {
  let at = directory;
  while (at !== '/' && (await host.stat(at)) === undefined) at = at.slice(0, at.lastIndexOf('/')) || '/';
  const args = ['-n', '-r', '-b', '-o', 'SIZE,AVAIL', '--target', at];
  const { status, stdout } = await host.query({ program: 'findmnt', args });
  // The last line is the file system on top.
  const [size = Number.NaN, free = Number.NaN] = (lastLine(stdout) ?? '').split(' ').map(Number);
  if (status !== 0 || !(size > 0) || Number.isNaN(free)) return undefined;
  const config = await foreignYaml((await host.readText(KUBELET_CONFIG)) ?? '');
  const given = member(config, 'imageGCHighThresholdPercent');
  return { directory, size, free, highPercent: typeof given === 'number' ? given : DEFAULT_HIGH_PERCENT };
}

/** How full it is with so many bytes more, as the kubelet computes it (k/k pkg/kubelet/images/image_gc_manager.go). */
export function usedPercent({ size, free }: ImageSpace, more = 0): number {
  return 100 - Math.floor((Math.max(0, free - more) * 100) / size);
}

/** Whether the kubelet removes unused images now, with the facts in one sentence; undefined: it does not. */
export function whyImagesGo(space: ImageSpace, more = 0): string | undefined {
  const { directory, highPercent, size, free } = space;
  const used = usedPercent(space, more);
  if (highPercent >= 100 || used < highPercent) return undefined;
  const is = more === 0 ? 'is' : 'would be';
  return `the file system of ${directory} ${is} ${used} % full (${gib(free)} of ${gib(size)} free now), and from ${highPercent} % on the kubelet removes images that no container uses`;
}

function gib(bytes: number): string {
  return `${(bytes / GIB).toFixed(1)} GiB`;
}
