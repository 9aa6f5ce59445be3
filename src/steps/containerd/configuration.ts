import type { ContainerdModel, Model, TomlTable, TomlValue } from '../../document/model.ts';
import type { Version } from '../../host/facts.ts';
import { isTable, leavesOf, mergeTables, stringAt, stringsAt, tableAt, valueAt } from './toml-tree.ts';

export const CONFIGURATION_PATH = '/etc/containerd/config.toml';
/** What was there before the first run; kept once, never changed again. */
export const ORIGINAL_PATH = `${CONFIGURATION_PATH}.machineadm-orig`;
/** What was there before the change at hand; removed when the daemon proved healthy with the new one. */
export const PREVIOUS_PATH = `${CONFIGURATION_PATH}.machineadm-previous`;

const HEADER_MARK = '# Managed by machineadm';
const HEADER = `${HEADER_MARK}: what is changed here is lost at its next run. Change the document instead
# (containerRuntime.containerd). The file found before is kept as config.toml.machineadm-orig.

`;

/** The CRI service is registered under this id in every version, the 2.x ones included. */
const CRI = 'io.containerd.grpc.v1.cri';
/** containerd docs/cri/config.md, "Cgroup Driver": 2.x splits the CRI plugin into these two (configuration version 3). */
const IMAGES = 'io.containerd.cri.v1.images';
const RUNTIME = 'io.containerd.cri.v1.runtime';

export const SANDBOX_IMAGE_KEYS = [
  ['plugins', CRI, 'sandbox_image'],
  ['plugins', IMAGES, 'pinned_images', 'sandbox'],
] as const;

export interface ConfigurationInput {
  readonly model: ContainerdModel;
  /** The containerd that will read it. */
  readonly version: Version;
  /** undefined leaves containerd's own default. */
  readonly sandboxImage: string | undefined;
  /** The configuration found before the first run, parsed; undefined when there was none. */
  readonly original: TomlTable | undefined;
}

/**
 * The whole configuration as a TOML tree: version 2 for containerd 1.x, version 3 for 2.x, which is read by every 2.x
 * (2.3 knows 4, but 2.2 refuses that). Of the file found before, only what belongs to this machine is kept: where the
 * data lies, plug-ins of other vendors, drop-ins, CNI directories. `settings` of the document is merged last.
 */
export function configurationTree(input: ConfigurationInput): TomlTable {
  const { model, original = {} } = input;
  const ours: TomlTable = {
    version: input.version.major >= 2 ? 3 : 2,
    ...kept(original),
    // Docker's packages disable CRI (containerd/containerd#8139): other people's entries stay, those never.
    disabled_plugins: stringsAt(original, ['disabled_plugins']).filter(
      (plugin) => plugin.startsWith('io.containerd.') && ![CRI, IMAGES, RUNTIME].includes(plugin),
    ),
    // Without this a CRI plug-in that fails to load leaves a daemon that looks well and serves no pod.
    required_plugins: [CRI],
    plugins: input.version.major >= 2 ? pluginsOfVersion3(input, original) : pluginsOfVersion2(input, original),
  };
  return mergeTables(ours, model.settings);
}

/** The text of the file; the same tree gives the same bytes. */
export async function configurationText(tree: TomlTable): Promise<string> {
  const { stringify } = await import('smol-toml');
  return `${HEADER}${stringify(tree).trimEnd()}\n`;
}

/** True for a file that this step wrote, of whatever version of it. */
export function isManaged(text: string): boolean {
  return text.startsWith(HEADER_MARK);
}

/** Registry passwords and headers make the file unreadable for others (0600 instead of 0644) and keep it out of diffs. */
export function holdsCredentials(tree: TomlTable): boolean {
  return leavesOf(tree).some(({ path }) =>
    path.some((key) => /^(auth|auths|password|identitytoken|authorization|headers?)$/i.test(key)),
  );
}

/** Where CRI is asked: the socket the document has containerd listen on, else the one it gives the kubelet. */
export function criSocketOf(model: Pick<Model, 'containerd' | 'kubernetes'>): string {
  const address = stringAt(model.containerd?.settings ?? {}, ['grpc', 'address']);
  return address ?? model.kubernetes?.node.criSocket ?? '/run/containerd/containerd.sock';
}

