import type { JournalState } from './journal.ts';
import { stepRecord } from './step-record.ts';

/**
 * What machineadm made of this machine so far, in the words that every command uses. Whether a node works now is the
 * verdict of `diagnose`: a broken node is one that does not.
 */
export type MachineState = 'never touched' | 'prepared' | 'host only' | 'attempted' | 'node';

/**
 * What this machine is, from its own journal.
 *
 * @param journal undefined: no run of this machine began; a refused run changes nothing and leaves none
 * @param isPrepared whether it was booted from an image of `prepare`
 */
export function machineStateOf(journal: JournalState | undefined, isPrepared: boolean): MachineState {
  if (journal === undefined || journal.commands.size === 0) return isPrepared ? 'prepared' : 'never touched';
  if (!journal.commands.has('provision')) return 'prepared';
  const { bootstrap } = stepRecord(journal, 'kubeadm');
  if (bootstrap === 'attempted' || !journal.proven) return 'attempted';
  return bootstrap === 'done' ? 'node' : 'host only';
}

/** What a reset says at its end. */
export const AFTER_RESET: Readonly<Record<MachineState, string>> = {
  'never touched': 'nothing was to undo',
  prepared: 'what machineadm prepare changed is undone',
  'host only': 'this machine is as it was before the first run',
  attempted: 'what the unfinished runs changed is undone',
  node: 'this machine is no longer a node',
};

/** What a reset asks before it begins. */
export const BEFORE_RESET: Readonly<Record<MachineState, string>> = {
  'never touched': 'Continue?',
  prepared: 'Undo everything that machineadm prepare changed?',
  'host only': 'Undo everything that machineadm changed?',
  attempted: 'Undo everything that machineadm changed?',
  node: 'Delete this node?',
};
