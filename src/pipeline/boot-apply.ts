import { type WrittenDocument, writtenDocument } from '@machineadm/document/loading/source-tree.ts';
import { gatherFacts, openQueryHost } from '../host/index.ts';
import { readSource } from '../host/secrets/document-source.ts';
import type { AppliedDocument, JournalState } from './journal.ts';
import { recordedOnThisMachine } from './journal-record.ts';
import { absoluteSource } from './load.ts';
import { refuseUnlessRoot } from './preflight.ts';
import { sourcesKey } from './resource-memory.ts';
import { findResumable, type Resumable, type ResumableCommand } from './resume.ts';
import { peekJournal } from './run-journal.ts';

/** Whether a unit that starts machineadm at every boot has work to do; if not, why. */
export type BootWork = { readonly run: true } | { readonly run: false; readonly why: string };

/**
 * Whether a document is applied at this boot, for the unit that starts machineadm. A document that was applied to this
 * machine is not applied again (`apply: Once`), as cloud-init and Ignition act once per instance: later changes by an
 * administrator are kept. It is applied after a failed or interrupted run, after the document changed, and on another
 * machine that runs from a copy of the disk. A document that cannot be read is left to the run, which reports it.
 * Read-only.
 */
export async function findBootWork(sources: readonly string[]): Promise<BootWork> {
  const { applied, document } = await appliedBefore(sources);
  return decideBootWork(applied, document);
}

/**
 * The same for a unit that resumes interrupted runs (`--resume`). There something else, such as cloud-init, starts the
 * first run, and only this unit can apply a document with `apply: Always` again.
 */
export async function findResumeWork(
  sources: readonly string[],
  command: ResumableCommand = 'provision',
): Promise<Resumable> {
  const found = await findResumable(command);
  if (found.resume || command === 'upgrade') return found;
  const { applied, document } = await appliedBefore(sources);
  return applied !== undefined && document?.apply === 'EveryBoot' ? { resume: true } : found;
}

/**
 *
 * @param applied the last run of these sources on this machine, if it succeeded
 * @param document undefined where it cannot be parsed
 */
export function decideBootWork(
  applied: Pick<AppliedDocument, 'written' | 'at'> | undefined,
  document: WrittenDocument | undefined,
): BootWork {
  if (applied === undefined || document === undefined || document.apply === 'EveryBoot') return { run: true };
  // An earlier version did not record the applied document.
  if (applied.written !== undefined && applied.written !== document.digest) return { run: true };
  return { run: false, why: `this document was applied at ${applied.at} and has not changed (apply: Once)` };
}

async function appliedBefore(
  sources: readonly string[],
): Promise<{ readonly applied: AppliedDocument | undefined; readonly document: WrittenDocument | undefined }> {
  const host = openQueryHost();
  const facts = await gatherFacts(host);
  refuseUnlessRoot(facts);
  const journal = await peekJournal(host);
  const own = journal !== undefined && recordedOnThisMachine(journal.identity, facts) ? journal : undefined;
  const applied = own === undefined ? undefined : appliedFrom(own, sources);
  // Read only if the answer depends on it: standard input can be read only once.
  return { applied, document: applied === undefined ? undefined : await readWritten(sources) };
}

/** The journal's record of these sources. Runs of earlier versions recorded none, and match all sources. */
export function appliedFrom(
  { applied }: Pick<JournalState, 'applied'>,
  sources: readonly string[],
): AppliedDocument | undefined {
  return applied.get(sourcesKey(sources.map(absoluteSource))) ?? applied.get(sourcesKey(undefined));
}

async function readWritten(sources: readonly string[]): Promise<WrittenDocument | undefined> {
  try {
    const read = [];
    for (const source of sources) read.push(...(await readSource(source)));
    return await writtenDocument(read);
  } catch {
    return undefined;
  }
}
