import type { ContainerdModel, TomlTable } from '@machineadm/document/model/index.ts';
import {
  CONTAINERD_CONFIGURATION,
  ORIGINAL_SUFFIX,
  PREVIOUS_SUFFIX,
  REGISTRIES_DIRECTORY,
} from '@machineadm/document/ownership/paths.ts';
import type { Version } from '@machineadm/document/text/program-version.ts';
import { CRI, IMAGES, OPT, OVERLAYFS, RUNTIME, TRANSFER } from '../../container-runtime/plugin-ids.ts';
import {
  defined,
  isTable,
  leavesOf,
  mergeTables,
  sameTables,
  stringAt,
  stringsAt,
  table,
  tableAt,
  valueAt,
  without,
} from '../../container-runtime/toml-tree.ts';
import { convertToVersion, disabledWithoutCri, withBinaries } from './migrate.ts';
import { correctedRuntimes, runtimeTables } from './runtimes.ts';
import { tableText } from './toml-text.ts';

export const CONFIGURATION_PATH = CONTAINERD_CONFIGURATION;
/** The file before the first run; kept once, never changed again. */
export const ORIGINAL_PATH = `${CONFIGURATION_PATH}${ORIGINAL_SUFFIX}`;
/** The file before the current change; removed when the daemon is healthy with the new one. */
export const PREVIOUS_PATH = `${CONFIGURATION_PATH}${PREVIOUS_SUFFIX}`;

const MANAGED_MARK = '# Managed by machineadm:';
const MERGED_MARK = '# Merged by machineadm:';
const HEADERS: Readonly<Record<ContainerdModel['mode'], string>> = {
  Managed: `${MANAGED_MARK} what is changed here is lost at its next run. Change the document instead
# (containerRuntime.containerd). The file found before is kept as config.toml.machineadm-orig.

`,
  Merge: `${MERGED_MARK} its next run restores what the document sets (containerRuntime.containerd),
# everything else is kept. The file found before is kept as config.toml.machineadm-orig.

`,
};

const SANDBOX_IMAGE_KEYS = [
  ['plugins', CRI, 'sandbox_image'],
  ['plugins', IMAGES, 'pinned_images', 'sandbox'],
] as const;

export interface ConfigurationInput {
  readonly model: ContainerdModel;
  /** The containerd that will read it. */
  readonly version: Version;
  /** Go's name: amd64, arm64. */
  readonly architecture: string;
  /** undefined keeps containerd's own default. */
  readonly sandboxImage: string | undefined;
  /** The existing configuration, parsed, with its drop-ins where those are merged; undefined without one. */
  readonly original: TomlTable | undefined;
}

/**
 * The whole configuration as a TOML tree: version 2 for containerd 1.x, version 3 for 2.x, which every 2.x reads (2.3
 * supports 4, but 2.2 refuses that). From the existing file, Managed keeps only what is specific to this machine: data
 * directories, plug-ins of other vendors, drop-ins, program paths; Merge keeps everything that the document does not
 * set. The document's `settings` are merged last.
 */
export function configurationTree(input: ConfigurationInput): TomlTable {
  const { model, version } = input;
  const found = convertToVersion(input.original ?? {}, version);
  const base = model.mode === 'Merge' ? mergeBase(found, model, version) : managedBase(found);
  const mine = withoutBinaries(mergeTables(base, ours(input, base)), model.settings);
  const tree = mergeTables(mine, model.settings);
  return {
    version: version.major >= 2 ? 3 : 2,
    ...tree,
    // Docker's packages disable CRI (containerd/containerd#8139): other entries are kept, but never those.
    disabled_plugins: disabledWithoutCri(tree),
    // Without this, a CRI plug-in that fails to load leaves a daemon that seems healthy and serves no pods.
    required_plugins: [...new Set([CRI, ...stringsAt(tree, ['required_plugins'])])],
  };
}

/**
 * The text of the file; the same tree gives the same bytes. `current` is the present file: a merge that adds nothing
 * leaves it unchanged, with its comments.
 */
export async function configurationText(
  tree: TomlTable,
  mode: ContainerdModel['mode'],
  current?: { readonly text: string; readonly tree: TomlTable | undefined },
): Promise<string> {
  if (mode === 'Merge' && current?.tree !== undefined && sameTables(current.tree, tree)) return current.text;
  return `${HEADERS[mode]}${(await tableText(tree)).trimEnd()}\n`;
}

