import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { CRI_V1ALPHA2 } from '@machineadm/document/kubernetes-releases/containerd.ts';
import { has } from '@machineadm/document/kubernetes-releases/features.ts';
import { companionTags, defaultRepository } from '@machineadm/document/kubernetes-releases/images.ts';
import { parseVersion } from '@machineadm/document/text/program-version.ts';
import { mustRun } from '../process.ts';
import { type Downloads, ReleaseRefused, ReleaseUnavailable } from './download.ts';
import { pullImage } from './registry.ts';

/** The programs of Kubernetes that a machine runs itself; the rest of a control plane comes as images. */
const PROGRAMS = ['kubeadm', 'kubelet', 'kubectl'];
const COMPONENTS = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kube-proxy'];

/** The identity that signs Kubernetes programs (https://kubernetes.io/docs/tasks/administer-cluster/verify-signed-artifacts/). */
const SIGNER = {
  identity: 'krel-staging@k8s-releng-prod.iam.gserviceaccount.com',
  issuer: 'https://accounts.google.com',
};

/** The versions of the other programs on a node. */
const CNI_PLUGINS = 'v1.8.0';
const RUNC = 'v1.3.3';
const containerdFor = (minor: number): string => (minor <= CRI_V1ALPHA2.until ? '1.7.34' : '2.2.7');

/** A release of Kubernetes with its images. */
export interface OfficialRelease {
  /** `v1.37.2` */
  readonly version: string;
  readonly minor: number;
  readonly repository: string;
  /** By component: the name and tag of its image. */
  readonly images: Readonly<Record<string, string>>;
}

/** Resolves `v1.37.2`, or the newest patch release of `v1.37` or `v1.37.x`. */
export async function findRelease(downloads: Downloads, wanted: string): Promise<OfficialRelease> {
  const [, minor, patch] = /^v?1\.(\d+)(?:\.(\d+|x))?$/.exec(wanted) ?? [];
  if (minor === undefined) throw new Error(`${wanted}: expected a release of Kubernetes, such as v1.37.x or v1.37.2`);
  const exact = patch !== undefined && patch !== 'x';
  const version = exact
    ? `v1.${minor}.${patch}`
    : await downloads.text(`https://dl.k8s.io/release/stable-1.${minor}.txt`);
  return officialRelease(version);
}

/** The images of a release, from the tables of the images that kubeadm uses. */
export function officialRelease(version: string): OfficialRelease {
  const parsed = /^v1\.\d+\.\d+$/.test(version) ? parseVersion(version) : undefined;
  const companions = parsed === undefined ? undefined : companionTags(parsed);
  if (parsed === undefined || companions === undefined) {
    throw new ReleaseUnavailable(`${version.slice(0, 80)} is no release whose images are known (1.20 and newer)`);
  }
  const repository = defaultRepository(parsed);
  const { etcd, coredns, pause } = companions.tags;
  const images = {
    ...Object.fromEntries(COMPONENTS.map((name) => [name, `${name}:${version}`])),
    etcd: `etcd:${etcd}`,
    coredns: `${has('corednsSubdirectory', parsed.minor) ? 'coredns/coredns' : 'coredns'}:${coredns}`,
    pause: `pause:${pause}`,
  };
  return { version, minor: parsed.minor, repository, images };
}

/**
 * Downloads a release into a directory: `bin` with the Kubernetes programs, `images` with an archive of each image, and
 * `layer` with the overlay layer of a machine: the programs, crictl, containerd, runc and the CNI plugins. Verifies the
 * published checksum of every file and, if cosign is installed, the signatures of the Kubernetes programs.
 */
