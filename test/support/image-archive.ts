import { createHash } from 'node:crypto';

/** A file of a tar archive. */
export interface TarFile {
  readonly name: string;
  readonly content: string | Uint8Array;
}

export const sha256 = (bytes: string | Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** A tar archive in the ustar format, as tar(1) writes it. */
export function tar(files: readonly TarFile[]): Buffer {
  const blocks = files.flatMap(({ name, content }) => {
    const bytes = Buffer.from(content);
    return [header(name, bytes.length, '0'), bytes, Buffer.alloc((512 - (bytes.length % 512)) % 512)];
  });
  return Buffer.concat([...blocks, Buffer.alloc(1024)]);
}

/** One header block. */
export function header(name: string, size: number, type: string): Buffer {
  const block = Buffer.alloc(512);
  block.write(name, 0);
  block.write('0000644\0', 100);
  block.write('0000000\0', 108);
  block.write('0000000\0', 116);
  block.write(`${size.toString(8).padStart(11, '0')}\0`, 124);
  block.write('00000000000\0', 136);
  block.write('        ', 148);
  block.write(type, 156);
  block.write('ustar\0', 257);
  block.write('00', 263);
  block.write(
    `${block
      .reduce((sum, byte) => sum + byte, 0)
      .toString(8)
      .padStart(6, '0')}\0 `,
    148,
  );
  return block;
}

/** The smallest image: one layer with one empty directory. `note` makes its configuration, and so its id, unique. */
function smallestImage(note: string) {
  const layer = Buffer.concat([header('empty/', 0, '5'), Buffer.alloc(1024)]);
  const config = JSON.stringify({
    architecture: 'amd64',
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
): { readonly bytes: Buffer; readonly id: string } {
  const { layer, config, id } = smallestImage(note);
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
  options: { readonly index?: boolean; readonly note?: string } = {},
): { readonly bytes: Buffer; readonly id: string } {
  const { layer, config, id } = smallestImage(options.note ?? '');
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
            { ...manifest, platform: { os: 'linux', architecture: 'amd64' } },
          ],
        }),
        'application/vnd.oci.image.index.v1+json',
      )
    : manifest;
  const annotations = name === undefined ? {} : { annotations: { 'io.containerd.image.name': name } };
  const files = [
    { name: 'oci-layout', content: '{"imageLayoutVersion":"1.0.0"}' },
    { name: 'index.json', content: JSON.stringify({ schemaVersion: 2, manifests: [{ ...root, ...annotations }] }) },
    ...blobs,
  ];
  return { bytes: tar(files), id };
}
