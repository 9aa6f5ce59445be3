import { printableKey } from '@machineadm/document/diagnostics/index.ts';
import type { Report } from '../report/report.ts';
import type {
  CommandSpec,
  DiskSpec,
  FileSpec,
  FilesystemSpec,
  GroupSpec,
  MountSpec,
  Spec,
  UserSpec,
} from '../spec/spec.ts';
import { type Expressions, markExpressions } from '../texts/jinja.ts';
import { yamlValue } from '../texts/yaml.ts';
import { isMap } from '../values/map.ts';
import { Source } from '../values/source.ts';
import { readKubeadmPart, splitCommands } from './kubeadm-run.ts';
import { DEFAULT_MERGERS, type Mergers, mergedConfig, mergersOf } from './merge.ts';
import { JINJA_HEADER, type UserDataPart } from './parts.ts';

/**
 * The user data of cloud-init: that of the kubeadm bootstrap provider (cluster-api bootstrap/kubeadm/pkg/cloudinit), which is
 * complete, or parts of it that were written by hand. Parsed as cloud-init does: jinja first, then YAML 1.1.
 */
export async function readCloudConfig(
  parts: readonly UserDataPart[],
  object: string,
  expressions: Expressions,
  report: Report,
): Promise<Spec | undefined> {
  const value = await mergedParts(parts, object, expressions, report);
  if (value === undefined) return undefined;
  const config = Source.of(value, object, report, {
    lenient: true,
    unknown: 'UserDataKey',
    remedy: 'the document has no equivalent: use a file or a command, or remove it',
  });
  const scripts = scriptsOf(parts, object, expressions, report);
  const files = [...config.get('write_files').items().map(readFile), ...scripts.files];
  const runs = [...scripts.before, ...readCommands(config.get('runcmd')), ...scripts.after];
  const bootCommands = [...scripts.boot, ...readCommands(config.get('bootcmd'))];
  const split = await splitCommands(runs, bootCommands, files, object, report);
  const kubeadm = await readKubeadmPart(files, split.run, object, report);
  const ntp = config.get('ntp');
  return {
    ...kubeadm,
    sentinel: split.run?.sentinel,
    flavour: 'cloud-config',
    resolved: true,
    users: config.get('users').items().map(readUser),
    groups: config.get('groups').items().flatMap(readGroup),
    hostname: readHostname(config),
    time: ntp.exists
      ? { enabled: ntp.get('enabled').flag() ?? true, servers: ntp.get('servers').texts(), at: ntp }
      : undefined,
    disks: config.get('disk_setup').members().map(readDisk),
    filesystems: config.get('fs_setup').items().map(readFilesystem),
    mounts: [...config.get('mounts').items().map(readMount), ...readSwapFile(config.get('swap'), report)],
    bootCommands,
    beforeCommands: split.before,
    afterCommands: split.after,
    services: [],
  };
}

/** The cloud-configs of the parts as one; undefined where one of them cannot be read, which is reported. */
async function mergedParts(
  parts: readonly UserDataPart[],
  object: string,
  expressions: Expressions,
  report: Report,
): Promise<unknown> {
  let merged: unknown = parts.length > 0 && parts.every(({ kind }) => kind !== 'cloud-config') ? {} : undefined;
  for (const part of parts) {
    if (part.kind !== 'cloud-config') continue;
    const at = placeOf(part, object);
    const value = await yamlValue(rendered(part, at, expressions, report), at, report, 'PyYAML');
    if (value === undefined) return undefined;
    if (merged === undefined) merged = parts.length === 1 ? value : withoutSettings(value);
    else
      merged = mergedConfig(merged, withoutSettings(value), mergersFor(part, value, at, report), (path) => {
        const [first = ''] = path;
        report.add('WithoutEffect', at, `cloud-init merges its ${printableKey(first)} so that a value is lost`);
      });
  }
  return merged;
}

const MERGE_SETTINGS = new Set(['merge_how', 'merge_type']);

function withoutSettings(value: unknown): unknown {
  if (!isMap(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([key]) => !MERGE_SETTINGS.has(key)));
}

