import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { tar } from '@machineadm/archives/write-tar.ts';
import { tarOfFiles } from '../build/tar.ts';

/** An image to pack. The names are those of kubeadm 1.20.2 (k/k cmd/kubeadm/app/constants, app/images). */
interface Image {
  readonly name: string;
  readonly tag: string;
  /** A tar archive of the root file system. */
  readonly layer: Buffer;
  readonly entrypoint: readonly string[];
}

const REPOSITORY = 'k8s.gcr.io';
const CONTROL_PLANE = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kube-proxy'];
/** The version of what build-kubernetes.sh builds. */
const BUILT_VERSION = 'v1.20.2';
/** The tag of the etcd that its kubeadm deploys (SupportedEtcdVersion). */
const BUILT_ETCD = '3.4.13-0';

/**
 * Packs programs into docker-archive files (`docker save`: manifest.json, configuration, layer) that containerd imports.
 * The images have no base image: the programs are static, except for etcd, which gets its C library. coredns is a stand-in
 * that only pauses: kubeadm requires its image even if the addon phase is skipped.
 *
 * @param kubernetes the directory that build-kubernetes.sh filled
 * @param directory the output directory
 */
export function writeImageArchives(kubernetes: string, directory: string): void {
  const pause = join(kubernetes, 'bin/pause');
  const images: Image[] = [
    ...controlPlaneImages(join(kubernetes, 'bin'), BUILT_VERSION),
    { name: 'pause', tag: '3.2', layer: layerOf({ pause }), entrypoint: ['/pause'] },
    { name: 'coredns', tag: '1.7.0', layer: layerOf({ coredns: pause }), entrypoint: ['/coredns'] },
    etcdImage(kubernetes, BUILT_ETCD),
  ];
  writeArchives(images, directory);
}

function controlPlaneImages(programs: string, tag: string): readonly Image[] {
  return CONTROL_PLANE.map((name) => ({
    name,
    tag,
    layer: layerOf({ [`usr/local/bin/${name}`]: join(programs, name) }),
    entrypoint: [],
  }));
}

/** A release that has the code of `BUILT_VERSION` and says that it is another one. */
export interface StampedRelease {
  /** Of the same length as `BUILT_VERSION`: `v1.20.3`, `v1.21.2`. */
  readonly version: string;
  /** The tag of an etcd that its kubeadm deploys, of the same length as `BUILT_ETCD`; default: that one. */
  readonly etcd?: string;
}

/**
 * Writes the same programs as another release, `bin/` and `images/`. In all of them, the version string is replaced:
 * kubeadm decides by it, also between minor versions. The code stays the same, and so do kubeadm's images of pause and
 * CoreDNS.
 */
export function writeStampedRelease(
  kubernetes: string,
  { version, etcd = BUILT_ETCD }: StampedRelease,
  directory: string,
): void {
  const programs = join(directory, 'bin');
  mkdirSync(programs, { recursive: true });
  for (const name of ['kubeadm', 'kubelet', ...CONTROL_PLANE]) {
    const bytes = readFileSync(join(kubernetes, 'bin', name));
    stamp(bytes, BUILT_VERSION, version);
    if (name === 'kubeadm' && etcd !== BUILT_ETCD) stamp(bytes, BUILT_ETCD, etcd);
    writeFileSync(join(programs, name), bytes, { mode: 0o755 });
  }
  const images = [...controlPlaneImages(programs, version), etcdImage(kubernetes, etcd)];
  writeArchives(images, join(directory, 'images'));
}

/** Replaces a string wherever it is in a program. */
function stamp(program: Buffer, built: string, wanted: string): void {
  if (wanted.length !== built.length) throw new Error(`${wanted} does not fit into the programs`);
  const places = [];
  for (let at = program.indexOf(built); at >= 0; at = program.indexOf(built, at + 1)) places.push(at);
  if (places.length === 0) throw new Error(`${built} is not in the program`);
  for (const at of places) program.write(wanted, at);
}

function etcdImage(kubernetes: string, tag: string): Image {
  return { name: 'etcd', tag, layer: layerOf(etcdFiles(join(kubernetes, 'etcd'))), entrypoint: [] };
}

/**
 * Packs the additional images of a cluster with Ready nodes: a kube-proxy with its iptables, if it was built from sources
 * (the archive of the control plane has no iptables), and `quickstart/busybox:1` for pods.
 *
 * @param roots the root file systems that build-addons.sh made
 * @param directory the output directory
 */
export function writeAddonArchives(roots: string, directory: string): void {
  const images = [
    { name: 'kube-proxy', tag: BUILT_VERSION },
    { name: 'quickstart/busybox', tag: '1' },
  ];
  const packed = images.flatMap((image) => {
    const root = join(roots, basename(image.name));
    // The archive must be reproducible, because it is identified by its digest.
    const pack = () => execFileSync('tar', [...PLAIN_TAR, '-C', root, '-cf', '-', '.'], { maxBuffer: 1 << 28 });
    return existsSync(root) ? [{ ...image, layer: pack(), entrypoint: [] }] : [];
  });
  writeArchives(packed, directory);
}

const PLAIN_TAR = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner'];

function writeArchives(images: readonly Image[], directory: string): void {
  mkdirSync(directory, { recursive: true });
  for (const image of images) writeFileSync(join(directory, `${basename(image.name)}.tar`), archiveOf(image));
}

function etcdFiles(root: string): Record<string, string> {
  const libraries = readdirSync(join(root, 'lib')).filter((name) => name.endsWith('-linux-gnu'));
  const library = libraries[0];
  if (library === undefined) throw new Error(`no C library below ${root}/lib`);
  return {
    'usr/local/bin/etcd': join(root, 'usr/bin/etcd'),
    [`lib/${library}/libc.so.6`]: join(root, 'lib', library, 'libc.so.6'),
    'lib64/ld-linux-x86-64.so.2': join(root, 'lib', library, 'ld-linux-x86-64.so.2'),
  };
}

function archiveOf(image: Image): Buffer {
  const { layer } = image;
  const layerDigest = sha256(layer);
  const config = Buffer.from(
    JSON.stringify({
      architecture: 'amd64',
      os: 'linux',
      rootfs: { type: 'layers', diff_ids: [`sha256:${layerDigest}`] },
      config: {
        Env: ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'],
        Entrypoint: image.entrypoint,
      },
    }),
  );
  const configName = `${sha256(config)}.json`;
  const layerName = `${layerDigest}/layer.tar`;
  const manifest = [
    { Config: configName, RepoTags: [`${REPOSITORY}/${image.name}:${image.tag}`], Layers: [layerName] },
  ];
  return tar([
    { path: configName, content: config, mode: 0o644 },
    { path: layerName, content: layer, mode: 0o644 },
    { path: 'manifest.json', content: Buffer.from(JSON.stringify(manifest)), mode: 0o644 },
  ]);
}

function layerOf(files: Readonly<Record<string, string>>): Buffer {
  const read = Object.entries(files).map(([path, source]) => [path, { content: readFileSync(source), mode: 0o755 }]);
  return tarOfFiles(Object.fromEntries(read));
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
