import { basename } from 'node:path/posix';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { Host } from '../../host/seam/host.ts';
import { forgetUnusedKeys } from '../../host/secrets/sealed-files.ts';
import { type DocumentState, documentTitle, wantedByOthers, withAsked } from '../../pipeline/documents.ts';
import { BOOTSTRAP_STEPS, type JournalState } from '../../pipeline/journal.ts';
import type { JournalRecord } from '../../pipeline/journal-record.ts';
import { ALL_STEPS, STEPS_BY_ID } from '../../pipeline/pipeline.ts';
import { memoryOf } from '../../pipeline/resource-memory.ts';
import { openJournal } from '../../pipeline/run-journal.ts';
import { fingerprintsOf, forgetCopies, secondName } from '../../prior-state/copies.ts';
import { markOf, stateOf } from '../../prior-state/state.ts';
import type { ResetAction } from '../../step/reset-action.ts';
import type { Asked } from '../../step/wants.ts';
import { planLines } from '../../undo/reset/document.ts';
import type { Made, ResetPlan } from '../../undo/reset/plan.ts';

/**
 * The document of this name, where it is one of several: the reset of the only one is that of the machine. Throws `NoRun`
 * for a name that no document has.
 */
export function documentIn({ documents }: JournalState, name: string | undefined): DocumentState | undefined {
  if (name === undefined) return undefined;
  const all = [...documents.values()];
  const found = all.find((one) => documentTitle(one) === name && one.command === 'provision');
  const known = all.map(documentTitle).join(', ');
  if (found === undefined) throw nothingToReset(`no document named ${name} was applied to this machine, only ${known}`);
  return all.length === 1 ? undefined : found;
}

/** What a reset of one document reads in the journal: what others ask for, too, belongs to them from then on. */
export async function madeBy(host: Host, journal: JournalState, { key, name, asked }: DocumentState): Promise<Made> {
  const seen = withAsked(journal, key, NOTHING);
  const memory = memoryOf(seen, key, wantedByOthers(seen, key));
  const isOwn = (step: string): boolean => memory.acted.has(step) && !memory.others('hosts:', step);
  const note: Made['note'] = (step, change) => (isOwn(step) ? memory.note(step, change) : undefined);
  const hasNode = BOOTSTRAP_STEPS.some((step) => memory.acted.has(step)) && !memory.others('hosts:', 'kubeadm');
  return {
    ...memory,
    note: (step, change) => (BOOTSTRAP_STEPS.includes(step) && !hasNode ? undefined : note(step, change)),
    inventory: hasNode ? journal.inventory : undefined,
    leaves: leavesIn(journal, memory.acted),
    lines: await planLines(STEPS_BY_ID, host, memory, name, asked),
  };
}

const NOTHING: Asked = { agent: '', wishes: [], claims: [] };

/** The journal no longer knows the document, and copies that only it needed are removed. */
export async function forgetDocument(
  host: Host,
  { identity }: JournalState,
  key: string,
  lines: readonly ResetAction[],
): Promise<void> {
  const journal = await openJournal(host, identity);
  const fingerprint = (await fingerprintsOf(host)) ?? ((sha256: string) => sha256);
  // The rest of a shared file is still that of documents.
  for (const { resource } of lines) {
    if (resource === undefined) continue;
    journal.append({ is: 'after', of: resource, mark: markOf(await stateOf(host, resource, fingerprint)) });
  }
  journal.append({ is: 'forgotten', document: key });
  const kept = [...journal.state().before].flatMap(([of, { was }]) => [
    ...(JSON.stringify(was).match(/\b[0-9a-f]{32}\b/g) ?? []),
    ...(of.startsWith('path:') ? [basename(secondName(of.slice('path:'.length)))] : []),
  ]);
  journal.close();
  await forgetCopies(host, ['key', ...kept]);
  await forgetUnusedKeys(host);
}

/** What the journal says of a reset that begins: a killed one leaves commands, and states that the next completes. */
export function resetRecords(run: string, { restore }: ResetPlan, document?: string): readonly JournalRecord[] {
  const unsettled = restore.flatMap(({ unsettles = [] }) => unsettles);
  return [
    { is: 'reset', run, ...(document === undefined ? {} : { document }), at: new Date().toISOString() },
    ...unsettled.map(([of, mark]) => ({ is: 'after', of, mark }) as const),
  ];
}

/** What a reset reads in the journal. */
export function madeIn(journal: JournalState): Made {
  const { inventory, acted } = journal;
  const memory = memoryOf(journal);
  return { ...memory, inventory, leaves: leavesIn(journal, acted) };
}

/** What steps leave to others. */
function leavesIn({ steps }: JournalState, acted: Made['acted']): readonly string[] {
  const leaves = ALL_STEPS.flatMap(({ id, leaves: left = [] }) => {
    const changes = acted.get(id);
    if (changes === undefined) return [];
    return typeof left === 'function' ? left({ changes, notes: steps.get(id)?.notes ?? new Map() }) : left;
  });
  return [...new Set(leaves)];
}

/** Records that a reset begins. */
export async function noteReset(
  host: Host,
  { identity }: JournalState,
  run: string,
  plan: ResetPlan,
  document: string | undefined,
): Promise<void> {
  const journal = await openJournal(host, identity);
  for (const record of resetRecords(run, plan, document)) journal.append(record);
  journal.close();
}

export function nothingToReset(why: string): MachineadmError {
  return new MachineadmError({
    reason: 'NoRun',
    summary: `There is nothing to reset: ${why}.`,
    remedy: 'To reset a node that machineadm did not create, use kubeadm reset.',
  });
}
