import { setTimeout as sleep } from 'node:timers/promises';
import type { CriImage } from '../../host/cri/queries.ts';
import type { Host, QueryHost } from '../../host/seam/host.ts';
import type { Execution } from '../step.ts';
import type { ArchiveImage } from './contents.ts';
import { findImage, fullReference } from './references.ts';

/** Images come into the CRI store by an event after the import ended (containerd internal/cri/server/events.go). */
const VISIBLE_WITHIN_MS = 10_000;
const POLL_MS = 100;

/** Where images are looked for, and how. */
export interface ImageStore {
  /** Of CRI, with or without `unix://`. */
  readonly socket: string;
}

/** True where the runtime has an image of an archive under its name, and that very image: a tag may have moved. */
export function isPresent(present: readonly CriImage[], image: ArchiveImage): boolean {
  if (image.name === undefined) return image.id !== undefined && present.some((other) => other.id === image.id);
  const found = findImage(present, image.name);
  return found !== undefined && (image.id === undefined || found.id === image.id);
}

/** What of `required` the runtime does not have, in the same order. */
export function missingOf(required: readonly string[], present: readonly CriImage[]): readonly string[] {
  return required.filter((reference) => findImage(present, reference) === undefined);
}

/** Waits for what an import brings; returns what is there in the end, whether that satisfies or not. */
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
 * Gives images that are there under a tag their name by digest, too, where `references` ask for that digest: the kubelet
 * asks for `name@sha256:…`, and an archive that was exported by tag brings the tag alone (kubernetes/kubernetes#124286).
 * What containerd has under the digest is that content: it names by digest what it stores. What it does not have stays
 * missing; a failure of ctr is told to the operator, and the image is missed afterwards.
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
  /** As containerd has it; full. */
  readonly name: string;
  /** `sha256:…` of the manifest or index. */
  readonly digest: string;
}

/** What containerd has, with the digest of the manifest or index that each name stands for: CRI does not tell that. */
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
