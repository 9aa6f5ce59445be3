import type { ArchiveImage } from '@machineadm/archives/images.ts';
import { arrayOf, objectOf } from '@machineadm/archives/json.ts';
import type { ImageArchive } from '@machineadm/document/model/index.ts';
import { secretsIn } from '@machineadm/document/secrets/secret-values.ts';
import { IMAGES_LEFT, imagesMissing } from '../../container-runtime/image-failures.ts';
import { isPresent, missingOf, nameByDigest, untilPresent } from '../../container-runtime/image-presence.ts';
import { imageSpace, imagesDirectory, whyImagesGo } from '../../container-runtime/image-space.ts';
import { CriError } from '../../host/cri/client.ts';
import type { CriImage } from '../../host/cri/queries.ts';
import type { Host, QueryHost } from '../../host/seam/host.ts';
import { runtimeSocket } from '../../kubernetes/runtime-socket.ts';
import { type FeatureStep, STAYS } from '../../step/feature-step.ts';
import type { Change, Execution, Explanation } from '../../step/index.ts';
import {
  type ArchiveNote,
  archiveChangeId,
  archiveName,
  archiveScope,
  type ImportSite,
  importArchive,
  inspectArchive,
  leftDownloads,
  requireArchives,
} from './import.ts';
import { snapshotterOf, unpackArguments } from './snapshotter.ts';

/** gRPC: nothing listens on the socket. */
const UNAVAILABLE = 14;

/**
 * The most memory of one import: ctr, containerd and our buffers, including a zstd window of 128 MiB. Half of the
 * available memory is left to other programs.
 */
const MEMORY_OF_AN_IMPORT = 256 * 1024 * 1024;
const IMPORTS_AT_MOST = 3;

export interface ImagesDesired extends ImportSite {
  readonly archives: readonly ImageArchive[];
  readonly required: readonly string[];
  /** An earlier step configures and starts the runtime. */
  readonly runtimeIsManaged: boolean;
  /** Where containerd keeps images. */
  readonly directory: string;
}

export interface ImagesActual {
  /** undefined = the runtime does not answer yet. */
  readonly present: readonly CriImage[] | undefined;
  /** In the order of the archives; undefined = the archive does not exist (now). */
  readonly contents: readonly (readonly ArchiveImage[] | undefined)[];
  /** Ids of imports that began and did not complete: their images may lack layers. */
  readonly interrupted: ReadonlySet<string>;
  /** Downloads of killed runs for another document. */
  readonly leftDownloads: readonly string[];
  readonly memoryBytes: number;
}

export type ImagesPayload =
  | {
      readonly kind: 'import';
      readonly archive: ImageArchive;
      readonly held: readonly ArchiveImage[] | undefined;
      /** Every archive that is imported in this run. */
      readonly together: readonly ImageArchive[];
      readonly desired: ImagesDesired;
    }
  | { readonly kind: 'remove'; readonly paths: readonly string[] }
  | { readonly kind: 'require'; readonly desired: ImagesDesired; readonly contents: ImagesActual['contents'] };

/**
 * Imports the archives of an air-gapped node into containerd before kubeadm pulls, several at a time, and proves over
 * CRI that the required images exist. An archive whose images all exist, with their names and ids, is skipped; unless
 * its import was interrupted, when names may exist before their layers.
 */
