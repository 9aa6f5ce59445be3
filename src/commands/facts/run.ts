import { exitCode } from '@machineadm/document/exit-codes.ts';
import { type OutputFormat, printData, printReport } from '../../cli/output.ts';
import { inventory } from '../doctor/machine-checks.ts';

/**
 * `machineadm facts`: prints what is known about the machine, and the values that variables of a document have here.
 */
export async function facts({ output }: { readonly output: OutputFormat }): Promise<number> {
  const found = await inventory();
  if (output !== 'text') await printData(output, 'Facts', found);
  else printReport((await import('yaml')).stringify(found));
  return exitCode('Success');
}