/** The origin of a file: completely ours, merged by us, or foreign. */
export function writerOf(text: string): ContainerdModel['mode'] | undefined {
  if (text.startsWith(MANAGED_MARK)) return 'Managed';
  return text.startsWith(MERGED_MARK) ? 'Merge' : undefined;
}

/** Registry passwords and headers restrict the file to root (0600 instead of 0644). */
export function holdsCredentials(tree: TomlTable): boolean {
  return leavesOf(tree).some(({ path }) =>
    path.some((key) => /^(auth|auths|password|identitytoken|authorization|headers?)$/i.test(key)),
  );
}

/** The table of registries in a tree of either version. */
export function registryTable(tree: TomlTable): TomlTable {
  const images = valueAt(tree, ['plugins', IMAGES, 'registry']);
  return isTable(images) ? images : tableAt(tree, ['plugins', CRI, 'registry']);
}

/** The table of runtimes and their default in a tree of either version. */
export function containerdTable(tree: TomlTable): TomlTable {
  return tableAt(tree, ['plugins', tree.version === 2 ? CRI : RUNTIME, 'containerd']);
}

/** The values that a running daemon reports over CRI (`CriQueries.configuration`), from the tree. */
export function runningValues(tree: TomlTable) {
  const plugin = tree.version === 2 ? CRI : RUNTIME;
  const containerd = containerdTable(tree);
  const runtime = tableAt(containerd, ['runtimes', stringAt(containerd, ['default_runtime_name']) ?? 'runc']);
  const systemdCgroup = valueAt(runtime, ['options', 'SystemdCgroup']);
  const restrict = valueAt(tree, ['plugins', plugin, 'restrict_oom_score_adj']);
  return {
    cgroupDriver:
      typeof systemdCgroup !== 'boolean' ? undefined : systemdCgroup ? ('systemd' as const) : ('cgroupfs' as const),
    sandboxImage: SANDBOX_IMAGE_KEYS.map((path) => stringAt(tree, path)).find((image) => image !== undefined),
    restrictOomScoreAdj: typeof restrict === 'boolean' ? restrict : undefined,
  };
}

function ours(input: ConfigurationInput, base: TomlTable): TomlTable {
  const { model, version } = input;
  const plugins = version.major >= 2 ? pluginsOfVersion3(input, base) : pluginsOfVersion2(input, base);
  return { ...defined('root', model.root), ...defined('state', model.state), plugins };
}

function pluginsOfVersion2({ model, version, sandboxImage }: ConfigurationInput, base: TomlTable): TomlTable {
  const { cdi } = model;
  return {
    [CRI]: {
      ...defined('sandbox_image', sandboxImage),
      ...defined('restrict_oom_score_adj', model.restrictOomScoreAdj),
      ...defined('max_container_log_line_size', model.maxContainerLogLineSize),
      ...defined('enable_cdi', cdi?.enabled),
      ...directories('cdi_spec_dirs', cdi?.specDirectories),
      ...cni(model, version),
      ...registry(model, base),
      containerd: { ...imageStore(model), ...defaultRuntime(model), runtimes: runtimeTables(model) },
    },
  };
}

function pluginsOfVersion3(input: ConfigurationInput, base: TomlTable): TomlTable {
  const { model, version, architecture, sandboxImage } = input;
  const { cdi, snapshotter } = model;
  return {
    [IMAGES]: {
      ...table('pinned_images', defined('sandbox', sandboxImage)),
      ...registry(model, base),
      ...imageStore(model),
    },
    [RUNTIME]: {
      ...defined('restrict_oom_score_adj', model.restrictOomScoreAdj),
      ...defined('max_container_log_line_size', model.maxContainerLogLineSize),
      // Enabled by default, and to be removed in 2.4 (containerd RELEASES.md): only disabling it is written.
      ...(cdi?.enabled === false ? { enable_cdi: false } : {}),
      ...directories('cdi_spec_dirs', cdi?.specDirectories),
      ...cni(model, version),
      containerd: { ...defaultRuntime(model), runtimes: runtimeTables(model) },
    },
    // Without it an import fails with "unable to initialize unpacker: no unpack platforms defined".
    ...(snapshotter === undefined || snapshotter === OVERLAYFS
      ? {}
      : { [TRANSFER]: { unpack_config: [{ platform: `linux/${architecture}`, snapshotter }] } }),
  };
}

function imageStore({ snapshotter, discardUnpackedLayers }: ContainerdModel): TomlTable {
  return { ...defined('snapshotter', snapshotter), ...defined('discard_unpacked_layers', discardUnpackedLayers) };
}

