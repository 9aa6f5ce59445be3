import { member } from '@machineadm/document/values/untyped.ts';
import type { Memory } from '../../step/memory.ts';

/** The change that runs the program; its note has the command. */
export const RUN = 'exec-bootstrapper/run';

/** The command that undoes a program in kubeadm's place; [] where the document gave none, undefined where none was run. */
export function resetCommand(made: Pick<Memory, 'note'>): readonly string[] | undefined {
  const note = made.note('exec-bootstrapper', RUN);
  if (note === undefined) return undefined;
  const command = member(note, 'reset');
  return Array.isArray(command) ? command.filter((word) => typeof word === 'string') : [];
}
