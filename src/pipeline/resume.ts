import type { RunStatus } from '@machineadm/status/status.ts';
import { MACHINE_SENTENCES } from '@machineadm/status/this-machine.ts';
import { gatherFacts, openQueryHost } from '../host/index.ts';
import { readStatus } from '../reporting/status-file.ts';
import type { JournalState } from './journal.ts';
import { recordedOnThisMachine } from './journal-record.ts';
import { refuseUnlessRoot } from './preflight.ts';
import { peekJournal } from './run-journal.ts';

/** A command whose interrupted run a later run of the same command resumes. */
export type ResumableCommand = 'provision' | 'upgrade';

/** Whether there is a run to resume; if not, why. */
export type Resumable = { readonly resume: true } | { readonly resume: false; readonly why: string };

/**
 * Whether a `provision` of this machine was interrupted, by a reboot, a kill or a signal, and will not be started again
 * by its caller: cloud-init marks runcmd as done before it runs it (cloudinit/helpers.py, FileSemaphores), so a machine
 * that reboots in the middle would never be completed. Read-only.
 */
export async function findResumable(command: ResumableCommand = 'provision'): Promise<Resumable> {
  const host = openQueryHost();
  const facts = await gatherFacts(host);
  refuseUnlessRoot(facts);
  return evaluateResumable(await peekJournal(host), await readStatus(), facts, command);
}

/**
 *
 * @param status identifies a run that was killed before it could begin its journal
 */
export function evaluateResumable(
  journal: JournalState | undefined,
  status: Pick<RunStatus, 'command' | 'outcome' | 'host'> | undefined,
  facts: Parameters<typeof recordedOnThisMachine>[1],
  command: ResumableCommand = 'provision',
): Resumable {
  if (journal !== undefined) {
    if (!recordedOnThisMachine(journal.identity, facts)) {
      return { resume: false, why: 'the journal on this disk belongs to another machine' };
    }
    const isUpgrade = journal.upgrade !== undefined;
    if (isUpgrade !== (command === 'upgrade'))
      return { resume: false, why: isUpgrade ? 'machineadm upgrade resumes it' : 'no upgrade was begun' };
    if (journal.open !== undefined) return outcomeOf(journal.open.command, 'Interrupted');
    if (journal.ended !== undefined) return outcomeOf(journal.ended.command, journal.ended.outcome);
  }
  if (status === undefined) return { resume: false, why: MACHINE_SENTENCES['never touched'] };
  if (status.host.machineId !== facts.machineId) {
    return { resume: false, why: 'the status on this disk is that of another machine' };
  }
  return outcomeOf(status.command, status.outcome);
}

function outcomeOf(command: RunStatus['command'], outcome: string | undefined): Resumable {
  if (command === 'prepare') return { resume: false, why: MACHINE_SENTENCES.prepared };
  if (outcome === 'Interrupted' || outcome === 'RebootRequired') return { resume: true };
  return { resume: false, why: `the last run was not interrupted: ${outcome ?? 'it continues'}` };
}
