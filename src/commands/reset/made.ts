import { randomUUID } from 'node:crypto';
import { basename } from 'node:path/posix';
import { MachineadmError } from '@machineadm/document/errors.ts';
import { MACHINE_SENTENCES } from '@machineadm/status/this-machine.ts';
import { archiveLog } from '../../host/files/append-log.ts';
import { acquireLock } from '../../host/files/lock.ts';
import { LOCK_PATH } from '../../host/files/paths.ts';
import { endOrphans, gatherFacts, openHost, requireLinux } from '../../host/index.ts';
import type { Host } from '../../host/seam/host.ts';
import { forgetUnusedKeys } from '../../host/secrets/sealed-files.ts';
import { type DocumentState, documentTitle, wantedByOthers, withAsked } from '../../pipeline/documents.ts';
import { BOOTSTRAP_STEPS, type JournalState } from '../../pipeline/journal.ts';
import { type JournalRecord, recordedOnThisMachine } from '../../pipeline/journal-record.ts';
import { AFTER_RESET, BEFORE_RESET, machineStateOf, thisMachine } from '../../pipeline/machine-state.ts';
import { ALL_STEPS, STEPS_BY_ID } from '../../pipeline/pipeline.ts';
import { refuseUnlessRoot } from '../../pipeline/preflight.ts';
import { asRefusal } from '../../pipeline/refusal.ts';
import { memoryOf } from '../../pipeline/resource-memory.ts';
import { JOURNAL_PATH, openJournal, peekJournal } from '../../pipeline/run-journal.ts';
import type { ResetAction } from '../../prior-state/action.ts';
import { fingerprintsOf, forgetCopies, openCopy, secondName } from '../../prior-state/copies.ts';
import { markOf, stateOf } from '../../prior-state/state.ts';
import { removeStatus, STATUS_PATHS } from '../../reporting/status-writer.ts';
import type { Asked } from '../../step/wants.ts';
import { planLines } from '../../undo/reset/document.ts';
import { performReset, type ResetWatch } from '../../undo/reset/perform.ts';
import { describeReset, type Made, planReset, type ResetPlan } from '../../undo/reset/plan.ts';

export interface ResetRequest extends ResetWatch {
  readonly leaveFiles: boolean;
  /** The name of a document that is reset alone; undefined: everything is. */
  readonly document?: string | undefined;
  /** Called with one line for each action; false cancels the reset before any change. */
  confirm(actions: readonly string[], question: string): Promise<boolean>;
}

/** How a reset ended. */
export interface ResetEnd {
  /** False where it was not confirmed, or there was nothing to undo. */
  readonly done: boolean;
  /** For people; undefined: it was not confirmed. */
  readonly said: string | undefined;
}

/**
 * Removes what the runs of this machine created: the node, then files according to the journal, and finally the journal
 * itself, which is kept as journal.reset. An interrupted reset can be run again. Changes that cannot be attributed or
 * undone are kept: what users put into their homes, disks, images, effects of hooks.
 *
 * @throws MachineadmError `NoRun` where the journal is that of another machine or knows no such document, `MountInTheWay`, `Locked`, `BootstrapperFailed`,
 * `ResetFailed`
 */
export async function reset(request: ResetRequest): Promise<ResetEnd> {
  requireLinux('machineadm reset');
  const runId = randomUUID();
  const host = openHost({ runId });
  const facts = await gatherFacts(host);
  refuseUnlessRoot(facts);
  const lock = await acquireLock(LOCK_PATH).catch((error: unknown) => {
    throw asRefusal(error);
  });
  try {
    const journal = await peekJournal(host);
    if (journal === undefined) {
      // Done before, or never begun: a refused run changes nothing.
      const { state } = await thisMachine(facts.machineId, {}, host);
      return { done: false, said: `there is nothing to undo: ${MACHINE_SENTENCES[state]}` };
    }
    if (!recordedOnThisMachine(journal.identity, facts)) {
      throw nothingToReset('the journal on this disk belongs to another machine, of which this disk is a copy');
    }
    const one = documentIn(journal, request.document);
    const made = one === undefined ? madeIn(journal) : await madeBy(host, journal, one);
    const plan = await planReset(host, made, { ...request, osId: facts.os.id });
    refuseForeignMounts(plan);
    const state = machineStateOf(journal, false);
    const question = one === undefined ? BEFORE_RESET[state] : `Undo what the document ${documentTitle(one)} changed?`;
    if (!(await request.confirm(describeReset(plan), question))) return { done: false, said: undefined };
    await endOrphans(host, journal.unfinishedRuns);
    await noteReset(host, journal, runId, plan, one?.key);
    await performReset(host, plan, request);
    const kept = plan.restore.flatMap(({ keeps }) => keeps ?? []);
    // One that cannot be decrypted stays as it is: the plan said so.
    for (const copy of kept) await openCopy(host, copy).catch(() => {});
    if (one !== undefined) {
      await forgetDocument(host, journal, one.key, made.lines ?? []);
      return { done: true, said: `what only the document ${documentTitle(one)} asked for is undone` };
    }
    await forgetCopies(host, kept);
    await forgetUnusedKeys(host);
    // These describe a node that no longer exists.
    for (const path of Object.values(STATUS_PATHS)) await removeStatus(host, path);
    archiveLog(JOURNAL_PATH, `${JOURNAL_PATH}.reset`);
    return { done: true, said: `${AFTER_RESET[state]}; the journal is kept as journal.reset` };
  } finally {
    lock.release();
  }
}

async function noteReset(
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

/**
 * The document of this name, where it is one of several: the reset of the only one is that of the machine. Throws `NoRun`
 * for a name that no document has.
 */
function documentIn({ documents }: JournalState, name: string | undefined): DocumentState | undefined {
  if (name === undefined) return undefined;
  const all = [...documents.values()];
  const found = all.find((one) => documentTitle(one) === name && one.command === 'provision');
  const known = all.map(documentTitle).join(', ');
  if (found === undefined) throw nothingToReset(`no document named ${name} was applied to this machine, only ${known}`);
  return all.length === 1 ? undefined : found;
}

/** What a reset of one document reads in the journal: what others ask for, too, belongs to them from then on. */
async function madeBy(host: Host, journal: JournalState, { key, name, asked }: DocumentState): Promise<Made> {
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
async function forgetDocument(
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

function refuseForeignMounts({ mounts }: ResetPlan): void {
  const { foreign } = mounts;
  if (foreign.length === 0) return;
  throw new MachineadmError({
    reason: 'MountInTheWay',
    summary: `Nothing was changed: ${foreign.join(', ')} ${foreign.length === 1 ? 'is' : 'are'} mounted below directories that a reset deletes, and not by the kubelet.`,
    remedy: `Unmount ${foreign.join(' and ')}, so that nothing there is deleted, and run machineadm reset again.`,
    evidence: foreign.map((point) => ({ source: 'mountinfo', text: point })),
  });
}

function nothingToReset(why: string): MachineadmError {
  return new MachineadmError({
    reason: 'NoRun',
    summary: `There is nothing to reset: ${why}.`,
    remedy: 'To reset a node that machineadm did not create, use kubeadm reset.',
  });
}
