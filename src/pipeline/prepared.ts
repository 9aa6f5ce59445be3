import { createHash } from 'node:crypto';
import type { LoadedDocument } from '@machineadm/document/load.ts';
import { Secret } from '@machineadm/document/secret.ts';
import { isRecord } from '@machineadm/document/shape.ts';
import { toPlain } from '@machineadm/document/tree.ts';
import { withChecksum, withoutChecksum } from '../host/files/checksum.ts';
import type { Facts } from '../host/seam/facts.ts';
import type { Host, QueryHost } from '../host/seam/host.ts';
import { removeStatus } from '../reporting/status-writer.ts';
import { isBake, isSameInstance, type JournalState, type PreparedNote } from './journal.ts';
import type { InstanceIdentity } from './journal-record.ts';
import { pipelineFor } from './pipeline.ts';
import { JOURNAL_PATH } from './run-journal.ts';

/** Where `prepare` says what it put into an image. */
export const PREPARED_PATH = '/var/lib/machineadm/prepared.json';

/**
 * What an image was prepared with. It is the same on every machine that is booted from the image, so nothing of the
 * machine that baked it and no secret is in it.
 */
export interface Prepared {
  readonly agentVersion: string;
  /** RFC 3339, UTC. */
  readonly preparedAt: string;
  /** Hex SHA-256 of the sections of the document that an image can hold something of. */
  readonly baseSha256: string;
  readonly steps: readonly PreparedStep[];
  readonly notes: readonly PreparedNote[];
}

export interface PreparedStep {
  readonly step: string;
  /** Hex SHA-256 of what the document asked of the step. */
  readonly sha256: string;
  /** Ids of the changes that were ever made in this image. */
  readonly changes: readonly string[];
}

/** The sections of the document that an image can hold something of. */
const BASE_SECTIONS = ['host', 'containerRuntime', 'images'];

/** Hex SHA-256 of the parts of a document that matter to an image, whatever the order of their keys. */
export function baseDigest(document: Pick<LoadedDocument, 'tree'>): string {
  const plain = toPlain(document.tree);
  const sections = new Map(plain !== null && typeof plain === 'object' ? Object.entries(plain) : []);
  return digestOf(BASE_SECTIONS.map((name) => [name, sections.get(name)]));
}

/**
 * What a bake that succeeded leaves: what this run did, added to what earlier ones did to the same image.
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
  /** With the model that was asked of the steps: without what belongs to an instance. */
  readonly document: Pick<LoadedDocument, 'model' | 'tree'>;
  readonly facts: Facts;
  readonly agentVersion: string;
}

/** Lays the manifest, durably. Throws what writing a file throws. */
export async function writePrepared(host: Host, prepared: Prepared): Promise<void> {
  const content = `${withChecksum(JSON.stringify({ version: 1, ...prepared }, undefined, 2))}\n`;
  await host.writeFile({ path: PREPARED_PATH, content, mode: 0o600, directoryMode: 0o755 });
  await host.sync(PREPARED_PATH);
}

/**
 * Takes away what only the bake itself needed and what names the machine that it ran on: its journal and the copy of its
 * status. Left where this machine is, or was copied from, a node; and where something is still owed.
 */
export async function removeBakeState(host: Host, journal: JournalState, statusCopy: string): Promise<void> {
  if (!isBake(journal) || journal.owed.size > 0) return;
  await host.removeFile(JOURNAL_PATH);
  await removeStatus(host, statusCopy);
  await host.sync(PREPARED_PATH);
}

/**
 * What this machine's image was prepared with; undefined for an image that was not, and for a manifest of another
 * version: what holds is then found out by looking.
 */
export async function readPrepared(host: QueryHost): Promise<Prepared | undefined> {
  const text = await host.readText(PREPARED_PATH);
  return text === undefined ? undefined : parsePrepared(text);
}

/** Reads the manifest. A part that is not what this version writes, or was damaged, makes it none. */
export function parsePrepared(text: string): Prepared | undefined {
  let value: unknown;
  try {
    value = JSON.parse(withoutChecksum(text) ?? '');
  } catch {
    return undefined;
  }
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
 * The notes that a run may go by: those of the image it was booted from, and of nothing else, as what another node did
 * on this disk is not known to be what the image had.
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

function digestOf(value: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(canonical(value)) ?? 'undefined')
    .digest('hex');
}

/** With sorted keys, without secrets, and with what JSON has no form for as lists. */
function canonical(value: unknown): unknown {
  if (value instanceof Secret) return '[redacted]';
  if (value instanceof Uint8Array) return createHash('sha256').update(value).digest('hex');
  if (value instanceof Map) return [...value].map(canonical);
  if (value instanceof Set) return [...value].map(canonical);
  if (Array.isArray(value)) return value.map(canonical);
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, canonical(value[key])]),
  );
}
