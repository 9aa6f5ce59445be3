import { type Expressions, markExpressions } from '../jinja.ts';
import type { Report } from '../report.ts';
import { Source } from '../source.ts';
import type { CommandSpec, DiskSpec, FileSpec, FilesystemSpec, GroupSpec, MountSpec, Spec, UserSpec } from '../spec.ts';
import { yamlValue } from '../yaml.ts';
import { readKubeadmPart, splitCommands } from './kubeadm-run.ts';

/** The first line of the provider's template; without it cloud-init does not process braces. */
const JINJA_HEADER = /^##\s*template:\s*jinja\s*$/m;

export function isCloudConfig(text: string): boolean {
  const lines = text
    .slice(0, 2000)
    .trimStart()
    .split('\n', 20)
    .filter((line) => line.trim() !== '');
  const [first = '', second = ''] = lines;
  return /^#cloud-config\b/.test(first) || (JINJA_HEADER.test(first) && /^\s*#cloud-config\b/.test(second));
}

/**
 * The cloud-config of the kubeadm bootstrap provider (cluster-api bootstrap/kubeadm/pkg/cloudinit), which is complete.
 * Parsed as cloud-init does: jinja first, then YAML 1.1.
 */
export async function readCloudConfig(
  text: string,
  object: string,
  expressions: Expressions,
  report: Report,
): Promise<Spec | undefined> {
  const isTemplate = JINJA_HEADER.test(text.slice(0, text.indexOf('#cloud-config')));
  const marked = isTemplate ? markExpressions(text, object, expressions, report) : text;
  const value = await yamlValue(marked, object, report, 'PyYAML');
  if (value === undefined) return undefined;
  const config = Source.of(value, object, report, {
    lenient: true,
    unknown: 'UserDataKey',
    remedy: 'the document has no equivalent: use a file or a command, or remove it',
  });
  const files = config.get('write_files').items().map(readFile);
  const runs = readCommands(config.get('runcmd'));
  const bootCommands = readCommands(config.get('bootcmd'));
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
    mounts: config.get('mounts').items().map(readMount),
    bootCommands,
    beforeCommands: split.before,
    afterCommands: split.after,
    services: [],
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

function readMount(mount: Source): MountSpec {
  return { columns: mount.items().map((column) => column.text() ?? ''), at: mount };
}
