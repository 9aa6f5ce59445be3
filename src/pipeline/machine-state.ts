import { STATE_DIRECTORY } from '@machineadm/document/ownership/paths.ts';
import type { MachineDocument, MachineState, Outcome, ThisMachine } from '@machineadm/status/status.ts';
import { MACHINE_SENTENCES } from '@machineadm/status/this-machine.ts';
import { openQueryHost } from '../host/index.ts';
import type { Facts } from '../host/seam/facts.ts';
import type { QueryHost } from '../host/seam/host.ts';
import { documentKey, documentTitle } from './documents.ts';
import type { JournalState } from './journal.ts';
import { peekJournal } from './run-journal.ts';
import { stepRecord } from './step-record.ts';

/** The path of the manifest of `prepare`. */
export const PREPARED_PATH = `${STATE_DIRECTORY}/prepared.json`;

/**
 * What this machine is, from its own journal. The one place that decides it.
 *
 * @param journal undefined: no run of this machine began; a refused run changes nothing and leaves none
 * @param isPrepared whether it was booted from an image of `prepare`
 * @param works whether its node works now; undefined: not checked
 */
export function machineStateOf(journal: JournalState | undefined, isPrepared: boolean, works?: boolean): MachineState {
  if (journal === undefined || journal.commands.size === 0) return isPrepared ? 'prepared' : 'never touched';
  if (!journal.commands.has('provision')) return 'prepared';
  const { bootstrap } = stepRecord(journal, 'kubeadm');
  if (bootstrap === 'attempted' || !journal.proven) return 'attempted';
  if (bootstrap !== 'done') return 'host only';
  return works === false ? 'broken node' : 'node';
}

/**
 * What the machine with this machine-id(5) is, and its documents: on a copied disk the journal is another machine's. Throws
 * `JournalUnreadable`, and `FileError` for users who may not read the journal.
 *
 * @param seen whether the last run is active, and whether the node works now, where that is known
 */
export async function thisMachine(
  machineId: string,
  seen: { readonly isRunning?: boolean; readonly works?: boolean | undefined } = {},
  host: QueryHost = openQueryHost(),
): Promise<ThisMachine> {
  const found = await peekJournal(host);
  const journal = found?.identity.machineId === machineId ? found : undefined;
  const state = machineStateOf(journal, (await host.stat(PREPARED_PATH)) !== undefined, seen.works);
  return { state, documents: documentsIn(journal, seen.isRunning === true) };
}

/** What the machine is by its journal; undefined where it cannot be read. */
export async function stateOf(host: QueryHost, { machineId }: Facts): Promise<MachineState | undefined> {
  return await thisMachine(machineId, {}, host).then(
    ({ state }) => state,
    () => undefined,
  );
}

function documentsIn(journal: JournalState | undefined, isRunning: boolean): readonly MachineDocument[] {
  const open = isRunning && journal?.open !== undefined ? documentKey(journal.open) : undefined;
  return [...(journal?.documents.values() ?? [])].map((one) => {
    const { key, command, sources, at } = one;
    const outcome = OUTCOMES.find((known) => known === one.outcome) ?? (key === open ? 'Running' : 'Interrupted');
    return { name: documentTitle(one), command, sources, outcome, at };
  });
}

const OUTCOMES: readonly Outcome[] = ['Succeeded', 'Failed', 'Interrupted', 'RebootRequired'];

/** What a reset says at its end. */
export const AFTER_RESET: Readonly<Record<MachineState, string>> = {
  'never touched': MACHINE_SENTENCES['never touched'],
  prepared: 'what machineadm prepare changed is undone',
  'host only': 'this machine is as it was before the first run',
  attempted: 'what the unfinished runs changed is undone',
  node: 'this machine is no longer a node',
  'broken node': 'this machine is no longer a node',
};

/** What a reset asks before it begins. */
export const BEFORE_RESET: Readonly<Record<MachineState, string>> = {
  'never touched': 'Continue?',
  prepared: 'Undo everything that machineadm prepare changed?',
  'host only': 'Undo everything that machineadm changed?',
  attempted: 'Undo everything that machineadm changed?',
  node: 'Delete this node?',
  'broken node': 'Delete this node?',
};
