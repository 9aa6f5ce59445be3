import type { TomlTable, TomlValue } from '@machineadm/document/model/index.ts';
import type { Version } from '@machineadm/document/text/program-version.ts';
import { CRI, fullId, IMAGES, isCriPlugin, RUNTIME } from '../../container-runtime/plugin-ids.ts';
import {
  defined,
  isTable,
  mergeTables,
  stringAt,
  stringsAt,
  table,
  tableAt,
  without,
} from '../../container-runtime/toml-tree.ts';

/**
 * The new location in version 3 of the keys of version 2's single CRI plug-in: containerd
 * plugins/cri/{images,runtime}/plugin.go.
 */
const OF_IMAGES = [
  'registry',
  'image_decryption',
  'max_concurrent_downloads',
  'image_pull_progress_timeout',
  'image_pull_with_sync_fs',
  'stats_collect_period',
];
const OF_SNAPSHOTS = ['snapshotter', 'disable_snapshot_annotations', 'discard_unpacked_layers'];
const OF_SERVER = [
  'disable_tcp_service',
  'stream_server_address',
  'stream_server_port',
  'stream_idle_timeout',
  'enable_tls_streaming',
  'x509_key_pair_streaming',
];

/**
 * Converts a configuration to the format of the containerd that will read it: version 2 for 1.x, version 3 for 2.x. The
 * source version is detected from the ids of plug-ins, not from the header. containerd's own `config migrate` exists
 * only in 2.x, ignores drop-ins, and writes a format that the previous version does not read.
 */
export function convertToVersion(found: TomlTable, version: Version): TomlTable {
  const tree = withoutVersion4(withFullIds(found));
  const plugins = tableAt(tree, ['plugins']);
  const others = without(plugins, [CRI, IMAGES, RUNTIME]);
  const cri = version.major >= 2 ? inThree(plugins, version) : inOne(plugins);
  const rest = without(tree, ['plugins']);
  return { ...rest, version: version.major >= 2 ? 3 : 2, ...table('plugins', { ...others, ...cri }) };
}

function withFullIds(found: TomlTable): TomlTable {
  const plugins = Object.entries(tableAt(found, ['plugins'])).map(([id, content]) => [fullId(id), content] as const);
  const lists = ['disabled_plugins', 'required_plugins'].flatMap((key) =>
    key in found ? [[key, stringsAt(found, [key]).map(fullId)] as const] : [],
  );
  return { ...found, ...Object.fromEntries(lists), ...table('plugins', Object.fromEntries(plugins)) };
}

/** Certainly not version 2: version 3 left only the server there. */
export function usesVersion2Keys(plugins: TomlTable): boolean {
  return Object.keys(tableAt(plugins, [CRI])).some((key) => !OF_SERVER.includes(key));
}

function inThree(plugins: TomlTable, version: Version): TomlTable {
  const old = tableAt(plugins, [CRI]);
  const containerd = tableAt(old, ['containerd']);
  const images = {
    ...table('pinned_images', defined('sandbox', old.sandbox_image)),
    ...picked(containerd, OF_SNAPSHOTS),
    ...picked(old, OF_IMAGES),
  };
  const runtime = {
    ...without(old, ['sandbox_image', 'systemd_cgroup', 'cni', 'containerd', ...OF_IMAGES, ...OF_SERVER]),
    ...table('cni', tableAt(old, ['cni'])),
    ...table('containerd', withSandboxer(without(containerd, OF_SNAPSHOTS), 'sandbox_mode', 'sandboxer')),
  };
  const mine = mergeTables(runtime, tableAt(plugins, [RUNTIME]));
  return {
    ...table(IMAGES, mergeTables(images, tableAt(plugins, [IMAGES]))),
    ...table(RUNTIME, { ...mine, ...table('cni', withBinaries(tableAt(mine, ['cni']), version)) }),
    ...table(CRI, picked(old, OF_SERVER)),
  };
}