/** Merge leaves unset values to the file, to its drop-ins and to containerd's own default, which is runc. */
function defaultRuntime({ mode, defaultRuntime: name }: ContainerdModel): TomlTable {
  return defined('default_runtime_name', name ?? (mode === 'Merge' ? undefined : 'runc'));
}

function cni({ cni: { binaryDirectories, configurationDirectory } }: ContainerdModel, version: Version): TomlTable {
  return table('cni', {
    ...withBinaries({ bin_dirs: binaryDirectories }, version),
    ...defined('conf_dir', configurationDirectory),
  });
}

/**
 * Old style mirrors, from the document's settings or the existing file, exclude config_path: "`mirrors` cannot be set
 * when `config_path` is provided".
 */
function registry({ mode, registries, settings }: ContainerdModel, base: TomlTable): TomlTable {
  const hasMirrors = [settings, base].some((tree) =>
    [CRI, IMAGES].some((plugin) => valueAt(tree, ['plugins', plugin, 'registry', 'mirrors']) !== undefined),
  );
  const found = stringAt(registryTable(base), ['config_path']);
  if (hasMirrors || (mode === 'Merge' && registries.length === 0)) return {};
  return { registry: { config_path: found ?? REGISTRIES_DIRECTORY } };
}

function directories(key: string, paths: readonly string[] | undefined): TomlTable {
  return paths === undefined || paths.length === 0 ? {} : { [key]: paths };
}

/** The parts of an existing file that are specific to this machine. */
function managedBase(found: TomlTable): TomlTable {
  const id = found.version === 2 ? CRI : RUNTIME;
  const { bin_dir: one, bin_dirs: several, conf_dir: configuration } = tableAt(found, ['plugins', id, 'cni']);
  const cniTable = {
    ...defined('bin_dir', one),
    ...defined('bin_dirs', several),
    ...defined('conf_dir', configuration),
  };
  return {
    ...defined('root', stringAt(found, ['root'])),
    ...defined('state', stringAt(found, ['state'])),
    ...imports(found),
    disabled_plugins: disabledWithoutCri(found),
    ...table('proxy_plugins', tableAt(found, ['proxy_plugins'])),
    ...table('stream_processors', tableAt(found, ['stream_processors'])),
    ...table('plugins', {
      ...table(id, table('cni', cniTable)),
      ...table(OPT, defined('path', stringAt(found, ['plugins', OPT, 'path']))),
    }),
  };
}

/** All of an existing file, with invalid values corrected. */
function mergeBase(found: TomlTable, { cgroupDriver }: ContainerdModel, version: Version): TomlTable {
  const id = found.version === 2 ? CRI : RUNTIME;
  const runtimes = correctedRuntimes(tableAt(found, ['plugins', id, 'containerd', 'runtimes']), cgroupDriver);
  const path = stringAt(registryTable(found), ['config_path']) ?? '';
  const plugins = {
    [id]: table('containerd', table('runtimes', runtimes)),
    // With several directories, none is used for mirrors (containerd/containerd#12415).
    ...(takesOneDirectory(version) && path.includes(':')
      ? { [IMAGES]: { registry: { config_path: path.split(':')[0] ?? path } } }
      : {}),
  };
  return mergeTables(found, { ...imports(found), plugins });
}

/** Whether a list of directories in config_path makes this containerd ignore all mirrors. */
export function takesOneDirectory({ major, minor }: Version): boolean {
  return major > 2 || (major === 2 && minor >= 1);
}

/** Relative paths are relative to the file; the configuration is checked on standard input. */
function imports(found: TomlTable): TomlTable {
  const paths = stringsAt(found, ['imports']).map((path) => (path.startsWith('/') ? path : `/etc/containerd/${path}`));
  return paths.length === 0 ? {} : { imports: paths };
}

/** 2.1 refuses bin_dir beside bin_dirs: where settings contain one of them, they decide both. */
function withoutBinaries(tree: TomlTable, settings: TomlTable): TomlTable {
  const given = tableAt(settings, ['plugins', RUNTIME, 'cni']);
  const plugins = tableAt(tree, ['plugins']);
  const runtime = tableAt(plugins, [RUNTIME]);
  if (!('bin_dir' in given || 'bin_dirs' in given)) return tree;
  const rest = without(tableAt(runtime, ['cni']), ['bin_dir', 'bin_dirs']);
  return { ...tree, plugins: { ...plugins, [RUNTIME]: { ...runtime, cni: rest } } };
}
