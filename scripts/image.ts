/**
 * Packs the binary into a container image, without docker: `npm run image` for this machine, `-- --all` one image for amd64
 * and arm64 (after `npm run build -- --all`). The archive is an OCI image layout (image-spec image-layout.md) that
 * `docker load` accepts as well:
 *
 *   ctr -n k8s.io images import dist/machineadm-image-linux-amd64.tar
 *
 * There is no base image. The image contains the binary, glibc and the C++ libraries of the build machine, and its chroot. apt
 * downloads those of the other architecture from the same Debian release. The archive is reproducible.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { type TarEntry, tar } from '@machineadm/archives/write-tar.ts';
import { buildInfo } from '../src/cli/build-info.ts';
import { commitTime, gitCommit } from './build/inputs.ts';
import { nativeTarget } from './build/runtime.ts';
import { tarOfFiles } from './build/tar.ts';
import { readOptions } from './options.ts';

/** The architecture names of image-spec, by those of Node. */
export const ARCHITECTURES = { x64: 'amd64', arm64: 'arm64' } as const;

/** The archive that `npm run image -- --all` writes to `dist/`, and the path of the program in the image. */
export const IMAGE_ARCHIVE = 'machineadm-image-linux.tar';
export const IMAGE_PROGRAM = 'usr/local/bin/machineadm';

/** The image of one architecture. */
export interface ArchitectureImage {
  readonly architecture: string;
  /** By their path in the image, without the leading slash. */
  readonly files: Readonly<Record<string, { readonly content: Buffer; readonly mode: number }>>;
}

/** The program that an image starts, and its user. */
export interface ImageProgram {
  readonly title: string;
  readonly description: string;
  readonly entrypoint: readonly string[];
  /** Of its environment, besides PATH: `NAME=value`. */
  readonly environment?: readonly string[];
  /** `uid:gid`; default: root. */
  readonly user?: string;
}

const AGENT: ImageProgram = {
  title: 'machineadm',
  description: 'On-node bootstrap agent for Kubernetes',
  entrypoint: [`/${IMAGE_PROGRAM}`],
};

/** The origin of an image, for the labels of its configuration and the annotations of its index. */
export interface ImageOrigin {
  readonly version: string;
  readonly commit: string;
  readonly createdAt: Date;
}

/**
 * The archive of an image. For several architectures it has one index, from which each machine selects its own image.
 *
 * @param name with its tag, as a pod names it: `machineadm:0.1.0`
 */
