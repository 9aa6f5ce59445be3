import { setTimeout as sleep } from 'node:timers/promises';
import { MachineadmError } from '../document/errors.ts';
import type { ImageArchive } from '../document/model.ts';
import type { CriImage } from '../host/cri.ts';
import { CriError } from '../host/cri-client.ts';
import type { CommandResult, Host, QueryHost } from '../host/host.ts';
import { criSocketOf } from './containerd/configuration.ts';
import { type ArchiveFile, fingerprint, openArchive, tarStream } from './images/archive.ts';
import { type ArchiveImage, archiveImages } from './images/contents.ts';
import { checkDigest, explaining, importFailed, messageOf, unreadable } from './images/failures.ts';
import { findImage } from './images/references.ts';
import type { Change, Execution, Step, StepRecord } from './step.ts';

/** Images come into the CRI store by an event after the import ended (containerd internal/cri/server/events.go). */
const VISIBLE_WITHIN_MS = 10_000;
const POLL_MS = 100;

/** gRPC: nobody listens on the socket. */
const UNAVAILABLE = 14;

export interface ImagesDesired {
  readonly archives: readonly ImageArchive[];
  readonly required: readonly string[];
  readonly socket: string;
  readonly architecture: string;
  /** An earlier step configures and starts the runtime. */
  readonly runtimeIsManaged: boolean;
}

export interface ImagesActual {
  /** undefined = no runtime answers yet. */
  readonly present: readonly CriImage[] | undefined;
  /** By path; undefined = the file is not there (now). */
  readonly contents: ReadonlyMap<string, readonly ArchiveImage[] | undefined>;
}

export type ImagesPayload =
  | { readonly kind: 'import'; readonly archive: ImageArchive; readonly desired: ImagesDesired }
  | { readonly kind: 'require'; readonly desired: ImagesDesired; readonly contents: ImagesActual['contents'] };

/**
 * Brings the archives of an air-gapped node into containerd before kubeadm wants to pull, and proves over CRI that what
 * the document requires is there. An archive whose images are all present, under their names and with their ids, is
 * left alone.
 */
export const images: Step<ImagesDesired, ImagesActual, ImagesPayload> = {
  id: 'images',
  title: 'container images',

  desired(model, facts) {
    const { archives, required } = model.images;
    if (archives.length === 0 && required.length === 0) return undefined;
    return {
      archives,
      required,
      socket: criSocketOf(model),
      architecture: facts.architecture,
      runtimeIsManaged: model.containerd !== undefined,
    };
  },

  async preflight(host, { archives }) {
    if (archives.length === 0 || (await host.which('ctr')) !== undefined) return [];
    const remedy = 'Install the complete containerd package: ctr, which is part of it, imports the archives.';
    return [{ reason: 'ContainerRuntimeMissing', what: 'ctr', remedy }];
  },

  async inspect(host, desired, record) {
    const present = await presentImages(host, desired);
    const contents = new Map<string, readonly ArchiveImage[] | undefined>();
    for (const archive of desired.archives) {
      contents.set(archive.path, await contentsOf(host, archive, desired.architecture, record));
    }
    return { present, contents };
  },

  plan(desired, { present, contents }) {
    const changes: Change<ImagesPayload>[] = [];
    const unknown = present === undefined && desired.runtimeIsManaged ? { knownAfter: 'containerd' } : {};
    for (const archive of desired.archives) {
      const held = contents.get(archive.path);
      if (held?.every((image) => isPresent(present ?? [], image))) continue;
      const what = held === undefined ? 'the images' : held.map((image) => image.name ?? image.id).join(', ');
      changes.push({
        id: changeId(archive.path),
        summary: `import ${what} from ${archive.path}${held === undefined ? ' (not there yet)' : ''}`,
        scope: 'base',
        ineffective: 'ImageMissing',
        payload: { kind: 'import', archive, desired },
        ...unknown,
      });
    }
    const missing = missingOf(desired.required, present ?? []);
    if (missing.length > 0) {
      changes.push({
        id: 'images/required',
        summary: `check that ${missing.join(', ')} ${missing.length === 1 ? 'is' : 'are'} present`,
        scope: 'base',
        ineffective: 'ImageMissing',
        payload: { kind: 'require', desired, contents },
        ...unknown,
      });
    }
    return changes;
  },

  apply(host, change, execution) {
    const { payload } = change;
    return payload.kind === 'import'
      ? importArchive(host, payload.archive, payload.desired, execution)
      : requireImages(host, payload.desired, payload.contents, execution);
  },
};

function changeId(path: string): string {
  return path.startsWith('/') ? `images${path}` : `images/${path}`;
}

async function presentImages(host: QueryHost, desired: ImagesDesired): Promise<readonly CriImage[] | undefined> {
  try {
    return await host.cri(desired.socket).images();
  } catch (error) {
    // Before the containerd step ran there may be no daemon; without such a step its absence is an error.
    if (error instanceof CriError && error.code === UNAVAILABLE && desired.runtimeIsManaged) return undefined;
    throw error;
  }
}

