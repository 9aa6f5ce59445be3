import { dirname } from 'node:path/posix';
import type { LoadedDocument } from '@machineadm/document/loading/load.ts';
import { PRIOR_STATE_DIRECTORY } from '@machineadm/document/ownership/paths.ts';
import { toPlain } from '@machineadm/document/trees/tree.ts';
import { isRecord } from '@machineadm/document/values/shape.ts';
import { checksummedJson, withChecksum } from '../host/files/checksum.ts';
import type { Facts } from '../host/seam/facts.ts';
import type { Host, QueryHost } from '../host/seam/host.ts';
import { forgetCopies } from '../prior-state/copies.ts';
import { removeStatus } from '../reporting/status-writer.ts';
import { canonicalDigest } from './canonical-digest.ts';
import { isBake, type JournalState, type PreparedNote } from './journal.ts';
import { type InstanceIdentity, isSameInstance } from './journal-record.ts';
import { PREPARED_PATH } from './machine-state.ts';
import { pipelineFor } from './pipeline.ts';
import { JOURNAL_PATH } from './run-journal.ts';

/**
 * The manifest of a prepared image. It is the same on every machine booted from the image, so it contains nothing of
 * the bake machine and no secret.
 */
export interface Prepared {
  readonly agentVersion: string;
  /** RFC 3339, UTC. */
  readonly preparedAt: string;
  /** Hex SHA-256 of the document's sections that an image can contain. */
  readonly baseSha256: string;
  readonly steps: readonly PreparedStep[];
  readonly notes: readonly PreparedNote[];
}

export interface PreparedStep {
  readonly step: string;
  /** Hex SHA-256 of the step's part of the document. */
  readonly sha256: string;
  /** Ids of all changes ever made in this image. */
  readonly changes: readonly string[];
}

/** The document's sections that an image can contain. */
const BASE_SECTIONS = ['host', 'containerRuntime', 'images'];

/** Hex SHA-256 of the parts of a document that affect an image, independent of the order of keys. */
export function baseDigest(document: Pick<LoadedDocument, 'tree'>): string {
  const plain = toPlain(document.tree);
  const sections = new Map(plain !== null && typeof plain === 'object' ? Object.entries(plain) : []);
  return digestOf(BASE_SECTIONS.map((name) => [name, sections.get(name)]));
}

/**
 * The manifest of a successful bake: this run's changes, added to those of earlier bakes of the same image.
 *
 * @param made ids of the changes of this run, by step
 */
export function preparedBy(
  { document, facts, agentVersion }: PreparedOptions,
  made: ReadonlyMap<string, readonly string[]>,
  journal: JournalState,
  before: Prepared | undefined,
): Prepared {
  const steps: PreparedStep[] = [];
  for (const step of pipelineFor(document.model.host.platform).host) {
    const earlier = before?.steps.find((one) => one.step === step.id)?.changes ?? [];
    const changes = [...new Set([...earlier, ...(made.get(step.id) ?? [])])];
    if (changes.length === 0) continue;
    steps.push({ step: step.id, sha256: digestOf(step.desired(document.model, facts)), changes });
  }
  const notes = [...journal.steps].flatMap(([step, memory]) =>
    [...memory.notes].map(([change, note]) => ({ step, change, note })),
  );
  const known = new Set(notes.map(({ step, change }) => `${step} ${change}`));
  const kept = (before?.notes ?? []).filter(({ step, change }) => !known.has(`${step} ${change}`));
  return {
    agentVersion,
    preparedAt: new Date().toISOString(),
    baseSha256: baseDigest(document),
    steps,
    notes: [...kept, ...notes],
  };
}

export interface PreparedOptions {
  /** The document with the model that the steps got: without what belongs to one machine. */
  readonly document: Pick<LoadedDocument, 'model' | 'tree'>;
  readonly facts: Facts;
  readonly agentVersion: string;
}

/** Writes the manifest, durably. Throws the errors of writing a file. */
export async function writePrepared(host: Host, prepared: Prepared): Promise<void> {
  const content = `${withChecksum(JSON.stringify({ version: 1, ...prepared }, undefined, 2))}\n`;
  await host.writeFile({ path: PREPARED_PATH, content, mode: 0o600, directoryMode: 0o755 });
  await host.sync(PREPARED_PATH);
}

/**
 * Removes what only the bake needed and what identifies its machine: the journal and the copy of its status. Keeps them
 * where this machine is, or was copied from, a node, or follow-ups are pending.
 */
export async function removeBakeState(host: Host, journal: JournalState, statusCopy: string): Promise<void> {
  if (!isBake(journal) || journal.owed.size > 0) return;
  await host.removeFile(JOURNAL_PATH);
  // For every machine that boots from the image, what the bake put there was there before.
  await forgetCopies(host);
  await host.removeDirectory(PRIOR_STATE_DIRECTORY);
  await removeStatus(host, statusCopy);
  await host.sync(dirname(PREPARED_PATH));
}

/**
 * The manifest of this machine's image; undefined without one, and for one of another version: the state is then
 * inspected.
 */
export async function readPrepared(host: QueryHost): Promise<Prepared | undefined> {
  const text = await host.readText(PREPARED_PATH);
  return text === undefined ? undefined : parsePrepared(text);
}

/** Parses the manifest. A manifest with an unexpected or damaged part is ignored. */
export function parsePrepared(text: string): Prepared | undefined {
  const value = checksummedJson(text);
  if (!isRecord(value) || value.version !== 1) return undefined;
  const { agentVersion, preparedAt, baseSha256 } = value;
  if (typeof agentVersion !== 'string' || typeof preparedAt !== 'string' || typeof baseSha256 !== 'string') {
    return undefined;
  }
  const steps = listOf(value.steps, ({ step, sha256, changes }) => {
    if (typeof step !== 'string' || typeof sha256 !== 'string' || !Array.isArray(changes)) return undefined;
    return { step, sha256, changes: changes.filter((change) => typeof change === 'string') };
  });
  const notes = listOf(value.notes, ({ step, change, note }) =>
    typeof step === 'string' && typeof change === 'string' ? { step, change, note } : undefined,
  );
  if (steps === undefined || notes === undefined) return undefined;
  return { agentVersion, preparedAt, baseSha256, steps, notes };
}

/**
 * The notes that a run may rely on: only those of the image it was booted from, because another node's changes to this
 * disk are not part of the image.
 */
export function usableNotes(
  prepared: Prepared | undefined,
  found: JournalState | undefined,
  identity: InstanceIdentity,
): readonly PreparedNote[] {
  if (prepared === undefined) return [];
  const own = found === undefined || isBake(found) || isSameInstance(found.identity, identity);
  return own ? prepared.notes : [];
}

function listOf<Item>(
  value: unknown,
  read: (item: Readonly<Record<string, unknown>>) => Item | undefined,
): Item[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const items = value.map((item: unknown) => (isRecord(item) ? read(item) : undefined));
  return items.every((item) => item !== undefined) ? items : undefined;
}

/** Without secrets. */
function digestOf(value: unknown): string {
  return canonicalDigest(value, () => '[redacted]');
}
