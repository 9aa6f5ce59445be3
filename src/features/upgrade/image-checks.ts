import { archiveImages } from '@machineadm/archives/images.ts';
import { companionTags, defaultRepository } from '@machineadm/document/kubernetes-releases/images.ts';
import type { ImageArchive } from '@machineadm/document/model/index.ts';
import { errorMessage } from '@machineadm/document/outcomes/errors.ts';
import { textLines } from '@machineadm/document/text/printable.ts';
import { parseVersion } from '@machineadm/document/text/program-version.ts';
import { member, stringAt } from '@machineadm/document/values/untyped.ts';
import { openArchive, tarSource } from '../../container-runtime/image-archive-file.ts';
import { missingOf } from '../../container-runtime/image-presence.ts';
import { imageSpace, whyImagesGo } from '../../container-runtime/image-space.ts';
import { CriError } from '../../host/cri/client.ts';
import type { CriImage } from '../../host/cri/queries.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import { skipped, type UpgradeObstacle } from '../../kubernetes/upgrade/obstacle.ts';
import type { Upgrade } from '../../step/upgrade-order.ts';
import { hasVersion, plain, type UpgradeDesired } from './desired.ts';
import { isPullIgnored, sandboxImage } from './images.ts';

const MIB = 2 ** 20;
/** Of an image of Kubernetes, compressed and unpacked; etcd has the most. */
const OF_A_PULLED_IMAGE = 160 * MIB;
const COMPONENTS = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kube-proxy'] as const;

interface Needed {
  readonly image: string;
  /** False where the tag is that of a table, and the new kubeadm may have another. */
  readonly isCertain: boolean;
}

/**
 * Whether this machine has the images that the new version needs: present, in an archive of the document, or in a registry; and space
 * for those that come. A control plane needs those of kubeadm. On a worker kubeadm replaces no pod; both need that of sandboxes.
 * Nothing is imported or pulled.
 *
 * @param configuration ClusterConfiguration, which may have its own repositories and tags
 */
export async function imageObstacles(
  host: QueryHost,
  desired: UpgradeDesired,
  upgrade: Pick<Upgrade, 'to' | 'ignorePreflightErrors'>,
  configuration: unknown,
): Promise<readonly UpgradeObstacle[]> {
  const { to } = upgrade;
  const needed = await neededImages(host, desired, to, configuration);
  const of = `of Kubernetes ${plain(to)}`;
  if (needed === undefined) {
    const why = `the images of ${to} are not known before its kubeadm is installed`;
    return [skipped(`whether the images ${of} are there`, why)];
  }
  const pulled = isPullIgnored(desired, upgrade)
    ? 'and kubeadm is not to check it either (--ignore-preflight-errors)'
    : 'the upgrade pulls them before kubeadm, etcd and the kubelet are touched, and ends there if one cannot be pulled';
  return await missingObstacles(host, desired, needed, { of, pulled });
}

/** The same of the image of sandboxes alone, for an upgrade of containerd: without it no pod starts. */
export async function sandboxObstacles(
  host: QueryHost,
  desired: UpgradeDesired,
  to: string,
): Promise<readonly UpgradeObstacle[]> {
  const image = await sandboxImage(host, desired);
  if (image === undefined) return [];
  return await missingObstacles(host, desired, [{ image, isCertain: true }], {
    of: `of sandboxes of containerd ${to}`,
    pulled: 'the upgrade starts a pod with the new containerd, and restores the previous one if it cannot pull it',
  });
}

interface Wording {
  /** Of which version the images are. */
  readonly of: string;
  /** When they are pulled, and what happens if they cannot be. */
  readonly pulled: string;
}

async function missingObstacles(
  host: QueryHost,
  desired: UpgradeDesired,
  needed: readonly Needed[],
  wording: Wording,
): Promise<readonly UpgradeObstacle[]> {
  let present: readonly CriImage[];
  try {
    present = await host.cri(desired.socket).images();
  } catch (error) {
    if (!(error instanceof CriError)) throw error;
    return [skipped(`whether the images ${wording.of} are there`, errorMessage(error))];
  }
  const missing = missingOf([...new Set(needed.map(({ image }) => image))], present);
  if (missing.length === 0) return [];
  const archives = await archivesOf(host, desired, present);
  const left = missingOf(missing, [{ id: '', tags: archives.names, digests: [] }]);
  const pulled = desired.isAirGapped ? 0 : left.length * OF_A_PULLED_IMAGE;
  return [
    ...presenceObstacles(desired, needed, left, archives, wording),
    ...(await spaceObstacles(host, desired, archives.bytes + pulled)),
  ];
}