export function imageArchive(
  name: string,
  images: readonly ArchitectureImage[],
  origin: ImageOrigin,
  program: ImageProgram = AGENT,
): Buffer {
  const blobs = new Map<string, Buffer>();
  const put = (mediaType: string, content: Buffer) => {
    const hex = sha256(content);
    blobs.set(`blobs/sha256/${hex}`, content);
    return { mediaType, digest: `sha256:${hex}`, size: content.length };
  };
  const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
  // image-spec annotations.md, "Pre-Defined Annotation Keys"
  const created = origin.createdAt.toISOString().replace('.000Z', 'Z');
  const labels = {
    'org.opencontainers.image.title': program.title,
    'org.opencontainers.image.description': program.description,
    'org.opencontainers.image.licenses': 'Apache-2.0',
    'org.opencontainers.image.version': origin.version,
    'org.opencontainers.image.revision': origin.commit,
    'org.opencontainers.image.created': created,
  };
  const mediaType = 'application/vnd.oci.image.manifest.v1+json';
  const described = images.map(({ architecture, files }) => {
    const layer = tarOfFiles(files);
    const layers = [put('application/vnd.oci.image.layer.v1.tar+gzip', gzipSync(layer))];
    const config = put(
      'application/vnd.oci.image.config.v1+json',
      json({
        created,
        architecture,
        os: 'linux',
        config: {
          Env: ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', ...(program.environment ?? [])],
          Entrypoint: program.entrypoint,
          ...(program.user === undefined ? {} : { User: program.user }),
          Labels: labels,
        },
        rootfs: { type: 'layers', diff_ids: [`sha256:${sha256(layer)}`] },
      }),
    );
    const manifest = put(mediaType, json({ schemaVersion: 2, mediaType, config, layers, annotations: labels }));
    return { config, layers, descriptor: { ...manifest, platform: { architecture, os: 'linux' } } };
  });
  const [first] = described;
  if (first === undefined) throw new Error('an image is for one architecture at least');
  const full = fullName(name);
  const annotations = {
    // containerd reads the full name from the first, other tools read the tag from the second.
    'io.containerd.image.name': full,
    'org.opencontainers.image.ref.name': full.slice(full.lastIndexOf(':') + 1),
  };
  const indexType = 'application/vnd.oci.image.index.v1+json';
  const manifests = described.map(({ descriptor }) => descriptor);
  const named =
    images.length === 1
      ? first.descriptor
      : put(indexType, json({ schemaVersion: 2, mediaType: indexType, manifests, annotations: labels }));
  const index = { schemaVersion: 2, mediaType: indexType, manifests: [{ ...named, annotations }] };
  const path = ({ digest }: { digest: string }): string => `blobs/sha256/${digest.slice('sha256:'.length)}`;
  // Docker's older archive format has one architecture: that of the build machine, which comes first.
  const docker = [{ Config: path(first.config), RepoTags: [name], Layers: first.layers.map(path) }];
  const file = (path: string, content: Buffer): TarEntry => ({ path, content, mode: 0o644 });
  return tar([
    file('oci-layout', json({ imageLayoutVersion: '1.0.0' })),
    file('index.json', json(index)),
    file('manifest.json', json(docker)),
    ...[...blobs].map(([path, content]) => file(path, content)),
  ]);
}

/** Normalizes a short image name like container runtimes do (distribution/reference normalize.go). */
function fullName(name: string): string {
  const [first = '', ...rest] = name.split('/');
  if (rest.length === 0) return `docker.io/library/${name}`;
  return /[.:]/.test(first) || first === 'localhost' ? name : `docker.io/${name}`;
}

