import type { Report } from '../report/report.ts';
import type { DirectSection } from '../spec/direct.ts';
import type { FileSpec, FilesystemSpec } from '../spec/spec.ts';
import type { Source } from '../values/source.ts';
import { type ContainerLinuxParts, dropPart, readUnits, readUser } from './container-linux.ts';
import { dataContent } from './data-url.ts';

/** coreos/ignition docs/configuration-v3_x.md: the parts of such a config that a document can say. */
export interface Ignition3Parts extends ContainerLinuxParts {
  readonly direct: DirectSection;
}

/** cluster-api bootstrap/kubeadm/pkg/ignition/clc/clc.go: the script that the provider's unit runs. */
export const SCRIPT = '/etc/kubeadm.sh';
export const IGNITION_3 = /^3\.[0-6]\.0$/;

/** Of all files together: each may be compressed. */
const MOST_TEXT = 16 * 1024 * 1024;

/** Reads an Ignition config of version 3; what has no counterpart is reported. */
export async function readIgnition3(config: Source, report: Report): Promise<Ignition3Parts> {
  const storage = config.get('storage');
  refuseReferences(config, report);
  for (const list of ['shouldExist', 'shouldNotExist']) {
    for (const argument of config.get('kernelArguments', list).items()) {
      dropPart(argument, 'a kernel argument: write it into the boot loader of the image', report);
    }
  }
  for (const name of ['raid', 'luks']) {
    for (const part of storage.get(name).items()) dropPart(part, 'make it in the image, or by a command', report);
  }
  const files: (readonly FileSpec[])[] = [];
  const room = { left: MOST_TEXT };
  for (const file of storage.get('files').items()) files.push(await readFile(file, room, report));
  const isProviders = files.flat().some(({ path }) => path === SCRIPT);
  const units = readUnits(config, report, isProviders);
  const isWanted = (part: Source): boolean => {
    if (part.get('shouldExist').flag() !== false) return true;
    dropPart(part, 'it is to be removed: remove it in the image', report);
    return false;
  };
  const mounted = units.files.filter(({ path }) => path.endsWith('.mount')).map(({ content }) => content);
  return {
    ...units,
    files: [...files.flat(), ...units.files],
    users: config
      .get('passwd', 'users')
      .items()
      .filter(isWanted)
      .map((user) => ({ ...readUser(user), uid: user.get('uid').integer(), system: user.get('system').flag() })),
    groups: config
      .get('passwd', 'groups')
      .items()
      .filter(isWanted)
      .map((group) => ({ name: group.get('name').text() ?? '', gid: group.get('gid').integer(), at: group })),
    disks: [],
    filesystems: storage
      .get('filesystems')
      .items()
      .map((one) => readFilesystem(one, mounted, report)),
    direct: {
      disks: storage
        .get('disks')
        .items()
        .flatMap((disk) => readDisk(disk, report)),
      directories: storage.get('directories').items().map(readDirectory),
      links: storage
        .get('links')
        .items()
        .flatMap((link) => readLink(link, report)),
    },
  };
}

/** Configs that Ignition downloads and merges, or takes in the place of this one. */
function refuseReferences(config: Source, report: Report): void {
  const references = config.get('ignition', 'config');
  for (const reference of [...references.get('merge').items(), references.get('replace')]) {
    if ((reference.get('source').text() ?? '') === '') continue;
    reference.whole();
    report.add('ToolFirst', reference, 'Ignition reads another config there: convert one config that has both');
  }
}

/** The content of a file, and what is appended to it. */
async function readFile(file: Source, room: { left: number }, report: Report): Promise<readonly FileSpec[]> {
  const path = file.get('path').text() ?? '';
  const mode = file.get('mode').integer();
  const overwrite = file.get('overwrite');
  if (overwrite.exists) overwrite.drop('IgnitionOverwrite');
  const shared = {
    path,
    owner: ownerOf(file),
    permissions: mode === undefined ? undefined : `0${mode.toString(8)}`,
    secret: undefined,
    template: false,
    rights: [file.get('user'), file.get('group'), file.get('mode')],
    at: file,
  };
  const appended = file.get('append').items();
  const contents = file.get('contents');
  const whole = contents.exists || appended.length === 0 ? [{ source: contents, append: false }] : [];
  const specs: FileSpec[] = [];
  for (const { source, append } of [...whole, ...appended.map((one) => ({ source: one, append: true }))]) {
    const content = await contentOf(source, path, room, report);
    if (content === undefined) return [];
    specs.push({ ...shared, append, content: content.text, encoding: content.encoding });
  }
  return specs;
}

