import type { Report } from '../report.ts';
import type { Source } from '../source.ts';
import type { FileSpec, ServiceSpec, Spec, UserSpec } from '../spec.ts';

/**
 * Parts of a Container Linux Config (YAML, snake_case) or of an Ignition 2.3 config (JSON, camelCase) that have a place in
 * the document. Both say the same: the former is transpiled into the latter
 * (container-linux-config-transpiler, config/types; coreos/ignition config/v2_3/types).
 */
export interface ContainerLinuxParts {
  readonly files: readonly FileSpec[];
  readonly users: readonly UserSpec[];
  readonly groups: readonly string[];
  readonly services: readonly ServiceSpec[];
  readonly disks: Spec['disks'];
  readonly filesystems: Spec['filesystems'];
  /** EnvironmentFile= of the drop-ins of kubeadm.service. */
  readonly environmentFiles: readonly string[];
}

const KUBEADM_UNIT = 'kubeadm.service';
const UNITS = '/etc/systemd/system';

export function readContainerLinux(config: Source, report: Report): ContainerLinuxParts {
  const units = config.get('systemd', 'units').items();
  const ofKubeadm = units.filter((unit) => unit.get('name').text() === KUBEADM_UNIT);
  const others = units.filter((unit) => !ofKubeadm.includes(unit));
  const directories = config.get('storage', 'directories').items();
  const parts: ContainerLinuxParts = {
    files: [
      ...config
        .get('storage', 'files')
        .items()
        .flatMap((file) => readFile(file, report)),
      ...others.flatMap(unitFile),
    ],
    users: config.get('passwd', 'users').items().map(readUser),
    groups: config
      .get('passwd', 'groups')
      .items()
      .flatMap((group) => group.get('name').text() ?? []),
    services: others.flatMap(readUnit),
    disks: config
      .get('storage', 'disks')
      .items()
      .flatMap((disk) => readDisk(disk, report)),
    filesystems: config
      .get('storage', 'filesystems')
      .items()
      .flatMap((one) => readFilesystem(one, report)),
    environmentFiles: ofKubeadm.flatMap((unit) => replaceUnit(unit, report)),
  };
  for (const directory of directories) {
    report.add('ContainerLinuxConfigDropped', directory, `a directory; one above a file is made with it`);
    directory.whole();
  }
  for (const part of config.unread()) report.add('ContainerLinuxConfigDropped', part, 'the document has no such thing');
  return parts;
}

function readFile(file: Source, report: Report): readonly FileSpec[] {
  const path = file.get('path').text() ?? '';
  const filesystem = file.get('filesystem').text() ?? 'root';
  if (filesystem !== 'root')
    report.add('ContainerLinuxConfigDropped', file, `${path} is of the file system ${filesystem}`);
  const contents = file.get('contents');
  const source = contents.get('source').text();
  const inline = contents.get('inline').text() ?? (source === undefined ? '' : undefined);
  const data = source === undefined ? undefined : dataURL(source);
  const gzipped = contents.get('compression').text() === 'gzip';
  contents.get('verification').whole();
  if (contents.get('remote').exists || (source !== undefined && data === undefined)) {
    contents.get('remote').whole();
    report.add(
      'ContainerLinuxConfigDropped',
      contents,
      `${path} is downloaded: write contentFrom.http with its digest`,
    );
    return [];
  }
  const mode = file.get('mode').integer();
  const encoded = data?.encoding === 'base64' ? (gzipped ? 'gzip+base64' : 'base64') : undefined;
  const owner = [file.get('user'), file.get('group')].map(
    (who) => who.get('name').text() ?? who.get('id').integer() ?? 'root',
  );
  return filesystem !== 'root'
    ? []
    : [
        {
          path,
          owner: owner.join(':'),
          permissions: mode === undefined ? undefined : `0${mode.toString(8)}`,
          encoding: encoded,
          append: file.get('append').flag() ?? false,
          content: inline ?? data?.text ?? '',
          secret: undefined,
          template: false,
          at: file,
        },
      ];
}

/** RFC 2397. Text is given as it is, base64 stays encoded where it is no text. */
function dataURL(url: string): { readonly text: string; readonly encoding: 'base64' | undefined } | undefined {
  const [, base64, body = ''] = /^data:[^,]*?(;base64)?,([\s\S]*)$/.exec(url) ?? [];
  if (!url.startsWith('data:')) return undefined;
  try {
    return { text: decodeURIComponent(body), encoding: base64 === undefined ? undefined : 'base64' };
  } catch {
    // A percent sign that encodes nothing.
    return undefined;
  }
}

/** A unit with contents is a file; whether it starts is a service. */
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
      at: unit,
    },
  ];
}

function readUnit(unit: Source): readonly ServiceSpec[] {
  const enabled = unit.get('enabled').flag() ?? unit.get('enable').flag();
  const masked = unit.get('mask').flag();
  const dropIns = unit
    .get('dropins')
    .items()
    .map((dropIn) => ({ name: dropIn.get('name').text() ?? '', content: dropIn.get('contents').text() ?? '' }));
  if (enabled === undefined && masked === undefined && dropIns.length === 0) return [];
  return [{ name: unit.get('name').text() ?? '', enabled, masked, dropIns, at: unit }];
}

/** Of kubeadm's own unit only where its variables come from matters; machineadm has an order of its own. */
function replaceUnit(unit: Source, report: Report): readonly string[] {
  for (const part of ['enabled', 'enable', 'contents']) unit.get(part).whole();
  return unit
    .get('dropins')
    .items()
    .flatMap((dropIn) => {
      const lines = (dropIn.get('contents').text() ?? '').split('\n').map((line) => line.trim());
      const name = dropIn.get('name').text() ?? '';
      const known = /^(?:$|#|;|\[(?:Unit|Service|Install)\]|(?:After|Before|Requires|Wants|BindsTo|EnvironmentFile)=)/;
      if (lines.some((line) => !known.test(line))) {
        report.add(
          'ContainerLinuxConfigDropped',
          dropIn,
          `${name}: write a drop-in of machineadm-provision.service into the image`,
        );
      } else report.add('UnitReplaced', dropIn, name);
      return lines.flatMap((line) => /^EnvironmentFile=-?(\/\S+)$/.exec(line)?.[1] ?? []);
    });
}

function readUser(user: Source): UserSpec {
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

/** Ignition sizes partitions by the sector or MiB; one that fills the disk is all that the provider makes. */
function readDisk(disk: Source, report: Report): Spec['disks'] {
  const partitions = disk.get('partitions').items();
  const overwrite = disk.get('wipeTable').flag() ?? disk.get('wipe_table').flag() ?? false;
  const sized = partitions.some((part) =>
    ['size', 'sizeMiB', 'start', 'startMiB'].some((name) => part.get(name).whole()),
  );
  for (const part of partitions)
    for (const name of ['number', 'label', 'typeGuid', 'type_guid']) part.get(name).whole();
  const device = disk.get('device').text() ?? '';
  if (partitions.length > 1 || sized) {
    report.add('ContainerLinuxConfigDropped', disk, `${device}: write its partitions to host.storage.disks`);
    return [];
  }
  return [{ device, table: 'gpt', overwrite, layout: partitions.length === 1, at: disk }];
}

function readFilesystem(filesystem: Source, report: Report): Spec['filesystems'] {
  const mount = filesystem.get('mount');
  filesystem.get('name').whole();
  if (!mount.exists) {
    report.add('ContainerLinuxConfigDropped', filesystem, 'a file system that is only a name for files');
    filesystem.whole();
    return [];
  }
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
