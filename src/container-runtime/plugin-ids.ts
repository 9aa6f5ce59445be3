/** The CRI service has this id in every version, including 2.x. */
export const CRI = 'io.containerd.grpc.v1.cri';
/** containerd docs/cri/config.md: 2.x splits the CRI plug-in; these are its other parts (configuration version 3). */
export const IMAGES = 'io.containerd.cri.v1.images';
export const RUNTIME = 'io.containerd.cri.v1.runtime';
/** Unpacks images that `ctr` imports and, since 2.1, those that CRI pulls. */
export const TRANSFER = 'io.containerd.transfer.v1.local';

/** `ctr install` installs programs below its `path`. */
export const OPT = 'io.containerd.internal.v1.opt';

/** runc's shim, which also runs replacements of runc. */
export const RUNC_SHIM = 'io.containerd.runc.v2';
export const OVERLAYFS = 'overlayfs';

/**
 * Ids of configuration version 1 (containerd cmd/containerd/server/config/config.go, v1MigratePluginName);
 * disabled_plugins may still contain them.
 */
const VERSION_1: Readonly<Record<string, string>> = {
  cri: CRI,
  cgroups: 'io.containerd.monitor.v1.cgroups',
  linux: 'io.containerd.runtime.v1.linux',
  scheduler: 'io.containerd.gc.v1.scheduler',
  bolt: 'io.containerd.metadata.v1.bolt',
  task: 'io.containerd.runtime.v2.task',
  opt: OPT,
  restart: 'io.containerd.internal.v1.restart',
  tracing: 'io.containerd.internal.v1.tracing',
  otlp: 'io.containerd.tracing.processor.v1.otlp',
  aufs: 'io.containerd.snapshotter.v1.aufs',
  btrfs: 'io.containerd.snapshotter.v1.btrfs',
  devmapper: 'io.containerd.snapshotter.v1.devmapper',
  native: 'io.containerd.snapshotter.v1.native',
  overlayfs: 'io.containerd.snapshotter.v1.overlayfs',
  zfs: 'io.containerd.snapshotter.v1.zfs',
};

/** The id of a plug-in since configuration version 2. */
export function fullId(plugin: string): string {
  if (plugin.includes('.')) return plugin;
  if (plugin.endsWith('-service')) return `io.containerd.service.v1.${plugin}`;
  return VERSION_1[plugin] ?? `io.containerd.grpc.v1.${plugin}`;
}

/** True for the ids that CRI requires. */
export function isCriPlugin(plugin: string): boolean {
  return [CRI, IMAGES, RUNTIME].includes(fullId(plugin));
}
