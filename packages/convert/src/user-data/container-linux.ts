import type { Report } from '../report/report.ts';
import type { FileSpec, ServiceSpec, Spec, UserSpec } from '../spec/spec.ts';
import type { Source } from '../values/source.ts';
import type { UnitDependencies } from './unit-dependencies.ts';
import { otherSettings, unitSettings } from './unit-file.ts';

/**
 * Parts of a Container Linux Config (YAML, snake_case) or of an Ignition 2.3 config (JSON, camelCase) that the document
 * supports. Both have the same content: container-linux-config-transpiler turns the first into the second (
 * config/types; coreos/ignition config/v2_3/types).
 */
export interface ContainerLinuxParts {
  readonly files: readonly FileSpec[];
  readonly users: readonly UserSpec[];
  readonly groups: Spec['groups'];
  readonly services: readonly ServiceSpec[];
  readonly disks: Spec['disks'];
  readonly filesystems: Spec['filesystems'];
  /** Of the drop-ins of kubeadm.service. */
  readonly dependencies: readonly UnitDependencies[];
}

const KUBEADM_UNIT = 'kubeadm.service';
const UNITS = '/etc/systemd/system';

export function readContainerLinux(config: Source, report: Report): ContainerLinuxParts {
  const units = readUnits(config, report);
  for (const directory of config.get('storage', 'directories').items()) {
    dropPart(directory, 'a directory; one above a file is made with it', report);
  }
  return {
    ...units,
    files: [
      ...config
        .get('storage', 'files')
        .items()
        .flatMap((file) => readFile(file, report)),
      ...units.files,
    ],
    users: config.get('passwd', 'users').items().map(readUser),
    groups: config
      .get('passwd', 'groups')
      .items()
      .map((group) => ({ name: group.get('name').text() ?? '', at: group })),
    disks: config
      .get('storage', 'disks')
      .items()
      .flatMap((disk) => readDisk(disk, report)),
    filesystems: config
      .get('storage', 'filesystems')
      .items()
      .flatMap((one) => readFilesystem(one, report)),
  };
}

/**
 * The units as files and services; of kubeadm's own what it depends on.
 *
 * @param isProviders false: a unit with the name of the provider's is the user's
 */
export function readUnits(
  config: Source,
  report: Report,
  isProviders = true,
): Pick<ContainerLinuxParts, 'files' | 'services' | 'dependencies'> {
  const units = config.get('systemd', 'units').items();
  const ofKubeadm = units.filter((unit) => isProviders && unit.get('name').text() === KUBEADM_UNIT);
  const others = units.filter((unit) => !ofKubeadm.includes(unit));
  return {
    files: others.flatMap(unitFile),
    services: others.flatMap((unit) => readUnit(unit, report)),
    dependencies: ofKubeadm.flatMap((unit) => replaceUnit(unit, report)),
  };
}

/** A part of such a config; unsupported content requires a decision. */
export const CONTAINER_LINUX = {
  unknown: 'ContainerLinuxConfigDropped',
  remedy: 'the document does not support this',
} as const;

/** Leaves out a whole part, which is reported once. */
export function dropPart(part: Source, message: string, report: Report): readonly never[] {
  report.add('ContainerLinuxConfigDropped', part, message);
  part.whole();
  return [];
}

function readFile(file: Source, report: Report): readonly FileSpec[] {
  const path = file.get('path').text() ?? '';
  const filesystem = file.get('filesystem').text() ?? 'root';
  if (filesystem !== 'root') return dropPart(file, `${path} is of another file system than root`, report);
  const contents = file.get('contents');
  const source = contents.get('source').text();
  const inline = contents.get('inline').text() ?? (source === undefined ? '' : undefined);
  const data = source === undefined ? undefined : dataURL(source);
  if (contents.get('remote').exists || (source !== undefined && data === undefined)) {
    return dropPart(file, `${path} is downloaded: write contentFrom.http with its digest`, report);
  }
  const compression = contents.get('compression').text() ?? '';
  const isBase64 = data?.encoding === 'base64';
  if (compression !== '' && (compression !== 'gzip' || !isBase64)) {
    report.add('InputInvalid', contents.get('compression'), 'expected gzip, in base64');
  }
  const mode = file.get('mode').integer();
  const owner = [file.get('user'), file.get('group')].map(
    (who) => who.get('name').text() ?? who.get('id').integer() ?? 'root',
  );
  return [
    {
      path,
      owner: owner.join(':'),
      permissions: mode === undefined ? undefined : `0${mode.toString(8)}`,
      encoding: isBase64 ? (compression === 'gzip' ? 'gzip+base64' : 'base64') : undefined,
      append: file.get('append').flag() ?? false,
      content: inline ?? data?.text ?? '',
      secret: undefined,
      template: false,
      rights: [file.get('user'), file.get('group'), file.get('mode')],
      at: file,
    },
  ];
}

/** RFC 2397. Text is returned as it is, other content as base64. */
function dataURL(url: string): { readonly text: string; readonly encoding: 'base64' | undefined } | undefined {
  if (!url.startsWith('data:')) return undefined;
  const comma = url.indexOf(',');
  const isBase64 = url.slice(0, Math.max(comma, 0)).endsWith(';base64');
  try {
    return {
      text: comma < 0 ? '' : decodeURIComponent(url.slice(comma + 1)),
      encoding: isBase64 ? 'base64' : undefined,
    };
  } catch {
    // A percent sign without an encoding.
    return undefined;
  }
}

