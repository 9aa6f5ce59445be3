/**
 * Packs the binary of this machine into a container image, without docker: `npm run image`. The archive is an OCI image
 * layout (image-spec image-layout.md) that `docker load` reads as well:
 *
 *   ctr -n k8s.io images import dist/machineadm-image-linux-amd64.tar
 *
 * No base image: the binary, and the C and C++ libraries of the machine that builds, which must be glibc's. The same
 * binary and libraries make the same bytes.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { type TarEntry, tar } from '../src/diagnosis/bundle/tar.ts';
import { nativeTarget } from './build/runtime.ts';
import { tarOfFiles } from './build/tar.ts';

/** The words of image-spec for what npm calls x64. */
const ARCHITECTURES = { x64: 'amd64', arm64: 'arm64' } as const;

/**
 * The archive of an image of these files.
 *
 * @param name with its tag, as a pod names it: `machineadm:0.1.0`
 * @param files by their path in the image, without the leading slash
 */
export function imageArchive(
  name: string,
  architecture: string,
  files: Readonly<Record<string, { readonly content: Buffer; readonly mode: number }>>,
): Buffer {
  const blobs = new Map<string, Buffer>();
  const put = (mediaType: string, content: Buffer) => {
    const hex = sha256(content);
    blobs.set(`blobs/sha256/${hex}`, content);
    return { mediaType, digest: `sha256:${hex}`, size: content.length };
  };
  const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
  const layer = tarOfFiles(files);
  const layers = [put('application/vnd.oci.image.layer.v1.tar+gzip', gzipSync(layer))];
  const config = put(
    'application/vnd.oci.image.config.v1+json',
    json({
      architecture,
      os: 'linux',
      config: {
        Env: ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'],
        Entrypoint: ['/usr/local/bin/machineadm'],
      },
      rootfs: { type: 'layers', diff_ids: [`sha256:${sha256(layer)}`] },
    }),
  );
  const mediaType = 'application/vnd.oci.image.manifest.v1+json';
  const manifest = put(mediaType, json({ schemaVersion: 2, mediaType, config, layers }));
  const full = fullName(name);
  const annotations = {
    // containerd takes the name from the first, other tools from the second, which is the tag only.
    'io.containerd.image.name': full,
    'org.opencontainers.image.ref.name': full.slice(full.lastIndexOf(':') + 1),
  };
  const index = {
    schemaVersion: 2,
    manifests: [{ ...manifest, platform: { architecture, os: 'linux' }, annotations }],
  };
  const path = ({ digest }: { digest: string }): string => `blobs/sha256/${digest.slice('sha256:'.length)}`;
  const docker = [{ Config: path(config), RepoTags: [name], Layers: layers.map(path) }];
  const file = (path: string, content: Buffer): TarEntry => ({ path, content, mode: 0o644 });
  return tar([
    file('oci-layout', json({ imageLayoutVersion: '1.0.0' })),
    file('index.json', json(index)),
    file('manifest.json', json(docker)),
    ...[...blobs].map(([path, content]) => file(path, content)),
  ]);
}

/** As container runtimes complete a short name (distribution/reference normalize.go). */
function fullName(name: string): string {
  const [first = '', ...rest] = name.split('/');
  if (rest.length === 0) return `docker.io/library/${name}`;
  return /[.:]/.test(first) || first === 'localhost' ? name : `docker.io/${name}`;
}

/** What a program loads when it starts, and under what terms: the libraries by their paths, and Debian's copyright files. */
export function librariesOf(program: string): readonly string[] {
  const printed = execFileSync('ldd', [program], { encoding: 'utf8' });
  const paths = printed.split('\n').flatMap((line) => /(?:=>\s+|^\s+)(\/\S+)\s+\(0x/.exec(line)?.[1] ?? []);
  const terms = ['libc6', 'libgcc-s1', 'libstdc++6'].map((name) => `/usr/share/doc/${name}/copyright`);
  return [...paths, ...terms.filter((path) => existsSync(path))];
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function main(): void {
  const root = resolve(import.meta.dirname, '..');
  const { version }: { version: string } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const { values } = parseArgs({ options: { name: { type: 'string', default: `machineadm:${version}` } } });
  const binary = join(root, 'dist/machineadm');
  if (!existsSync(binary)) throw new Error('there is no dist/machineadm yet: npm run build');
  const target = nativeTarget();
  if (target.platform !== 'linux') throw new Error('an image is built on Linux only');
  const architecture = ARCHITECTURES[target.architecture];
  const files = {
    'usr/local/bin/machineadm': { content: readFileSync(binary), mode: 0o755 },
    'usr/share/doc/machineadm/LICENSES.txt': { content: readFileSync(join(root, 'dist/LICENSES.txt')), mode: 0o644 },
  };
  const libraries = librariesOf(binary).map((path) => [
    path.slice(1),
    { content: readFileSync(path), mode: path.endsWith('/copyright') ? 0o644 : 0o755 },
  ]);
  const archive = join(root, `dist/machineadm-image-linux-${architecture}.tar`);
  writeFileSync(
    `${archive}.new`,
    imageArchive(values.name, architecture, { ...files, ...Object.fromEntries(libraries) }),
  );
  renameSync(`${archive}.new`, archive);
  process.stdout.write(`${archive}: ${values.name}\n`);
}

if (process.argv[1] === import.meta.filename) main();
