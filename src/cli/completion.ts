import { exitCode } from '@machineadm/document/exit-codes.ts';
import { COMPLETION_SCRIPTS } from './completion-scripts.ts';
import { printText } from './output.ts';

export type Shell = keyof typeof COMPLETION_SCRIPTS;

/** `machineadm completion`: a script that asks `machineadm __complete` at each TAB, and knows nothing else. */
export async function completion(shell: Shell): Promise<number> {
  printText(COMPLETION_SCRIPTS[shell]);
  return exitCode('Success');
}
