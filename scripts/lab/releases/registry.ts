import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { type TarEntry, tar } from '@machineadm/archives/write-tar.ts';
import * as z from 'zod';
import { type Downloads, ReleaseRefused } from './download.ts';

const INDEXES = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
];
const MANIFESTS = [
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
];

const Descriptor = z.object({ mediaType: z.string(), digest: z.string(), size: z.number() });
type Descriptor = z.infer<typeof Descriptor>;
const Index = z.object({
  manifests: z.array(
    Descriptor.extend({ platform: z.object({ os: z.string(), architecture: z.string() }).optional() }),
  ),
});
const Manifest = z.object({ config: Descriptor, layers: z.array(Descriptor) });

/**
 * Pulls an image for linux/amd64 from a public registry (distribution/spec, pull) into an archive with the OCI image layout.
 * Verifies the digest of every part.
 *
 * @param image `registry.k8s.io/pause:3.10`
 * @param name the image name in the archive
 */
export async function pullImage(downloads: Downloads, image: string, archive: string, name = image): Promise<void> {
  const [, host, repository, tag] = /^([^/]+)\/(.+):([^:/]+)$/.exec(image) ?? [];
  if (host === undefined) throw new Error(`${image}: expected HOST/NAME:TAG`);
  const api = `https://${host}/v2/${repository}`;
  const accept = [...INDEXES, ...MANIFESTS].join(', ');
  const first = await downloads.bytes(`${api}/manifests/${tag}`, { accept });
  let digest = sha256(first.body);
  const said = first.headers['docker-content-digest'];
  if (typeof said === 'string' && said !== digest) {
    throw new ReleaseRefused(`${image}: the registry reports ${said}, but the manifest has ${digest}; it is not used`);
  }
  let body = first.body;
  const { mediaType } = z.object({ mediaType: z.string().optional() }).parse(JSON.parse(body.toString('utf8')));
  let type = mediaType ?? String(first.headers['content-type']);
  if (INDEXES.includes(type)) {
    const { manifests } = Index.parse(JSON.parse(body.toString('utf8')));
    const ours = manifests.find(({ platform }) => platform?.os === 'linux' && platform.architecture === 'amd64');
    if (ours === undefined) throw new ReleaseRefused(`${image} has no image for linux/amd64`);
    ({ digest, mediaType: type } = ours);
    body = (await downloads.bytes(`${api}/manifests/${digest}`, { accept })).body;
    if (sha256(body) !== digest) throw new ReleaseRefused(`${image}: the manifest ${digest} is ${sha256(body)}`);
  }
  const { config, layers } = Manifest.parse(JSON.parse(body.toString('utf8')));
  const blobs: TarEntry[] = [blob(digest, body)];
  for (const part of [config, ...layers]) {
    const file = await downloads.file(`${api}/blobs/${part.digest}`, part.digest.replace(/^sha256:/, ''));
    if (!blobs.some(({ path }) => path === blobPath(part.digest))) blobs.push(blob(part.digest, readFileSync(file)));
  }
  const manifest: Descriptor = { mediaType: type, digest, size: body.length };
  const annotations = { 'io.containerd.image.name': name, 'org.opencontainers.image.ref.name': name };
  const index = { schemaVersion: 2, manifests: [{ ...manifest, annotations }] };
  writeFileSync(
    archive,
    tar([
      { path: 'oci-layout', content: Buffer.from('{"imageLayoutVersion":"1.0.0"}'), mode: 0o644 },
      { path: 'index.json', content: Buffer.from(JSON.stringify(index)), mode: 0o644 },
      ...blobs,
    ]),
  );
}

function blobPath(digest: string): string {
  return `blobs/${digest.replace(':', '/')}`;
}

function blob(digest: string, content: Buffer): TarEntry {
  return { path: blobPath(digest), content, mode: 0o644 };
}

function sha256(bytes: Buffer): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}