/** What an archive holds; of a compressed one, what was found when it was imported, as long as it is the same file. */
async function contentsOf(
  host: QueryHost,
  archive: ImageArchive,
  architecture: string,
  record: Pick<StepRecord, 'notes'>,
): Promise<readonly ArchiveImage[] | undefined> {
  const note = noteOf(record.notes.get(changeId(archive.path)));
  return explaining(host, archive, async () => {
    const file = await openArchive(host, archive.path);
    // An archive may be removed to free its space once its images are in.
    if (file === undefined) return note?.images;
    const isSame = file.compression !== 'none' && note?.fingerprint === (await fingerprint(host, file));
    return isSame ? note.images : archiveImages(host, file, architecture);
  });
}

async function importArchive(
  host: Host,
  archive: ImageArchive,
  desired: ImagesDesired,
  execution: Execution,
): Promise<void> {
  const { path, sha256 } = archive;
  const file = await explaining(host, archive, () => openArchive(host, path));
  if (file === undefined) throw unreadable(path, 'the file does not exist');
  if (sha256 !== undefined) await checkDigest(host, path, sha256);
  const held = await explaining(host, archive, () => archiveImages(host, file, desired.architecture));
  // Says more clearly than ctr that nobody listens.
  await host.cri(desired.socket).version();
  execution.waitingFor(`the import of ${path}`);
  try {
    await runImport(host, file, desired, execution);
    await untilPresent(host, desired, execution, (present) => held.every((image) => isPresent(present, image)));
  } finally {
    execution.waitingFor(undefined);
  }
  execution.remember({ fingerprint: await fingerprint(host, file), images: held });
}

async function runImport(host: Host, file: ArchiveFile, desired: ImagesDesired, execution: Execution): Promise<void> {
  // An error of the source ends ctr, too, which then says something else.
  let broken: unknown;
  async function* input(): AsyncGenerator<Uint8Array> {
    try {
      yield* tarStream(host, file);
    } catch (error) {
      broken = error;
      throw error;
    }
  }
  let result: CommandResult | undefined;
  try {
    result = await host.run({
      program: 'ctr',
      args: ['--address', desired.socket.replace(/^unix:\/\//, ''), '-n', 'k8s.io', 'images', 'import', '-'],
      input: input(),
      signal: execution.signal,
      onLine: (_stream, line) => execution.output('ctr', line),
    });
  } catch (error) {
    if (broken === undefined || execution.signal.aborted) throw error;
  }
  if (broken !== undefined) throw unreadable(file.path, messageOf(broken), broken);
  if (result !== undefined && result.status !== 0) throw importFailed(file.path, result);
}

async function requireImages(
  host: Host,
  desired: ImagesDesired,
  contents: ImagesActual['contents'],
  execution: Execution,
): Promise<void> {
  const present = await untilPresent(
    host,
    desired,
    execution,
    (now) => missingOf(desired.required, now).length === 0,
    // Nothing was imported: nothing will come.
    desired.archives.length === 0 ? 0 : VISIBLE_WITHIN_MS,
  );
  const missing = missingOf(desired.required, present);
  if (missing.length === 0) return;
  const held = [...contents].flatMap(([path, list]) =>
    (list ?? []).map((image) => ({ source: path, text: `holds ${image.name ?? image.id}` })),
  );
  throw new MachineadmError({
    reason: 'ImageMissing',
    summary: `required images are not present: ${missing.join(', ')}`,
    remedy:
      'Add an archive that holds them to images.archives, or correct images.required; names must agree to the letter, registry and tag included (`ctr -n k8s.io images ls` shows what is there).',
    evidence: held,
  });
}

/** Waits for what an import brings; returns what is there in the end, whether that satisfies or not. */
async function untilPresent(
  host: QueryHost,
  desired: ImagesDesired,
  execution: Execution,
  isEnough: (present: readonly CriImage[]) => boolean,
  withinMs: number = VISIBLE_WITHIN_MS,
): Promise<readonly CriImage[]> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const present = await host.cri(desired.socket).images();
    if (isEnough(present) || performance.now() >= deadline) return present;
    execution.signal.throwIfAborted();
    await sleep(POLL_MS);
  }
}

function isPresent(present: readonly CriImage[], image: ArchiveImage): boolean {
  if (image.name === undefined) return image.id !== undefined && present.some((other) => other.id === image.id);
  const found = findImage(present, image.name);
  return found !== undefined && (image.id === undefined || found.id === image.id);
}

function missingOf(required: readonly string[], present: readonly CriImage[]): readonly string[] {
  return required.filter((reference) => findImage(present, reference) === undefined);
}

function noteOf(note: unknown): { readonly fingerprint: string; readonly images: readonly ArchiveImage[] } | undefined {
  if (typeof note !== 'object' || note === null || !('fingerprint' in note) || !('images' in note)) return undefined;
  const { fingerprint: mark, images: list } = note;
  if (typeof mark !== 'string' || !Array.isArray(list)) return undefined;
  const held = list.map((item: unknown) => {
    const { name, id } = typeof item === 'object' && item !== null ? { name: undefined, id: undefined, ...item } : {};
    return { name: typeof name === 'string' ? name : undefined, id: typeof id === 'string' ? id : undefined };
  });
  return held.length === 0 ? undefined : { fingerprint: mark, images: held };
}