/** undefined: kubeadm of this version is not installed yet, and no table has the release. */
async function neededImages(
  host: QueryHost,
  desired: UpgradeDesired,
  to: string,
  configuration: unknown,
): Promise<readonly Needed[] | undefined> {
  const release = parseVersion(to);
  if (release === undefined) return undefined;
  const isInstalled = hasVersion('kubeadm', desired.programs.kubeadm, release);
  const tags = companionTags(release)?.tags;
  const repository = stringAt(configuration, 'imageRepository') ?? defaultRepository(release);
  const sandbox = await sandboxOf(host, desired, isInstalled, tags?.pause);
  if (!desired.isControlPlane) return [...sandbox, ...(await proxyOf(host, desired, configuration, repository))];
  const listed = isInstalled ? await listOf(host, to, repository) : undefined;
  const guessed =
    tags === undefined
      ? undefined
      : [
          ...COMPONENTS.map((name) => `${repository}/${name}:${to.replaceAll('+', '_')}`),
          `${repository}/etcd:${tags.etcd}`,
          `${repository}/pause:${tags.pause}`,
        ];
  const own = (listed ?? guessed)?.flatMap((image) => {
    const asConfigured = ownImage(image, configuration);
    const isOfVersion = COMPONENTS.some((name) => image.includes(`/${name}:`));
    const isCertain = listed !== undefined || isOfVersion || asConfigured !== image;
    return asConfigured === undefined ? [] : [{ image: asConfigured, isCertain }];
  });
  return own === undefined ? undefined : [...own, ...sandbox];
}

/** @param pause the tag of the table, for the time before the new kubeadm is installed */
async function sandboxOf(
  host: QueryHost,
  desired: UpgradeDesired,
  isInstalled: boolean,
  pause: string | undefined,
): Promise<readonly Needed[]> {
  const { sandbox, kubernetes } = desired;
  if (isInstalled || sandbox.image !== undefined || !sandbox.isManaged) {
    const image = await sandboxImage(host, desired);
    return image === undefined ? [] : [{ image, isCertain: true }];
  }
  const release = parseVersion(kubernetes.version);
  if (release === undefined || pause === undefined) return [];
  const repository = kubernetes.cluster.imageRepository ?? defaultRepository(release);
  return [{ image: `${repository}/pause:${pause}`, isCertain: false }];
}

/**
 * Without a registry, that of kube-proxy on a worker that runs it: its DaemonSet has the cluster's version once the control planes
 * are upgraded. The upgrade of the worker itself does not need it.
 */
async function proxyOf(
  host: QueryHost,
  { isAirGapped, socket }: UpgradeDesired,
  configuration: unknown,
  repository: string,
): Promise<readonly Needed[]> {
  const version = stringAt(configuration, 'kubernetesVersion');
  if (!isAirGapped || version === undefined) return [];
  try {
    const { pods } = await host.cri(socket).workloads();
    if (!pods.some(({ name }) => name.startsWith('kube-system/kube-proxy-'))) return [];
  } catch (error) {
    if (error instanceof CriError) return [];
    throw error;
  }
  return [{ image: `${repository}/kube-proxy:${version.replaceAll('+', '_')}`, isCertain: false }];
}

/** Empty output is no list. */
async function listOf(host: QueryHost, to: string, repository: string): Promise<readonly string[] | undefined> {
  const args = ['config', 'images', 'list', '--kubernetes-version', to, '--image-repository', repository];
  const { status, stdout } = await host.query({ program: 'kubeadm', args });
  const lines = textLines(stdout).map((line) => line.trim());
  return status === 0 && lines.length > 0 ? lines : undefined;
}

/** An image as the cluster's configuration has it; undefined: the cluster does not use it. */
function ownImage(image: string, configuration: unknown): string | undefined {
  const [, repository = '', name = '', tag = ''] = /^(.*)\/([^/:]+):([^/:]+)$/.exec(image) ?? [];
  const section = { etcd: member(member(configuration, 'etcd'), 'local'), coredns: member(configuration, 'dns') }[name];
  if (name === 'etcd' && member(member(configuration, 'etcd'), 'external') !== undefined) return undefined;
  if (name === 'coredns' && member(section, 'disabled') === true) return undefined;
  if (name === 'kube-proxy' && member(member(configuration, 'proxy'), 'disabled') === true) return undefined;
  if (section === undefined) return image;
  const other = stringAt(section, 'imageRepository') || undefined;
  return `${other ?? repository}/${name}:${stringAt(section, 'imageTag') || tag}`;
}

