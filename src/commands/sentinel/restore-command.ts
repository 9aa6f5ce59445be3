import { exitCode } from '@machineadm/document/exit-codes.ts';
import { printNotice } from '../../cli/output.ts';
import { restoreSentinel } from './restore.ts';

/** `machineadm sentinel restore`: a unit runs it at every boot, so it is no error if there is nothing to restore. */
export async function sentinelRestore(): Promise<number> {
  const result = await restoreSentinel();
  printNotice(result.restored ? `restored ${result.path}` : `no sentinel to restore: ${result.why}`);
  return exitCode('Success');
}
