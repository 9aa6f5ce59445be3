import type { ContainerdModel } from '@machineadm/document/model/index.ts';
import type { Version } from '@machineadm/document/text/program-version.ts';
import { OVERLAYFS } from '../../container-runtime/plugin-ids.ts';
import { stringAt } from '../../container-runtime/toml-tree.ts';

/** CRI's snapshotter, where the document sets one: an import must unpack for it. */
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
 * ctr's arguments for unpacking for a snapshotter that is not its default. Since 2.0 the daemon's transfer service
 * refuses one that it is not configured for ("no unpack platforms defined"), so ctr unpacks itself, which it supports
 * since 1.7.
 */
export function unpackArguments(snapshotter: string | undefined, containerd: Version | undefined): readonly string[] {
  if (snapshotter === undefined || snapshotter === OVERLAYFS) return [];
  const isOld = containerd?.major === 1 && containerd.minor < 7;
  return [...(isOld ? [] : ['--local']), '--snapshotter', snapshotter];
}