/** The paths of the shared libraries of a program, and of the copyright files of their Debian packages. */
export function librariesOf(program: string): readonly string[] {
  const printed = execFileSync('ldd', [program], { encoding: 'utf8' });
  const paths = printed.split('\n').flatMap((line) => /(?:=>\s+|^\s+)(\/\S+)\s+\(0x/.exec(line)?.[1] ?? []);
  const terms = ['libc6', 'libgcc-s1', 'libstdc++6'].map((name) => `/usr/share/doc/${name}/copyright`);
  return [...paths, ...terms.filter((path) => existsSync(path))];
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** With which a pod starts the machineadm of its node (packages/translator/src/updates/launch.ts), and its terms. */
export const CHROOT = ['/usr/sbin/chroot', '/usr/share/doc/coreutils/copyright'] as const;

/** The Debian packages with the shared libraries of Node, with chroot, and the library directories of each architecture. */
const PACKAGES = ['libc6', 'libgcc-s1', 'libstdc++6', 'coreutils'];
const TRIPLES = { amd64: 'x86_64-linux-gnu', arm64: 'aarch64-linux-gnu' } as const;
const LOADERS = { amd64: 'lib64/ld-linux-x86-64.so.2', arm64: 'lib/ld-linux-aarch64.so.1' } as const;

/** The libraries of a program for an architecture, by their paths in an image. */
export function libraryFiles(
  architecture: keyof typeof TRIPLES,
  native: keyof typeof TRIPLES,
  libraries: readonly string[],
): ArchitectureImage['files'] {
  if (architecture !== native) return foreignLibraries(architecture, libraries);
  const own = libraries.map((path) => [
    path.slice(1),
    { content: readFileSync(path), mode: path.endsWith('/copyright') ? 0o644 : 0o755 },
  ]);
  return Object.fromEntries(own);
}

/**
 * The libraries of another architecture, by their paths, from the packages of this machine's Debian release. apt downloads
 * and verifies them with separate state and cache directories: nothing is installed on the machine.
 */
function foreignLibraries(architecture: keyof typeof TRIPLES, paths: readonly string[]): ArchitectureImage['files'] {
  const work = mkdtempSync(join(tmpdir(), 'machineadm-image-'));
  try {
    // apt may download as the user _apt.
    chmodSync(work, 0o755);
    for (const path of ['state/lists/partial', 'cache/archives/partial', 'debs', 'root']) {
      mkdirSync(join(work, path), { recursive: true });
    }
    writeFileSync(join(work, 'status'), '');
    const settings = [
      `APT::Architecture=${architecture}`,
      `APT::Architectures=${architecture}`,
      `Dir::State=${work}/state`,
      `Dir::State::status=${work}/status`,
      `Dir::Cache=${work}/cache`,
      'APT::Sandbox::User=root',
    ].flatMap((setting) => ['-o', setting]);
    const apt = (...args: readonly string[]) =>
      execFileSync('apt-get', ['-qq', ...settings, ...args], {
        cwd: join(work, 'debs'),
        stdio: ['ignore', 'ignore', 'inherit'],
      });
    apt('update');
    apt('download', ...PACKAGES);
    for (const deb of readdirSync(join(work, 'debs'))) {
      execFileSync('dpkg-deb', ['--extract', join(work, 'debs', deb), join(work, 'root')]);
    }
    const files: Record<string, { content: Buffer; mode: number }> = {};
    for (const path of paths) {
      if (path.endsWith('/copyright')) {
        // The copyright file is that of the source package. In the binary packages it can be a link to another package.
        files[path.slice(1)] = { content: readFileSync(path), mode: 0o644 };
        continue;
      }
      const isLoader = basename(path).startsWith('ld-linux');
      const own = isLoader ? LOADERS[architecture] : path.slice(1).replace(/[^/]+-linux-gnu/, TRIPLES[architecture]);
      // Packages use /lib or /usr/lib, which are the same directory on an installed system.
      const found = [own, join('usr', own), own.replace(/^usr\//, '')]
        .map((one) => join(work, 'root', one))
        .find((one) => existsSync(one));
      if (found === undefined) throw new Error(`${own} is in none of ${PACKAGES.join(', ')} for ${architecture}`);
      files[own] = { content: readFileSync(found), mode: 0o755 };
    }
    return files;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function main(): void {
  const root = resolve(import.meta.dirname, '..');
  const { version } = buildInfo();
  const { values } = readOptions(import.meta.filename, {
    options: { name: { type: 'string', default: `machineadm:${version}` }, all: { type: 'boolean', default: false } },
  });
  const target = nativeTarget();
  if (target.platform !== 'linux') throw new Error('an image is built on Linux only');
  const native = ARCHITECTURES[target.architecture];
  if (!existsSync(join(root, 'dist/machineadm'))) throw new Error('there is no dist/machineadm yet: npm run build');
  const libraries = [...librariesOf(join(root, 'dist/machineadm')), ...CHROOT];
  const others = values.all ? Object.values(ARCHITECTURES).filter((one) => one !== native) : [];
  const images = [native, ...others].map((architecture): ArchitectureImage => {
    const binary = join(root, `dist/machineadm-linux-${architecture}`);
    if (!existsSync(binary)) {
      throw new Error(`there is no ${binary} yet: npm run build${architecture === native ? '' : ' -- --all'}`);
    }
    const files = {
      [IMAGE_PROGRAM]: { content: readFileSync(binary), mode: 0o755 },
      'usr/share/doc/machineadm/LICENSES.txt': { content: readFileSync(join(root, 'dist/LICENSES.txt')), mode: 0o644 },
      ...libraryFiles(architecture, native, libraries),
    };
    return { architecture, files };
  });
  const origin = { version, commit: gitCommit(root), createdAt: new Date(commitTime(root) * 1000) };
  const archive = join(root, 'dist', values.all ? IMAGE_ARCHIVE : `machineadm-image-linux-${native}.tar`);
  writeFileSync(`${archive}.new`, imageArchive(values.name, images, origin));
  renameSync(`${archive}.new`, archive);
  process.stdout.write(`${archive}: ${values.name}\n`);
}

if (process.argv[1] === import.meta.filename) main();
