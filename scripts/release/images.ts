import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import * as z from 'zod';

import { IMAGE_ARCHIVE, IMAGE_PROGRAM } from '../image.ts';
import { TRANSLATOR_ARCHIVE } from '../translator/image.ts';
import { digestOf, type ReleaseArtefact } from './archives.ts';
import type { ReleasePackage } from './packages.ts';

const Descriptor = z.object({ digest: z.string().regex(/^sha256:[0-9a-f]{64}$/) });
const Layout = z.object({
  manifests: z.tuple([Descriptor.extend({ annotations: z.object({ 'io.containerd.image.name': z.string() }) })]),
});
const Index = z.object({
  annotations: z.object({
    'org.opencontainers.image.version': z.string(),
    'org.opencontainers.image.revision': z.string(),
  }),
  manifests: z.array(
    Descriptor.extend({ platform: z.object({ os: z.literal('linux'), architecture: z.enum(['amd64', 'arm64']) }) }),
  ),
});
const Manifest = z.object({ layers: z.tuple([Descriptor]) });

/** The images that a release may have, and how each is built. */
const IMAGES = [
  { file: IMAGE_ARCHIVE, command: 'npm run image -- --all', hasAgent: true },
  { file: TRANSLATOR_ARCHIVE, command: 'npm run translator -- --all', hasAgent: false },
] as const;

/**
 * Copies the container images for all architectures that were built, and describes each as a package
 * of each platform that it is for: an agent that knows no images skips it for other platforms, and takes it by its size,
 * which is above what it takes of files that the manifest does not name. Throws for an image of other programs, of
 * another version or another commit than the release.
 */
export async function copyImages(
  from: string,
  to: string,
  release: { readonly version: string; readonly commit: string },
  artefacts: readonly ReleaseArtefact[],
): Promise<readonly ReleasePackage[]> {
  const copied: ReleasePackage[] = [];
  for (const image of IMAGES) copied.push(...(await copyImage(from, to, release, artefacts, image)));
  return copied;
}

async function copyImage(
  from: string,
  to: string,
  { version, commit }: { readonly version: string; readonly commit: string },
  artefacts: readonly ReleaseArtefact[],
  image: (typeof IMAGES)[number],
): Promise<readonly ReleasePackage[]> {
  const archive = join(from, image.file);
  if (!existsSync(archive)) return [];
  const refuse = (why: string) => new Error(`${archive} ${why}: build it again with ${image.command}`);
  const { name, digest, annotations, manifests } = layoutOf(archive);
  const built = annotations['org.opencontainers.image.version'];
  if (built !== version) throw refuse(`is of version ${built}, not ${version}`);
  const revision = annotations['org.opencontainers.image.revision'];
  if (revision !== commit) throw refuse(`was built from the commit ${revision}, not ${commit}`);
  for (const { platform, digest: manifest } of image.hasAgent ? manifests : []) {
    const { os, architecture } = platform;
    const program = artefacts.find((one) => one.os === os && one.architecture === architecture)?.program.sha256;
    if (program !== programOf(archive, manifest)) throw refuse(`has another program for ${os}-${architecture}`);
  }
  const file = image.file.replace(/^machineadm-/, `machineadm-${version}-`);
  const path = join(to, file);
  await copyFile(archive, path);
  const described = { size: (await stat(path)).size, sha256: await digestOf(path) };
  return manifests.map(({ platform }) => ({ file, format: 'oci', ...platform, ...described, image: { name, digest } }));
}

/** The images of a release, each once, with its platforms. */
export function imagesOf(packages: readonly ReleasePackage[]) {
  const files = new Set(packages.filter(({ image }) => image !== undefined).map(({ file }) => file));
  return [...files].flatMap((file) => {
    const entries = packages.filter((one) => one.file === file);
    const image = entries[0]?.image;
    return image === undefined
      ? []
      : [{ file, ...image, platforms: entries.map((one) => `${one.os}/${one.architecture}`) }];
  });
}

/** What the notes of a release say of its images: the name and digest that a pod pins. */
export function imageNotes(packages: readonly ReleasePackage[]): string {
  const lines = imagesOf(packages).map(
    ({ file, name, digest, platforms }) => `- \`${file}\`: \`${name}@${digest}\`, for ${platforms.join(' and ')}\n`,
  );
  return lines.length === 0 ? '' : `\n### Container image\n\n${lines.join('')}`;
}

/** The index of the archive's only image, with its name and digest. */
function layoutOf(archive: string) {
  const [image] = parsed(Layout, member(archive, 'index.json'), archive).manifests;
  const index = parsed(Index, blob(archive, image.digest), archive);
  return { ...index, name: image.annotations['io.containerd.image.name'], digest: image.digest };
}

/** SHA-256 of the program in the image of one platform. */
function programOf(archive: string, manifest: string): string {
  const [layer] = parsed(Manifest, blob(archive, manifest), archive).layers;
  return sha256(member('-', IMAGE_PROGRAM, gunzipSync(blob(archive, layer.digest))));
}

function parsed<Value>(schema: z.ZodType<Value>, bytes: Buffer, archive: string): Value {
  const { success, data } = schema.safeParse(JSON.parse(bytes.toString()));
  if (success) return data;
  throw new Error(`${archive} is not an image of several architectures, as npm run image -- --all builds it`);
}

function blob(archive: string, digest: string): Buffer {
  const hex = digest.slice('sha256:'.length);
  const content = member(archive, `blobs/sha256/${hex}`);
  if (sha256(content) !== hex) throw new Error(`${archive} is damaged: blobs/sha256/${hex} has another digest`);
  return content;
}

/** A file of a tar archive; `-` is the archive in `input`. */
function member(archive: string, path: string, input?: Buffer): Buffer {
  return execFileSync('tar', ['--extract', '--to-stdout', '--file', archive, path], {
    maxBuffer: 1024 ** 3,
    ...(input === undefined ? {} : { input }),
  });
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
