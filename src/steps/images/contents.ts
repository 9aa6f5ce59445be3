import type { QueryHost } from '../../host/host.ts';
import { type ArchiveFile, tarSource } from './archive.ts';
import { fullReference } from './references.ts';
import { type TarEntry, tarEntries } from './tar.ts';

/** An image in an archive. One without a name gets one from containerd (`import-DATE:tag`). */
export interface ArchiveImage {
  /** Full reference. */
  readonly name: string | undefined;
  /** Digest of the configuration, which is the image id of CRI; undefined where the archive does not tell. */
  readonly id: string | undefined;
}

/** Manifests and indexes are small; layers are not kept. */
const LARGEST_DOCUMENT = 256 * 1024;
const LARGEST_TOTAL = 16 * 1024 * 1024;
const DEEPEST_INDEX = 3;

/**
 * The images that containerd would import from an archive, read without importing. An OCI layout goes before a Docker
 * manifest where an archive is both, as in containerd's own importer (core/images/archive/importer.go, ImportIndex).
 * `architecture` is Go's name (amd64) and picks from an image of several platforms. Throws `RangeError` for what is
 * not an archive of images.
 */
export async function archiveImages(
  host: QueryHost,
  file: ArchiveFile,
  architecture: string,
): Promise<readonly ArchiveImage[]> {
  const documents = await readDocuments(host, file);
  const images = documents.has('oci-layout')
    ? ociImages(documents, architecture)
    : dockerImages(documents.get('manifest.json'));
  const usable = images.filter((image) => image.name !== undefined || image.id !== undefined);
  if (usable.length === 0) throw new RangeError('it holds no image with a name (manifest.json, index.json)');
  return usable;
}

async function readDocuments(host: QueryHost, file: ArchiveFile): Promise<ReadonlyMap<string, unknown>> {
  const documents = new Map<string, unknown>();
  let total = 0;
  await using source = tarSource(host, file);
  for await (const entry of tarEntries(source)) {
    const isNamed = ['manifest.json', 'index.json', 'oci-layout'].includes(entry.name);
    const isBlob = entry.name.startsWith('blobs/') && entry.size <= LARGEST_DOCUMENT;
    if (!isNamed && !isBlob) continue;
    total += entry.size;
    if (total > LARGEST_TOTAL) throw new RangeError('its manifests are too large');
    const parsed = await parseDocument(entry);
    if (parsed !== undefined) documents.set(entry.name, parsed);
    else if (isNamed) throw new RangeError(`its ${entry.name} is not JSON`);
  }
  return documents;
}

async function parseDocument(entry: TarEntry): Promise<unknown> {
  const text = new TextDecoder().decode(await entry.read());
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** `docker save`: [{Config: "<hex>.json" | "blobs/sha256/<hex>", RepoTags: [...] | null}] (moby image spec v1.2). */
function dockerImages(manifest: unknown): readonly ArchiveImage[] {
  return arrayOf(manifest).flatMap((entry) => {
    const { Config, RepoTags } = objectOf(entry);
    const hex = typeof Config === 'string' ? /([0-9a-f]{64})(\.json)?$/.exec(Config)?.[1] : undefined;
    const id = hex === undefined ? undefined : `sha256:${hex}`;
    // Without a tag containerd makes no image of it.
    return stringsOf(RepoTags).map((tag) => ({ name: fullReference(tag), id }));
  });
}

/** OCI image layout: index.json names manifests, `io.containerd.image.name` is what containerd calls them. */
function ociImages(documents: ReadonlyMap<string, unknown>, architecture: string): readonly ArchiveImage[] {
  return arrayOf(objectOf(documents.get('index.json')).manifests).map((descriptor) => {
    const name = objectOf(objectOf(descriptor).annotations)['io.containerd.image.name'];
    return {
      name: typeof name === 'string' ? fullReference(name) : undefined,
      id: imageId(documents, descriptor, architecture, DEEPEST_INDEX),
    };
  });
}

function imageId(
  documents: ReadonlyMap<string, unknown>,
  descriptor: unknown,
  architecture: string,
  depth: number,
): string | undefined {
  const { digest } = objectOf(descriptor);
  if (typeof digest !== 'string' || depth === 0) return undefined;
  const { config, manifests } = objectOf(documents.get(`blobs/${digest.replace(':', '/')}`));
  const configDigest = objectOf(config).digest;
  if (typeof configDigest === 'string') return configDigest;
  const candidates = arrayOf(manifests);
  const matching = candidates.filter((candidate) => {
    const platform = objectOf(objectOf(candidate).platform);
    return platform.os === 'linux' && platform.architecture === architecture;
  });
  // Several variants of one architecture: which one the runtime takes is its own business.
  const [only, ...others] = matching.length > 0 ? matching : candidates;
  return only === undefined || others.length > 0 ? undefined : imageId(documents, only, architecture, depth - 1);
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value)) : {};
}

function arrayOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function stringsOf(value: unknown): readonly string[] {
  return arrayOf(value).filter((item) => typeof item === 'string');
}
