import { exitCode } from '@machineadm/document/exit-codes.ts';
import { restoreSentinel } from '../commands/sentinel.ts';
import { printNotice } from './output.ts';

/** `machineadm sentinel restore`: a unit runs it at every boot, so it is no error if there is nothing to restore. */
export async function sentinelRestore(): Promise<number> {
  const result = await restoreSentinel();
  printNotice(result.restored ? `restored ${result.path}` : `no sentinel to restore: ${result.why}`);
  return exitCode('Success');
}