function inOne(plugins: TomlTable): TomlTable {
  const images = tableAt(plugins, [IMAGES]);
  const runtime = tableAt(plugins, [RUNTIME]);
  const cni = tableAt(runtime, ['cni']);
  const older = {
    ...defined('sandbox_image', stringAt(images, ['pinned_images', 'sandbox'])),
    ...without(images, ['pinned_images', ...OF_SNAPSHOTS]),
    ...without(runtime, ['cni', 'containerd']),
    ...table('cni', { ...without(cni, ['bin_dirs']), ...defined('bin_dir', binariesOf(cni)[0]) }),
    ...table('containerd', {
      ...picked(images, OF_SNAPSHOTS),
      ...withSandboxer(tableAt(runtime, ['containerd']), 'sandboxer', 'sandbox_mode'),
    }),
  };
  return table(CRI, without(mergeTables(tableAt(plugins, [CRI]), older), ['systemd_cgroup']));
}

/** 2.0 renamed a runtime's `sandbox_mode` to `sandboxer`. */
function withSandboxer(containerd: TomlTable, from: string, to: string): TomlTable {
  const runtimes = Object.entries(tableAt(containerd, ['runtimes'])).map(([name, runtime]) => {
    if (!isTable(runtime) || !(from in runtime)) return [name, runtime] as const;
    return [name, { ...defined(to, runtime[from]), ...without(runtime, [from]) }] as const;
  });
  return { ...containerd, ...table('runtimes', Object.fromEntries(runtimes)) };
}

/** 2.1 replaced bin_dir by bin_dirs and refuses both; 2.0 does not support bin_dirs (containerd/containerd#11311). */
export function withBinaries(cni: TomlTable, version: Version): TomlTable {
  const directories = binariesOf(cni);
  const rest = without(cni, ['bin_dir', 'bin_dirs']);
  if (directories.length === 0) return rest;
  const knowsSeveral = version.major > 2 || (version.major === 2 && version.minor >= 1);
  return knowsSeveral ? { bin_dirs: directories, ...rest } : { ...defined('bin_dir', directories[0]), ...rest };
}

function binariesOf(cni: TomlTable): readonly string[] {
  const several = stringsAt(cni, ['bin_dirs']);
  const single = stringAt(cni, ['bin_dir']);
  return several.length > 0 || single === undefined ? several : [single];
}

/** Reverts the separate plug-ins of version 4 (containerd cmd/containerd/server/config/config.go, serviceMigrate). */
const SERVERS: readonly (readonly [plugin: string, table: string, keys: Readonly<Record<string, string>>])[] = [
  ['io.containerd.server.v1.grpc', 'grpc', {}],
  [
    'io.containerd.server.v1.grpc-tcp',
    'grpc',
    {
      address: 'tcp_address',
      tls_ca: 'tcp_tls_ca',
      tls_cert: 'tcp_tls_cert',
      tls_key: 'tcp_tls_key',
      tls_common_name: 'tcp_tls_common_name',
    },
  ],
  ['io.containerd.server.v1.ttrpc', 'ttrpc', {}],
  ['io.containerd.server.v1.debug', 'debug', {}],
  ['io.containerd.server.v1.metrics', 'metrics', {}],
  ['io.containerd.metrics.v1.grpc-prometheus', 'metrics', {}],
];

function withoutVersion4(tree: TomlTable): TomlTable {
  const plugins = tableAt(tree, ['plugins']);
  const old: Record<string, TomlValue> = {};
  for (const [plugin, name, keys] of SERVERS) {
    const renamed = Object.entries(tableAt(plugins, [plugin])).map(
      ([key, value]) => [keys[key] ?? key, value] as const,
    );
    if (renamed.length > 0) old[name] = { ...tableAt(old, [name]), ...Object.fromEntries(renamed) };
  }
  if (Object.keys(old).length === 0) return tree;
  const rest = without(
    plugins,
    SERVERS.map(([plugin]) => plugin),
  );
  return mergeTables(old, { ...tree, plugins: rest });
}

function picked(content: TomlTable, keys: readonly string[]): TomlTable {
  return Object.fromEntries(Object.entries(content).filter(([key]) => keys.includes(key)));
}

/**
 * The disabled plug-ins except CRI, which must stay enabled: Docker's packages disable it (containerd/containerd#8139).
 */
export function disabledWithoutCri(tree: TomlTable): readonly string[] {
  return stringsAt(tree, ['disabled_plugins']).filter(
    (plugin) => plugin.startsWith('io.containerd.') && !isCriPlugin(plugin),
  );
}
