import { randomUUID } from 'node:crypto';
import { MachineadmError } from '@machineadm/document/errors.ts';
import { archiveLog } from '../host/files/append-log.ts';
import { acquireLock } from '../host/files/lock.ts';
import { LOCK_PATH } from '../host/files/paths.ts';
import { endOrphans, gatherFacts, openHost, requireLinux } from '../host/index.ts';
import type { Host } from '../host/seam/host.ts';
import type { JournalState } from '../pipeline/journal.ts';
import { type JournalRecord, recordedOnThisMachine } from '../pipeline/journal-record.ts';
import { ALL_STEPS } from '../pipeline/pipeline.ts';
import { refuseUnlessRoot } from '../pipeline/preflight.ts';
import { asRefusal } from '../pipeline/refusal.ts';
import { memoryOf } from '../pipeline/resource-memory.ts';
import { JOURNAL_PATH, openJournal, peekJournal } from '../pipeline/run-journal.ts';
import { removeStatus, STATUS_PATHS } from '../reporting/status-writer.ts';
import { forgetCopies } from '../steps/prior-state/copies.ts';
import { performReset, type ResetWatch } from '../steps/reset/perform.ts';
import { describeReset, type Made, planReset, type ResetPlan } from '../steps/reset/plan.ts';

export interface ResetRequest extends ResetWatch {
  readonly leaveFiles: boolean;
  /** Called with one line for each action; false cancels the reset before any change. */
  confirm(actions: readonly string[]): Promise<boolean>;
}

/**
 * Removes what the runs of this machine created: the node, then files according to the journal, and finally the journal
 * itself, which is kept as journal.reset. An interrupted reset can be run again. Changes that cannot be attributed or
 * undone are kept: what users put into their homes, disks, images, effects of hooks.
 *
 * @returns false when it was not confirmed
 * @throws MachineadmError `NoRun` where there is nothing to reset, `MountInTheWay`, `Locked`, `BootstrapperFailed`,
 * `ResetFailed`
 */
export async function reset(request: ResetRequest): Promise<boolean> {
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
    if (journal === undefined) throw nothingToReset('machineadm has never run on this machine');
    if (!recordedOnThisMachine(journal.identity, facts)) {
      throw nothingToReset('the journal on this disk belongs to another machine, of which this disk is a copy');
    }
    const plan = await planReset(host, madeIn(journal), { ...request, osId: facts.os.id });
    refuseForeignMounts(plan);
    if (!(await request.confirm(describeReset(plan)))) return false;
    await endOrphans(host, journal.unfinishedRuns);
    await noteReset(host, journal, runId, plan);
    await performReset(host, plan, request);
    await forgetCopies(
      host,
      plan.restore.flatMap(({ keeps }) => keeps ?? []),
    );
    // These describe a node that no longer exists.
    for (const path of Object.values(STATUS_PATHS)) await removeStatus(host, path);
    archiveLog(JOURNAL_PATH, `${JOURNAL_PATH}.reset`);
    return true;
  } finally {
    lock.release();
  }
}

async function noteReset(host: Host, { identity }: JournalState, run: string, plan: ResetPlan): Promise<void> {
  const journal = await openJournal(host, identity);
  for (const record of resetRecords(run, plan)) journal.append(record);
  journal.close();
}

/** What the journal says of a reset that begins: a killed one leaves commands, and states that the next completes. */
export function resetRecords(run: string, { restore }: ResetPlan): readonly JournalRecord[] {
  const unsettled = restore.flatMap(({ unsettles = [] }) => unsettles);
  return [
    ...unsettled.map(([of, mark]) => ({ is: 'after', of, mark }) as const),
    { is: 'reset', run, at: new Date().toISOString() },
  ];
}

/** What a reset reads in the journal. */
export function madeIn(journal: JournalState): Made {
  const { inventory, steps, acted } = journal;
  const leaves = ALL_STEPS.flatMap(({ id, leaves: left = [] }) => {
    const changes = acted.get(id);
    if (changes === undefined) return [];
    return typeof left === 'function' ? left({ changes, notes: steps.get(id)?.notes ?? new Map() }) : left;
  });
  return { ...memoryOf(journal), inventory, leaves: [...new Set(leaves)] };
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
