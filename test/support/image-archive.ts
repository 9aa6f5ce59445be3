import { createHash } from 'node:crypto';
import { tar as pack, tarHeader } from '@machineadm/archives/write-tar.ts';

/** A file of a tar archive. */
export interface TarFile {
  readonly name: string;
  readonly content: string | Uint8Array;
}

export const sha256 = (bytes: string | Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** A tar archive in the ustar format, as tar(1) writes it. */
export function tar(files: readonly TarFile[]): Buffer {
  return pack(files.map(({ name, content }) => ({ path: name, content: Buffer.from(content), mode: 0o644 })));
}

/** Go's name of what this machine is. */
const HERE = process.arch === 'x64' ? 'amd64' : process.arch;

/** A file in a layer: a piece of content over and over. */
interface Padding {
  readonly size: number;
  readonly piece: Uint8Array;
}

/** The smallest image: one layer with one empty directory. `note` makes its configuration, and so its id, unique. */
export function smallestImage(note: string, architecture = HERE, padding?: Padding) {
  const content = Buffer.alloc(padding?.size ?? 0, padding?.piece ?? 0);
  const file = content.length === 0 ? [] : [tarHeader('large', content.length, '0'), content];
  const layer = Buffer.concat([tarHeader('empty/', 0, '5'), ...file, Buffer.alloc(1024)]);
  const config = JSON.stringify({
    architecture,
    os: 'linux',
    config: { Env: [`NOTE=${note}`] },
    rootfs: { type: 'layers', diff_ids: [`sha256:${sha256(layer)}`] },
  });
  return { layer, config, id: `sha256:${sha256(config)}` };
}

/** What `docker save` writes: manifest.json last. */
export function dockerArchive(
  tags: readonly string[] | null,
  note = '',
  /** Bytes of a file in its layer, and what it consists of over and over. */
  size = 0,
  piece: Uint8Array = Buffer.from(note),
): { readonly bytes: Buffer; readonly id: string } {
  const { layer, config, id } = smallestImage(note, HERE, { size, piece });
  const name = `${sha256(config)}.json`;
  const manifest = [{ Config: name, RepoTags: tags, Layers: ['layer/layer.tar'] }];
  const files = [
    { name: 'layer/layer.tar', content: layer },
    { name, content: config },
    { name: 'manifest.json', content: JSON.stringify(manifest) },
  ];
  return { bytes: tar(files), id };
}

/** What `ctr images export` writes: an OCI layout, for several platforms through an index of its own. */
export function ociArchive(
  name: string | undefined,
  options: {
    readonly index?: boolean;
    readonly note?: string;
    readonly architecture?: string;
    /** As podman and skopeo name an image, in the place of containerd's annotation. */
    readonly annotation?: 'org.opencontainers.image.ref.name';
  } = {},
): { readonly bytes: Buffer; readonly id: string; readonly digest: string } {
  const { architecture = HERE, annotation = 'io.containerd.image.name' } = options;
  const { layer, config, id } = smallestImage(options.note ?? '', architecture);
  const blobs: TarFile[] = [];
  const put = (content: string | Uint8Array, mediaType: string) => {
    const digest = sha256(content);
    blobs.push({ name: `blobs/sha256/${digest}`, content });
    return { mediaType, digest: `sha256:${digest}`, size: Buffer.from(content).length };
  };
  const manifest = put(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: 'application/vnd.oci.image.manifest.v1+json',
      config: put(config, 'application/vnd.oci.image.config.v1+json'),
      layers: [put(layer, 'application/vnd.oci.image.layer.v1.tar')],
    }),
    'application/vnd.oci.image.manifest.v1+json',
  );
  const root = options.index
    ? put(
        JSON.stringify({
          schemaVersion: 2,
          mediaType: 'application/vnd.oci.image.index.v1+json',
          manifests: [
            // The other platform's content is not in the archive, as in one that was exported for one platform.
            { ...manifest, digest: `sha256:${'0'.repeat(64)}`, platform: { os: 'linux', architecture: 's390x' } },
            { ...manifest, platform: { os: 'linux', architecture } },
          ],
        }),
        'application/vnd.oci.image.index.v1+json',
      )
    : manifest;
  const annotations = name === undefined ? {} : { annotations: { [annotation]: name } };
  const files = [
    { name: 'oci-layout', content: '{"imageLayoutVersion":"1.0.0"}' },
    { name: 'index.json', content: JSON.stringify({ schemaVersion: 2, manifests: [{ ...root, ...annotations }] }) },
    ...blobs,
  ];
  return { bytes: tar(files), id, digest: root.digest };
}
