import { exitCode } from '@machineadm/document/outcomes/exit-codes.ts';
import { MACHINE_SENTENCES } from '@machineadm/status/this-machine.ts';
import { printNotice } from '../../cli/output.ts';
import { writeSentinel } from '../../features/sentinel/file.ts';
import { gatherFacts, openHost, requireLinux } from '../../host/index.ts';
import { recordedOnThisMachine } from '../../pipeline/journal-record.ts';
import { thisMachine } from '../../pipeline/machine-state.ts';
import { refuseUnlessRoot } from '../../pipeline/preflight.ts';
import { peekJournal } from '../../pipeline/run-journal.ts';

/**
 * `machineadm sentinel restore`: restores the sentinel after a reboot emptied /run, if the journal shows that this machine
 * has succeeded. A unit runs it at every boot, so it is no error if there is nothing to restore, as on a copy of the disk
 * that runs as another machine.
 */
export async function sentinelRestore(): Promise<number> {
  const result = await restoreSentinel();
  printNotice('path' in result ? `restored ${result.path}` : `no sentinel to restore: ${result.why}`);
  return exitCode('Success');
}

async function restoreSentinel(): Promise<{ readonly path: string } | { readonly why: string }> {
  requireLinux('machineadm sentinel restore');
  const host = openHost({ runId: 'sentinel-restore' });
  const facts = await gatherFacts(host);
  refuseUnlessRoot(facts);
  const journal = await peekJournal(host);
  if (journal === undefined) return { why: MACHINE_SENTENCES[(await thisMachine(facts.machineId, {}, host)).state] };
  if (!recordedOnThisMachine(journal.identity, facts)) {
    return { why: 'the journal on this disk belongs to another machine' };
  }
  // The step leaves the note only after readiness was proved.
  const note = journal.steps.get('sentinel')?.notes.get('sentinel/file');
  const path = note !== null && typeof note === 'object' && 'path' in note ? note.path : undefined;
  if (typeof path !== 'string') return { why: 'this machine was not bootstrapped successfully' };
  await writeSentinel(host, path);
  return { path };
}
