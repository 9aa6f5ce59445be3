import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { scalar } from '@machineadm/document/values/untyped.ts';
import { fullReference } from './image-reference.ts';
import { arrayOf, objectOf, stringsOf } from './json.ts';
import type { Member } from './member.ts';
import { type ByteSource, joined } from './stored-bytes.ts';
import { tarMembers } from './tar.ts';

/** An image in an archive. containerd names an image without a name itself (`import-DATE:tag`). */
export interface ArchiveImage {
  /** Full reference. */
  readonly name: string | undefined;
  /** Digest of the configuration, which is the image id in CRI; undefined where the archive does not contain it. */
  readonly id: string | undefined;
}

/** Manifests, indexes and configurations are small; layers are not kept. */
const LARGEST_DOCUMENT = 256 * 1024;
/** The limit of everything kept: some thousand images. */
const LARGEST_TOTAL = 16 * 1024 * 1024;
const DEEPEST_INDEX = 3;

/** The content read from an archive. */
interface Contents {
  /** By name; JSON files that may describe an image. */
  readonly documents: ReadonlyMap<string, unknown>;
  readonly blobs: ReadonlySet<string>;
}

/** An image before it is known whether this machine can run it. */
interface Candidate {
  readonly name: string | undefined;
  readonly id: string | undefined;
  /** `linux/arm64`: a different platform; undefined where it matches or is not stated. */
  readonly foreign?: string;
}

/**
 * The images that containerd would import from an archive, without importing. If an archive is both an OCI layout and a
 * Docker archive, the layout takes precedence, as in containerd's own importer (core/images/archive/importer.go,
 * ImportIndex). `architecture` is Go's name (amd64) and selects from an image of several platforms; `path` is for messages. The source is
 * disposed.
 * Throws `RangeError` for a file that is not a complete archive of images, and `ImagePlatformMismatch` where an image
 * is for other machines.
 */
export async function archiveImages(
  source: ByteSource,
  path: string,
  architecture: string,
): Promise<readonly ArchiveImage[]> {
  const contents = await read(source);
  const candidates = contents.documents.has('oci-layout')
    ? ociImages(contents, architecture)
    : dockerImages(contents, architecture);
  const usable = candidates.filter((image) => image.name !== undefined || image.id !== undefined);
  if (usable.length === 0) throw new RangeError('it contains no image with a name (manifest.json, index.json)');
  const foreign = candidates.filter((image) => image.foreign !== undefined);
  if (foreign.length > 0) throw platformMismatch(path, foreign, architecture);
  return usable.map(({ name, id }) => ({ name, id }));
}

async function read(archive: ByteSource): Promise<Contents> {
  const documents = new Map<string, unknown>();
  const blobs = new Set<string>();
  let total = 0;
  await using source = archive;
  for await (const member of tarMembers(source)) {
    if (member.type !== 'file') continue;
    const entry = { ...member, name: member.name.replace(/^(\.?\/)+/, '') };
    const isNamed = ['manifest.json', 'index.json', 'oci-layout'].includes(entry.name);
    const isBlob = entry.name.startsWith('blobs/');
    if (isBlob) blobs.add(entry.name);
    // `docker save` before 25 has its configurations at the top: <hex>.json.
    const isSmall = entry.size <= LARGEST_DOCUMENT && (isBlob || /^[0-9a-f]{64}\.json$/.test(entry.name));
    if (isNamed && entry.size > LARGEST_TOTAL) throw new RangeError('its manifests are too large');
    if (!isNamed && !isSmall) continue;
    const parsed = await parseDocument(entry);
    if (parsed === undefined) {
      if (isNamed) throw new RangeError(`its ${entry.name} is not JSON`);
      continue;
    }
    total += entry.size;
    if (total > LARGEST_TOTAL) throw new RangeError('its manifests are too large');
    documents.set(entry.name, parsed);
  }
  return { documents, blobs };
}