export const images: FeatureStep<ImagesDesired, ImagesActual, ImagesPayload> = {
  id: 'images',
  section: 'images',
  isRequested: STAYS,
  leaves: IMAGES_LEFT,
  programs: { needs: ['containerd'] },

  desired(model, facts) {
    const { archives, required } = model.images;
    if (archives.length === 0 && required.length === 0) return undefined;
    return {
      archives,
      required,
      socket: runtimeSocket(model, facts),
      directory: imagesDirectory(model),
      architecture: facts.architecture,
      unpackArguments: unpackArguments(snapshotterOf(model.containerd), facts.containerd),
      runtimeIsManaged: model.containerd !== undefined,
    };
  },

  async preflight(host, { archives }) {
    if (archives.length === 0 || (await host.which('ctr')) !== undefined) return [];
    const remedy = 'Install the complete containerd package: ctr, which is part of it, imports the archives.';
    return [{ reason: 'ContainerRuntimeMissing', what: 'ctr is not installed', remedy }];
  },

  secrets: ({ archives }) => secretsIn(archives),

  async inspect(host, desired, { notes, interrupted }) {
    const present = await presentImages(host, desired);
    const contents: (readonly ArchiveImage[] | undefined)[] = [];
    for (const archive of desired.archives) {
      const note = noteOf(notes.get(archiveChangeId(archive)));
      contents.push(await inspectArchive(host, archive, desired.architecture, note));
    }
    return {
      present,
      contents,
      interrupted,
      leftDownloads: await leftDownloads(host, desired.archives),
      memoryBytes: await availableMemory(host),
    };
  },

  plan(desired, { present, contents, interrupted, leftDownloads: left, memoryBytes }) {
    const changes: Change<ImagesPayload>[] = [];
    const unknown = present === undefined && desired.runtimeIsManaged ? { knownAfter: 'containerd' as const } : {};
    // Before others are downloaded: they may need the space.
    if (left.length > 0) {
      const summary = `remove ${left.join(', ')}: interrupted downloads that the document no longer names`;
      changes.push({
        id: 'images/downloads',
        summary,
        action: 'remove',
        scope: 'base',
        payload: { kind: 'remove', paths: left },
      });
    }
    const isThere = (archive: ImageArchive, index: number): boolean =>
      !interrupted.has(archiveChangeId(archive)) &&
      contents[index]?.every((image) => isPresent(present ?? [], image)) === true;
    const together = desired.archives.filter((archive, index) => !isThere(archive, index));
    desired.archives.forEach((archive, index) => {
      const id = archiveChangeId(archive);
      const held = contents[index];
      if (isThere(archive, index)) return;
      const what = held === undefined ? 'the images' : held.map((image) => image.name ?? image.id).join(', ');
      const absent = held === undefined && archive.kind === 'file' ? ' (not there yet)' : '';
      changes.push({
        id,
        summary: `import ${what} from ${archiveName(archive)}${absent}`,
        action: 'add',
        scope: archiveScope(archive),
        // Can be repeated; but an interrupted run must be known.
        repeatable: false,
        concurrently: importsAtATime(memoryBytes),
        ineffective: 'ImageMissing',
        payload: { kind: 'import', archive, held, together, desired },
        ...unknown,
      });
    });
    const missing = missingOf(desired.required, present ?? []);
    if (missing.length > 0) {
      changes.push({
        id: 'images/required',
        summary: `check that ${missing.join(', ')} ${missing.length === 1 ? 'is' : 'are'} present`,
        action: 'run',
        scope: 'base',
        ineffective: 'ImageMissing',
        payload: { kind: 'require', desired, contents },
        ...unknown,
      });
    }
    return changes;
  },

  whyNotEffective: whyGone,

  async apply(host, { payload }, execution) {
    if (payload.kind === 'require') return await requireImages(host, payload.desired, payload.contents, execution);
    if (payload.kind === 'remove') {
      for (const path of payload.paths) await host.removeFile(path);
      return;
    }
    const { archive, held, together, desired } = payload;
    await requireArchives(host, together);
    execution.remember(await importArchive(host, archive, desired, held, execution));
  },
};

/** Images that were there and are gone: the kubelet removes those that no container uses when the disk is nearly full. */
async function whyGone(host: QueryHost, { directory }: ImagesDesired): Promise<Explanation | undefined> {
  const space = await imageSpace(host, directory);
  const why = space === undefined ? undefined : whyImagesGo(space);
  if (why === undefined) return undefined;
  return {
    summary: `images were imported and are gone again: ${why}`,
    remedy: `Free space on the file system of ${directory} or enlarge it, or raise imageGCHighThresholdPercent in kubernetes.node.kubelet.config; then run again.`,
    evidence: [{ source: `file system of ${directory}`, text: why }],
    retryable: true,
  };
}

/** How many archives are imported at a time with this much available memory. */
export function importsAtATime(memoryBytes: number): number {
  const affordable = Math.floor(memoryBytes / 2 / MEMORY_OF_AN_IMPORT);
  return Math.min(IMPORTS_AT_MOST, Math.max(1, affordable));
}

/** `MemAvailable` of proc_meminfo(5), in bytes; 0 if it is missing. */
async function availableMemory(host: QueryHost): Promise<number> {
  const text = (await host.readText('/proc/meminfo')) ?? '';
  return Number(/^MemAvailable:\s+(\d+) kB$/m.exec(text)?.[1] ?? 0) * 1024;
}

async function presentImages(host: QueryHost, desired: ImagesDesired): Promise<readonly CriImage[] | undefined> {
  try {
    return await host.cri(desired.socket).images();
  } catch (error) {
    // Before the containerd step there may be no daemon; without that step its absence is an error.
    if (error instanceof CriError && error.code === UNAVAILABLE && desired.runtimeIsManaged) return undefined;
    throw error;
  }
}

async function requireImages(
  host: Host,
  desired: ImagesDesired,
  contents: ImagesActual['contents'],
  execution: Execution,
): Promise<void> {
  const { archives, required } = desired;
  const present = await host.cri(desired.socket).images();
  await nameByDigest(host, desired, missingOf(required, present), execution);
  const isEnough = (now: readonly CriImage[]) => missingOf(required, now).length === 0;
  // Nothing was imported: no images will appear.
  const withinMs = archives.length === 0 ? 0 : undefined;
  const missing = missingOf(required, await untilPresent(host, desired, execution, isEnough, withinMs));
  if (missing.length === 0) return;
  const held = archives.flatMap((archive, index) =>
    (contents[index] ?? []).map(({ name, id }) => ({ source: archiveName(archive), text: `holds ${name ?? id}` })),
  );
  throw imagesMissing(
    'required images are not present',
    missing,
    held,
    'Add an archive that holds them to images.archives, or correct images.required.',
  );
}

function noteOf(note: unknown): ArchiveNote | undefined {
  const { fingerprint, images: list } = objectOf(note);
  if (typeof fingerprint !== 'string') return undefined;
  const held = arrayOf(list).map((item) => {
    const { name, id } = objectOf(item);
    return { name: typeof name === 'string' ? name : undefined, id: typeof id === 'string' ? id : undefined };
  });
  return held.length === 0 ? undefined : { fingerprint, images: held };
}