/** The values that a running daemon can be asked for over CRI (`CriQueries.configuration`), as the tree wants them. */
export function runningValues(tree: TomlTable) {
  const plugin = isTable(valueAt(tree, ['plugins', RUNTIME])) ? RUNTIME : CRI;
  const containerd = tableAt(tree, ['plugins', plugin, 'containerd']);
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

function pluginsOfVersion2({ model, sandboxImage }: ConfigurationInput, original: TomlTable): TomlTable {
  const { directories, configuration } = cniDirectories(original);
  return {
    [CRI]: {
      ...defined('sandbox_image', sandboxImage),
      ...defined('restrict_oom_score_adj', model.restrictOomScoreAdj),
      ...table('cni', { ...defined('bin_dir', directories[0]), ...defined('conf_dir', configuration) }),
      ...registry(model.settings, CRI),
      containerd: defaultRuntime(model),
    },
  };
}

function pluginsOfVersion3({ model, version, sandboxImage }: ConfigurationInput, original: TomlTable): TomlTable {
  const { directories, configuration } = cniDirectories(original);
  const given = tableAt(model.settings, ['plugins', RUNTIME, 'cni']);
  // 2.1 replaced bin_dir by bin_dirs and refuses both; 2.0 does not know bin_dirs (containerd/containerd#11311).
  const binaries =
    'bin_dir' in given || 'bin_dirs' in given || directories.length === 0
      ? {}
      : version.major === 2 && version.minor === 0
        ? defined('bin_dir', directories[0])
        : { bin_dirs: directories };
  return {
    [IMAGES]: {
      ...table('pinned_images', defined('sandbox', sandboxImage)),
      ...registry(model.settings, IMAGES),
    },
    [RUNTIME]: {
      ...defined('restrict_oom_score_adj', model.restrictOomScoreAdj),
      ...table('cni', { ...binaries, ...defined('conf_dir', configuration) }),
      containerd: defaultRuntime(model),
    },
  };
}

/**
 * runtime_type is always written: 1.x replaces its default entry by ours, and an entry without a type fails only when
 * the first pod starts.
 */
function defaultRuntime(model: ContainerdModel): TomlTable {
  return {
    default_runtime_name: 'runc',
    runtimes: {
      runc: { runtime_type: 'io.containerd.runc.v2', options: { SystemdCgroup: model.cgroupDriver === 'systemd' } },
    },
  };
}

/**
 * One directory and not the colon-separated list of newer defaults, whose mirrors are ignored by 2.1 and 2.2
 * (containerd/containerd#12415). Old style mirrors of the document exclude it: "`mirrors` cannot be set when
 * `config_path` is provided".
 */
function registry(settings: TomlTable, plugin: string): TomlTable {
  const mirrors = valueAt(settings, ['plugins', plugin, 'registry', 'mirrors']);
  return mirrors === undefined ? { registry: { config_path: '/etc/containerd/certs.d' } } : {};
}

function kept(original: TomlTable): TomlTable {
  const tables = ['proxy_plugins', 'stream_processors'].flatMap((key) =>
    Object.entries(table(key, tableAt(original, [key]))),
  );
  const imports = stringsAt(original, ['imports']).map((path) =>
    // Relative paths are relative to the file; the configuration is checked from standard input.
    path.startsWith('/') ? path : `/etc/containerd/${path}`,
  );
  return {
    ...defined('root', stringAt(original, ['root'])),
    ...defined('state', stringAt(original, ['state'])),
    ...(imports.length === 0 ? {} : { imports }),
    ...Object.fromEntries(tables),
  };
}

/**
 * Distributions put CNI plug-ins elsewhere (Debian: /usr/lib/cni) and say so in their file, in the words of whatever
 * version it was written for; version 1 had the short id.
 */
function cniDirectories(original: TomlTable) {
  const sections = [RUNTIME, CRI, 'cri'].map((plugin) => tableAt(original, ['plugins', plugin, 'cni']));
  const several = sections.flatMap((cni) => stringsAt(cni, ['bin_dirs']));
  const single = sections.map((cni) => stringAt(cni, ['bin_dir'])).filter((path) => path !== undefined);
  return {
    directories: several.length > 0 ? several : single.slice(0, 1),
    configuration: sections.map((cni) => stringAt(cni, ['conf_dir'])).find((path) => path !== undefined),
  };
}

function defined(key: string, value: TomlValue | undefined): TomlTable {
  return value === undefined ? {} : { [key]: value };
}

function table(key: string, content: TomlTable): TomlTable {
  return Object.keys(content).length === 0 ? {} : { [key]: content };
}