async function contentOf(contents: Source, path: string, room: { left: number }, report: Report) {
  const url = contents.get('source').text() ?? '';
  const compression = contents.get('compression').text() ?? '';
  const hash = contents.get('verification', 'hash');
  if (url !== '' && !url.startsWith('data:')) {
    dropPart(contents, `${path} is downloaded: write contentFrom.http with its digest`, report);
    return undefined;
  }
  // The document has the content itself.
  if (hash.exists) hash.drop('IgnitionDigest');
  if (!['', 'gzip'].includes(compression)) {
    report.add('InputInvalid', contents.get('compression'), 'expected gzip');
    return undefined;
  }
  if (room.left < 0) return undefined;
  const content = url === '' ? { text: '', encoding: undefined } : await dataContent(url, compression === 'gzip');
  if (content === undefined) report.add('InputInvalid', contents.get('source'), 'not a data: URL that can be read');
  room.left -= content?.text.length ?? 0;
  if (room.left < 0) report.add('InputInvalid', contents, 'its files hold more than 16 MiB together');
  return content;
}

/** Owners by name or number; root without them. */
function ownerOf(node: Source): string | undefined {
  const [user, group] = ['user', 'group'].map(
    (who) => node.get(who, 'name').text() ?? node.get(who, 'id').integer()?.toString(),
  );
  return user === undefined && group === undefined ? undefined : `${user ?? 'root'}:${group ?? 'root'}`;
}

function readDirectory(directory: Source): NonNullable<DirectSection['directories']>[number] {
  const mode = directory.get('mode').integer() ?? 0o755;
  if (directory.get('overwrite').exists) directory.get('overwrite').drop('IgnitionOverwrite');
  return {
    path: directory.get('path').text() ?? '',
    owner: ownerOf(directory) ?? 'root:root',
    mode: `0${mode.toString(8)}`,
  };
}

function readLink(link: Source, report: Report): NonNullable<DirectSection['links']> {
  if (link.get('hard').flag() === true) {
    return [...dropPart(link, 'a hard link: write a symbolic one', report)];
  }
  return [
    {
      path: link.get('path').text() ?? '',
      target: link.get('target').text() ?? '',
      force: link.get('overwrite').flag() === true ? true : undefined,
    },
  ];
}

/** Partitions one after the other, from the first; anything else is left to the operator. */
function readDisk(disk: Source, report: Report): NonNullable<DirectSection['disks']> {
  const device = disk.get('device').text() ?? '';
  const given = disk.get('partitions').items();
  const partitions = given.map((partition, index) => {
    const size = partition.get('sizeMiB').integer() ?? 0;
    const number = partition.get('number').integer() ?? 0;
    return {
      label: partition.get('label').text(),
      size: size === 0 ? 'Rest' : `${size}Mi`,
      type: partition.get('typeGuid').text()?.toLowerCase(),
      isPlain:
        (number === 0 || number === index + 1) &&
        (size !== 0 || index === given.length - 1) &&
        (partition.get('startMiB').integer() ?? 0) === 0 &&
        !['guid', 'shouldExist', 'resize', 'wipePartitionEntry'].some((name) => partition.get(name).exists),
    };
  });
  if (partitions.length === 0 || partitions.some(({ isPlain }) => !isPlain)) {
    return [...dropPart(disk, `${device}: write its partitions to host.storage.disks`, report)];
  }
  const wipe = disk.get('wipeTable').flag() === true;
  report.add(wipe ? 'DiskOverwrite' : 'UsedDiskRefused', disk, device);
  return [
    {
      device: { path: device },
      table: 'gpt',
      wipe: wipe ? true : undefined,
      partitions: partitions.map(({ label, size, type }) => ({ label, size, type })),
    },
  ];
}

/** Ignition mounts a file system at `path` only while it runs; a unit mounts it afterwards. */
function readFilesystem(filesystem: Source, units: readonly string[], report: Report): FilesystemSpec {
  const path = filesystem.get('path').text() ?? '';
  const isMounted = units.some((unit) => unit.split('\n').some((line) => line.trim() === `Where=${path}`));
  if (path !== '' && !isMounted) {
    const message = `no unit mounts ${path} later: write host.storage.mounts if it is to stay`;
    report.add('ContainerLinuxConfigDropped', filesystem.get('path'), message);
  }
  return {
    device: filesystem.get('device').text() ?? '',
    type: filesystem.get('format').text() ?? '',
    label: filesystem.get('label').text(),
    partition: 'none',
    overwrite: filesystem.get('wipeFilesystem').flag() ?? false,
    replace: undefined,
    options: filesystem.get('options').texts(),
    at: filesystem,
  };
}