export async function fetchRelease(
  downloads: Downloads,
  release: OfficialRelease,
  directory: string,
  progress: (line: string) => void,
): Promise<void> {
  const { version, minor } = release;
  const programs = join(directory, 'bin');
  const layer = join(directory, 'layer');
  const images = join(directory, 'images');
  for (const path of [
    programs,
    images,
    join(layer, 'usr/bin'),
    join(layer, 'usr/lib/cni'),
    join(layer, 'opt/addons'),
  ]) {
    mkdirSync(path, { recursive: true });
  }
  const cosign = spawnSync('cosign', ['version']).status === 0;
  progress(`checksums are checked; signatures ${cosign ? 'as well' : 'are not: cosign is not installed'}`);
  for (const program of PROGRAMS) {
    progress(`${program} ${version}`);
    const url = `https://dl.k8s.io/release/${version}/bin/linux/amd64/${program}`;
    const file = await published(downloads, url, `${url}.sha256`);
    if (cosign && has('signedPrograms', minor)) await checkSignature(downloads, url, file);
    install(file, join(programs, program));
    install(file, join(layer, 'usr/bin', program));
  }

  const github = 'https://github.com';
  const containerd = containerdFor(minor);
  progress(`containerd ${containerd}, runc ${RUNC}, CNI plugins ${CNI_PLUGINS}`);
  const archive = `containerd-${containerd}-linux-amd64.tar.gz`;
  const containerdUrl = `${github}/containerd/containerd/releases/download/v${containerd}/${archive}`;
  await unpack(await published(downloads, containerdUrl, `${containerdUrl}.sha256sum`), join(layer, 'usr'));
  const runc = `${github}/opencontainers/runc/releases/download/${RUNC}`;
  // In place of the machine image's own: another directory may come later in PATH.
  install(await published(downloads, `${runc}/runc.amd64`, `${runc}/runc.sha256sum`), join(layer, 'usr/sbin/runc'));
  const plugins = `${github}/containernetworking/plugins/releases/download/${CNI_PLUGINS}/cni-plugins-linux-amd64-${CNI_PLUGINS}.tgz`;
  await unpack(await published(downloads, plugins, `${plugins}.sha256`), join(layer, 'usr/lib/cni'));
  await unpack(await crictl(downloads, minor), join(layer, 'usr/bin'));

  for (const [name, image] of Object.entries(release.images)) {
    progress(image);
    // registry.k8s.io also serves older images, but an older kubeadm expects them under the name of the old registry.
    const own = `${release.repository}/${image}`;
    // The documents of the lab expect the archive of kube-proxy in the directory of the addons.
    const target = name === 'kube-proxy' ? join(layer, 'opt/addons') : images;
    await pullImage(downloads, `registry.k8s.io/${image}`, join(target, `${name}.tar`), own);
  }
}

/** crictl has no release for some Kubernetes minors. The one for the previous minor works as well. */
async function crictl(downloads: Downloads, minor: number): Promise<string> {
  const of = (version: string) =>
    `https://github.com/kubernetes-sigs/cri-tools/releases/download/${version}/crictl-${version}-linux-amd64.tar.gz`;
  const [own, before] = [of(`v1.${minor}.0`), of(`v1.${minor - 1}.0`)];
  try {
    return await published(downloads, own, `${own}.sha256`);
  } catch (error) {
    if (!(error instanceof ReleaseUnavailable) || error.status !== 404) throw error;
    return await published(downloads, before, `${before}.sha256`);
  }
}

/** Downloads a file with its published checksum, which is a digest or the output of sha256sum. */
async function published(downloads: Downloads, url: string, checksums: string): Promise<string> {
  const text = await downloads.text(checksums);
  const lines = text.split('\n').map((line) => line.trim().split(/\s+\*?/));
  const line = lines.find(([, name]) => name !== undefined && basename(name) === basename(url)) ?? lines[0];
  if (lines.length > 1 && line?.[1] === undefined) throw new ReleaseRefused(`${checksums} does not name the file`);
  return await downloads.file(url, line?.[0] ?? '');
}

/** Verifies the signature with cosign. Releases before 1.26 have none. */
async function checkSignature(downloads: Downloads, url: string, file: string): Promise<void> {
  const parts = { signature: `${file}.sig`, certificate: `${file}.cert` };
  try {
    writeFileSync(parts.signature, await downloads.text(`${url}.sig`));
    writeFileSync(parts.certificate, await downloads.text(`${url}.cert`));
    const identity = ['--certificate-identity', SIGNER.identity, '--certificate-oidc-issuer', SIGNER.issuer];
    const files = ['--signature', parts.signature, '--certificate', parts.certificate];
    const { status, stderr } = spawnSync('cosign', ['verify-blob', file, ...files, ...identity], { encoding: 'utf8' });
    if (status !== 0) throw new ReleaseRefused(`${url}: cosign refuses its signature: ${stderr.trim().slice(-500)}`);
  } finally {
    for (const path of Object.values(parts)) rmSync(path, { force: true });
  }
}

function install(file: string, target: string): void {
  mkdirSync(dirname(target), { recursive: true });
  copyFileSync(file, target);
  chmodSync(target, 0o755);
}

async function unpack(archive: string, directory: string): Promise<void> {
  await mustRun('tar', ['-xzf', archive, '-C', directory, '--no-same-owner', '--no-overwrite-dir']);
}