/** A unit with contents is a file; enabling it is a service. */
function unitFile(unit: Source): readonly FileSpec[] {
  const contents = unit.get('contents').text();
  const name = unit.get('name').text() ?? '';
  if (contents === undefined || contents === '') return [];
  return [
    {
      path: `${UNITS}/${name}`,
      owner: undefined,
      permissions: '0644',
      encoding: undefined,
      append: false,
      content: contents,
      secret: undefined,
      template: false,
      rights: [unit.get('name')],
      at: unit,
    },
  ];
}

function readUnit(unit: Source, report: Report): readonly ServiceSpec[] {
  const enabled = unit.get('enabled').flag() ?? unit.get('enable').flag();
  const masked = unit.get('mask').flag();
  const dropIns = unit
    .get('dropins')
    .items()
    .map((dropIn) => ({ name: dropIn.get('name').text() ?? '', content: dropIn.get('contents').text() ?? '' }));
  if (enabled === undefined && masked === undefined && dropIns.length === 0) {
    const isFile = (unit.get('contents').text() ?? '') !== '';
    return isFile ? [] : dropPart(unit, 'a unit without contents that is neither enabled nor masked', report);
  }
  return [{ name: unit.get('name').text() ?? '', enabled, masked, dropIns, at: unit }];
}

/** The content of the provider's unit (clc.go): it runs the script once, after the network. */
const PROVIDERS_UNIT = new Set([
  '[Unit] Description',
  '[Unit] ConditionPathExists=/etc/kubeadm.yml',
  '[Unit] After=network.target',
  '[Service] Type=oneshot',
  '[Service] ExecStart=/etc/kubeadm.sh',
  '[Service] ExecStart=/bin/bash /etc/kubeadm.sh',
  '[Install] WantedBy=multi-user.target',
]);
/** Settings of a drop-in that the first command sees to; what would run after kubeadm does. */
const ORDER = ['After', 'Before', 'Requires', 'Requisite', 'Wants', 'BindsTo'].map((key) => `[Unit] ${key}`);
const OF_DROP_IN = new Set([...ORDER, '[Service] EnvironmentFile']);

/** From kubeadm's own unit only what it runs after and with is used. */
function replaceUnit(unit: Source, report: Report): readonly UnitDependencies[] {
  unit.get('name').drop('UnitReplaced');
  for (const name of ['enabled', 'enable'] as const) {
    const part = unit.get(name);
    if (part.flag() === true) part.drop('UnitReplaced');
    else if (part.exists) dropPart(part, 'machineadm starts kubeadm; it is not run by a unit', report);
  }
  const remedy = 'write a drop-in of machineadm-provision.service into the image';
  const contents = unit.get('contents');
  const others = otherSettings(unitSettings(contents.text() ?? ''), PROVIDERS_UNIT);
  if (others.length > 0) dropPart(contents, `${others.join(', ')}: ${remedy}`, report);
  else contents.drop('UnitReplaced');
  return unit
    .get('dropins')
    .items()
    .map((dropIn) => {
      const settings = unitSettings(dropIn.get('contents').text() ?? '');
      const name = dropIn.get('name').text() ?? '';
      const unknown = otherSettings(settings, OF_DROP_IN);
      if (unknown.length > 0) dropPart(dropIn, `${name}: ${unknown.join(', ')}: ${remedy}`, report);
      else report.add('UnitReplaced', dropIn, name);
      return { settings, at: dropIn };
    });
}

export function readUser(user: Source): UserSpec {
  const text = (...names: readonly string[]): string | undefined =>
    names.map((name) => user.get(name).text()).find((value) => value !== undefined);
  const keys = [user.get('sshAuthorizedKeys'), user.get('ssh_authorized_keys')].find((list) => list.exists);
  const groups = user.get('groups').texts();
  return {
    name: text('name') ?? '',
    gecos: text('gecos'),
    groups: groups.length === 0 ? undefined : groups.join(', '),
    home: text('homeDir', 'home_dir'),
    shell: text('shell'),
    primaryGroup: text('primaryGroup', 'primary_group'),
    password: text('passwordHash', 'password_hash'),
    passwordSecret: undefined,
    lockPassword: undefined,
    sudo: [],
    keys: keys?.texts(),
    inactive: false,
    at: user,
  };
}

/** Ignition sizes partitions by sectors or MiB; the provider only creates one that fills the disk. */
function readDisk(disk: Source, report: Report): Spec['disks'] {
  const partitions = disk.get('partitions').items();
  const overwrite = disk.get('wipeTable').flag() ?? disk.get('wipe_table').flag() ?? false;
  const device = disk.get('device').text() ?? '';
  const isSized = partitions.some((part) =>
    ['size', 'sizeMiB', 'start', 'startMiB'].some((name) => (part.get(name).integer() ?? 0) !== 0),
  );
  if (partitions.length > 1 || isSized) {
    return dropPart(disk, `${device}: write its partitions to host.storage.disks`, report);
  }
  return [{ device, table: 'gpt', overwrite, layout: partitions.length === 1, at: disk }];
}

function readFilesystem(filesystem: Source, report: Report): Spec['filesystems'] {
  const mount = filesystem.get('mount');
  if (!mount.exists) return dropPart(filesystem, 'a file system that is only a name for files', report);
  filesystem.get('name').drop('FilesystemName');
  const create = mount.get('create');
  const force = create.get('force').flag() ?? false;
  const options = [...create.get('options').texts(), ...mount.get('options').texts()];
  return [
    {
      device: mount.get('device').text() ?? '',
      type: mount.get('format').text() ?? '',
      label: mount.get('label').text(),
      partition: 'any',
      overwrite: (mount.get('wipeFilesystem').flag() ?? mount.get('wipe_filesystem').flag() ?? false) || force,
      replace: undefined,
      options,
      at: filesystem,
    },
  ];
}
