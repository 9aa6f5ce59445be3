import { setTimeout as sleep } from 'node:timers/promises';
import { fullReference } from '@machineadm/archives/image-reference.ts';
import type { ArchiveImage } from '@machineadm/archives/images.ts';
import type { CriImage } from '../host/cri/queries.ts';
import type { Host, QueryHost } from '../host/seam/host.ts';
import type { Execution } from '../step/index.ts';

/** Images appear in the CRI store by an event after the import ended (containerd internal/cri/server/events.go). */
const VISIBLE_WITHIN_MS = 10_000;
const POLL_MS = 100;

/** Where and how to look for images. */
export interface ImageStore {
  /** Of CRI, with or without `unix://`. */
  readonly socket: string;
}

/** The runtime's image for a reference in any form. */
export function findImage(images: readonly CriImage[], reference: string): CriImage | undefined {
  const full = fullReference(reference);
  return images.find(
    (image) => image.id === full || [...image.tags, ...image.digests].some((name) => fullReference(name) === full),
  );
}

/** True where the runtime has exactly this image of an archive under its name: a tag may have moved. */
export function isPresent(present: readonly CriImage[], image: ArchiveImage): boolean {
  if (image.name === undefined) return image.id !== undefined && present.some((other) => other.id === image.id);
  const found = findImage(present, image.name);
  return found !== undefined && (image.id === undefined || found.id === image.id);
}

/** The images of `required` that the runtime does not have, in the same order. */
export function missingOf(required: readonly string[], present: readonly CriImage[]): readonly string[] {
  return required.filter((reference) => findImage(present, reference) === undefined);
}

/** Waits for the images of an import; returns the final list, complete or not. */
export async function untilPresent(
  host: QueryHost,
  store: ImageStore,
  execution: Pick<Execution, 'signal'>,
  isEnough: (present: readonly CriImage[]) => boolean,
  withinMs: number = VISIBLE_WITHIN_MS,
): Promise<readonly CriImage[]> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const present = await host.cri(store.socket).images();
    if (isEnough(present) || performance.now() >= deadline) return present;
    execution.signal.throwIfAborted();
    await sleep(POLL_MS);
  }
}

/** The arguments of ctr before its command. */
export function ctrArguments({ socket }: ImageStore): readonly string[] {
  return ['--address', socket.replace(/^unix:\/\//, ''), '-n', 'k8s.io'];
}

/**
 * Adds the name by digest to images that exist under a tag, where `references` use that digest: the kubelet requests
 * `name@sha256:…`, and an archive that was exported by tag contains only the tag (kubernetes/kubernetes#124286).
 * containerd identifies content by its digest, so the name is true. Images that it does not have stay missing; a
 * failure of ctr is reported, and the image is then missing.
 */
export async function nameByDigest(
  host: Host,
  store: ImageStore,
  references: readonly string[],
  execution: Execution,
): Promise<void> {
  const wanted = new Set(references.map(fullReference).filter((reference) => reference.includes('@sha256:')));
  if (wanted.size === 0) return;
  const targets = await imageTargets(host, store);
  for (const reference of wanted) {
    const [repository = '', digest = ''] = reference.split('@', 2);
    const source = targets.find(
      (target) => target.digest === digest && repositoryOf(target.name) === repository && target.name !== reference,
    );
    if (source === undefined) continue;
    const args = [...ctrArguments(store), 'images', 'tag', source.name, reference];
    const { status, stderr } = await host.run({ program: 'ctr', args, signal: execution.signal });
    if (status !== 0) execution.warn(`${source.name} could not be named ${reference}: ${stderr.trim()}`);
  }
}

interface ImageTarget {
  /** containerd's full name. */
  readonly name: string;
  /** `sha256:…` of the manifest or index. */
  readonly digest: string;
}

/** containerd's images, with the digest of the manifest or index of each name, which CRI does not report. */
async function imageTargets(host: QueryHost, store: ImageStore): Promise<readonly ImageTarget[]> {
  const args = ['-a', store.socket.replace(/^unix:\/\//, ''), '-n', 'k8s.io', 'images', 'ls'];
  const { status, stdout } = await host.query({ program: 'ctr', args });
  if (status !== 0) return [];
  return stdout.split('\n').flatMap((line) => {
    const [name, , digest = ''] = line.split(/\s+/);
    return name !== undefined && /^sha256:[0-9a-f]{64}$/.test(digest) ? [{ name, digest }] : [];
  });
}

function repositoryOf(name: string): string {
  return name.split('@', 1)[0]?.replace(/:[^/:]*$/, '') ?? name;
}
