import { exitCode } from '@machineadm/document/exit-codes.ts';
import { printText } from '../../cli/output.ts';
import { COMPLETION_SCRIPTS } from './scripts.ts';

export type Shell = keyof typeof COMPLETION_SCRIPTS;

/**
 * `machineadm completion`: prints a script that calls `machineadm __complete` at each TAB and has no knowledge of its
 * own.
 */
export async function completion(shell: Shell): Promise<number> {
  printText(COMPLETION_SCRIPTS[shell]);
  return exitCode('Success');
}