/** cloudinit/handlers/cloud_config.py, _extract_mergers: the part's own keys, else its header. */
function mergersFor({ mergeType }: UserDataPart, value: unknown, at: string, report: Report): Mergers {
  const setting = (isMap(value) ? (value.merge_how ?? value.merge_type) : undefined) ?? mergeType;
  if (setting === undefined) return DEFAULT_MERGERS;
  const mergers = mergersOf(setting);
  if (mergers === undefined) report.add('InputInvalid', at, 'cloud-init does not know its merge_how');
  return mergers ?? DEFAULT_MERGERS;
}

function placeOf({ name }: UserDataPart, object: string): string {
  return name === undefined ? object : `${object}: ${name}`;
}

/** The text with its expressions marked, if it is a template. */
function rendered({ text }: UserDataPart, at: string, expressions: Expressions, report: Report): string {
  return JINJA_HEADER.test(text.trimStart().split('\n', 1)[0] ?? '')
    ? markExpressions(text, at, expressions, report)
    : text;
}

/** Where the scripts of user data are written: cloud-init would run those in its own directory again. */
const SCRIPTS = '/opt/user-data';
/** The name under which cloud-init runs the commands of runcmd among the scripts. */
const RUNCMD = 'runcmd';

interface Scripts {
  readonly files: readonly FileSpec[];
  readonly boot: readonly CommandSpec[];
  readonly before: readonly CommandSpec[];
  readonly after: readonly CommandSpec[];
}

