import type { ContainerdModel } from '@machineadm/document/model.ts';
import type { Version } from '../../host/seam/facts.ts';
import { OVERLAYFS } from '../containerd/plugin-ids.ts';
import { stringAt } from '../containerd/toml-tree.ts';

/** The snapshotter that CRI uses, where the document names one: an import must unpack for it. */
export function snapshotterOf(containerd: ContainerdModel | undefined): string | undefined {
  const settings = containerd?.settings ?? {};
  // `settings` are merged last.
  return (
    stringAt(settings, ['plugins', 'io.containerd.cri.v1.images', 'snapshotter']) ??
    stringAt(settings, ['plugins', 'io.containerd.grpc.v1.cri', 'containerd', 'snapshotter']) ??
    containerd?.snapshotter
  );
}

/**
 * What ctr is told to unpack for another snapshotter than its own default, which the runtime would not find. From 2.0 on
 * the daemon's transfer service refuses one that it is not configured for ("no unpack platforms defined"), so ctr does it
 * itself; it can be told so since 1.7.
 */
export function unpackArguments(snapshotter: string | undefined, containerd: Version | undefined): readonly string[] {
  if (snapshotter === undefined || snapshotter === OVERLAYFS) return [];
  const isOld = containerd?.major === 1 && containerd.minor < 7;
  return [...(isOld ? [] : ['--local']), '--snapshotter', snapshotter];
}
