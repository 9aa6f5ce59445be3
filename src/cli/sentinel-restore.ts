import { exitCode } from '@machineadm/document/exit-codes.ts';
import { restoreSentinel } from '../commands/sentinel.ts';
import { printNotice } from './output.ts';

/** `machineadm sentinel restore`: nothing to restore is no error, for the unit runs at every boot. */
export async function sentinelRestore(): Promise<number> {
  const result = await restoreSentinel();
  printNotice(result.restored ? `restored ${result.path}` : `no sentinel to restore: ${result.why}`);
  return exitCode('Success');
}
