import { MACHINE_SENTENCES } from '@machineadm/status/this-machine.ts';
import { writeSentinel } from '../../features/sentinel/file.ts';
import { gatherFacts, openHost, requireLinux } from '../../host/index.ts';
import { recordedOnThisMachine } from '../../pipeline/journal-record.ts';
import { thisMachine } from '../../pipeline/machine-state.ts';
import { refuseUnlessRoot } from '../../pipeline/preflight.ts';
import { peekJournal } from '../../pipeline/run-journal.ts';

/**
 * Restores the sentinel after a reboot emptied /run, if the journal shows that this machine has succeeded. Does nothing
 * on a copy of the disk that runs as another machine.
 * @returns the path of the sentinel, or why there is none to restore
 */
export async function restoreSentinel(): Promise<
  { readonly restored: true; readonly path: string } | { readonly restored: false; readonly why: string }
> {
  requireLinux('machineadm sentinel restore');
  const host = openHost({ runId: 'sentinel-restore' });
  const facts = await gatherFacts(host);
  refuseUnlessRoot(facts);
  const journal = await peekJournal(host);
  if (journal === undefined) {
    const { state } = await thisMachine(facts.machineId, {}, host);
    return { restored: false, why: MACHINE_SENTENCES[state] };
  }
  if (!recordedOnThisMachine(journal.identity, facts)) {
    return { restored: false, why: 'the journal on this disk belongs to another machine' };
  }
  // The step leaves the note only after readiness was proved.
  const note = journal.steps.get('sentinel')?.notes.get('sentinel/file');
  const path = note !== null && typeof note === 'object' && 'path' in note ? note.path : undefined;
  if (typeof path !== 'string') return { restored: false, why: 'this machine was not bootstrapped successfully' };
  await writeSentinel(host, path);
  return { restored: true, path };
}