/** The scripts as files that commands run, in the order of their names, as cloud-init runs them (cloudinit/subp.py, runparts). */
function scriptsOf(parts: readonly UserDataPart[], object: string, expressions: Expressions, report: Report): Scripts {
  const all = parts
    .filter(({ kind }) => kind !== 'cloud-config')
    .map((part) => {
      const { kind, name = 'part-001' } = part;
      const at = placeOf(part, object);
      const content = rendered(part, at, expressions, report).replace(/^##[^\n]{0,99}\n/, '');
      const path = `${SCRIPTS}/${kind === 'boothook' ? 'boothook-' : ''}${name}`;
      const source = Source.of({ content }, at, report);
      const usesId = kind === 'boothook' && content.includes('INSTANCE_ID');
      const command = { command: usesId ? `INSTANCE_ID="$INSTANCE_ID" ${path}` : path, at: source };
      return { kind, name, command, file: scriptFile(path, source) };
    });
  const last = new Map(all.map((one) => [one.file.path, one]));
  const scripts = [...last.values()].filter(({ kind }) => kind === 'script');
  const sorted = scripts.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return {
    files: all.map(({ file }) => file),
    boot: [...last.values()].filter(({ kind }) => kind === 'boothook').map(({ command }) => command),
    before: sorted.filter(({ name }) => name < RUNCMD).map(({ command }) => command),
    after: sorted.filter(({ name }) => name >= RUNCMD).map(({ command }) => command),
  };
}

function scriptFile(path: string, source: Source): FileSpec {
  return {
    path,
    owner: undefined,
    permissions: '0700',
    encoding: undefined,
    append: false,
    content: source.get('content').text() ?? '',
    secret: undefined,
    template: false,
    rights: [],
    at: source,
  };
}

/** cloudinit/util.py, get_hostname_fqdn: the name of the machine is the first label of either. */
function readHostname(config: Source): string | undefined {
  const [fqdn, hostname] = [config.get('fqdn').text(), config.get('hostname').text()];
  const preserves = config.get('preserve_hostname').flag() === true;
  const prefersFqdn = config.get('prefer_fqdn_over_hostname').flag() === true;
  const name = prefersFqdn ? (fqdn ?? hostname) : (hostname ?? fqdn?.split('.', 1)[0]);
  return preserves || name === '' ? undefined : name;
}

function readFile(file: Source): FileSpec {
  return {
    path: file.get('path').text() ?? '',
    owner: file.get('owner').text(),
    permissions: readPermissions(file.get('permissions')),
    encoding: file.get('encoding').text(),
    append: file.get('append').flag() ?? false,
    content: file.get('content').text() ?? '',
    secret: undefined,
    template: false,
    rights: [file.get('owner'), file.get('permissions')],
    at: file,
  };
}

/** A number is the mode itself (cloudinit/config/cc_write_files.py, decode_perms): YAML 1.1 parses 0644 as 420. */
function readPermissions(permissions: Source): string | undefined {
  return permissions.isNumber ? `0${(permissions.integer() ?? 0).toString(8)}` : permissions.text();
}

/** A command is a line for the shell, or a list of words (cloudinit/util.py, shellify). */
function readCommands(list: Source): readonly CommandSpec[] {
  return list.items().flatMap((item) => {
    const command = item.isList ? item.texts().map(quoted).join(' ') : item.text();
    return command === undefined ? [] : [{ command, at: item }];
  });
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

/** cloudinit/config/cc_users_groups.py; a name alone is `default` or a user without other fields. */
function readUser(user: Source): UserSpec {
  const text = (name: string): string | undefined => user.get(name).text();
  const plain = user.isMap ? undefined : user.text();
  const keys = user.get('ssh_authorized_keys');
  const sudo = user.get('sudo');
  return {
    name: plain ?? text('name') ?? '',
    gecos: text('gecos'),
    groups: user.get('groups').isList ? user.get('groups').texts().join(',') : text('groups'),
    home: text('homedir'),
    shell: text('shell'),
    primaryGroup: text('primary_group'),
    password: text('passwd') ?? text('hashed_passwd'),
    passwordSecret: undefined,
    lockPassword: user.get('lock_passwd').flag(),
    sudo: sudo.isList ? sudo.texts() : [sudo.text() ?? ''].filter((rule) => rule !== ''),
    keys: keys.exists ? keys.texts() : undefined,
    inactive: user.get('inactive').exists && user.get('inactive').whole() !== false,
    at: user,
  };
}

/** A name, or a name with its members. */
function readGroup(group: Source): readonly GroupSpec[] {
  const names = group.isMap ? group.members().map(([name]) => name) : [group.text() ?? ''];
  return names.map((name) => ({ name, at: group }));
}

/** cloudinit/config/cc_disk_setup.py: by device; `layout` true, false, or percentages with a type each. */
function readDisk([device, disk]: readonly [string, Source]): DiskSpec {
  const layout = disk.get('layout');
  return {
    device,
    table: disk.get('table_type').text(),
    overwrite: disk.get('overwrite').flag() ?? false,
    layout: layout.isList
      ? layout
          .items()
          .map((entry) =>
            entry.isList
              ? { percentage: entry.get(0).integer() ?? 0, type: entry.get(1).text() }
              : { percentage: entry.integer() ?? 0, type: undefined },
          )
      : (layout.flag() ?? false),
    at: disk,
  };
}

function readFilesystem(filesystem: Source): FilesystemSpec {
  const options = filesystem.get('extra_opts');
  return {
    device: filesystem.get('device').text() ?? '',
    type: filesystem.get('filesystem').text() ?? '',
    label: filesystem.get('label').text(),
    partition: filesystem.get('partition').text(),
    overwrite: filesystem.get('overwrite').flag() ?? false,
    replace: filesystem.get('replace_fs').text(),
    options: options.isList ? options.texts() : (options.text()?.split(/\s+/) ?? []),
    at: filesystem,
  };
}

/** cloudinit/config/cc_mounts.py, handle_swapcfg; sizes as in cloudinit/util.py, human2bytes. */
function readSwapFile(swap: Source, report: Report): readonly MountSpec[] {
  if (!swap.exists) return [];
  const [file, size, largest] = ['filename', 'size', 'maxsize'].map((name) => swap.get(name));
  const [, amount, unit = ''] = /^(\d+(?:\.\d+)?)([KMGT]?)B?$/.exec(size?.text() ?? '0') ?? [];
  if (amount !== undefined && largest?.exists) {
    largest.whole();
    report.add('WithoutEffect', largest, 'it only limits the size auto');
  }
  if (Number(amount) === 0) {
    file?.whole();
    return [];
  }
  if (amount === undefined) largest?.whole();
  const bytes = amount === undefined ? undefined : Number(amount) * 1024 ** ' KMGT'.indexOf(unit || ' ');
  return [
    {
      columns: [file?.text() ?? '/swap.img', 'none', 'swap', 'sw'],
      ...(bytes === undefined ? {} : { size: `${Math.ceil(bytes / 1024 ** 2)}Mi` }),
      at: swap,
    },
  ];
}

function readMount(mount: Source): MountSpec {
  return { columns: mount.items().map((column) => column.text() ?? ''), at: mount };
}