async function parseDocument(entry: Member): Promise<unknown> {
  const text = new TextDecoder().decode(await joined(entry.content()));
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** `docker save`: [{Config: "<hex>.json" | "blobs/sha256/<hex>", RepoTags: [...] | null}] (moby image spec v1.2). */
function dockerImages({ documents }: Contents, architecture: string): readonly Candidate[] {
  return arrayOf(documents.get('manifest.json')).flatMap((entry) => {
    const { Config, RepoTags } = objectOf(entry);
    if (typeof Config !== 'string') return [];
    const hex = /([0-9a-f]{64})(\.json)?$/.exec(Config)?.[1];
    const id = hex === undefined ? undefined : `sha256:${hex}`;
    const platform = foreignPlatform(documents.get(Config), architecture);
    // Without a tag containerd creates no image from it.
    return stringsOf(RepoTags).map((tag) => ({ name: fullReference(tag), id, ...platform }));
  });
}

/** OCI image layout: index.json names manifests. */
function ociImages(contents: Contents, architecture: string): readonly Candidate[] {
  return arrayOf(objectOf(contents.documents.get('index.json')).manifests).map((descriptor) => {
    return {
      name: nameOf(objectOf(objectOf(descriptor).annotations)),
      ...imageOf(contents, descriptor, architecture, DEEPEST_INDEX),
    };
  });
}

/**
 * containerd's name for an image: its own annotation, or that of the OCI image specification where it is a full
 * reference, as podman and skopeo write it. A tag alone gets the prefix `import-DATE:`
 * (core/images/archive/reference.go).
 */
function nameOf(annotations: Readonly<Record<string, unknown>>): string | undefined {
  const own = annotations['io.containerd.image.name'];
  if (typeof own === 'string') return fullReference(own);
  const common = annotations['org.opencontainers.image.ref.name'];
  return typeof common === 'string' && fullReference(common) === common ? common : undefined;
}

/** The image of a descriptor of a manifest or an index. Throws `RangeError` where a part of it is missing. */
function imageOf(
  contents: Contents,
  descriptor: unknown,
  architecture: string,
  depth: number,
): Omit<Candidate, 'name'> {
  const path = blobPath(descriptor);
  if (path === undefined || depth === 0) return { id: undefined };
  requireBlob(contents, path);
  const { config, layers, manifests } = objectOf(contents.documents.get(path));
  const configPath = blobPath(config);
  if (configPath !== undefined) {
    for (const part of [config, ...arrayOf(layers)].filter((one) => !isElsewhere(one))) {
      requireBlob(contents, blobPath(part) ?? '');
    }
    const { digest } = objectOf(config);
    return {
      id: typeof digest === 'string' ? digest : undefined,
      ...foreignPlatform(contents.documents.get(configPath), architecture),
    };
  }
  return ofIndex(contents, arrayOf(manifests), architecture, depth);
}

/**
 * An index that was exported for one platform still lists all of them, without their manifests
 * (kubernetes/kubeadm#3265): existing ones count.
 */
function ofIndex(
  contents: Contents,
  manifests: readonly unknown[],
  architecture: string,
  depth: number,
): Omit<Candidate, 'name'> {
  const platforms = manifests.map((descriptor) => ({
    descriptor,
    platform: platformOf(objectOf(descriptor).platform),
  }));
  const suitable = platforms.filter(({ platform }) => platform === undefined || suits(platform, architecture));
  const here = suitable.filter(({ descriptor }) => contents.blobs.has(blobPath(descriptor) ?? ''));
  const [only, ...others] = here;
  if (only === undefined) {
    const held = platforms.filter(({ descriptor }) => contents.blobs.has(blobPath(descriptor) ?? ''));
    const names = held.flatMap(({ platform }) => (platform === undefined ? [] : [platform]));
    if (suitable.length > 0 && names.length === 0) throw incomplete(blobPath(suitable[0]?.descriptor) ?? '');
    return { id: undefined, foreign: names.filter((name) => !name.startsWith('unknown/')).join(', ') };
  }
  // Several variants of one architecture: the runtime chooses.
  return others.length > 0 ? { id: undefined } : imageOf(contents, only.descriptor, architecture, depth - 1);
}

function foreignPlatform(config: unknown, architecture: string): { readonly foreign?: string } {
  const platform = platformOf(config);
  return platform === undefined || suits(platform, architecture) ? {} : { foreign: platform };
}

/** `linux/arm64`; undefined where it is not stated. */
function platformOf(value: unknown): string | undefined {
  const { os, architecture } = objectOf(value);
  if (typeof architecture !== 'string' || architecture === '') return undefined;
  return `${typeof os === 'string' && os !== '' ? os : 'linux'}/${architecture}`;
}

function suits(platform: string, architecture: string): boolean {
  return platform === `linux/${architecture}`;
}

function blobPath(descriptor: unknown): string | undefined {
  const { digest } = objectOf(descriptor);
  return typeof digest === 'string' ? `blobs/${digest.replace(':', '/')}` : undefined;
}

/** Layers that may not be distributed are referenced by URL (OCI image specification, layer.md). */
function isElsewhere(descriptor: unknown): boolean {
  return /nondistributable|foreign/.test(scalar(objectOf(descriptor).mediaType) ?? '');
}

function requireBlob({ blobs }: Contents, path: string): void {
  if (!blobs.has(path)) throw incomplete(path);
}

function incomplete(path: string): RangeError {
  return new RangeError(`it names ${path} and does not contain it: it is truncated, or was exported incompletely`);
}

function platformMismatch(path: string, images: readonly Candidate[], architecture: string): MachineadmError {
  const names = [...new Set(images.map(({ name, id }) => name ?? id ?? 'an image without a name'))];
  const platforms = [...new Set(images.map(({ foreign }) => foreign))].join(', ');
  return new MachineadmError({
    reason: 'ImagePlatformMismatch',
    summary: `the image archive ${path} is for ${platforms}, and this machine is linux/${architecture}`,
    remedy: `Export the images for this machine (such as "ctr images export --platform linux/${architecture}", "docker pull --platform linux/${architecture}"), or for all platforms.`,
    evidence: names.map((name) => ({ source: path, text: `holds ${name} for ${platforms}` })),
    exit: 'HostStepFailed',
  });
}
