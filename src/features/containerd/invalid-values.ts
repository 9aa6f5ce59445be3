import type { TomlTable } from '@machineadm/document/model/index.ts';
import type { Version } from '@machineadm/document/text/program-version.ts';
import { CRI, IMAGES, isCriPlugin, RUNC_SHIM, RUNTIME } from '../../container-runtime/plugin-ids.ts';
import { isTable, stringAt, stringsAt, tableAt, valueAt } from '../../container-runtime/toml-tree.ts';
import { takesOneDirectory } from './configuration.ts';
import { usesVersion2Keys } from './migrate.ts';

/**
 * Problems of an existing configuration for the containerd that read it, which containerd does not report and our own
 * file corrects. One sentence each, for messages.
 */
export function invalidValuesIn(found: TomlTable, version: Version): readonly string[] {
  const plugins = tableAt(found, ['plugins']);
  return [
    ...switchedOff(found),
    ...wrongHeader(found, plugins, version),
    ...ofRuntimes(plugins),
    ...ofRegistries(plugins, version),
    ...unusedSnapshotter(plugins, version),
  ];
}

function switchedOff(found: TomlTable): readonly string[] {
  const off = stringsAt(found, ['disabled_plugins']).filter(isCriPlugin);
  return off.length === 0 ? [] : [`disabled_plugins held ${off.join(', ')}, which switches CRI off`];
}

/** Each version looks for its own ids and uses defaults where it finds none; the cgroup driver is among them. */
function wrongHeader(found: TomlTable, plugins: TomlTable, version: Version): readonly string[] {
  const header = typeof found.version === 'number' ? found.version : 1;
  const newest = version.major === 1 ? 2 : version.minor >= 3 ? 4 : 3;
  const words = IMAGES in plugins || RUNTIME in plugins ? 3 : usesVersion2Keys(plugins) ? 2 : undefined;
  if (header > newest)
    return [`its version ${header} is too new for containerd ${version.text}, which reads ${newest}`];
  if (words === undefined || words === header || (header === 4 && words === 3)) return [];
  const told = found.version === undefined ? 'it had no version' : `its version was ${header}`;
  return [`${told} and its plug-ins were those of version ${words}, so that containerd ignored them`];
}

function ofRuntimes(plugins: TomlTable): readonly string[] {
  const cri = tableAt(plugins, [CRI]);
  const containerd = [tableAt(plugins, [RUNTIME, 'containerd']), tableAt(cri, ['containerd'])];
  const runtimes = containerd.flatMap((part) => Object.entries(tableAt(part, ['runtimes'])));
  const mistakes: string[] = [];
  for (const [name, runtime] of runtimes) {
    if (!isTable(runtime)) continue;
    const type = stringAt(runtime, ['runtime_type']);
    const driver = valueAt(runtime, ['options', 'SystemdCgroup']);
    if (type === undefined) mistakes.push(`the runtime ${name} had no runtime_type, without which no pod starts`);
    if (driver !== undefined && typeof driver !== 'boolean' && (type ?? RUNC_SHIM) === RUNC_SHIM) {
      mistakes.push(`SystemdCgroup of the runtime ${name} was not true or false, so that no pod starts`);
    }
  }
  const chosen = containerd.map((part) => stringAt(part, ['default_runtime_name'])).find((name) => name !== undefined);
  if (chosen !== undefined && chosen !== 'runc' && !runtimes.some(([name]) => name === chosen)) {
    mistakes.push(`its default runtime ${chosen} is not defined, so that CRI does not load`);
  }
  if (valueAt(cri, ['systemd_cgroup']) === true)
    mistakes.push('it had systemd_cgroup, the key of 1.2, with which CRI does not load');
  return mistakes;
}

function ofRegistries(plugins: TomlTable, version: Version): readonly string[] {
  const registry = [IMAGES, CRI].map((plugin) => tableAt(plugins, [plugin, 'registry']));
  const path = registry.map((part) => stringAt(part, ['config_path'])).find((text) => text !== undefined);
  const hasMirrors = registry.some((part) => 'mirrors' in part);
  const hasTls = registry.some((part) =>
    Object.values(tableAt(part, ['configs'])).some((entry) => isTable(entry) && 'tls' in entry),
  );
  const mistakes: string[] = [];
  if (path !== undefined && hasMirrors) mistakes.push('it had both mirrors and config_path, so that CRI does not load');
  if (hasTls && version.major >= 2) mistakes.push('certificates in registry.configs are ignored since containerd 2.0');
  if (path?.includes(':') === true && takesOneDirectory(version)) {
    mistakes.push(`with the list ${path} in config_path no mirror is asked (containerd/containerd#12415)`);
  }
  return mistakes;
}

/** containerd plugins/cri/images/plugin.go, migrateConfig: it returns early where a file of version 2 names no runtime. */
function unusedSnapshotter(plugins: TomlTable, version: Version): readonly string[] {
  const containerd = tableAt(plugins, [CRI, 'containerd']);
  const name = stringAt(containerd, ['snapshotter']);
  if (version.major < 2 || name === undefined || 'runtimes' in containerd) return [];
  return [`containerd ${version.text} ignored its snapshotter ${name}, because the file named no runtime`];
}
