import type { Report } from '../report/report.ts';
import type { Source } from '../values/source.ts';
import type { CommandSpec, DiskSpec, FileSpec, FilesystemSpec, SecretKey, Spec, UserSpec } from './spec.ts';

/**
 * KubeadmConfigSpec of cluster-api's api/bootstrap/kubeadm/{v1beta1,v1beta2}/kubeadmconfig_types.go. The host part is
 * the same in both; `kubernetes/` reads both forms of the kubeadm part. The caller provides what `Ignition` adds to the
 * host through additionalConfig.
 */
export function readKubeadmConfigSpec(spec: Source, report: Report): Omit<Spec, 'services' | 'groups'> {
  const format = spec.get('format').text() ?? '';
  if (!['', 'cloud-config', 'ignition'].includes(format)) {
    report.add('InputInvalid', spec.get('format'), 'expected cloud-config or ignition');
  }
  const flavour = format === 'ignition' ? 'ignition' : 'cloud-config';
  if (spec.get('useExperimentalRetryJoin').flag() === true) {
    report.add('RetryJoin', spec.get('useExperimentalRetryJoin'), 'see kubernetes.bootstrapper.kubeadm.retry');
  }
  const strict = spec.get('ignition', 'containerLinuxConfig', 'strict');
  if (strict.flag() !== undefined) report.add('StrictDropped', strict, 'nothing to do');
  const ntp = spec.get('ntp');
  return {
    flavour,
    resolved: false,
    files: spec
      .get('files')
      .items()
      .map((file) => readFile(file, report)),
    users: spec
      .get('users')
      .items()
      .map((user) => readUser(user, report)),
    time: ntp.exists
      ? { enabled: ntp.get('enabled').flag() ?? true, servers: ntp.get('servers').texts(), at: ntp }
      : undefined,
    disks: spec
      .get('diskSetup', 'partitions')
      .items()
      .map((disk) => readDisk(disk, report)),
    filesystems: spec.get('diskSetup', 'filesystems').items().map(readFilesystem),
    mounts: spec
      .get('mounts')
      .items()
      .map((mount) => ({ columns: mount.texts(), at: mount })),
    bootCommands: readCommands(spec.get('bootCommands')),
    beforeCommands: readCommands(spec.get('preKubeadmCommands')),
    afterCommands: readCommands(spec.get('postKubeadmCommands')),
    verbosity: spec.get('verbosity'),
    sentinel: undefined,
    cluster: spec.get('clusterConfiguration'),
    init: spec.get('initConfiguration'),
    join: spec.get('joinConfiguration'),
    extraDocuments: [],
    discoveryKubeconfig: undefined,
    certificates: new Map(),
  };
}

function readFile(file: Source, report: Report): FileSpec {
  const secret = readSecretKey(file.get('contentFrom', 'secret'));
  const content = file.get('content').text();
  if (secret !== undefined && content !== undefined && content !== '') {
    report.add('InputInvalid', file, 'content and contentFrom exclude each other');
  }
  return {
    path: required(file, 'path', report),
    owner: file.get('owner').text(),
    permissions: file.get('permissions').text(),
    encoding: file.get('encoding').text(),
    append: file.get('append').flag() ?? false,
    content: content ?? '',
    secret,
    template: isTemplate(file.get('contentFormat'), report),
    rights: [file.get('owner'), file.get('permissions')],
    at: file,
  };
}

/** ContentFormat of the API: Raw is the same as none. */
function isTemplate(format: Source, report: Report): boolean {
  const text = format.text() ?? '';
  if (!['', 'Raw', 'Template'].includes(text)) report.add('InputInvalid', format, 'expected Raw or Template');
  return text === 'Template';
}

function readUser(user: Source, report: Report): UserSpec {
  const password = user.get('passwd').text();
  const passwordSecret = readSecretKey(user.get('passwdFrom', 'secret'));
  if (password !== undefined && passwordSecret !== undefined) {
    report.add('InputInvalid', user, 'passwd and passwdFrom exclude each other');
  }
  const sudo = user.get('sudo').text();
  return {
    name: required(user, 'name', report),
    gecos: user.get('gecos').text(),
    groups: user.get('groups').text(),
    home: user.get('homeDir').text(),
    shell: user.get('shell').text(),
    primaryGroup: user.get('primaryGroup').text(),
    password,
    passwordSecret,
    lockPassword: user.get('lockPassword').flag(),
    sudo: sudo === undefined ? [] : [sudo],
    keys: user.get('sshAuthorizedKeys').exists ? user.get('sshAuthorizedKeys').texts() : undefined,
    inactive: user.get('inactive').flag() ?? false,
    at: user,
  };
}

function readDisk(disk: Source, report: Report): DiskSpec {
  const layout = disk
    .get('diskLayout')
    .items()
    .map((partition) => ({
      percentage: partition.get('percentage').integer() ?? 0,
      type: partition.get('partitionType').text(),
    }));
  const whole = disk.get('layout').flag();
  if (whole === false && layout.length > 0) report.add('WithoutEffect', disk.get('layout'), 'diskLayout is taken');
  return {
    device: disk.get('device').text() ?? '',
    table: disk.get('tableType').text(),
    overwrite: disk.get('overwrite').flag() ?? false,
    layout: layout.length > 0 ? layout : (whole ?? false),
    at: disk,
  };
}

function readFilesystem(filesystem: Source): FilesystemSpec {
  return {
    device: filesystem.get('device').text() ?? '',
    type: filesystem.get('filesystem').text() ?? '',
    label: filesystem.get('label').text(),
    partition: filesystem.get('partition').text(),
    overwrite: filesystem.get('overwrite').flag() ?? false,
    replace: filesystem.get('replaceFS').text(),
    options: filesystem.get('extraOpts').texts(),
    at: filesystem,
  };
}

export function readCommands(list: Source): readonly CommandSpec[] {
  return list.items().flatMap((item) => {
    const command = item.text();
    return command === undefined ? [] : [{ command, at: item }];
  });
}

function readSecretKey(secret: Source): SecretKey | undefined {
  if (!secret.exists) return undefined;
  return { name: secret.get('name').text() ?? '', key: secret.get('key').text() ?? '' };
}

function required(owner: Source, name: string, report: Report): string {
  const value = owner.get(name).text();
  if (value === undefined || value === '') report.add('InputInvalid', owner, `"${name}" is missing`);
  return value ?? '';
}
