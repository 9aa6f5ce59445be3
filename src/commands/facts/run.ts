import { exitCode } from '@machineadm/document/outcomes/exit-codes.ts';
import { redactDeep } from '@machineadm/document/redaction/process-redactor.ts';
import { type OutputFormat, printData, printReport } from '../../cli/output.ts';
import { instanceDataPaths } from '../../host/cloud/instance-data.ts';
import { gatherFacts, openQueryHost, requireLinux } from '../../host/index.ts';
import { hardwareOf } from '../../host/linux/hardware.ts';

/**
 * `machineadm facts`: prints what is known about the machine, without checks or a document, and the variables that a
 * document can use here: their names only, because values may be secret.
 */
export async function facts({ output }: { readonly output: OutputFormat }): Promise<number> {
  requireLinux('machineadm facts');
  const host = openQueryHost();
  const [facts, hardware, instanceData] = await Promise.all([
    gatherFacts(host),
    hardwareOf(host),
    instanceDataPaths().catch(() => []),
  ]);
  const found = redactDeep({ facts, hardware, variables: { instanceData } });
  if (output !== 'text') await printData(output, 'Facts', found);
  else printReport((await import('yaml')).stringify(found));
  return exitCode('Success');
}