interface Archived {
  /** Images in the archives that can be read. */
  readonly names: readonly string[];
  /** Archives whose content is not known, and why. */
  readonly unknown: readonly string[];
  /** What the import of those needs that have an image which is not present. */
  readonly bytes: number;
}

async function archivesOf(
  host: QueryHost,
  { images: { archives, architecture } }: UpgradeDesired,
  present: readonly CriImage[],
): Promise<Archived> {
  const [names, unknown]: [string[], string[]] = [[], []];
  let bytes = 0;
  for (const archive of archives) {
    const found = await contentOf(host, archive, architecture);
    if ('why' in found) unknown.push(found.why);
    else {
      names.push(...found.names);
      // The layers, and what is unpacked of them.
      if (missingOf(found.names, present).length > 0) bytes += 2 * found.size;
    }
  }
  return { names, unknown, bytes };
}

async function contentOf(
  host: QueryHost,
  archive: ImageArchive,
  architecture: string,
): Promise<{ readonly names: readonly string[]; readonly size: number } | { readonly why: string }> {
  if (archive.kind === 'http') return { why: 'an archive is downloaded later' };
  const { path } = archive;
  try {
    await using file = await openArchive(host, path);
    if (file === undefined) return { why: `${path} does not exist yet` };
    const images = await archiveImages(tarSource(file, host.signal), path, architecture);
    return { names: images.flatMap(({ name }) => name ?? []), size: file.bytes.size };
  } catch (error) {
    return { why: `${path} cannot be read: ${errorMessage(error)}` };
  }
}

function presenceObstacles(
  { isAirGapped }: UpgradeDesired,
  needed: readonly Needed[],
  left: readonly string[],
  { unknown }: Archived,
  { of, pulled }: Wording,
): readonly UpgradeObstacle[] {
  if (left.length === 0) return [];
  if (unknown.length > 0) return [skipped(`whether archives hold ${left.join(', ')}`, unknown.join('; '))];
  if (!isAirGapped) {
    const registries = [...new Set(left.map((image) => image.split('/')[0] ?? ''))];
    const why = `only a pull of containerd uses its mirrors and credentials; ${pulled}`;
    return [skipped(`whether ${left.join(', ')} can be pulled from ${registries.join(', ')}`, why)];
  }
  const obstacle = (images: readonly string[], more: Pick<UpgradeObstacle, 'severity'> = {}): UpgradeObstacle[] =>
    images.length === 0
      ? []
      : [
          {
            reason: 'ImageMissing',
            what: `images ${of} are missing, and there is no registry to pull them from: ${images.join(', ')}`,
            remedy:
              'Add an archive that holds them to images.archives ("machineadm images list" prints all that the document needs).',
            ...more,
          },
        ];
  const isCertain = (image: string) => needed.some((one) => one.image === image && one.isCertain);
  return [
    ...obstacle(left.filter(isCertain)),
    // The new kubeadm decides which tag it needs, and is asked once it is installed.
    ...obstacle(
      left.filter((image) => !isCertain(image)),
      { severity: 'warning' },
    ),
  ];
}

async function spaceObstacles(
  host: QueryHost,
  { images: { directory } }: UpgradeDesired,
  needed: number,
): Promise<readonly UpgradeObstacle[]> {
  if (needed === 0) return [];
  const space = await imageSpace(host, directory);
  if (space === undefined) return [skipped(`the space on the file system of ${directory}`, 'findmnt does not tell it')];
  const remedy = `Free space on the file system of ${directory}, or enlarge it.`;
  if (space.free < needed) {
    const what = `the file system of ${directory} has ${mebibytes(space.free)} free, and the new images need about ${mebibytes(needed)}`;
    return [{ reason: 'DiskFull', what, remedy }];
  }
  const why = whyImagesGo(space, needed);
  if (why === undefined) return [];
  const more = `${remedy} Or raise imageGCHighThresholdPercent in kubernetes.node.kubelet.config.`;
  return [{ reason: 'DiskFull', what: `with the new images, ${why}`, remedy: more, severity: 'warning' }];
}

function mebibytes(bytes: number): string {
  return `${Math.ceil(bytes / MIB)} MiB`;
}
